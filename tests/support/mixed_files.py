"""Files of every kind for the knowledge base, each with a word that no other file has."""

from collections.abc import Callable
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table

_FONT = "STSong-Light"
ZH = "钠离子电池的正极材料有层状氧化物、聚阴离子和普鲁士蓝三类，成本低于磷酸铁锂。"
EN = "Sodium-ion cells use hard carbon anodes, and their layered oxides are cheap to make."


def marker(number: int) -> str:
    """A word of its own, of letters only, so that it stays one term."""
    return "mark" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}") + "q"


def pdf(path: Path, number: int, *, pages: int = 2, password: str = "") -> None:
    """Pages in both languages with a table; the marker is on the last page."""
    pdfmetrics.registerFont(UnicodeCIDFont(_FONT))
    encrypted = StandardEncryption(password) if password else None
    canvas = Canvas(str(path), encrypt=encrypted)
    canvas.setTitle(f"Report {number}")
    for page in range(1, pages + 1):
        canvas.setFont(_FONT, 11)
        canvas.drawString(60, 780, f"第{page}页 {ZH}")
        canvas.drawString(60, 760, EN)
        table = Table([["cell", "Wh/kg"], ["LFP", "160"], ["钠离子", str(100 + page)]])
        table.setStyle(
            [("FONT", (0, 0), (-1, -1), _FONT), ("GRID", (0, 0), (-1, -1), 1, colors.red)]
        )
        table.wrapOn(canvas, 400, 300)
        table.drawOn(canvas, 60, 640)
        if page == pages:
            canvas.drawString(60, 600, f"Here is {marker(number)}.")
        canvas.showPage()
    canvas.save()


def markdown(path: Path, number: int) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    text = f"# Notes {number}\n\n{EN}\n\n## 路线\n\n{ZH} {marker(number)}。\n\n{table}"
    path.write_text(text, "utf-8")


def html(path: Path, number: int) -> None:
    text = (
        f"<html><head><title>Page {number}</title></head><body><nav>Home</nav><article>"
        f"<h1>Page {number}</h1><p>{EN} {EN}</p><p>{ZH}{ZH} And {marker(number)} too, which a "
        "reader will find in this paragraph of the article.</p></article></body></html>"
    )
    path.write_text(text, "utf-8")


def text(path: Path, number: int) -> None:
    """In one of the encodings that are read."""
    codec = ("utf-8", "gb18030", "utf-16", "utf-8-sig")[number % 4]
    path.write_text(f"第{number}号文件\n\n{ZH}\n\n{EN} {marker(number)}\n", codec)


def companies(path: Path, number: int) -> None:
    """A table of three companies; the second has the marker."""
    rows = [
        f'Firm {number}{letter},"{EN}",Batteries,20{number % 90 + 10},https://firm{number}.example'
        for letter in "ABC"
    ]
    rows[1] = rows[1].replace("hard carbon", f"hard {marker(number)} carbon")
    head = "Organization Name,Short Description,Industries,Founded Date,Website"
    path.write_text("\n".join([head, *rows]) + "\n", "utf-8")


Make = Callable[[Path, int], None]
_MAKERS: dict[str, Make] = {
    "pdf": pdf, "md": markdown, "html": html, "txt": text, "csv": companies,
}  # fmt: skip


def good_files(folder: Path, counts: dict[str, int]) -> dict[int, Path]:
    """So many files of each ending in folders below; number of its marker → file."""
    made: dict[int, Path] = {}
    for ending, count in counts.items():
        for _ in range(count):
            number = len(made)
            path = folder / f"part{number % 7}" / f"file{number}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            _MAKERS[ending](path, number)
            made[number] = path
    return made

"""Write the sample's papers as PDF: `uv run python tools/sample_papers.py`.

A paper's source (`src/agent/sample/data/papers/*.md`) is a title (`# `), headings (`## `) and
paragraphs; a line `---` begins a page. Latin text is set in Helvetica, Chinese in the song type
that viewers bring.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.core.strings import has_han

FOLDER = Path(__file__).parents[1] / "src" / "agent" / "sample" / "data" / "papers"
_WIDTH, _HEIGHT, _MARGIN = 595, 842, 64
_BODY, _HEADING, _TITLE = 10.5, 13.0, 16.0
_LEADING, _GAP = 1.55, 9.0
_LETTERS = 88
"""Latin letters of the body's size that fit on a line."""
_PIECE = re.compile(r"[!-~]+|.")
_NOT_FIRST = "，。；：、！？）”》%"
_HEAD = b"%PDF-1.4\n"
_LATIN = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
_CHINESE = (
    "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H"
    " /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light"
    " /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /DW 1000"
    " /W [1 95 500] /FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 6"
    " /FontBBox [-25 -254 1000 880] /ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 880"
    " /StemV 93 >> >>] >>"
)


def pdf(source: str) -> bytes:
    """Return a document of A4 pages with the title in its metadata."""
    chinese = has_han(source)
    title = source.partition("\n")[0].lstrip("# ").strip()
    pages = [_content(part, chinese) for part in re.split(r"^---$", source, flags=re.MULTILINE)]
    numbers = [5 + 2 * n for n in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        _CHINESE if chinese else _LATIN,
        f"<< /Title <feff{_hex(title)}> /Producer (Tanlu) >>",
    ]
    for number, content in zip(numbers, pages, strict=True):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}]"
            f" /Resources << /Font << /F 3 0 R >> >> /Contents {number + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _file(objects)


def _file(objects: Sequence[str]) -> bytes:
    body, places = bytearray(_HEAD), list[int]()
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("ascii")
    start, count = len(body), len(objects) + 1
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {count} /Root 1 0 R /Info 4 0 R >>"
    body += f"xref\n0 {count}\n0000000000 65535 f \n{rows}".encode("ascii")
    body += f"trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode("ascii")
    return bytes(body)


def _content(part: str, chinese: bool) -> str:
    """Return the drawing of a page."""
    commands, top = list[str](), float(_HEIGHT - _MARGIN)
    for size, line in _lines(part, chinese):
        if line:
            top -= size * _LEADING
            text = f"<{_hex(line)}>" if chinese else f"<{line.encode('cp1252').hex()}>"
            commands.append(f"BT /F {size:g} Tf 1 0 0 1 {_MARGIN} {top:.1f} Tm {text} Tj ET")
        else:
            top -= _GAP
    return "\n".join(commands)


def _lines(part: str, chinese: bool) -> Iterator[tuple[float, str]]:
    """Size and text of each line; an empty one is a gap between paragraphs."""
    for paragraph in filter(None, (text.strip() for text in part.splitlines())):
        size = {"#": _TITLE, "##": _HEADING}.get(paragraph.split(" ")[0], _BODY)
        text = paragraph.lstrip("# ")
        share = _BODY / size
        if chinese:
            lines = _break_lines(text, (_WIDTH - 2 * _MARGIN) / size)
        else:
            lines = textwrap.wrap(text, int(_LETTERS * share))
        yield from ((size, line) for line in lines)
        yield size, ""


def _break_lines(text: str, width: float) -> list[str]:
    """Return lines of so many Chinese characters; none begins with a closing sign."""
    lines, used = [""], 0.0
    for piece in _PIECE.findall(text):
        wide = len(piece) / 2 if piece.isascii() else 1.0
        if used + wide > width and piece[0] not in _NOT_FIRST:
            lines.append("")
            used = 0.0
        lines[-1] += piece
        used += wide
    return lines


def _hex(text: str) -> str:
    return text.encode("utf-16-be").hex()


if __name__ == "__main__":
    for paper in FOLDER.glob("*.md"):
        paper.with_suffix(".pdf").write_bytes(pdf(paper.read_text("utf-8")))

"""Serve the sample's web pages under their own host names, and its papers as PDF.

A paper's source (`data/papers/*.md`) is a title (`# `), headings (`## `) and paragraphs; a line
`---` begins a page. Latin text is set in Helvetica, Chinese in the song type that viewers bring.
"""

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from agent.sample.records import DATA, SamplePage, is_chinese, load_sample
from agent.sample.service import Service

_HTML = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>
<body><nav><a href="/">{site}</a></nav>
<main><article><h1>{title}</h1>
<p>{text}</p>
</article></main>
<footer>{site} · {published}</footer></body></html>
"""
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


def sample_hosts() -> frozenset[str]:
    """Return the hosts of the sample's pages, which no name server knows."""
    return frozenset(urlsplit(page.url).netloc for page in load_sample().pages)


class PagesService(Service):
    """Serve any page by its Host header and path; `robots` is the text of robots.txt, if any."""

    def __init__(
        self, pages: Iterable[SamplePage] | None = None, *, robots: str | None = None
    ) -> None:
        super().__init__("pages")
        self.robots = robots
        all_pages = load_sample().pages if pages is None else pages
        # Before requests come: they are answered on an event loop, which must not read files.
        for name in paper_names() if pages is None else ():
            paper_pdf(name)
        self._pages = {(urlsplit(p.url).netloc, urlsplit(p.url).path): p for p in all_pages}
        self.app.router.add_get("/robots.txt", self._robots)
        self.add_routes()
        self.app.router.add_get("/papers/{name}.pdf", self._paper)
        self.app.router.add_get("/{path:.*}", self._page)

    def add_routes(self) -> None:
        """Add routes that come before the pages."""

    async def _robots(self, request: web.Request) -> web.Response:
        if self.robots is None:
            raise web.HTTPNotFound
        return web.Response(text=self.robots)

    async def _paper(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in paper_names():
            return await self._page(request)
        return web.Response(body=paper_pdf(name), content_type="application/pdf")

    async def _page(self, request: web.Request) -> web.Response:
        page = self._pages.get((request.host, request.path))
        if page is None:
            raise web.HTTPNotFound
        return web.Response(text=page_html(page), content_type="text/html")


def page_html(page: SamplePage) -> str:
    """Return a sample page as a site would show it, with what surrounds a text."""
    return _HTML.format(
        language=escape(page.language),
        title=escape(page.title),
        site=escape(page.site),
        text=escape(page.text),
        published=escape(page.published),
    )


def sample_documents() -> Path:
    """Return the folder of the bundled own documents: Markdown, CSV and text to read in."""
    return Path(str(DATA / "documents"))


@cache
def paper_names() -> tuple[str, ...]:
    """Return the names of the papers, without ending."""
    files = os.listdir(str(DATA / "papers"))
    return tuple(sorted(name.removesuffix(".md") for name in files if name.endswith(".md")))


@cache
def paper_pdf(name: str) -> bytes:
    """Return the PDF of a paper, always the same bytes; raise KeyError for an unknown name."""
    if name not in paper_names():
        raise KeyError(name)
    source = DATA / "papers" / f"{name}.md"
    return pdf(source.read_text(encoding="utf-8"))


def pdf(source: str) -> bytes:
    """Return a document of A4 pages with the title in its metadata."""
    chinese = is_chinese(source)
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

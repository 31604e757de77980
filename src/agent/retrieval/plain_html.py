"""HTML → Markdown with the standard library, for installations without tanlu[web].

Headings, paragraphs, lists and tables in reading order; scripts, styles, forms, menus and the
page's head and foot are left out. It does not look for the main text as trafilatura does.
"""

from html.parser import HTMLParser
from typing import TextIO

_LEFT_OUT = {
    "script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "form", "button",
    "select", "iframe", "object",
}  # fmt: skip
_BLOCKS = {
    "p", "div", "section", "article", "main", "header", "ul", "ol", "dl", "dt", "dd", "blockquote",
    "pre", "figure", "figcaption", "body", "br", "hr", "table",
}  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_READ = 1 << 16


def outline(markup: TextIO) -> tuple[str, str]:
    """Title and text of a page."""
    parser = _Outline()
    while part := markup.read(_READ):
        parser.feed(part)
    parser.close()
    return parser.found()


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._words: list[str] = []
        self._cells: list[str] | None = None
        self._rows = 0
        self._prefix = ""
        self._skipped: list[str] = []
        self._title: list[str] = []
        self._in_title = False

    def found(self) -> tuple[str, str]:
        self._end_line()
        return " ".join("".join(self._title).split()), "\n".join(self._lines)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _LEFT_OUT:
            self._skipped.append(tag)
        elif tag == "title":
            self._in_title = True
        elif tag in _HEADINGS:
            self._end_line()
            self._prefix = "#" * _HEADINGS[tag] + " "
        elif tag == "li":
            self._end_line(gap=False)
            self._prefix = "- "
        elif tag == "table":
            self._end_line()
            self._rows = 0
        elif tag == "tr":
            self._end_line(gap=False)
            self._cells = []
        elif tag in _BLOCKS and self._cells is None:
            self._end_line()

    def handle_endtag(self, tag: str) -> None:
        if self._skipped and tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
        elif tag == "title":
            self._in_title = False
        elif tag in ("td", "th") and self._cells is not None:
            self._cells.append(self._taken().replace("|", "/"))
        elif tag == "tr" and self._cells is not None:
            self._end_row(self._cells)
        elif tag in _HEADINGS or (tag in _BLOCKS and self._cells is None):
            self._end_line()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._skipped:
            self._words.append(data)

    def _taken(self) -> str:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        return text

    def _end_row(self, cells: list[str]) -> None:
        self._cells = None
        if any(cells):
            self._lines.append(f"| {' | '.join(cells)} |")
            if not self._rows:
                self._lines.append("|" + " --- |" * len(cells))
            self._rows += 1

    def _end_line(self, *, gap: bool = True) -> None:
        self._cells = None
        if text := self._taken():
            self._lines.append(self._prefix + text)
        if gap and self._lines and self._lines[-1]:
            self._lines.append("")
        self._prefix = ""

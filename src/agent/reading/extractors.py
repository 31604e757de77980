"""Define the result of a text extractor, and the two that run here or in the worker."""

import io
import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from agent.reading.pdf import BROKEN, open_pdf

MAX_PAGES = 200
_TITLE = 300
_MAX_LINKS, _MAX_ADDRESS, _MAX_WORDS = 300, 500, 120
_LINKS = "//a[@href][not(ancestor::nav or ancestor::header or ancestor::footer or ancestor::aside)]"
_BETWEEN_ROWS = ("|\n\n\n|", "|\n\n|")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")


@dataclass(frozen=True)
class ExtractedPage:
    """Hold title, text and links; `partial` if something was left out.

    `links` are the words of each address as the page writes it. `failed` is a code instead of all.
    """

    title: str = ""
    text: str = ""
    partial: bool = False
    failed: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    published: str = ""
    """The day, 2025-11-13, where the page says it."""


def html_text(markup: str) -> ExtractedPage:
    """Return the main text of a page as Markdown, without menus and comments; needs trafilatura."""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    if (tree := _html_tree(markup)) is None:
        return ExtractedPage(failed="page_empty")
    title, links = _html_title(tree), _html_links(tree)
    text = _main_text(tree)
    if "|" not in text and _with_rows(tree):
        # Of a short page all is taken as it comes, each cell as a line.
        text = _main_text(tree)
    for gap in _BETWEEN_ROWS:
        while gap in text:
            text = text.replace(gap, "|\n|")
    text = _ESCAPED.sub(r"\1", text)
    return ExtractedPage(title, text, links=links, published=_published(tree))


def _html_tree(markup: str) -> Any:
    """Return the parsed document; None for one without an element."""
    from lxml.etree import ParserError  # type: ignore[import-untyped]
    from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        # Its own loader refuses documents that browsers show.
        return document_fromstring(markup.replace("\0", "").encode("utf-8", "replace"), parser)
    except ParserError:
        return None


def whole_html(markup: str) -> ExtractedPage:
    """Return all text of a document as Markdown: headings, paragraphs, lists, rows of tables.

    For files of the user, of which nothing is left out. (A reader of web pages looks for the main
    text: of a short page trafilatura drops headings and lists.)
    """
    from lxml.etree import iterwalk

    if (tree := _html_tree(markup)) is None:
        return ExtractedPage(failed="page_empty")
    text, walk = _MarkdownText(), iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        if event == "start" and element.tag in _NO_TEXT:
            walk.skip_subtree()
        elif event == "start":
            text.begin(element.tag)
            text.add(element.text)
        else:
            text.end(element.tag, element.get)
            text.add(element.tail)
    text.close()
    return ExtractedPage(_html_title(tree), text.whole() or " ".join(tree.text_content().split()))


_NO_TEXT = {"head", "script", "style", "template", "noscript", "nav", "svg", "iframe", "object"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LINES = {*_HEADINGS, "p", "div", "section", "article", "main", "header", "footer", "aside", "li",
          "ul", "ol", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr",
          "blockquote", "pre", "figure", "figcaption", "address", "details", "summary", "fieldset",
          "form", "hr", "br", "body", "html", "option", "label", "legend"}  # fmt: skip
"""Elements that stand on lines of their own."""


class _MarkdownText:
    """Put a document's text into lines of Markdown, as its elements begin and end."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str]] = []
        """Each with its kind: rows of a table, and items of a list, stand together."""
        self._words: list[str] = []
        self._mark = ""
        self._rows: list[list[str]] = []
        """The cells of the rows under way, tables within tables."""
        self._spans: dict[int, tuple[int, str]] = {}
        """Columns of the outermost table → rows below that a cell reaches into, and its words."""
        self._counts: list[int | None] = []
        """Items of the lists under way; None for lists without numbers."""
        self._is_head = False

    def add(self, words: str | None) -> None:
        if words:
            self._words.append(words)

    def begin(self, tag: str) -> None:
        if tag in _LINES:
            self.close()
            self._mark = _HEADINGS.get(tag) or (self._bullet() if tag == "li" else self._mark)
        if tag in ("ol", "ul"):
            self._counts.append(0 if tag == "ol" else None)
        elif tag == "table" and not self._rows:
            self._is_head = True
            self._spans.clear()
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._words.append(" ")

    def end(self, tag: str, attribute: Callable[[str], str | None]) -> None:
        if tag in ("td", "th") and self._rows:
            self._end_cell(_span(attribute("colspan")), _span(attribute("rowspan")))
        elif tag == "tr" and self._rows:
            self._end_row(self._rows.pop())
        elif tag in _LINES:
            self.close()
            self._mark = "" if tag in ("li", *_HEADINGS) else self._mark
        if tag in ("ol", "ul") and self._counts:
            self._counts.pop()

    def close(self) -> None:
        """End the line under way; within a row it only ends a word."""
        if self._rows:
            self._words.append(" ")
        elif words := self._taken():
            is_item = self._mark != "" and not self._mark.startswith("#")
            self._lines.append(("item" if is_item else "", self._mark + words))
            self._mark = ""

    def whole(self) -> str:
        text, before = list[str](), ""
        for kind, line in self._lines:
            text += ["\n" if kind and kind == before else "\n\n", line]
            before = kind
        return "".join(text).strip()

    def _taken(self) -> str:
        words = " ".join("".join(self._words).split())
        self._words.clear()
        return words

    def _bullet(self) -> str:
        if not self._counts or self._counts[-1] is None:
            return "- "
        self._counts[-1] += 1
        return f"{self._counts[-1]}. "

    def _end_cell(self, columns: int, rows: int) -> None:
        """A cell over several rows stands in each of them, so that each row says what it is of."""
        cells, words = self._rows[-1], self._taken().replace("|", "\\|")
        is_outer = len(self._rows) == 1
        if is_outer:
            self._repeat_above(cells)
            if rows > 1:
                self._spans[len(cells)] = (rows - 1, words[:_MOST_LABEL])
        cells += [words, *[""] * (columns - 1)]

    def _repeat_above(self, cells: list[str]) -> None:
        while above := self._spans.pop(at := len(cells), None):
            left, words = above
            if left > 1:
                self._spans[at] = (left - 1, words)
            cells.append(words)

    def _end_row(self, cells: list[str]) -> None:
        if not self._rows:
            self._repeat_above(cells)
        if self._rows:
            # A table within a cell is words of the cell.
            self._words.append(" ".join(cells))
        elif any(cells):
            self._words.clear()
            self._lines.append(("row", f"| {' | '.join(cells)} |"))
            if self._is_head:
                self._lines.append(("row", "|" + "---|" * len(cells)))
                self._is_head = False


def _span(said: str | None) -> int:
    """Return the columns or rows that a cell says it takes, within reason."""
    is_number = said is not None and said.isdecimal() and len(said) < 5
    return max(1, min(int(said or 1), _MOST_SPAN)) if is_number else 1


_MOST_SPAN, _MOST_LABEL = 200, 200


def _main_text(tree: Any) -> str:
    import trafilatura

    text = trafilatura.extract(
        tree,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_links=False,
        include_images=False,
    )
    return str(text or trafilatura.html2txt(tree))


def _with_rows(tree: Any) -> bool:
    """Make each row of a table a line of Markdown; return whether there was one.

    The first of a table is its head, however its cells are marked.
    """
    rows, begun = tree.xpath("//tr[count(td|th) > 1][not(.//table)]"), set[Any]()
    for row in rows:
        cells = [" ".join(cell.text_content().split()) for cell in row.xpath("td|th")]
        line = f"| {' | '.join(cells)} |"
        table = next(row.iterancestors("table"), None)
        is_head = table not in begun or (row.xpath("th") and not row.xpath("td"))
        begun.add(table)
        lines = [line, "|" + " --- |" * len(cells)] if is_head else [line]
        tail = row.tail
        row.clear()
        row.tail = tail
        for text in lines:
            row.append(row.makeelement("p"))
            row[-1].text = text
        row.tag = "div"
    for table in tree.xpath("//table[not(.//tr)]") if rows else ():
        table.tag = "div"
    return bool(rows)


def pdf_text(body: bytes, *, max_chars: int, seconds: float) -> ExtractedPage:
    """Return the text of a PDF's first MAX_PAGES pages, as far as it comes in time; needs pypdf."""
    from pypdf.errors import PyPdfError

    until = time.monotonic() + seconds
    reader, mended = open_pdf(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        return ExtractedPage(failed="page_encrypted")
    total, texts, length = len(reader.pages), [], 0
    for number in range(min(total, MAX_PAGES)):
        if length > max_chars or time.monotonic() > until:
            break
        try:
            texts.append(reader.pages[number].extract_text().strip())
        except (PyPdfError, *BROKEN):
            texts.append("")  # one broken page; the others may be whole
        length += len(texts[-1]) + 2
    title = str((reader.metadata.title if reader.metadata else "") or "")
    whole = "\n\n".join(text for text in texts if text)
    return ExtractedPage(title[:_TITLE].strip(), whole, partial=mended or len(texts) < total)


def _html_title(tree: object) -> str:
    """Return the title as shared, as shown in the tab, or the first heading."""
    for path in (
        "//meta[@property='og:title']/@content",
        "//title//text()",
        "//h1//text()",
    ):
        nodes = tree.xpath(path)  # type: ignore[attr-defined]
        words = " ".join(" ".join(str(part) for part in nodes[:20]).split())
        if words:
            return words[:_TITLE]
    return ""


_DAYS = (
    "//meta[@property='article:published_time']/@content",
    "//*[@itemprop='datePublished']/@content",
    "//*[@itemprop='datePublished']/@datetime",
    "//meta[translate(@name, 'DATE', 'date')='date' or @name='DC.date.issued']/@content",
)
_DAY = len("2025-11-13")


def _published(tree: object) -> str:
    """Return the day on which a page says that it was published."""
    for path in _DAYS:
        for told in tree.xpath(path)[:1]:  # type: ignore[attr-defined]
            with suppress(ValueError):
                return str(date.fromisoformat(str(told).strip()[:_DAY]))
    return ""


def _html_links(tree: object) -> dict[str, str]:
    """Return the words of each link outside of menus, under its address as it is written."""
    links: dict[str, str] = {}
    for anchor in tree.xpath(_LINKS):  # type: ignore[attr-defined]
        address = anchor.get("href").strip()
        words = " ".join(anchor.text_content().split())[:_MAX_WORDS]
        if len(words) > 1 and len(address) <= _MAX_ADDRESS and not address.startswith("#"):
            links.setdefault(address, words)
        if len(links) == _MAX_LINKS:
            break
    return links

"""Read files of each kind as documents and their stretches, one event after the other.

Headings, paragraphs, lists and tables in reading order; scripts, styles, forms, menus and the
page's head and foot are left out. It does not look for the main text as trafilatura does.

Runs in the process that reads files (`file_worker`), which may be killed at any moment.
"""

import contextlib
import csv
import io
import logging
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from typing_extensions import TypedDict

from agent.core.strings import valid_text
from agent.evidence.markdown import link_url
from agent.knowledge.markup import (
    MAX_HEADING,
    front_title,
    heading_level,
    markdown_blocks,
    plain_blocks,
)
from agent.knowledge.split import Block, Sections, Stretch, pack_units, split
from agent.reading.encoding import Encoding, UnknownEncoding, encoding_of, encoding_of_file
from agent.reading.extract import page_text
from agent.reading.pdf import BROKEN, open_pdf

KINDS: Mapping[str, str] = {
    ".pdf": "pdf",
    ".md": "markdown", ".markdown": "markdown", ".mkd": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".txt": "text", ".text": "text",
    ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
MAX_BYTES: Mapping[str, int] = {
    "pdf": 1 << 30,
    "csv": 1 << 30,
    "markdown": 32 << 20,
    "text": 32 << 20,
    "html": 16 << 20,
}
"""A file beyond these is too large."""
_BATCH = 64
_MOST_BAD = 0.1
_HEAD = 1024


class ReadEvent(TypedDict, total=False):
    """Hold one of: a document begins, stretches of it, a page is done, the file cannot be read."""

    document: dict[str, Any]
    """title, url, layer, metadata; `row` where a file holds many documents."""
    chunks: list[tuple[str, tuple[str, ...], int | None]]
    page: int
    unread: str
    """Why this page gave no text, as a predicate: key of UNREAD."""
    failed: str
    """A code of FAILURES."""
    note: str


class CannotRead(Exception):
    """Refuse a file, with a code of FAILURES."""


FAILURES: Mapping[str, str] = {
    "page_unreadable": "it is broken",
    "page_encrypted": "it needs a password",
    "page_too_complex": "it needs more memory than it gets",
    "page_empty": "there is no text in it",
    "page_kind": "this type of file is not read",
    "page_encoding": "it is no text in an encoding that is known; save it as UTF-8",
    "page_is_html": "it is a web page under another name; name it .html",
    "page_is_pdf": "it is a PDF under another name; name it .pdf",
    "too_large": "it is too large",
    "timeout": "it took too long",
    "file_unreadable": "it cannot be opened",
    "embedding_failed": "its vectors could not be made",
}


UNREAD: Mapping[str, tuple[str, str]] = {
    "blank": ("has no text", "have no text"),
    "broken": ("could not be read", "could not be read"),
}
"""Of one page, of several."""


def kind_of(path: Path) -> str | None:
    """Return the kind a file's name says; None for one that is not read."""
    return KINDS.get(path.suffix.lower())


def read_events(path: str, kind: str, first: int = 1) -> Iterator[ReadEvent]:
    """Yield the events of a file; `first` is the page of a PDF to begin with. Raises CannotRead."""
    _check_kind(path, kind)
    if kind == "pdf":
        yield from read_pdf(path, first)
    elif kind == "csv":
        yield from read_table(path)
    else:
        with open(path, "rb") as file:
            body = file.read(MAX_BYTES[kind] + 1)
        yield from _READERS[kind](body, title_of(path))


def title_of(path: str) -> str:
    """Return a file's name as a title."""
    stem = valid_text(os.fsencode(Path(path).stem).decode("utf-8", "replace"))
    return " ".join(re.sub(r"[_]+", " ", stem).split()) or "untitled"


def one_document(title: str, pieces: Iterable[Stretch]) -> Iterator[ReadEvent]:
    """Yield a file that is one text."""
    yield ReadEvent(document={"title": title, "url": None, "layer": "upper", "metadata": {}})
    yield from batches(pieces)


def batches(pieces: Iterable[Stretch]) -> Iterator[ReadEvent]:
    """Yield stretches as events, without those of only spaces."""
    waiting: list[tuple[str, tuple[str, ...], int | None]] = []
    for piece in pieces:
        waiting.append((piece.text, piece.headings, piece.page))
        if len(waiting) >= _BATCH:
            yield ReadEvent(chunks=waiting)
            waiting = []
    if waiting:
        yield ReadEvent(chunks=waiting)


def _check_kind(path: str, kind: str) -> None:
    """Raise CannotRead for a file whose first bytes say that its name is another kind's."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if b"%PDF-" in head:
        if kind != "pdf" and head.startswith(b"%PDF-"):
            raise CannotRead("page_is_pdf")
    elif kind == "pdf" and head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML):
        raise CannotRead("page_is_html")


_HTML = (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")


def text_of(body: bytes) -> tuple[str, str]:
    """Return a file's bytes as text, and a note where its encoding was guessed or not all fits.

    Raises CannotRead.
    """
    if not body.strip(b"\x00 \t\r\n"):
        raise CannotRead("page_empty")
    try:
        encoding = encoding_of(body)
    except UnknownEncoding:
        raise CannotRead("page_encoding") from None
    text = body.decode(encoding.codec, "replace")
    bad = text.count("\ufffd")
    if bad > len(text) * _MOST_BAD:
        raise CannotRead("page_encoding")
    return valid_text(text.removeprefix("\ufeff")), _note_on(encoding, bad)


def _note_on(encoding: Encoding, bad: int) -> str:
    guess = f"read as {encoding.name}" if encoding.name else ""
    return "; ".join(filter(None, (guess, f"{bad} characters could not be read" if bad else "")))


def _noted(events: Iterator[ReadEvent], note: str) -> Iterator[ReadEvent]:
    yield from events
    if note:
        yield ReadEvent(note=note)


def _read_markdown(body: bytes, name: str) -> Iterator[ReadEvent]:
    text, note = text_of(body)
    title, text = front_title(text)
    return _noted(markdown_events(text, title, name), note)


def markdown_events(text: str, front: str, name: str) -> Iterator[ReadEvent]:
    """Yield a Markdown text; its title is the one said, else its first heading, else the name."""
    blocks = list(markdown_blocks(text))
    if not blocks:
        raise CannotRead("page_empty")
    first = next((block.text for block in blocks if block.level == 1), "")
    title = front or first or name
    yield from one_document(title, split(blocks, Sections(title)))


def _read_text(body: bytes, name: str) -> Iterator[ReadEvent]:
    text, note = text_of(body)
    return _noted(one_document(name, split(plain_blocks(text), Sections(name))), note)


def _read_html(body: bytes, name: str) -> Iterator[ReadEvent]:
    if not body.strip(b"\x00 \t\r\n"):
        raise CannotRead("page_empty")
    markup = valid_text(page_text(body, "text/html"))
    if markup.count("\ufffd") > len(markup) * _MOST_BAD:
        raise CannotRead("page_encoding")
    from agent.reading.extractors import whole_html

    page = whole_html(markup)
    if page.failed:
        raise CannotRead(page.failed)
    yield from markdown_events(valid_text(page.text), valid_text(page.title), name)


_READERS = {"markdown": _read_markdown, "text": _read_text, "html": _read_html}


_NAMES = (
    "organization_name", "company_name", "company", "name", "org_name",
    "公司名称", "企业名称", "公司", "名称", "公司简称", "简称",
)  # fmt: skip
_COMPANY_COLUMNS = """
short_description description full_description industries industry category_list
category_groups_list founded_on founded_date founded_year headquarters_location headquarters
homepage_url website cb_url crunchbase_url employee_count number_of_employees total_funding
total_funding_usd last_funding_type operating_status company_type legal_name stock_symbol
founders num_funding_rounds
简介 公司简介 行业 所属行业 成立日期 成立时间 总部 官网 员工人数 融资总额
主营业务 经营范围 法定代表人 注册资本 股票代码
"""
_OF_COMPANIES = frozenset(_COMPANY_COLUMNS.split())
_ADDRESSES = ("homepage_url", "website", "官网", "cb_url", "crunchbase_url", "url")
_NEEDED = 2
"""Columns besides the name that make a table one of companies."""
_MAX_FIELD, _MAX_FIELDS = 20_000, 200
_CUT = "row {number} was cut, maybe others, too; does a quotation mark in it never end?"
_MAX_METADATA = 1_000
_PROBE = 1 << 20
_DELIMITERS = ",\t;|"


def read_table(path: str) -> Iterator[ReadEvent]:
    """Yield a row of companies has layer base and its fields as metadata; raises CannotRead."""
    csv.field_size_limit(1 << 22)
    with open(path, "rb") as file:
        encoding = _encoding_of(file)
        probe = file.read(_PROBE).decode(encoding.codec, "replace")
        file.seek(0)
        text = io.TextIOWrapper(file, encoding=encoding.codec, errors="replace", newline="")
        try:
            rows = _Rows(csv.reader(text, delimiter=_delimiter(probe, path)))
            yield from _events(rows, path)
            if note := _note_on(encoding, rows.bad):
                yield ReadEvent(note=note)
            if rows.cut:
                yield ReadEvent(note=_CUT.format(number=rows.cut))
        except csv.Error:
            raise CannotRead("page_unreadable") from None


class _Rows:
    """Hold rows, the first that does not fit into what is kept of one, and unread characters."""

    def __init__(self, rows: Iterator[list[str]]) -> None:
        self._rows = enumerate(rows, 1)
        self.cut = 0
        self.bad = 0

    def __iter__(self) -> "_Rows":
        return self

    def __next__(self) -> list[str]:
        number, row = next(self._rows)
        if not self.cut and (len(row) > _MAX_FIELDS or max(map(len, row), default=0) > _MAX_FIELD):
            self.cut = number
        self.bad += sum(cell.count("\ufffd") for cell in row)
        return row


def _events(rows: Iterator[list[str]], path: str) -> Iterator[ReadEvent]:
    header = next((row for row in rows if any(cell.strip() for cell in row)), [])
    columns = [valid_text(cell).strip() for cell in header][:_MAX_FIELDS]
    name = _name_column(columns)
    if name is None:
        yield from _plain_table(columns, rows, title_of(path))
    else:
        yield from _companies(columns, name, rows)


def _name_column(columns: list[str]) -> int | None:
    """Return the column of the company's name; None for any other table."""
    keys = [_key(column) for column in columns]
    if len(_OF_COMPANIES.intersection(keys)) < _NEEDED:
        return None
    return next((keys.index(name) for name in _NAMES if name in keys), None)


def _key(column: str) -> str:
    return re.sub(r"[\s\-]+", "_", column.strip().casefold())


def _companies(columns: list[str], name: int, rows: Iterator[list[str]]) -> Iterator[ReadEvent]:
    for number, row in enumerate(rows, 1):
        cells = [valid_text(cell).strip()[:_MAX_FIELD] for cell in row[:_MAX_FIELDS]]
        if len(cells) <= name or not cells[name]:
            continue
        fields = {
            column: cell for column, cell in zip(columns, cells, strict=False) if cell and column
        }
        title = " ".join(cells[name].split())[:300]
        metadata = {column: cell[:_MAX_METADATA] for column, cell in fields.items()}
        document = {"title": title, "url": _address(fields), "layer": "base", "metadata": metadata}
        yield ReadEvent(document={**document, "row": number})
        lines = [Block(f"{column}: {cell}") for column, cell in fields.items()]
        yield from batches(Stretch(_lines(text), (title,)) for text in pack_units(lines))


def _lines(text: str) -> str:
    return text.replace("\n\n", "\n")


def _address(fields: Mapping[str, str]) -> str | None:
    by_key = {_key(column): cell for column, cell in fields.items()}
    for key in _ADDRESSES:
        value = by_key.get(key, "")
        if value and (url := link_url(value if "://" in value else f"https://{value}")):
            return url
    return None


def _plain_table(columns: list[str], rows: Iterator[list[str]], title: str) -> Iterator[ReadEvent]:
    """Yield rows as lines of `column: value`, as many as fit into a stretch, never cut."""
    document: dict[str, Any] = {"title": title, "url": None, "layer": "base", "metadata": {}}
    yield ReadEvent(document=document)
    lines = (Block(line, table=True) for line in _rows_as_lines(columns, rows))
    waiting: list[Block] = []
    for line in lines:
        waiting.append(line)
        if len(waiting) >= 256:
            yield from batches(Stretch(_lines(text), (title,)) for text in pack_units(waiting))
            waiting = []
    yield from batches(Stretch(_lines(text), (title,)) for text in pack_units(waiting))


def _rows_as_lines(columns: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    for row in rows:
        cells = [" ".join(valid_text(cell).split())[:_MAX_FIELD] for cell in row[:_MAX_FIELDS]]
        named = zip([*columns, *[""] * len(cells)], cells, strict=False)
        parts = [f"{column}: {cell}" if column else cell for column, cell in named if cell]
        if parts:
            yield "; ".join(parts)


def _encoding_of(file: BinaryIO) -> Encoding:
    if not file.read(_PROBE).strip():
        raise CannotRead("page_empty")
    file.seek(0)
    try:
        return encoding_of_file(file)
    except UnknownEncoding:
        raise CannotRead("page_encoding") from None


def _delimiter(text: str, path: str) -> str:
    """Return the one that the first lines have most often, where they have it equally often."""
    if Path(path).suffix.lower() == ".tsv":
        return "\t"
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    first = lines[0] if lines else ""
    return max(_DELIMITERS, key=first.count)


_FORGET = 50
"""Pages after which what the parser keeps is dropped."""
_MAX_BOOKMARKS, _MAX_DEPTH = 2000, 4
_MAX_CHARS = 40_000_000
_NO_TITLE = re.compile(
    r"untitled|microsoft (word|powerpoint|excel)|\.(docx?|tex|dvi|indd|pptx?|xlsx?|qxp)$", re.I
)
_NUMBER = re.compile(r"^(?:[\d.]+|第.{1,4}[章节])[\s、.]*")
Bookmarks = dict[int, list[tuple[int, str]]]
"""By page, from 1: level and text."""


def read_pdf(path: str, first: int) -> Iterator[ReadEvent]:
    """Yield the document, then stretches and `page` after each page, `unread` if it has no text.

    Raises CannotRead.
    """
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    with open(path, "rb") as file:
        try:
            reader, mended = open_pdf(file)
            _unlock(reader)
            total, title = len(reader.pages), _title(reader) or title_of(path)
            bookmarks = _bookmarks(reader)
        except (PyPdfError, *BROKEN):
            raise CannotRead("page_unreadable") from None
        document = {"title": title, "url": None, "layer": "upper", "metadata": {"pages": total}}
        yield ReadEvent(document=document)
        if mended:
            yield ReadEvent(note=f"its end is missing; {total} pages of it were found")
        has_text = first > 1
        for event in _pages(reader, range(first, total + 1), Sections(title), bookmarks):
            has_text = has_text or "chunks" in event
            yield event
        if mended and not has_text:
            raise CannotRead("page_unreadable")


def _pages(
    reader: Any, numbers: range, sections: Sections, bookmarks: Bookmarks
) -> Iterator[ReadEvent]:
    length = 0
    for number in numbers:
        text, unread = _text(reader, number)
        length += len(text)
        marks = bookmarks.get(number, [])
        level_of = partial(_level_in, _by_wording(marks)) if bookmarks else heading_level
        for level, heading in marks:
            if not _stands_in(heading, text):
                sections.enter(level, heading)
        yield from batches(split(plain_blocks(text, level_of), sections, page=number))
        yield ReadEvent(page=number, unread=unread) if unread else ReadEvent(page=number)
        if number % _FORGET == 0:
            _forget(reader)
        if length > _MAX_CHARS:
            yield ReadEvent(note=f"only the first {number} pages were read")
            return


def _text(reader: Any, number: int) -> tuple[str, str]:
    """Return a page's text, and the key of UNREAD where there is none."""
    from pypdf.errors import PyPdfError

    try:
        text = valid_text(reader.pages[number - 1].extract_text()).strip()
    except (PyPdfError, *BROKEN):
        return "", "broken"  # one broken page; the others may be whole
    return text, "" if text else "blank"


def _unlock(reader: Any) -> None:
    """Unlock with the empty password, as every viewer does."""
    if not reader.is_encrypted:
        return
    from pypdf.errors import DependencyError

    try:
        opened = reader.decrypt("")
    except (DependencyError, NotImplementedError):
        opened = False
    if not opened:
        raise CannotRead("page_encrypted")


def _title(reader: Any) -> str:
    title = ""
    with contextlib.suppress(*BROKEN):
        title = str((reader.metadata.title if reader.metadata else "") or "")
    title = " ".join(valid_text(title).split())[:300]
    return "" if len(title) < 3 or _NO_TITLE.search(title) else title


def _bookmarks(reader: Any) -> Bookmarks:
    """Return the outline by page; an outline that is broken or huge is none."""
    bookmarks: Bookmarks = defaultdict(list)

    def walk(items: Any, level: int) -> None:
        for item in items:
            if isinstance(item, list):
                if level < _MAX_DEPTH:
                    walk(item, level + 1)
                continue
            page = reader.get_destination_page_number(item)
            text = " ".join(valid_text(str(item.title or "")).split())[:MAX_HEADING]
            if (
                page is not None
                and page >= 0
                and text
                and sum(map(len, bookmarks.values())) < _MAX_BOOKMARKS
            ):
                bookmarks[page + 1].append((level, text))

    try:
        walk(reader.outline, 1)
    except Exception:  # noqa: BLE001 - an outline is worth no document
        return {}
    return dict(bookmarks)


def _by_wording(marks: list[tuple[int, str]]) -> dict[str, int]:
    return {_wording(heading): level for level, heading in marks}


def _level_in(levels: dict[str, int], line: str) -> int:
    return levels.get(_wording(line), 0)


def _stands_in(heading: str, text: str) -> bool:
    wording = _wording(heading)
    return any(_wording(line) == wording for line in text.splitlines())


def _wording(line: str) -> str:
    return "".join(_NUMBER.sub("", line.strip()).split()).casefold()


def _forget(reader: Any) -> None:
    """Forget parsed objects, which are kept for good otherwise and read again where needed."""
    clear: Callable[[], None] | None = getattr(reader.resolved_objects, "clear", None)
    if clear:
        clear()

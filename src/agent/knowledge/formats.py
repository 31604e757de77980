"""Read files of each kind as documents and their stretches, one event after the other.

Headings, paragraphs, lists and tables in reading order; scripts, styles, forms, menus and the
page's head and foot are left out. It does not look for the main text as trafilatura does.

Runs in the process that reads files (`file_worker`), which may be killed at any moment.
"""

import contextlib
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from agent.core.strings import has_any, valid_text
from agent.knowledge.file_events import (
    ReadEvent,
    in_read_events,
    notes_on,
    one_document,
    title_from_path,
)
from agent.knowledge.markup import (
    MAX_HEADING,
    front_title,
    heading_level,
    line_blocks,
    markdown_blocks,
    plain_blocks,
)
from agent.knowledge.split import Block, Sections, split
from agent.knowledge.tables import read_table
from agent.reading.encoding import UnknownEncoding, encoding_of, page_text
from agent.reading.formats import (
    HEAD,
    KINDS,
    OF_BYTES,
    OF_FILES,
    OF_TEXT,
    is_web_page,
    kind_of_file,
)
from agent.reading.parts import CannotRead, FilePart
from agent.reading.pdf import BROKEN, open_pdf

_LARGE = 32 << 20
MAX_BYTES: Mapping[str, int] = defaultdict(
    lambda: _LARGE,
    {
        "pdf": 1 << 30,
        "csv": 1 << 30,
        "html": 16 << 20,
        **dict.fromkeys(("docx", "xlsx", "pptx", "odf", "epub"), 256 << 20),
    },
)
"""A file beyond these is too large."""
_MOST_BAD = 0.1
_MAX_CHARS = 40_000_000
_MOST_GROWTH, _LEAST_CHARS = 100, 2_000_000
"""Characters for a byte of a package, as an owner's room is counted in bytes, and of a small one.

A packed kilobyte can unfold to what fills the knowledge base."""


FAILURES: Mapping[str, str] = {
    "page_unreadable": "it is broken",
    "page_encrypted": "it needs a password",
    "page_too_complex": "it needs more memory than it gets",
    "page_empty": "there is no text in it",
    "page_kind": "this kind of file cannot be read; save it as PDF, Word, HTML or text",
    "page_encoding": "it is no text in an encoding that is known; save it as UTF-8",
    "page_is_html": "it is a web page under another name; name it .html",
    "page_is_pdf": "it is a PDF under another name; --retry reads it",
    "page_old_office": "it is a file of old Office; save it as .docx, .pptx or .eml",
    "too_large": "it is too large",
    "timeout": "it took too long",
    "file_unreadable": "it cannot be opened",
    "embedding_failed": "its vectors could not be made",
}


def file_kind(path: Path) -> str | None:
    """Return the kind of a file, by its content where that is plain, else by its name.

    None for one that is not read: pictures, sounds, programs, archives. Blocks.
    """
    try:
        with open(path, "rb") as file:
            return kind_of_file(file, path.name)
    except OSError:
        return KINDS.get(path.suffix.lower())


def read_events(path: str, kind: str, first: int = 1) -> Iterator[ReadEvent]:
    """Yield the events of a file; `first` is the page of a PDF to begin with. Raises CannotRead."""
    _refuse_page(path, kind)
    if kind == "pdf":
        yield from read_pdf(path, first)
    elif kind == "csv":
        yield from read_table(path)
    elif kind in OF_FILES:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            most = min(_MAX_CHARS, max(_LEAST_CHARS, _MOST_GROWTH * size))
            yield from _part_events(OF_FILES[kind](file), title_from_path(path), most)
    else:
        with open(path, "rb") as file:
            body = file.read(MAX_BYTES[kind] + 1)
        yield from _READERS[kind](body, title_from_path(path))
    named = KINDS.get(Path(path).suffix.lower())
    if named and named != kind:
        yield ReadEvent(note={"key": "other_kind", "kind": kind})


def _refuse_page(path: str, kind: str) -> None:
    """Raise CannotRead for a web page named .pdf: mostly a site's word that there is no PDF."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if kind == "pdf" and b"%PDF-" not in head and is_web_page(head):
        raise CannotRead("page_is_html")


def decoded_text(body: bytes) -> tuple[str, list[ReadEvent]]:
    """Return a file's bytes as text, and notes where its encoding was guessed or not all fits.

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
    return valid_text(text.removeprefix("\ufeff")), notes_on(encoding, bad)


def _read_markdown(body: bytes, name: str) -> Iterator[ReadEvent]:
    text, notes = decoded_text(body)
    title, text = front_title(text)
    return chain(markdown_events(text, title, name), notes)


def markdown_events(text: str, front: str, name: str) -> Iterator[ReadEvent]:
    """Yield a Markdown text; its title is the one said, else its first heading, else the name."""
    blocks = list(markdown_blocks(text))
    if not blocks:
        raise CannotRead("page_empty")
    first = next((block.text for block in blocks if block.level == 1), "")
    title = front or first or name
    yield from one_document(title, split(blocks, Sections(title)))


def _read_text(body: bytes, name: str) -> Iterator[ReadEvent]:
    text, notes = decoded_text(body)
    return chain(one_document(name, split(plain_blocks(text), Sections(name))), notes)


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


_BodyReader = Callable[[bytes, str], Iterator[ReadEvent]]
"""Take a file's bytes and its name."""


def _part_events(
    parts: Iterable[FilePart], name: str, most: int = _MAX_CHARS
) -> Iterator[ReadEvent]:
    """Yield a document that comes in parts; its title is the one it says, else its file's name."""
    sections, blocks, page = Sections(name), list[Block](), None
    length = flushed = 0
    for number, part in enumerate(parts):
        if not number:
            title = " ".join(valid_text(part.title).split())[:300] or name
            sections = Sections(title)
            about: dict[str, Any] = {"title": title, "url": None, "layer": "upper", "metadata": {}}
            yield ReadEvent(document=about)
        if part.note:
            values = {k: valid_text(v) if isinstance(v, str) else v for k, v in part.note.items()}
            yield ReadEvent(note=values)
        if part.page != page or length - flushed > _AT_ONCE:
            yield from in_read_events(split(blocks, sections, page=page))
            blocks, page, flushed = [], part.page, length
        text = valid_text(part.text)
        blocks.extend(line_blocks(text) if part.lines else markdown_blocks(text))
        length += len(text)
        if length > most:
            yield ReadEvent(note={"key": "first_characters", "n": most // 1_000_000})
            break
    yield from in_read_events(split(blocks, sections, page=page))


_AT_ONCE = 64_000
"""Characters of one page or sheet after which what was read of it is given."""


def _text_events(
    reader: Callable[[str], Iterable[FilePart]], body: bytes, name: str
) -> Iterator[ReadEvent]:
    text, notes = decoded_text(body)
    return chain(_part_events(reader(text), name), notes)


def _byte_events(
    reader: Callable[[bytes], Iterable[FilePart]], body: bytes, name: str
) -> Iterator[ReadEvent]:
    if not body.strip(b"\x00 \t\r\n"):
        raise CannotRead("page_empty")
    return _part_events(reader(body), name)


_READERS: Mapping[str, _BodyReader] = {
    "markdown": _read_markdown,
    "text": _read_text,
    "html": _read_html,
    **{kind: partial(_byte_events, reader) for kind, reader in OF_BYTES.items()},
    **{kind: partial(_text_events, reader) for kind, reader in OF_TEXT.items()},
}


_FORGET = 50
"""Pages after which what the parser keeps is dropped."""
_MAX_BOOKMARKS, _MAX_DEPTH = 2000, 4
_NO_TITLE = ("untitled", "microsoft word", "microsoft powerpoint", "microsoft excel")
_NO_TITLE_ENDS = (
    *(".doc", ".docx", ".tex", ".dvi", ".indd"),
    *(".ppt", ".pptx", ".xls", ".xlsx", ".qxp"),
)
_LONGEST_NUMBER = 5
"""Characters of 第十二章 without its last."""
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
            total, title = len(reader.pages), _title(reader) or title_from_path(path)
            bookmarks = _bookmarks(reader)
        except (PyPdfError, *BROKEN):
            raise CannotRead("page_unreadable") from None
        document = {"title": title, "url": None, "layer": "upper", "metadata": {"pages": total}}
        yield ReadEvent(document=document)
        if mended:
            yield ReadEvent(note={"key": "no_end", "n": total})
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
        yield from in_read_events(split(plain_blocks(text, level_of), sections, page=number))
        yield ReadEvent(page=number, unread=unread) if unread else ReadEvent(page=number)
        if number % _FORGET == 0:
            _forget(reader)
        if length > _MAX_CHARS:
            yield ReadEvent(note={"key": "first_pages", "n": number})
            return


def _text(reader: Any, number: int) -> tuple[str, str]:
    """Return a page's text, and why there is none."""
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
    plain = title.casefold()
    is_none = len(title) < 3 or has_any(plain, _NO_TITLE) or plain.endswith(_NO_TITLE_ENDS)
    return "" if is_none else title


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
    plain = "".join(line.split()).casefold()
    number, sign, rest = plain.replace("节", "章").partition("章")
    is_numbered = sign and number.startswith("第") and len(number) <= _LONGEST_NUMBER
    return (rest if is_numbered else plain).lstrip("0123456789.、")


def _forget(reader: Any) -> None:
    """Forget parsed objects, which are kept for good otherwise and read again where needed."""
    clear: Callable[[], None] | None = getattr(reader.resolved_objects, "clear", None)
    if clear:
        clear()

"""A PDF → stretches with their pages, one page after the other, in bounded memory."""

import contextlib
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agent.retrieval.formats import CannotRead, Event, batches, title_of
from agent.retrieval.markup import MAX_HEADING, heading_level, plain_blocks
from agent.retrieval.split import Sections, split
from agent.strings import valid_text

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


def read_pdf(path: str, first: int) -> Iterator[Event]:
    """Document, then stretches and `page` after each page; a page that is broken has no text.

    Raises CannotRead.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise CannotRead("docs_extra_missing") from None
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    with open(path, "rb") as file:
        try:
            reader = PdfReader(file)
            _unlock(reader)
            total, title = len(reader.pages), _title(reader) or title_of(path)
            bookmarks = _bookmarks(reader)
        except (PyPdfError, *_BROKEN):
            raise CannotRead("page_unreadable") from None
        document = {"title": title, "url": None, "layer": "upper", "metadata": {"pages": total}}
        yield Event(document=document)
        yield from _pages(reader, range(first, total + 1), Sections(title), bookmarks)


_BROKEN = (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError)
"""What a broken PDF makes the parser raise."""


def _pages(
    reader: Any, numbers: range, sections: Sections, bookmarks: Bookmarks
) -> Iterator[Event]:
    length = 0
    for number in numbers:
        text = _text(reader, number)
        length += len(text)
        marks = bookmarks.get(number, [])
        level_of = partial(_level_in, _by_wording(marks)) if bookmarks else heading_level
        for level, heading in marks:
            if not _stands_in(heading, text):
                sections.enter(level, heading)
        yield from batches(split(plain_blocks(text, level_of), sections, page=number))
        yield Event(page=number)
        if number % _FORGET == 0:
            _forget(reader)
        if length > _MAX_CHARS:
            yield Event(note=f"only the first {number} pages were read")
            return


def _text(reader: Any, number: int) -> str:
    from pypdf.errors import PyPdfError

    try:
        return valid_text(reader.pages[number - 1].extract_text()).strip()
    except (PyPdfError, *_BROKEN):
        return ""  # one broken page; the others may be whole


def _unlock(reader: Any) -> None:
    """With the empty password, as every viewer does."""
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
    said = ""
    with contextlib.suppress(*_BROKEN):
        said = str((reader.metadata.title if reader.metadata else "") or "")
    title = " ".join(valid_text(said).split())[:300]
    return "" if len(title) < 3 or _NO_TITLE.search(title) else title


def _bookmarks(reader: Any) -> Bookmarks:
    """The outline by page; an outline that is broken or huge is none."""
    found: Bookmarks = defaultdict(list)

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
                and sum(map(len, found.values())) < _MAX_BOOKMARKS
            ):
                found[page + 1].append((level, text))

    try:
        walk(reader.outline, 1)
    except Exception:  # noqa: BLE001 - an outline is worth no document
        return {}
    return dict(found)


def _by_wording(marks: list[tuple[int, str]]) -> dict[str, int]:
    return {_wording(heading): level for level, heading in marks}


def _level_in(known: dict[str, int], line: str) -> int:
    return known.get(_wording(line), 0)


def _stands_in(heading: str, text: str) -> bool:
    wanted = _wording(heading)
    return any(_wording(line) == wanted for line in text.splitlines())


def _wording(line: str) -> str:
    return "".join(_NUMBER.sub("", line.strip()).split()).casefold()


def _forget(reader: Any) -> None:
    """Parsed objects are kept for good otherwise; they are read again where they are needed."""
    kept: Callable[[], None] | None = getattr(reader.resolved_objects, "clear", None)
    if kept:
        kept()

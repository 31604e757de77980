"""Files of each kind → documents and their stretches, one event after the other.

Runs in the process that reads files (`file_worker`), which may be killed at any moment.
"""

import importlib.util
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from agent.reading.decoding import page_text
from agent.retrieval.markup import front_title, markdown_blocks, plain_blocks
from agent.retrieval.split import Piece, Sections, split
from agent.strings import valid_text

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
_HEAD = 4096
_HIGH = re.compile(rb"[\x80-\xff]")
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")


class Event(TypedDict, total=False):
    """One of: a document begins, stretches of it, a page is done, the file cannot be read."""

    document: dict[str, Any]
    """title, url, layer, metadata; `row` where a file holds many documents."""
    chunks: list[tuple[str, tuple[str, ...], int | None]]
    page: int
    failed: str
    """A code of FAILURES."""
    note: str


class CannotRead(Exception):
    """What is wrong with the file, as a code of FAILURES."""


FAILURES: Mapping[str, str] = {
    "page_unreadable": "it is broken",
    "page_encrypted": "it needs a password",
    "page_too_complex": "it needs more memory than it gets",
    "page_empty": "there is no text in it",
    "page_kind": "this type of file is not read",
    "too_large": "it is too large",
    "timeout": "it took too long",
    "docs_extra_missing": "reading PDF needs the extra tanlu[docs]",
    "file_unreadable": "it cannot be opened",
    "embedding_failed": "its vectors could not be made",
}


def kind_of(path: Path) -> str | None:
    """The kind a file's name says; None for one that is not read."""
    return KINDS.get(path.suffix.lower())


def read(path: str, kind: str, first: int = 1) -> Iterator[Event]:
    """The events of a file; `first` is the page of a PDF to begin with. Raises CannotRead."""
    if kind == "pdf":
        from agent.retrieval.pdf_pages import read_pdf

        yield from read_pdf(path, first)
    elif kind == "csv":
        from agent.retrieval.tables import read_table

        yield from read_table(path)
    else:
        with open(path, "rb") as file:
            body = file.read(MAX_BYTES[kind] + 1)
        yield from _READERS[kind](body, title_of(path))


def title_of(path: str) -> str:
    """A file's name as a title."""
    stem = valid_text(os.fsencode(Path(path).stem).decode("utf-8", "replace"))
    return " ".join(re.sub(r"[_]+", " ", stem).split()) or "untitled"


def one_document(title: str, pieces: Iterable[Piece]) -> Iterator[Event]:
    """A file that is one text."""
    yield Event(document={"title": title, "url": None, "layer": "upper", "metadata": {}})
    yield from batches(pieces)


def batches(pieces: Iterable[Piece]) -> Iterator[Event]:
    """Stretches as events; what is only spaces is none."""
    waiting: list[tuple[str, tuple[str, ...], int | None]] = []
    for piece in pieces:
        waiting.append((piece.text, piece.headings, piece.page))
        if len(waiting) >= _BATCH:
            yield Event(chunks=waiting)
            waiting = []
    if waiting:
        yield Event(chunks=waiting)


def text_of(body: bytes, content_type: str = "text/plain") -> str:
    """A file's bytes as text: UTF-8, UTF-16, GB18030, else Western; raises CannotRead."""
    if not body.strip(b"\x00 \t\r\n"):
        raise CannotRead("page_empty")
    codec = _wide(body[:_HEAD])
    if codec:
        return valid_text(body.decode(codec, "replace"))
    if b"\x00" in body[:_HEAD] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CannotRead("page_unreadable")
    if is_western(body):
        return valid_text(body.decode("cp1252", "replace"))
    text = page_text(body, content_type)
    if text.count("\ufffd") > len(text) * _MOST_BAD:
        raise CannotRead("page_unreadable")
    return valid_text(text)


def is_western(body: bytes) -> bool:
    """Letters with accents among plain ones, which GB18030 would take for Chinese in part."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(body) - 4:
            return False  # cut within a character
    else:
        return False
    head = body[: 1 << 16]
    high = len(_HIGH.findall(head))
    return len(_ALONE.findall(head)) > high / 2 and high < 0.3 * len(head)


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark at its start: every other byte of its Latin part is zero."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or len(head) < 4:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) / 2
    if odd > 0.3 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.3 * half and odd < 0.05 * half else None


def _read_markdown(body: bytes, name: str) -> Iterator[Event]:
    said, text = front_title(text_of(body))
    return markdown_events(text, said, name)


def markdown_events(text: str, said: str, name: str) -> Iterator[Event]:
    """A Markdown text; its title is the one said, else its first heading, else the name."""
    blocks = list(markdown_blocks(text))
    if not blocks:
        raise CannotRead("page_empty")
    first = next((block.text for block in blocks if block.level == 1), "")
    title = said or first or name
    yield from one_document(title, split(blocks, Sections(title)))


def _read_text(body: bytes, name: str) -> Iterator[Event]:
    blocks = plain_blocks(text_of(body))
    yield from one_document(name, split(blocks, Sections(name)))


def _read_html(body: bytes, name: str) -> Iterator[Event]:
    markup = text_of(body, "text/html")
    if importlib.util.find_spec("trafilatura"):
        from agent.reading.texts import html_text

        found = html_text(markup)
        if found.failed:
            raise CannotRead(found.failed)
        title, text = found.title, found.text
    else:
        from agent.retrieval.plain_html import outline

        title, text = outline(io.StringIO(markup))
    yield from markdown_events(valid_text(text), valid_text(title), name)


_READERS = {"markdown": _read_markdown, "text": _read_text, "html": _read_html}

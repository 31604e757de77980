"""Hold what reading a file yields, one event after the other."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from agent.core.strings import valid_text
from agent.knowledge.split import Stretch
from agent.reading.encoding import Encoding
from agent.reading.parts import Note

_BATCH = 64


class ReadEvent(TypedDict, total=False):
    """Hold one of: a document begins, stretches of it, a page is done, the file cannot be read."""

    document: dict[str, Any]
    """title, url, layer, metadata; `row` where a file holds many documents."""
    chunks: list[tuple[str, tuple[str, ...], int | None]]
    page: int
    unread: str
    """Why this page gave no text: blank or broken."""
    failed: str
    """A code of FAILURES."""
    note: Note


def title_from_path(path: str) -> str:
    """Return a file's name as a title."""
    stem = valid_text(os.fsencode(Path(path).stem).decode("utf-8", "replace"))
    return " ".join(stem.replace("_", " ").split()) or "untitled"


def one_document(title: str, pieces: Iterable[Stretch]) -> Iterator[ReadEvent]:
    """Yield a file that is one text."""
    yield ReadEvent(document={"title": title, "url": None, "layer": "upper", "metadata": {}})
    yield from in_read_events(pieces)


def in_read_events(pieces: Iterable[Stretch]) -> Iterator[ReadEvent]:
    """Yield stretches as events, without those of only spaces."""
    waiting: list[tuple[str, tuple[str, ...], int | None]] = []
    for piece in pieces:
        waiting.append((piece.text, piece.headings, piece.page))
        if len(waiting) >= _BATCH:
            yield ReadEvent(chunks=waiting)
            waiting = []
    if waiting:
        yield ReadEvent(chunks=waiting)


def notes_on(encoding: Encoding, bad: int) -> list[ReadEvent]:
    """Return what to say of a text whose encoding was guessed, or of which not all fits."""
    guess = [ReadEvent(note={"key": "encoding", "name": encoding.name})] if encoding.name else []
    return guess + ([ReadEvent(note={"key": "bad_characters", "n": bad})] if bad else [])

"""Hold what readers of files give: parts of a document as Markdown or as lines that stay."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.texts import Language, say

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of Office before 2007 begin, and those of today that have a password."""
MAX_CELLS, MAX_CELL = 200, 20_000
"""Cells of a row and characters of a cell that are kept."""
_ROWS = 200
"""Rows of a table in one part, so that a sheet of a million rows is read in passing."""


class CannotRead(Exception):
    """Refuse a file, with a code of `knowledge.formats.FAILURES`."""


Note = Mapping[str, str | int]
"""What a reader of a document should know: `key` of `reading.notes`, and its values."""


def note_text(notes: Iterable[Note], language: Language) -> str:
    """Return notes in words, each once."""
    said = dict.fromkeys(_said(note, language) for note in notes)
    return say("punctuation.semicolon", language).join(said)


def _said(note: Note, language: Language) -> str:
    values = {name: value for name, value in note.items() if name != "key"}
    return say(f"reading.notes.{note['key']}", language, **values)


@dataclass(frozen=True)
class FilePart:
    """Hold a part of a document; an empty text only tells the title or a note."""

    text: str = ""
    page: int | None = None
    """The slide or page it stands on, from 1."""
    lines: bool = False
    """Its lines stay as they are (code, records); otherwise it is Markdown."""
    title: str = ""
    """Of the whole document, where it says one; given before any text."""
    note: Note | None = None


def row_text(cells: Sequence[str]) -> str:
    """Return cells as a row of Markdown.

    >>> row_text(["a", "b | c"])
    '| a | b \\\\| c |'
    """
    kept = (" ".join(cell[:MAX_CELL].split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(kept)} |"


def table_parts(rows: Iterable[Sequence[str]], *, page: int | None = None) -> Iterator[FilePart]:
    """Yield rows as tables under their first row; lines above it with one cell are its captions."""
    head, waiting, given = "", list[str](), False
    for row in rows:
        cells = list(row[:MAX_CELLS])
        while cells and not cells[-1].strip():
            cells.pop()
        if not any(cell.strip() for cell in cells):
            continue
        filled = [cell for cell in cells if cell.strip()]
        if not head and len(filled) == 1:
            yield FilePart(" ".join(filled[0].split()), page)
        elif not head:
            head = f"{row_text(cells)}\n|{'---|' * len(cells)}"
        else:
            waiting.append(row_text(cells))
        if len(waiting) >= _ROWS:
            yield FilePart("\n".join([head, *waiting]), page)
            waiting, given = [], True
    if waiting or (head and not given):
        yield FilePart("\n".join([head, *waiting]), page)

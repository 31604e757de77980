"""Read the tables of a text: their cells, and where each stands; put other words in places."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.core.strings import is_table_rule

Change = tuple[int, int, str]
"""Where words begin and end, and what stands in their place."""
_MOST_ROWS, _LONGEST_SIGN = 60, 60


@dataclass(frozen=True)
class TableCell:
    """The words of a cell, and where they begin."""

    text: str
    start: int


CellRow = list[TableCell]


def tables_in(text: str) -> Iterator[list[CellRow]]:
    """Yield the tables of a text, row by row, the head first."""
    rows, at = list[CellRow](), 0
    for line in [*text.splitlines(keepends=True), ""]:
        if line.lstrip().startswith("|"):
            if not is_table_rule(line) and len(rows) < _MOST_ROWS:
                rows.append([*cells_of(line, at)])
        elif rows:
            yield rows
            rows = []
        at += len(line)


def cells_of(line: str, at: int) -> Iterator[TableCell]:
    """Yield the cells of a row that begins at a place in its text, without the blanks around."""
    begin = line.index("|") + 1
    # A bar behind a backslash is one of the cell's own.
    bare = line.replace("\\|", "\\\0").rstrip().removesuffix("|")
    for hidden in bare[begin:].split("|"):
        part = hidden.replace("\\\0", "\\|")
        text = part.strip()
        yield TableCell(text, at + begin + (part.index(text) if text else 0))
        begin += len(part) + 1


def changed(text: str, changes: Iterable[Change]) -> str:
    """Return a text with changes, which come in its order."""
    parts, at = list[str](), 0
    for start, end, words in changes:
        parts += [text[at:start], words]
        at = end
    return "".join([*parts, text[at:]])


def signs_in(text: str, begin: str) -> Iterator[tuple[int, int, str]]:
    """Yield where the signs of a text begin and end that begin so, and what else is in them."""
    start = text.find(begin)
    while start >= 0:
        end = text.find("]", start, start + _LONGEST_SIGN) + 1
        inside = text[start + len(begin) : end - 1]
        if end and "\n" not in inside:
            yield start, end, inside.strip()
        start = text.find(begin, start + 1)

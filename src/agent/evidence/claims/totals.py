"""Add up the columns of a table whose last row says that it is their total."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from agent.core.patterns import Linear
from agent.core.strings import letters_of, split_at
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, figures

_TOTAL = Linear(
    r"[^\p{L}\p{N}]*(?:(?:grand |sub)?total|sum|altogether|in all|gesamt|insgesamt|somme"
    r"|suma|итого|всего|合计|合計|总计|總計|总额|總額|共计|总共|小计|합계|المجموع)",
    ignore_case=True,
)
_MORE = 8
"""Letters that may follow: of costs, not over the whole term of a contract."""
_EQUALS = "=＝≈"
_MOST_ROWS, _LEAST, _MOST_TIMES, _NEARLY = 60, 2, 60, 1


def wrong_totals(cells: Iterable[Statement]) -> dict[int, tuple[Figure, Decimal]]:
    """Return the totals that are not what the rows above them add up to, by where they begin.

    Right is also what some rows in a row add up to, as above a total that is part of another one,
    and so many times the sum of all: a price a head, and the total for four. A column with anything
    but one figure of one unit a cell is left alone.
    """
    columns: dict[tuple[int, str], list[Statement]] = {}
    for cell in cells:
        if cell.kind == "cell":
            columns.setdefault((cell.block, cell.head), []).append(cell)
    return dict(wrong for column in columns.values() for wrong in _of_column(column))


def _of_column(column: Sequence[Statement]) -> Iterator[tuple[int, tuple[Figure, Decimal]]]:
    above = list[Figure | None]()
    if len({cell.line for cell in column}) < len(column):
        # Two columns have one head.
        return
    for cell in column[:_MOST_ROWS]:
        is_readable, figure = _read(cell)
        if not is_readable:
            return
        if figure and _is_total(cell.row) and (total := _unlike(figure, above)) is not None:
            yield cell.start, (figure, total)
        above.append(figure)


def _is_total(label: str) -> bool:
    """Return whether a row is the total of those above, and not of so many years or people."""
    named = _TOTAL.match(label)
    rest = label[named.end() :] if named else ""
    return named is not None and len(letters_of(rest)) <= _MORE and not figures(rest)


def _read(cell: Statement) -> tuple[bool, Figure | None]:
    """Return whether a cell has at most one figure, what a sum in it gives; and that."""
    *sums, told = split_at(cell.plain, _EQUALS)
    found = figures(told)
    if len(found) > 1 or (sums and not found) or any(f.date or f.clock is not None for f in found):
        return False, None
    return True, found[0] if found else None


def _unlike(total: Figure, above: Sequence[Figure | None]) -> Decimal | None:
    """Return what the figures above add up to, where that is not what is told."""
    rows = [figure for figure in above if figure]
    if len(rows) < _LEAST or len({(f.kind, f.scale, f.per) for f in (*rows, total)}) > 1:
        return None
    values, told = [figure.value for figure in rows], total.value
    for first in range(len(values)):
        added = Decimal(0)
        for value in values[first:]:
            added += value
            if abs(added - told) < _NEARLY:
                return None
    whole = sum(values, Decimal(0))
    times = told / whole if whole else Decimal(0)
    is_multiple = times == int(times) and 1 < times <= _MOST_TIMES
    return None if is_multiple or whole <= 0 else whole

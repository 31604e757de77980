"""Work out the totals of a table: of columns under them, and of rows across their cells."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, groupby, pairwise
from operator import add, mul

from agent.core.patterns import Linear
from agent.core.strings import has_any, letters_of, split_at
from agent.evidence.claims.formulas import tells
from agent.evidence.claims.shown_sums import bare_sum
from agent.evidence.claims.statements import Key, Statement
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
_MOST_CELLS, _MOST_COLUMNS = 600, 8


def wrong_totals(cells: Iterable[Statement]) -> dict[int, tuple[Figure, Decimal]]:
    """Return the totals that are not what the rows above them add up to, by where they begin.

    Right is also what some rows in a row add up to, as above a total that is part of another one,
    and so many times the sum of all: a price a head, and the total for four. A column with anything
    but one figure of one unit a cell is left alone.
    """
    own = [cell for cell in cells if cell.kind == "cell"]
    tables = groupby(own, lambda cell: cell.block)
    across = dict(wrong for _, table in tables for wrong in _across([*table]))
    return across | dict(one for column in _columns(own) for one in _of_column(column, across))


def outdated_totals(
    before: Iterable[Statement], after: Iterable[Statement]
) -> dict[Key, tuple[Figure, Decimal]]:
    """Return the totals that were what all rows above them give, and are no longer.

    They stayed while a row came in, went or told another figure.
    """
    right = {cell.key for cell, told, whole in _wholes(before) if abs(whole - told.value) < _NEARLY}
    return {
        cell.key: (told, whole)
        for cell, told, whole in _wholes(after)
        if cell.key in right and abs(whole - told.value) >= _NEARLY
    }


def _wholes(cells: Iterable[Statement]) -> Iterator[tuple[Statement, Figure, Decimal]]:
    """Yield each total with its figure and what all rows above it add up to."""
    for column in _columns(cells):
        above = list[Figure]()
        for cell in column[:_MOST_ROWS]:
            is_readable, figure = _read(cell)
            if not is_readable:
                break
            if figure and _is_total(cell.row) and len(above) >= _LEAST:
                if len({(f.kind, f.scale, f.per) for f in (*above, figure)}) == 1:
                    yield cell, figure, sum((f.value for f in above), Decimal(0))
                break
            above += [figure] if figure else []


def _columns(cells: Iterable[Statement]) -> list[list[Statement]]:
    columns: dict[tuple[int, str], list[Statement]] = {}
    for cell in cells:
        if cell.kind == "cell":
            columns.setdefault((cell.block, cell.head), []).append(cell)
    return [*columns.values()]


def _across(table: Sequence[Statement]) -> Iterator[tuple[int, tuple[Figure, Decimal]]]:
    """Yield the cells that are not what those before them in their row give.

    Before them stands a sum (4 × 14 | 52), or in all other rows, three at least, two columns give
    the third one.
    """
    rows = [[*cells] for _, cells in groupby(table[:_MOST_CELLS], lambda cell: cell.line)]
    for cell, behind in (pair for row in rows for pair in pairwise(row)):
        result, told = bare_sum(cell.plain), figures(behind.plain)
        is_alone = result is not None and len(told) == 1 and not has_any(behind.plain, _EQUALS)
        if result and is_alone and not tells(told[0], result, behind.plain):
            yield behind.start, (told[0], result)
    numbers = [{cell.head: (cell, figure) for cell in row if (figure := _read(cell)[1])}
               for row in rows if not _is_total(row[-1].row)]  # fmt: skip
    heads = list(dict.fromkeys(cell.head for cell in table))[:_MOST_COLUMNS]
    for columns in combinations(heads, 3) if all(map(_has_one_of_each, rows)) else ():
        whole = [[row[head] for head in columns] for row in numbers if {*columns} <= row.keys()]
        yield from _exception(whole, mul)
        yield from _exception(whole, add)


def _has_one_of_each(row: Sequence[Statement]) -> bool:
    return len({cell.head for cell in row}) == len(row)


def _exception(
    rows: Sequence[Sequence[tuple[Statement, Figure]]],
    operate: Callable[[Decimal, Decimal], Decimal],
) -> Iterator[tuple[int, tuple[Figure, Decimal]]]:
    """Yield the one third cell that is not what the first two give, as they do in all other rows.

    Nothing is seen in numbers that stay as they are, times one or and nothing.
    """
    wrong = list[tuple[int, tuple[Figure, Decimal]]]()
    for (_, one), (_, other), (cell, told) in rows:
        result = operate(one.value, other.value)
        if result in (one.value, other.value):
            return
        if not tells(told, result, cell.plain):
            wrong.append((cell.start, (told, result)))
    if len(wrong) == 1 and len(rows) > _LEAST:
        yield from wrong


def _of_column(
    column: Sequence[Statement], mended: Mapping[int, tuple[Figure, Decimal]]
) -> Iterator[tuple[int, tuple[Figure, Decimal]]]:
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
        _, right = mended.get(cell.start, (figure, None))
        above.append(replace(figure, value=right) if figure and right is not None else figure)


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

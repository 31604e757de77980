"""Find the totals that a revision of their table has left behind."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from agent.core.strings import split_at
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.statements import Key, Statement
from agent.evidence.claims.sums import rewritten
from agent.evidence.figures import Figure, figures

_MOST_ROWS, _LEAST, _NEARLY = 60, 2, 1


def outdated_totals(before: Iterable[Statement], after: Iterable[Statement]) -> dict[Key, Outcome]:
    """Return the outcomes of cells that were what all rows above them give, and are no longer.

    They stayed while a row came in, went or told another figure.
    """
    were = {cell.key for cell, told, whole in _wholes(before) if abs(whole - told.value) < _NEARLY}
    found = dict[Key, Outcome]()
    for cell, told, whole in _wholes(after):
        if cell.key in were and abs(whole - told.value) >= _NEARLY:
            better = rewritten(told, whole)
            right = ((told.text, better),) if better else ()
            value = f"{whole.normalize():,f}"
            found[cell.key] = Outcome("missing", (told.text,), value=value, right=right)
    return found


def _wholes(cells: Iterable[Statement]) -> Iterator[tuple[Statement, Figure, Decimal]]:
    """Yield each cell with what all rows above it add up to, where all are of one unit."""
    columns: dict[tuple[int, str], list[Statement]] = {}
    for cell in cells:
        if cell.kind == "cell":
            columns.setdefault((cell.block, cell.head), []).append(cell)
    for column in columns.values():
        above = list[Figure]()
        for cell in column[:_MOST_ROWS]:
            # Of a cell that shows a sum, its result counts.
            found = figures(split_at(cell.plain, "=＝≈")[-1])
            if len(found) > 1 or any(f.date or f.clock is not None for f in found):
                break
            units = {(f.kind, f.scale, f.per) for f in (*above, *found)}
            if found and len(above) >= _LEAST and len(units) == 1:
                yield cell, found[0], sum((f.value for f in above), Decimal(0))
            above += found

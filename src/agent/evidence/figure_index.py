"""Find the figures of many texts by their values."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain

from agent.core.processor import breathe
from agent.evidence.figures import Figure, same
from agent.evidence.formulas import values_of


class FigureIndex:
    """Find which of many texts have a figure, without comparing it with each of theirs."""

    def __init__(self, texts: Iterable[Sequence[Figure]]) -> None:
        self._found = defaultdict[object, list[tuple[int, Figure]]](list)
        self._held: dict[Figure, list[int]] = {}
        self.values = set[Decimal]()
        for place, found in enumerate(texts):
            breathe()
            for figure in found:
                for key in _keys(figure):
                    self._found[key].append((place, figure))
            self.values |= values_of(found)

    def holders(self, figure: Figure) -> list[int]:
        """Return the places of the texts that say the figure."""
        if figure not in self._held:
            near = chain.from_iterable(self._found.get(key, ()) for key in _keys(figure, _NEAR))
            self._held[figure] = sorted({place for place, other in near if same(figure, other)})
        return self._held[figure]


_NEAR = [(share, step) for share in (1, 100, Decimal("0.01")) for step in (-1, 0, 1)]
"""A number may be a share of another; rounded, by a twentieth at most, it is one size apart."""
_SIZES = 44
"""Of a decade."""


def _keys(figure: Figure, near: Iterable[tuple[Decimal | int, int]] = ((1, 0),)) -> set[object]:
    """Return what a figure is found by: a year is also a number, and a number has its size."""
    if figure.date is not None:
        year, month, day = figure.date
        return {key for key in (("year", year), ("day", month, day), ("month", month)) if key[-1]}
    if figure.clock is not None:
        return {("time", minute) for minute in figure.clocks}
    said = {abs(value) for one in figure.readings for value in (one.amount, one.bare)}
    sizes = {_size(value * share) + step for value in said for share, step in near}
    years = {("year", int(figure.value))} if 1000 <= figure.value < 3000 else set()
    return sizes | years


def _size(value: Decimal) -> int:
    """Return how great a number is, in sizes of a decade."""
    decade = value.adjusted()
    return decade * _SIZES + int(math.log10(value.scaleb(-decade) or 1) * _SIZES)

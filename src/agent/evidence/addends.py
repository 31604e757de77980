"""Find the lines of a calculation of which figures together give one that none of them has."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal

from agent.core.processor import breathe
from agent.evidence.figures import Figure
from agent.evidence.shown_sums import digits_of, last_place

_DIGITS, _MOST_TERMS, _MOST_LINES = 3, 8, 400
"""Digits from which on a number is no other's sum by chance; terms of a line, and lines."""


def adding_up(figure: Figure, lines: Sequence[Sequence[Figure]]) -> Iterator[tuple[int, ...]]:
    """Yield which lines have terms that give a figure: one has several, or two have one each.

    Two may also differ by it.
    """
    wanted = abs(figure.value)
    if digits_of(wanted) < _DIGITS:
        return
    step = last_place(wanted, zeros=True) / 2
    terms = [
        [abs(one.value) for one in line if not (one.date or one.clocks) and one.value][:_MOST_TERMS]
        for line in lines[:_MOST_LINES]
    ]
    for at, values in enumerate(terms):
        breathe()
        if any(abs(total - wanted) <= step for total in _sums(values)):
            yield (at,)
    every = sorted({(value, at) for at, values in enumerate(terms) for value in values})
    numbers = [value for value, _ in every]
    for value, at in every:
        for other in (wanted - value, wanted + value):
            begin, end = bisect_left(numbers, other - step), bisect_right(numbers, other + step)
            yield from (
                (at, beside) for _, beside in every[begin:end][:_MOST_TERMS] if beside != at
            )


def _sums(values: Sequence[Decimal]) -> list[Decimal]:
    """Return what two or more of some numbers come to together."""
    found = [(Decimal(0), 0)]
    for value in values:
        found += [(total + value, count + 1) for total, count in found]
    return [total for total, count in found if count > 1]

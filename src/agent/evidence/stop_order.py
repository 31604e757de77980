"""Find the order in which the ways over some stops are shortest."""

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from typing import Protocol, TypeVar

from agent.evidence.geo import metres_apart
from agent.evidence.types import Leg, Location

MOST_STOPS = 8


class _Stop(Protocol):
    @property
    def location(self) -> Location: ...


S = TypeVar("S", bound=_Stop)


def shortest_order(
    stops: Sequence[S], legs: dict[tuple[int, int], Leg] | None, *, is_end_named: bool
) -> list[S] | None:
    """Return stops in the shortest order from the first one, by measured legs or straight lines.

    None where a leg was not measured, or there is nothing to choose.
    """
    count = len(stops)
    last = [count - 1] if is_end_named else []
    free = range(1, count - len(last))
    pairs = permutations(range(count), 2)
    if len(free) < 2 or count > MOST_STOPS or not (legs is None or all(p in legs for p in pairs)):
        return None
    length: Callable[[int, int], float] = (
        (lambda a, b: metres_apart(stops[a].location, stops[b].location))
        if legs is None
        else (lambda a, b: legs[a, b]["distance_m"])
    )
    orders = ([0, *each, *last] for each in permutations(free))
    best = min(orders, key=lambda order: sum(length(a, b) for a, b in pairwise(order)))
    return [stops[at] for at in best]

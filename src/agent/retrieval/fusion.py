"""Several rankings of the same things as one."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
DAMPING = 60
"""How little the first places of a list count above the next; the usual choice."""


def fuse(rankings: Sequence[Sequence[K]], *, damping: int = DAMPING) -> list[tuple[K, float]]:
    """Reciprocal rank fusion: (thing, score), best first.

    A thing's score is the sum of 1 / (damping + its place from 1) over the lists it is in; its
    first place in a list counts. Equal scores keep the order of the first list that has them.
    """
    scores: dict[K, float] = {}
    for ranking in rankings:
        for place, thing in enumerate(dict.fromkeys(ranking), 1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (damping + place)
    return sorted(scores.items(), key=lambda scored: -scored[1])


def places(rankings: Mapping[str, Sequence[K]]) -> dict[K, dict[str, int]]:
    """For each thing its place (from 1) in each of the named lists that has it."""
    found: dict[K, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for place, thing in enumerate(dict.fromkeys(ranking), 1):
            found.setdefault(thing, {})[name] = place
    return found

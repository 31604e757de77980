"""What a text lends a statement that cites nothing: what those beside it, and like it, cite."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import chain

from agent.core.processor import breathe
from agent.evidence.claims.statements import Statement
from agent.evidence.language import words

_BESIDE, _ALIKE, _LIKE, _COMMON = 2, 2, 0.2, 40
"""Statements beside one, on either side, and like it; the share of its words that these have; by
how many a word is held that tells none apart."""


def with_lent(ones: Iterable[Statement], every: Sequence[Statement]) -> list[Statement]:
    """Return some statements with what `every` one of their text, as far as it is written, cites.

    A summary's sentence, or one behind the cited one, rests on what its text cites elsewhere.
    """
    lender = _Lender([one for one in every if one.citations])
    drafted = tuple(dict.fromkeys(chain.from_iterable(one.cited for one in lender.citing)))
    return [replace(one, lent=lender.near(one), drafted=drafted) for one in ones]


class _Lender:
    def __init__(self, citing: Sequence[Statement]) -> None:
        self.citing = citing
        self._starts = [one.start for one in citing]
        self._beside = defaultdict[Hashable, list[int]](list)
        self._holders = defaultdict[str, list[int]](list)
        for place, one in enumerate(citing):
            breathe()
            for key in _neighbourhoods(one):
                self._beside[key].append(place)
            for word in words(one.said):
                self._holders[word].append(place)

    def near(self, one: Statement) -> tuple[Statement, ...]:
        """Return the statements that are near to one which cites nothing."""
        if one.cited:
            return ()
        places = chain(*(self._next_to(one, key) for key in _neighbourhoods(one)), self._like(one))
        return tuple(self.citing[at] for at in dict.fromkeys(places))

    def _next_to(self, one: Statement, key: Hashable) -> Sequence[int]:
        places = self._beside.get(key, [])
        at = bisect_left(places, bisect_left(self._starts, one.start))
        return places[max(0, at - _BESIDE) : at + _BESIDE]

    def _like(self, one: Statement) -> list[int]:
        """Return the statements that share most of its words, of which rare ones weigh more."""
        alike, whole = defaultdict[int, float](float), 0.0
        for word in words(one.said):
            holders = self._holders.get(word, [])
            weight = math.log(1 + len(self.citing) / (1 + len(holders)))
            whole += weight
            for place in holders if len(holders) <= _COMMON else []:
                alike[place] += weight
        best = nlargest(_ALIKE, alike, key=lambda place: (alike[place], -place))
        return [place for place in best if alike[place] >= _LIKE * whole]


def _neighbourhoods(one: Statement) -> Iterator[Hashable]:
    """Yield where a statement stands: in its paragraph, or in its row and its column."""
    if one.kind != "cell":
        yield one.block
        return
    yield one.line, "row"
    yield one.block, one.head

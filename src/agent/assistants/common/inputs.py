"""Tell which sources the numbers of a calculation's lines come from."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from agent.evidence.claims.passages import Evidence
from agent.evidence.figures import figures
from agent.evidence.formulas import is_plain, values_of
from agent.evidence.shown_sums import digits_of
from agent.evidence.sum_lines import results

_MOST, _TELLING, _TWO = 3, 3, 2
"""Sources of one line; digits by which a number is no other one by chance, or as many of them."""


def numbers_of(line: str) -> frozenset[Decimal]:
    """Return the numbers of a line, by which it is known again in whatever form they stand."""
    return frozenset(figure.value for figure in figures(line))


@dataclass(frozen=True)
class Inputs:
    """Find the sources of lines: those that their writer cites, or that say their numbers."""

    evidence: Evidence
    keys: Mapping[str, str]
    """What may be one, by its id: what its page is known by."""
    cited: Mapping[frozenset[Decimal], Sequence[str]]
    """The ids that a writer cites for the numbers of a line."""

    def of(self, lines: Iterable[str]) -> list[list[str]]:
        """Return the ids of each line's sources; none where several may be meant."""
        every = [*lines]
        given = {one.value for line in every for one in results(line)}
        given |= values_of(self.evidence.told)
        return [[*self.cited.get(numbers_of(line), ())] or self._found(line, given)
                for line in every]  # fmt: skip

    def _found(self, line: str, given: Container[Decimal]) -> list[str]:
        """Return what alone says a telling number of a line, or most of several others."""
        own = {one.text for one in results(line)}
        terms = {one.value for one in figures(line) if one.text not in own}
        left = sorted(term for term in terms if term not in given and not is_plain(term))
        found = list[str]()
        while len(found) < _MOST and (name := self._next(self._holders(left))):
            found.append(name)
            left = [term for term in left if term not in self._holders(left)[name]]
        return found

    def _next(self, holders: Mapping[str, Collection[Decimal]]) -> str:
        """Return the page that alone says a telling number, or more of them than any other."""
        counted = Counter(chain.from_iterable(holders.values()))
        for name, held in holders.items():
            if any(counted[term] == 1 and digits_of(term) >= _TELLING for term in held):
                return name
        sizes = sorted(map(len, holders.values()), reverse=True)
        is_one = bool(sizes) and sizes[0] >= _TWO and sizes[0] not in sizes[1:]
        return max(holders, key=lambda name: len(holders[name])) if is_one else ""

    def _holders(self, terms: Collection[Decimal]) -> dict[str, set[Decimal]]:
        """Return which of some numbers each page says, by its first id."""
        first, holders = dict[str, str](), dict[str, set[Decimal]]()
        for term in terms:
            for name in self.evidence.sayers.get(term, ()):
                if key := self.keys.get(name):
                    holders.setdefault(first.setdefault(key, name), set()).add(term)
        return holders

"""BM25 over a handful of texts, with scores from 0 to 1.

A score is the sum over the query's terms of weight × tf / (tf + K1 × length), divided by the sum of
the weights: 1 would be a text that is full of every term, and a text of average length with each
term once gets 0.45. So a threshold means the same for every query and every number of texts. Terms
that no text has count too: texts that miss the point all score low.
"""

import math
from collections import Counter
from collections.abc import Sequence

from agent.retrieval.segment import query_terms, terms

K1 = 1.2
B = 0.75
_UNSEEN_PAIR = 0.5
"""About half of a Chinese question's pairs straddle two words, and need not occur anywhere."""


class Bm25:
    """The texts, counted once; asked as often as wanted."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        counted = [Counter(terms(text)) for text in texts]
        sizes = [counts.total() for counts in counted]
        average = sum(sizes) / len(sizes) if any(sizes) else 1.0
        self._counted = counted
        self._damping = [K1 * (1 - B + B * size / average) for size in sizes]

    def scores(self, query: str) -> list[float]:
        """For each text how much it bears on the query, 0 to 1."""
        totals, possible = [0.0] * len(self._texts), 0.0
        for term in query_terms(query):
            found = self._occurrences(term)
            weight = self._weight(term, sum(count > 0 for count in found))
            possible += weight
            for at, count in enumerate(found):
                if count:
                    totals[at] += weight * count / (count + self._damping[at])
        return [total / possible for total in totals] if possible else totals

    def _occurrences(self, term: str) -> list[int]:
        if len(term) == 1 and not term.isascii():
            # A lone character is inside pairs in the texts.
            return [text.count(term) for text in self._texts]
        return [counts[term] for counts in self._counted]

    def _weight(self, term: str, having: int) -> float:
        weight = math.log(1 + (len(self._texts) - having + 0.5) / (having + 0.5))
        straddles = not having and len(term) == 2 and not term.isascii()
        return weight * _UNSEEN_PAIR if straddles else weight


def best_first(scores: Sequence[float]) -> list[tuple[int, float]]:
    """(index, score) by falling score; equal ones in their order."""
    return sorted(enumerate(scores), key=lambda scored: -scored[1])

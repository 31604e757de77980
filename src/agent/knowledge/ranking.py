"""Rank texts by BM25, and fuse several rankings of the same things.

A score is the sum over the query's terms of weight × tf / (tf + K1 × length), divided by the sum of
the weights: 1 would be a text that is full of every term, and a text of average length with each
term once gets 0.45. So a threshold means the same for every query and every number of texts. Terms
that no text has count too: texts that miss the point all score low.

A query's rarer terms find the chunks; which of them is best, its frequent terms still help to say.
"""

import math
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agent.core.processor import breathe
from agent.core.strings import estimated_tokens
from agent.knowledge.terms import query_terms, terms
from agent.knowledge.types import KnowledgeHit

K = TypeVar("K", bound=Hashable)
_DAMPING = 60
"""Weight of the first places of a list against the next; the usual choice."""


def fuse(rankings: Sequence[Sequence[K]]) -> list[tuple[K, float]]:
    """Return (thing, score) by reciprocal rank fusion, best first.

    A thing's score is the sum of 1 / (60 + its place from 1) over the lists it is in; its
    first place in a list counts. Equal scores keep the order of the first list that has them.
    """
    scores: dict[K, float] = {}
    for ranking in rankings:
        for place, thing in enumerate(dict.fromkeys(ranking), 1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (_DAMPING + place)
    return sorted(scores.items(), key=lambda scored: -scored[1])


def places(rankings: Mapping[str, Sequence[K]]) -> dict[K, dict[str, int]]:
    """Return each thing's place (from 1) in each of the named lists that has it."""
    ranks: dict[K, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for place, thing in enumerate(dict.fromkeys(ranking), 1):
            ranks.setdefault(thing, {})[name] = place
    return ranks


def upper_first(hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    """Order equal scores: upper layer first; before a record, the best text on its subject.

    A text is on a record's subject when its title and headings hold every term of the record's
    title. It is lifted to the record's score, so that the order stays one by score.
    """
    waiting = sorted(hits, key=lambda hit: (-hit.score, hit.document["layer"] == "base"))
    texts = {id(h): _subject(h) for h in waiting if h.document["layer"] == "upper"}
    ordered: list[KnowledgeHit] = []
    placed: set[int] = set()
    for hit in waiting:
        if id(hit) in placed:
            continue
        if hit.document["layer"] == "base":
            name = set(terms(hit.document["title"]))
            text = next((h for h in waiting if name and name <= texts.get(id(h), set())), None)
            if text is not None and id(text) not in placed:
                placed.add(id(text))
                ordered.append(replace(text, score=hit.score))
        placed.add(id(hit))
        ordered.append(hit)
    return ordered


def _subject(hit: KnowledgeHit) -> set[str]:
    return set(terms("\n".join([hit.document["title"], *hit.chunk["headings"]])))


K1 = 1.2
B = 0.75
_UNSEEN_PAIR = 0.5
"""About half of a Chinese question's pairs straddle two words, and need not occur anywhere."""


class Bm25:
    """Count texts once, and score them for any number of queries."""

    def __init__(self, texts: Sequence[str], counted: Sequence[Counter[str]] | None = None) -> None:
        """Count the terms of texts; `counted` are those of each where they are known."""
        self._texts = texts
        counters = [Counter(terms(text)) for text in texts] if counted is None else counted
        sizes = [counts.total() for counts in counters]
        average = sum(sizes) / len(sizes) if any(sizes) else 1.0
        self._damping = [K1 * (1 - B + B * size / average) for size in sizes]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for at, counts in enumerate(counters):
            breathe()
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((at, count))

    def scores(self, query: str, more: Iterable[tuple[float, Sequence[int]]] = ()) -> list[float]:
        """Return each text's bearing on the query, 0 to 1.

        `more` are what it asks for beside its terms: how rare each is, and which texts have it.
        """
        totals, possible = [0.0] * len(self._texts), 0.0
        found = [(term, self._occurrences(term)) for term in query_terms(query)]
        weighed = [(self._weight(term, len(places)), places) for term, places in found]
        weighed += [(weight, [(at, 1) for at in places]) for weight, places in more]
        for weight, occurrences in weighed:
            possible += weight
            for at, count in occurrences:
                totals[at] += weight * count / (count + self._damping[at])
        return [total / possible for total in totals] if possible else totals

    def _occurrences(self, term: str) -> Sequence[tuple[int, int]]:
        """Return (index, count) of the texts that have a term."""
        if len(term) == 1 and not term.isascii():
            # A lone character is inside pairs in the texts.
            counts = [(at, text.count(term)) for at, text in enumerate(self._texts)]
            return [(at, count) for at, count in counts if count]
        return self._postings.get(term, ())

    def _weight(self, term: str, having: int) -> float:
        weight = rarity(having, len(self._texts))
        straddles = not having and len(term) == 2 and not term.isascii()
        return weight * _UNSEEN_PAIR if straddles else weight


def rarity(having: int, total: int) -> float:
    """Return what a term weighs that so many of all texts have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def best_first(scores: Sequence[float]) -> list[tuple[int, float]]:
    """Return (index, score) by falling score; equal ones in their order."""
    return sorted(enumerate(scores), key=lambda scored: -scored[1])


def nearest_within(texts: Sequence[str], query: str, tokens: int) -> list[int]:
    """Return the places of the texts nearest to a query, in order: at least one, as `tokens` hold.

    The nearest that has no room ends it: what is less near is not shown in its stead.
    """
    chosen = list[int]()
    for place, _ in best_first(Bm25(texts).scores(query)):
        if (tokens := tokens - estimated_tokens(texts[place])) < 0 and chosen:
            break
        chosen.append(place)
    return sorted(chosen)


WEIGHTS = (4.0, 2.0, 1.0)
"""Of a term in the title, in headings, in the body."""
_K1, _B = 1.2, 0.75
_LEAST = 0.05


@dataclass(frozen=True)
class TermCounts:
    """Hold the number of chunks with each term, and of all chunks; minima if `frequent`."""

    chunks: Mapping[str, int]
    frequent: frozenset[str]
    total: int


def rescore(
    packed_chunks: Sequence[tuple[int, bytes]], counted: TermCounts
) -> list[tuple[int, float]]:
    """Place and scores of chunks (place, packed terms), best first."""
    packed_terms = {term: _packed_term(term) for term in counted.chunks}
    read = [(place, *_weigh(packed, packed_terms)) for place, packed in packed_chunks]
    if not read:
        return []
    mean = sum(length for _, _, length in read) / len(read) or 1.0
    holding = Counter(term for _, weights, _ in read for term in weights)
    worth = {term: _worth(term, holding[term] / len(read), counted) for term in counted.chunks}
    scored = [
        (place, sum(worth[t] * _saturate(w, length / mean) for t, w in weights.items()))
        for place, weights, length in read
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _weigh(packed: bytes, packed_terms: Mapping[str, bytes]) -> tuple[dict[str, float], int]:
    """Return the weighted occurrences of `sought` terms, and the number of all terms.

    Counting bytes is a tenth of the work of splitting them: this is half of a query's time.
    """
    weights: dict[str, float] = {}
    length = 0
    for weight, field in zip(WEIGHTS, zlib.decompress(packed).split(b"\n"), strict=True):
        # Doubled, so that a term and its repetition do not share the space between them.
        spaced = b" " + field.replace(b" ", b"  ") + b" "
        length += (spaced.count(b" ") - 2) // 2 + 1
        for term, packed_term in packed_terms.items():
            if count := spaced.count(packed_term):
                weights[term] = weights.get(term, 0.0) + weight * count
    return weights, length


def _packed_term(term: str) -> bytes:
    """Return a term as the packed terms hold it; a single Chinese character also begins pairs."""
    ending = "" if len(term) == 1 and not term.isascii() else " "
    return f" {term}{ending}".encode()


def _worth(term: str, share: float, counted: TermCounts) -> float:
    """Return a term's rarity; a frequent one counts as frequent as among the counted chunks."""
    chunks = float(counted.chunks[term])
    if term in counted.frequent:
        chunks = max(chunks, share * counted.total)
    return max(_LEAST, math.log((counted.total - chunks + 0.5) / (chunks + 0.5)))


def _saturate(weight: float, length: float) -> float:
    return weight * (_K1 + 1) / (weight + _K1 * (1 - _B + _B * length))

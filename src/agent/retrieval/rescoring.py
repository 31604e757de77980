"""BM25 of chunks already found, with the terms that were too frequent to be looked for.

A query's rarer terms find the chunks; which of them is best, its frequent terms still help to say.
"""

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WEIGHTS = (4.0, 2.0, 1.0)
"""Of a term in the title, in headings, in the body."""
_K1, _B = 1.2, 0.75
_LEAST = 0.05


@dataclass(frozen=True)
class Counted:
    """In how many chunks each term of a query is, of all chunks; at least so many if `frequent`."""

    chunks: Mapping[str, int]
    frequent: frozenset[str]
    total: int


def rescored(found: Sequence[tuple[int, bytes]], counted: Counted) -> list[tuple[int, float]]:
    """Places and scores of chunks (place, packed terms), best first."""
    sought = {term: _written(term) for term in counted.chunks}
    read = [(place, *_weighed(packed, sought)) for place, packed in found]
    if not read:
        return []
    mean = sum(length for _, _, length in read) / len(read) or 1.0
    holding = Counter(term for _, weights, _ in read for term in weights)
    worth = {term: _worth(term, holding[term] / len(read), counted) for term in counted.chunks}
    scored = [
        (place, sum(worth[t] * _saturated(w, length / mean) for t, w in weights.items()))
        for place, weights, length in read
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _weighed(packed: bytes, sought: Mapping[str, bytes]) -> tuple[dict[str, float], int]:
    """Weighted occurrences of the terms sought, and the number of all terms.

    Counting bytes is a tenth of the work of splitting them: this is half of a query's time.
    """
    weights: dict[str, float] = {}
    length = 0
    for weight, field in zip(WEIGHTS, zlib.decompress(packed).split(b"\n"), strict=True):
        # Doubled, so that a term and its repetition do not share the space between them.
        spaced = b" " + field.replace(b" ", b"  ") + b" "
        length += (spaced.count(b" ") - 2) // 2 + 1
        for term, written in sought.items():
            if count := spaced.count(written):
                weights[term] = weights.get(term, 0.0) + weight * count
    return weights, length


def _written(term: str) -> bytes:
    """As the packed terms hold it; a single Chinese character also begins pairs."""
    ending = "" if len(term) == 1 and not term.isascii() else " "
    return f" {term}{ending}".encode()


def _worth(term: str, share: float, counted: Counted) -> float:
    """The rarer, the more; a frequent term is taken to be as frequent as among those found."""
    chunks = float(counted.chunks[term])
    if term in counted.frequent:
        chunks = max(chunks, share * counted.total)
    return max(_LEAST, math.log((counted.total - chunks + 0.5) / (chunks + 0.5)))


def _saturated(weight: float, length: float) -> float:
    return weight * (_K1 + 1) / (weight + _K1 * (1 - _B + _B * length))

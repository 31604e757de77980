"""Texts in the order of their bearing on a query, where the built-in ranking is not the last word.

BM25 counts words: it cannot judge across languages, and among texts that all have the query's main
words it sees little of them. So with it the best few are kept even below the threshold.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.budget import Meter
from agent.retrieval.rerank import BUILT_IN
from agent.retrieval.segment import query_terms, terms
from agent.retrieval.types import Ranked, Reranker

_COVERAGE = 0.3
"""The share of a query's terms a text must have to bear on it: one common word is not enough."""
_FEW = 3
"""Of fewer terms one may be all that a text shares."""


async def ranked(
    reranker: Reranker,
    query: str,
    texts: Sequence[str],
    *,
    meter: Meter,
    threshold: float,
    top_n: int | None = None,
    least: int = 0,
    may_stay: Callable[[int], bool] = lambda place: True,
) -> Ranked:
    """What reaches the threshold, cut to `top_n`; by BM25 also the `least` best that may."""
    found = await reranker.rerank(query, texts, meter=meter, top_n=top_n, threshold=threshold)
    wanted = min(least, len(texts), top_n or least)
    if found.backend != BUILT_IN or len(found.order) >= wanted:
        return found
    # Another server need not be asked again: it would have been named as the back-end.
    whole = await reranker.rerank(query, texts, meter=meter, top_n=wanted)
    if whole.backend != BUILT_IN:
        return found
    reached = {place for place, _ in found.order}
    kept = [(at, score) for at, score in whole.order if at in reached or may_stay(at)]
    return replace(found, order=kept)


def bears_on(query: str, text: str) -> bool:
    """Whether a text has enough of a query's terms for words to say that it is about it."""
    wanted = set(query_terms(query))
    least = max(_COVERAGE * len(wanted), 1 if len(wanted) < _FEW else 2)
    return bool(wanted) and len(wanted & set(terms(text))) >= least

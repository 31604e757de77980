"""Texts in the order of their bearing on a query, where the built-in ranking is not the last word.

BM25 counts words: it cannot judge across languages, and among texts that all have the query's main
words it sees little of them. So with it the best few are kept even below the threshold.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent.budget import Meter
from agent.retrieval.rerank import BUILT_IN
from agent.retrieval.types import Ranked, Reranker


async def ranked(
    reranker: Reranker,
    query: str,
    texts: Sequence[str],
    *,
    meter: Meter,
    threshold: float,
    top_n: int | None = None,
    least: int = 0,
) -> Ranked:
    """What reaches the threshold, cut to `top_n`; by BM25 at least the `least` best."""
    found = await reranker.rerank(query, texts, meter=meter, top_n=top_n, threshold=threshold)
    wanted = min(least, len(texts), top_n or least)
    if found.backend != BUILT_IN or len(found.order) >= wanted:
        return found
    # Another server need not be asked again: it would have been named as the back-end.
    whole = await reranker.rerank(query, texts, meter=meter, top_n=wanted)
    return replace(found, order=whole.order) if whole.backend == BUILT_IN else found

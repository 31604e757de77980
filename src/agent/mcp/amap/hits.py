"""Put the hits of several searches of Amap into one order."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from agent.mcp.records import MapHit, text_or_none

Hits = list[dict[str, Any]]
RankedHit = tuple[dict[str, Any], list[str]]
"""A hit, and the words of the searches that returned it."""


def interleaved(searches: Sequence[Hits], words: Sequence[str | None]) -> list[RankedHit]:
    """Return the hits of several searches once each: the best of every search, then the next.

    A search whose hit another has brought already brings its next one instead.
    """
    ranked: dict[str, RankedHit] = {}
    named = [[hit for hit in search if isinstance(hit.get("id"), str)] for search in searches]
    queues = [deque(search) for search in named]
    while any(queues):
        for queue in queues:
            while queue and queue[0]["id"] in ranked:
                queue.popleft()
            if queue:
                hit = queue.popleft()
                ranked[hit["id"]] = (hit, [])
    for word, search in zip(words, named, strict=True):
        for name in dict.fromkeys(hit["id"] for hit in search if word):
            ranked[name][1].append(str(word))
    return list(ranked.values())


def hit_of(hit: dict[str, Any], keywords: list[str]) -> MapHit:
    """Return a hit as the result of the branch holds it."""
    return MapHit(
        id=str(hit.get("id")),
        name=text_or_none(hit.get("name")) or "",
        address=text_or_none(hit.get("address")),
        keywords=keywords,
    )

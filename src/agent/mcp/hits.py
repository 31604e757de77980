"""What searches found by name, before anybody looks it up."""

from collections.abc import Sequence
from typing import Any

from agent.mcp.places import text_or_none
from agent.mcp.types import MapHit

_RANK_SOFTENER = 60
Hits = list[dict[str, Any]]


def merged(
    found: list[Hits], words: Sequence[str | None]
) -> list[tuple[dict[str, Any], list[str]]]:
    """Hits of several searches, once each, by reciprocal rank; with the words that found them."""
    scores: dict[str, float] = {}
    hits: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for word, listed in zip(words, found, strict=True):
        for rank, hit in enumerate(listed):
            if not isinstance(name := hit.get("id"), str):
                continue
            scores[name] = scores.get(name, 0.0) + 1 / (_RANK_SOFTENER + rank)
            keywords = hits.setdefault(name, (hit, []))[1]
            if word and word not in keywords:
                keywords.append(word)
    return [hits[name] for name in sorted(scores, key=lambda n: -scores[n])]


def hit_of(hit: dict[str, Any], keywords: list[str]) -> MapHit:
    """A hit as the survey keeps it."""
    return MapHit(
        id=str(hit.get("id")),
        name=text_or_none(hit.get("name")) or "",
        address=text_or_none(hit.get("address")),
        keywords=keywords,
    )

"""Texts on a subject before the records on it."""

from collections.abc import Sequence
from dataclasses import replace

from agent.retrieval.segment import terms
from agent.retrieval.types import Hit


def upper_first(hits: Sequence[Hit]) -> list[Hit]:
    """Of equal scores the upper layer first; before a record, the best text on what it names.

    A text is on a record's subject when its title and headings hold every term of the record's
    title. It is lifted to the record's score, so that the order stays one by score.
    """
    waiting = sorted(hits, key=lambda hit: (-hit.score, hit.document["layer"] == "base"))
    texts = {id(h): _subject(h) for h in waiting if h.document["layer"] == "upper"}
    ordered: list[Hit] = []
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


def _subject(hit: Hit) -> set[str]:
    return set(terms("\n".join([hit.document["title"], *hit.chunk["headings"]])))

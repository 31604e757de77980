"""Tell which stop of a day in a given order a place may be: "a café, a museum, another café"."""

from collections.abc import Sequence

from agent.evidence.constraints import is_of_kind_named
from agent.evidence.mentions import mentioned
from agent.evidence.types import Place


def positions(places: Sequence[Place], order: Sequence[str]) -> tuple[list[int], int]:
    """Return for each place the positions it may have, a bit each, and how many there are.

    What no place can be, or none that has no position already, has none: the others move up.
    """
    meant = list[frozenset[str]]()
    for word in order:
        ids = _meant(places, word)
        if meant.count(ids) < len(ids):
            meant.append(ids)
    masks = [sum((place["id"] in ids) << at for at, ids in enumerate(meant)) for place in places]
    return masks, len(meant)


def _meant(places: Sequence[Place], word: str) -> frozenset[str]:
    """Return the ids of the places of a name, else of those of a search for it, else of a kind."""
    said = word.strip().casefold()
    searched = {p["id"] for p in places if said in map(str.casefold, p["keywords"])}
    return frozenset(
        mentioned(places, word)
        or searched
        or {place["id"] for place in places if is_of_kind_named(place, word)}
    )

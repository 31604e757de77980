"""Hold what the cards of places say of demands to what the text says, as its judge reads it."""

from collections.abc import Mapping, Sequence
from typing import cast, get_args

from agent.evidence.constraints import name_suits
from agent.evidence.figures import figures
from agent.evidence.language import words
from agent.evidence.mentions import fails_a_demand, mentioned
from agent.evidence.types import Constraints, Place, PlaceVerdict, Suits
from agent.evidence.units import MONEY
from agent.texts import Language, say

_LONGEST_SAID = 90


def with_ruled_out(
    places: list[Place], ruled_out: Mapping[str, str], language: Language
) -> list[Place]:
    """Return the places, those that a text says do not fit with its words as a verdict."""
    words = {id: said for name, said in ruled_out.items() for id in mentioned(places, name)}

    def told(place: Place) -> Place:
        if place["id"] not in words or fails_a_demand(place):
            return place
        said = words[place["id"]]
        if not 0 < len(said) <= _LONGEST_SAID:
            said = say("constraints.answer.violated", language)
        verdict = PlaceVerdict(constraint=BY_ANSWER, verdict="violated", field="", text=said)
        # What else it would meet is no news, and "open on Sundays" its very opposite.
        return Place(**{**place, "verdicts": [verdict]})

    return [*map(told, places)]


BY_ANSWER = "answer"
"""What says that a place does not fit where no field of its record does."""


def with_settled(
    places: list[Place], told: Sequence[tuple[str, str]], language: Language
) -> list[Place]:
    """Return the places without what only their records do not know: pages say it."""
    texts: dict[str, list[str]] = {}
    for around, said in told:
        named = mentioned(places, said) or mentioned(places, around)
        for id in named if len(named) == 1 else ():
            texts.setdefault(id, []).append(said)

    def settled(place: Place) -> Place:
        said = texts.get(place["id"], [])
        kept = [
            v
            for v in place.get("verdicts", [])
            if v["verdict"] != "unknown" or not any(_speaks(v, t, language) for t in said)
        ]
        return Place(**{**place, "verdicts": kept}) if said and "verdicts" in place else place

    return [*map(settled, places)]


def _speaks(verdict: PlaceVerdict, text: str, language: Language) -> bool:
    """Return whether a text has what a demand is about: a time, a price, words of it."""
    field, constraint = verdict["field"], verdict["constraint"]
    if field == "open_time":
        return any(figure.clocks for figure in figures(text))
    if field == "cost" and any(f.prefixed or f.kind in MONEY for f in figures(text)):
        return True
    if constraint not in _IN_WORDS:
        return False
    suits = [cast(Suits, constraint)] if constraint in get_args(Suits) else []
    if name_suits(text, Constraints(suits=suits)):
        return True
    about = words(say(f"constraints.{constraint}.satisfied", language, value="", demand=""))
    if constraint == "other":
        about = words(verdict["text"]) - words(
            say("constraints.other.unknown", language, demand="")
        )
    return not about.isdisjoint(words(text))


_IN_WORDS = frozenset({"free", "other", *get_args(Suits)})

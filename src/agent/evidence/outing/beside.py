"""Tell where one could eat or rest beside a planned day, and how far that is from its stops."""

from collections.abc import Callable, Iterator, Sequence

from agent.evidence.kinds import is_break, is_meal
from agent.evidence.mentions import fails_a_demand, places_of
from agent.evidence.names import map_name
from agent.evidence.outing.legs import WALKABLE_S, Legs, leg_between
from agent.evidence.outing.text import leg_text
from agent.evidence.types import Outing, Place
from agent.texts import Language, say

_KINDS: tuple[Callable[[Place], bool], ...] = (is_break, is_meal)


def beside_lines(
    outing: Outing, places: Sequence[Place], legs: Legs, language: Language
) -> Iterator[str]:
    """Yield a sentence for the nearest café and the nearest restaurant, where the day has none.

    Who writes may recommend one, and knows no other way to it than the straight line from where
    it was searched.
    """
    ids, gone = places_of(outing), {*outing["wish"].get("without", ())}
    stops = [place for place in places if place["id"] in ids]
    others = [p for p in places if p["id"] not in {*ids, *gone} and not fails_a_demand(p)]
    for is_kind in _KINDS:
        if any(map(is_kind, stops)):
            continue
        ways = [
            (leg["duration_s"], leg, stop, place)
            for place in filter(is_kind, others)
            for stop in stops
            for measured in [legs.get((stop["id"], place["id"]))]
            for leg in [leg_between(stop["wgs84"], place["wgs84"], measured, outing["wish"])]
            if leg["mode"] == "walking" and leg["duration_s"] <= WALKABLE_S
        ]
        if ways:
            _, leg, stop, place = min(ways, key=lambda way: way[0])
            names = {"name": map_name(place, language), "stop": map_name(stop, language)}
            yield say("outing.beside", language, way=leg_text(leg, language), **names)

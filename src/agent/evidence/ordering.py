"""Order places: by what they meet of a question's demands, then as it wishes them."""

from collections.abc import Sequence
from math import inf
from typing import get_args

from agent.evidence.constraints import check, is_beside
from agent.evidence.demand_words import unknown_to_all, unknown_where_asked
from agent.evidence.kinds import KINDS, OF_NO_KIND, DemandOutcome, has_words, is_named
from agent.evidence.records import city_text, city_told, place_lines
from agent.evidence.types import Constraints, Place, PlaceVerdict, SortKey
from agent.texts import Language, say

_GROUPS = get_args(DemandOutcome)
_LISTED = (_GROUPS[0], "not_ruled_out", "ordinarily", *_GROUPS[1:], "beside")
_VIOLATED = _GROUPS.index("violated")
_MIXED = 2


def rank_in_order(place: Place, order: SortKey | None) -> tuple[bool, float]:
    """Return where a place stands in an order; what its record does not know stands last."""
    if order is None:
        return True, inf
    values: dict[SortKey, float | None] = {
        "distance": place.get("detour_m", place["distance_m"]),
        "walk": place.get("walk_m"),
        "rating": None if place["rating"] is None else -place["rating"],
        "price": place["cost"],
    }
    value = values[order]
    return value is None, inf if value is None else value


def in_wished_order(places: Sequence[Place], order: SortKey | None) -> list[Place]:
    """Return places in an order; without one search by search, the nearest first.

    Distances are compared only from one and the same origin.
    """
    searches = [
        ""
        if order in ("rating", "price")
        else place["distance_from"] or ""
        if order
        else (place["source"].partition("-")[0], place["distance_from"])
        for place in places
    ]

    def rank(at: int) -> tuple[int, tuple[bool, float], tuple[bool, float]]:
        far = rank_in_order(places[at], "distance")
        return searches.index(searches[at]), rank_in_order(places[at], order), far

    return [places[at] for at in sorted(range(len(places)), key=rank)]


def order_lines(places: Sequence[Place], order: SortKey | None, language: Language) -> list[str]:
    """Return a line that tells the order of the places that follow, or that it is not known."""
    if not (order and places):
        return []
    is_unknown = all(rank_in_order(place, order)[0] for place in places)
    return [say(f"map.{'unsorted' if is_unknown else 'sorted'}.{order}", language)]


def judged(places: Sequence[Place], constraints: Constraints, language: Language) -> list[Place]:
    """Return the places with their verdicts: first what is known to meet most, last what fails.

    Of equal ones first what the order that is wished begins with.
    """
    order_wished = constraints.get("sort_by")
    if not constraints.keys() - {"sort_by"} and not any(place.get("demands") for place in places):
        return sorted(places, key=lambda place: rank_in_order(place, order_wished))
    checked = [
        Place(**{**place, "verdicts": check(place, constraints, language)}) for place in places
    ]

    def order(place: Place) -> tuple[int, bool, tuple[bool, float], float]:
        # Of a holiday only ordinary hours are known: those that fit go before none at all. Some
        # vegetarian dishes are less than a vegetarian kitchen.
        verdicts = place["verdicts"]
        met = sum(map(_is_met, verdicts)) - sum("partly" in each for each in verdicts) / 2
        beside, own = is_beside(place, constraints), rank_in_order(place, order_wished)
        return max(_rank(place), beside), beside, own, -met

    return sorted(checked, key=order)


def fitting(places: Sequence[Place], constraints: Constraints, language: Language) -> int:
    """Return how many of the places break no constraint; what is unknown breaks none."""
    return sum(_rank(place) < _VIOLATED for place in judged(places, constraints, language))


def none_known_to_fit(places: Sequence[Place]) -> bool:
    """Return whether something is demanded of places, and none is known to meet all of it."""
    asked = [place for place in places if place.get("verdicts")]
    return bool(asked) and all(map(_rank, asked))


def grouped_lines(places: Sequence[Place], language: Language, order: SortKey | None = None) -> str:
    """Return one line a place for a writer, under whether the places fit what is demanded.

    In the order that is wished, else the nearest of each search first, and behind kitchens of a
    diet those that have some dishes of it. Each group with how many
    they are: a writer miscounts. A place that fails a demand, in one list with those that fit, was
    numbered among the hits. What nobody could know of any rules none out, nor does one fit by it.
    What holds for all of them stands once, above all. One of a kind that neither the question nor
    a search asked for is of no use: a street for dinner.
    """
    groups: dict[str, list[Place]] = {}
    by_kind = any(map(_has_kind, places))
    places = [each for each in places if not _is_stray(each)] or places
    unsettled, of_all = unknown_where_asked(places), unknown_to_all(places)
    places = in_wished_order(places, order)
    if order is None:
        places = sorted(places, key=_is_partly)
    city = _shared_city(places)
    for place in places:
        is_told = bool(place.get("verdicts")) and (_has_kind(place) or not by_kind)
        settled = _without_verdicts(place, unsettled)
        name = _GROUPS[_rank(settled)] if is_told else "beside"
        if name == "satisfied" and settled != place:
            name = "not_ruled_out"
        elif name == "unknown" and all(map(_is_met, settled.get("verdicts", []))):
            name = "ordinarily"
        groups.setdefault(name, []).append(place)
    bare = {place["id"]: _bare(place, of_all, city) for place in places}
    lines = order_lines(places, order, language)
    lines += [
        say("constraints.groups.of_all", language, demands=each)
        for each in [*filter(None, [city_text(city, language)]), *of_all]
    ]
    if len(groups.keys() - {"beside"}) < _MIXED:
        return "\n".join([*lines, place_lines([*bare.values()], language)])
    # What fits leads, however the places were ranked by what nobody could know of any.
    for name in filter(groups.__contains__, _LISTED):
        lines.append(say(f"constraints.groups.{name}", language, count=len(groups[name])))
        own = [bare[each["id"]] for each in groups[name]]
        if name == "ordinarily":
            # What the head says stands in no line.
            own = [_without_ordinary(place) for place in own]
        lines.append(place_lines(own, language, places))
    return "\n".join(lines)


def _shared_city(places: Sequence[Place]) -> str:
    """Return the city that all are in, where the lines of several of them would tell it."""
    cities = {place["city"] or "" for place in places}
    is_told = sum(map(bool, map(city_told, places))) > 1
    return cities.pop() if is_told and len(cities) == 1 else ""


def _bare(place: Place, texts: Sequence[str], city: str) -> Place:
    """Return a place without what is told once for all."""
    told = _without_verdicts(place, texts)
    return Place(**{**told, "city": None}) if city else told


def _has_kind(place: Place) -> bool:
    return any(each["constraint"] == "kind" for each in place.get("verdicts", []))


def _is_stray(place: Place) -> bool:
    is_other = any(
        each["constraint"] == "kind" and each["verdict"] == "violated"
        for each in place.get("verdicts", [])
    )
    category, keywords = place["category"] or "", place["keywords"]
    is_none = not any(is_named(kind, category) for kind in KINDS)
    # By English words a table of Chinese ones cannot tell what a search was for.
    wanted = any(each.isascii() or has_words(OF_NO_KIND, each) for each in keywords)
    return is_other and is_none and bool(keywords) and not wanted


def _is_partly(place: Place) -> bool:
    return any("partly" in each for each in place.get("verdicts", []))


def _is_met(verdict: PlaceVerdict) -> bool:
    """Return whether a demand is met, on a holiday by ordinary hours."""
    return verdict["verdict"] == "satisfied" or "ordinarily" in verdict


def _without_ordinary(place: Place) -> Place:
    return _without_verdicts(
        place, [each["text"] for each in place.get("verdicts", []) if "ordinarily" in each]
    )


def _without_verdicts(place: Place, texts: Sequence[str]) -> Place:
    verdicts = [each for each in place.get("verdicts", []) if each["text"] not in texts]
    return Place(**{**place, "verdicts": verdicts}) if "verdicts" in place else place


def _rank(place: Place) -> int:
    verdicts = place.get("verdicts", [])
    return max((_GROUPS.index(each["verdict"]) for each in verdicts), default=0)

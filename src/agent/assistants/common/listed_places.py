"""Choose which places a model is shown, and tell it of how many they are."""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from agent.core.strings import letters_of
from agent.evidence.citations import cited_ids
from agent.evidence.geo import distance_text, metres_apart
from agent.evidence.kinds import is_aim, is_of_no_kind_searched, is_stop, kind_searched
from agent.evidence.mentions import fails_a_demand, mentioned, source_ids, without_branch
from agent.evidence.names import origin_text, own_distance
from agent.evidence.records import kind_word
from agent.evidence.types import FoundPlaces, MapTask, Place, Route, Source
from agent.evidence.vocabulary import subject_in_english
from agent.texts import Language, is_chinese, say

MOST_LISTED, MOST_TOLD = 20, 60
"""Places in a prompt, beside those that are named; in that of a long text, whose writer chooses."""
_OF_A_SEARCH = 3
_ONE_PLACE = 60
"""Metres between two records of one place."""
_SAME_M = 1
"""Metres between a place and the end of a way to it: ends have six decimals."""


def said_by_pages(sources: Iterable[Source], findings: Sequence[str] = ()) -> str:
    """Return what pages and own documents say, as far as a turn has read it."""
    pages = (source for source in sources if source["kind"] != "place")
    return "\n".join(
        [*findings, *(text for one in pages for text in (one["title"], *one["quotes"]))]
    )


def chosen_places(
    places: Sequence[Place], routes: Iterable[Route], thoughts: Sequence[str] = ()
) -> set[str]:
    """Return the ids of the places that ways were measured to, or that thoughts name or cite."""
    text = "\n".join(thoughts)
    ends = [end["wgs84"] for route in routes
            for end in (*route.get("ends", ()), *route.get("via", ()))]  # fmt: skip
    cited = {*cited_ids(text)}
    return {
        *_named(places, text),
        *(
            place["id"]
            for place in places
            if not cited.isdisjoint(source_ids(place))
            or any(metres_apart(place["wgs84"], end) < _SAME_M for end in ends)
        ),
    }


def listed_places(
    places: Sequence[Place], texts: str, *, most: int = MOST_LISTED, stops: Collection[str] = ()
) -> list[Place]:
    """Return the best places, and those that texts name or are stops, by their ids.

    These whatever their rank; the kinds share the room that is left in turn. The best of each
    search are there, too: what was looked for last is named nowhere. All in their order, and each
    once: of two records of one kind, side by side, the first.
    """
    places = _without_twins(places, stops)
    if len(places) <= most:
        return list(places)
    named = {*_named(places, texts), *(p["id"] for p in places if p["id"] in stops)}
    others = _in_turn([place for place in places if place["id"] not in named])
    room, taken = max(0, most - len(named)), Counter(map(_search, places))
    taken.subtract(map(_search, others))
    shown = {*named}
    for at, place in enumerate(others):
        if at < room or (taken[_search(place)] < _OF_A_SEARCH and not fails_a_demand(place)):
            shown.add(place["id"])
            taken[_search(place)] += 1
    return [place for place in places if place["id"] in shown]


def _without_twins(places: Sequence[Place], stops: Collection[str]) -> list[Place]:
    """Return the places without another record of one; stops keep theirs."""
    kept, of_name = list[Place](), defaultdict[tuple[str, str | None], list[Place]](list)
    for place in places:
        same = of_name[place["name"], place["category"]]
        twins = (metres_apart(place["wgs84"], each["wgs84"]) < _ONE_PLACE for each in same)
        if place["id"] in stops or place.get("nameless") or not any(twins):
            kept.append(place)
            same.append(place)
    return kept


def _search(place: Place) -> str:
    """Return what the places of one call of the map have in common."""
    return place["source"].partition("-")[0]


def _named(places: Sequence[Place], text: str) -> set[str]:
    """Return the ids of the places that a text names; of a stop's records the first."""
    named = mentioned(places, text)
    first = dict[tuple[str, str | None], str]()
    for place in places:
        if place["id"] in named:
            first.setdefault((place["name"], place["category"]), place["id"])
    return {*first.values()}


def _in_turn(places: Sequence[Place]) -> list[Place]:
    """Return the places in turn of what was searched for: one search can have two kinds.

    The nearest twenty of a search for restaurants and cafés were all restaurants. Where nothing
    tells how far they are, those whose hours are known come first: a day is planned by them. What
    fails a demand, or is of no kind searched, is behind all others, and so is a name's next record:
    a square's tram stops and taxi rank. So is what was looked for around a place that a search had
    found: the cafés by each of eight museums left room for three of the museums.
    """
    found = {
        name for one in places if one["keywords"] for name in (one["name"], one.get("name_en"))
    }
    taken, turns, names = Counter[tuple[object, ...]](), dict[str, tuple[bool, int]](), set[str]()
    for place in sorted(places, key=lambda each: not (each["distance_from"] or each["open_time"])):
        own = f"{_search(place)} {place['name']}"
        is_again = own in names and not place["distance_from"]
        names.add(own)
        is_last = is_again or fails_a_demand(place) or is_of_no_kind_searched(place)
        is_last = is_last or (place["distance_from"] or "") in found
        sought = place["keywords"] or [without_branch(place["category"] or "")]
        group = is_last, place["distance_from"], *sought
        taken[group] += 1
        turns[place["id"]] = is_last, taken[group]
    return sorted(places, key=lambda each: turns[each["id"]])


def parted(places: Sequence[Place], chosen: Collection[str]) -> tuple[list[Place], list[Place]]:
    """Return the places that who writes a plan must be told of, and the others, the best first.

    Those are what was looked up by its name, and the `chosen` ids, whatever they fail: that the
    hotel has no access decides more than any café. The others end with those that fail a demand,
    before them what a name's search found beside its first hit, the Forum's hairdresser, and what
    nobody goes to for its own sake: toilets, tram stops.
    """
    first = dict[str, str]()
    for place in places:
        first[_search(place)] = min(place["source"], first.get(_search(place), "~"), key=_position)

    def is_sought(place: Place) -> bool:
        return bool(place["keywords"] or place["distance_from"])

    by_name = [p for p in places if p["source"] == first[_search(p)] and not is_sought(p)]
    ids = {place["id"] for place in by_name}
    planned = [place for place in places if place["id"] in chosen and place["id"] not in ids]
    ids |= {*chosen}
    others = [place for place in places if place["id"] not in ids]
    others.sort(key=lambda p: (fails_a_demand(p), not (is_sought(p) and is_aim(p))))
    return [*by_name, *planned], others


def suitable(places: Iterable[Place]) -> set[str]:
    """Return the ids of the places to go to that meet what is demanded beside their kind."""
    return {
        place["id"]
        for place in places
        if is_aim(place) and not fails_a_demand(place)
        if any(each["verdict"] == "satisfied" and each["constraint"] != "kind"
               for each in place.get("verdicts", []))
    }  # fmt: skip


def _position(source: str) -> int:
    """Return the place of a record in its search: the 3 of a7-3."""
    last = source.rpartition("-")[2]
    return int(last) if last.isdecimal() else sys.maxsize


def records_again(places: Iterable[Place]) -> set[str]:
    """Return the ids of records that another one before them stands for.

    A square found under its name in two languages has two, a tram stop one for each direction. A
    word of a kind is no name.
    """
    firsts, again = list[tuple[Place, set[str]]](), set[str]()
    for place in places:
        names = set[str]() if place.get("nameless") else _names_of(place)
        namesakes = [first for first, known in firsts if names & known]
        if any(_is_one(place, first) for first in namesakes):
            again.add(place["id"])
        else:
            firsts.append((place, names))
    return again


def _is_one(place: Place, namesake: Place) -> bool:
    """Return whether records of one name are one place: side by side, or a stop of one kind."""
    if metres_apart(place["wgs84"], namesake["wgs84"]) < _ONE_PLACE:
        return True
    return not is_stop(place) and place["category"] == namesake["category"]


def _names_of(place: Place) -> set[str]:
    names = (place["name"], place.get("name_en", ""), *place.get("other_names", []))
    return {letters_of(name) for name in names} - {""}


def listed_of(listed: Sequence[Place], places: Sequence[Place], language: Language) -> str:
    """Return of how many places that were found these are some; nothing where they are all."""
    is_all = len(listed) >= len(places)
    key = "map.listed_of_found"
    return "" if is_all else say(key, language, listed=len(listed), count=len(places))


def found_lines(searched: Iterable[MapTask], listed: Sequence[Place], language: Language) -> str:
    """Return a line for each search of which not all places are listed, and where there are none.

    A writer who sees one museum of 36 would call it the only one, and count only those: the last
    line says what a count is of.
    """
    found = {(each["words"], each["where"]): each for task in searched
             for each in task.get("found", [])}  # fmt: skip
    words = [each["words"] for each in found.values()]
    # As the lines of these places call it.
    origins = {far["origin"]: origin_text(far, language) for place in listed
               for far in (own_distance(place), *place.get("further", []))}  # fmt: skip
    lines, none = list[str](), dict[str, list[str]]()
    for each in found.values():
        where, kind = origins.get(each["where"], each["where"]), _word(each["words"], language)
        own = [place for place in listed if each["words"] in place["keywords"]]
        if words.count(each["words"]) > 1:
            own = [place for place in own if _is_from(place, each)]
        if not (own or each["count"]):
            where = " ".join(filter(None, [where, distance_text(each.get("radius_m"), language)]))
            none.setdefault(where, []).append(kind)
        if own and len(own) < each["count"]:
            key = "map.listed_of_more" if each["is_cut"] else "map.listed_of"
            values = {"listed": len(own), "count": each["count"]}
            lines.append(say(key, language, where=where, words=kind, **values))
    if lines:
        lines.append(say("map.counts_of_listed", language))
    joint = say("punctuation.comma", language)
    lines += [say("map.none_of", language, words=joint.join(kinds), where=where)
              for where, kinds in none.items()]  # fmt: skip
    return "\n".join(lines)


def _word(searched: str, language: Language) -> str:
    """Return what the map was searched for in a reader's words, as far as the tables have them."""
    if is_chinese(language):
        return searched
    english = subject_in_english(searched)
    kind = kind_searched(searched) if english == searched else None
    return kind_word(kind or english, language)


def _is_from(place: Place, found: FoundPlaces) -> bool:
    """Return whether a place lies where was searched, as far as its record tells."""
    origins = [place["distance_from"], *(each["origin"] for each in place.get("further", []))]
    return found["where"] in origins or not any(origins)

"""The map's records as a message carries them: numbered, named first, readable in English."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from agent.assistants.common.listed_places import chosen_places, records_again
from agent.assistants.common.told_verdicts import (
    BY_ANSWER,
    SettledWish,
    with_ruled_out,
    with_settled,
)
from agent.core.strings import alphabets, letters_of
from agent.evidence.days import days_named
from agent.evidence.geo import metres_apart
from agent.evidence.kinds import (
    is_of_no_kind_searched,
    is_of_none,
    kinds_searched,
)
from agent.evidence.mentions import (
    fails_a_demand,
    in_list_order,
    list_numbers,
    listed_first,
    mentioned,
    source_ids,
    stop_numbers,
)
from agent.evidence.names import (
    district_in_english,
    english_names,
    map_name,
    own_distance,
    with_middles,
    with_pinyin,
)
from agent.evidence.planned_hours import stops_of_plans, stops_of_tables
from agent.evidence.records import (
    forecast_told,
    hours_text,
    not_reached,
    one_a_city,
    place_source,
    reached,
    route_text,
    weather_lines,
    weather_text,
    with_days_asked,
)
from agent.evidence.said import called_as_written, route_said, source_said
from agent.evidence.types import (
    Anchor,
    Distance,
    Place,
    PlaceKind,
    Route,
    Source,
    Weather,
)
from agent.evidence.way_steps import each_way_once
from agent.evidence.zones import CHINA, day_there, zone_named
from agent.export.finished import FinishedAnswer
from agent.export.markdown import as_told
from agent.export.place_cards import TABLE
from agent.search.hits import summary_label
from agent.state import Turn, reader_language
from agent.texts import (
    OF_ANSWERS,
    Language,
    in_every_language,
    in_script,
    is_chinese,
    reads_han,
    say,
)

_BESIDE: frozenset[PlaceKind | None] = frozenset({"parking", "station"})
"""Kinds that are looked for beside others."""
OF_ITS_ORIGIN = frozenset({"walk_m", "walk_s", "distance_from_en"})
"""Keys of a place that hold from where its distance is told."""
_MOST_OTHERS = 4
"""Cards beside those of the places that a text names."""
_BESIDE_M = 2000
"""As far as one looks for a car park or a café beside something else."""
_NEXT_DOOR_M = 50
"""Within which none that a search around another place did not find is nearer."""


async def places_as_shown(
    places: list[Place],
    used: list[Source],
    text: str,
    language: Language,
    *,
    first: Sequence[str],
    known: Sequence[Place] = (),
    routes: Sequence[Route] = (),
    stops: Collection[str] = (),
    ruled_out: Mapping[str, str] | None = None,
    told: Sequence[tuple[str, str]] = (),
    settled: Collection[SettledWish] = (),
    is_report: bool = False,
) -> list[Place]:
    """Return the places as the message carries them: with names that their reader can read.

    The `known` have the English names of what these are far from. What one of the `routes` leads
    to is named where the text cites that, and so are the `stops` of a plan, by their ids. One that
    the text has `ruled_out`, by its name there, says so on its card; what pages say of one, as the
    text has `told` it in figures or a judge has `settled`, is not unknown on it. What its plan uses
    no sentence on another day rules out. A report's are those that it cites, or that its tables
    name: of its many names some are those of tram stops, too.
    """
    places = with_settled(places, told, settled)
    if ruled_out:
        planned = {*first, *stops, *stops_of_plans(text, places)}
        places = with_ruled_out(places, ruled_out, language, but=planned)
    written = stop_numbers(first) or list_numbers(places, text, only_whole=is_report)
    cited = {source["id"] for source in used}
    ways = [route for route in routes if route["source"] in cited]
    on_way = {*chosen_places(places, ways), *stops}
    by_name = stops_of_tables(text, places) if is_report else None
    marked = _with_mentions(places, used, text, first=first, on_way=on_way, by_name=by_name)
    if is_report:
        marked = _others_last(marked)
    marked = called_as_written(marked, text, language)
    in_order = with_pin_numbers(marked, written)
    if not first:
        listed = listed_first(places, text)
        carded = await asyncio.to_thread(_as_told, in_order, used, text, language)
        # A table's rows stand where it stands, and what has no card behind what has one.
        ids = [id for each in carded for id in (listed if each == TABLE else [each])]
        shown = {p["id"] for p in marked if p["mentioned"] or not is_report}
        ids = [id for id in dict.fromkeys([*ids, *listed]) if id in shown]
        in_order = with_pin_numbers(marked, written, ids)
    in_order = with_middles(in_order)
    if not in_order or language == "zh":
        return in_order
    if language == "zh-Hant":
        return [Place(**{**place, **_traditional_name(place)}) for place in in_order]  # type: ignore[typeddict-item]
    sounded = in_order
    if not reads_han(language):
        sounded = await asyncio.to_thread(with_pinyin, in_order, known)
    if language not in OF_ANSWERS:
        return sounded
    return [Place(**{**p, "hours": h}) if (h := hours_text(p, language)) else p for p in sounded]


def _others_last(places: Sequence[Place]) -> list[Place]:
    """Return a report's places, those that stand for one before them as ones that it names not."""
    again = records_again(place for place in places if place["mentioned"])
    marked = [Place(**{**p, "mentioned": False}) if p["id"] in again else p for p in places]
    return sorted(marked, key=lambda place: not place["mentioned"])


def _as_told(places: list[Place], used: list[Source], text: str, language: Language) -> list[str]:
    """Return the ids of the places that a text has cards of, in its order."""
    return as_told(FinishedAnswer(question="", answer=text, language=language, generated_at="",
                                  sources=used, places=places))  # fmt: skip


def _as_quoted(quotes: Sequence[str], language: Language) -> list[str]:
    """Return what a source is quoted with: its own words, else a search's, which is told.

    The model of a search writes in the language of its query, not in that of the page.
    """
    own = [quote for quote in quotes if not summary_label(quote)]
    bare = (quote.removeprefix(summary_label(quote)) for quote in quotes)
    return own or [say("search.summary", language, text=quote) for quote in bare]


def _traditional_name(place: Place) -> dict[str, str]:
    """Return a record's name and hours in traditional characters, beside its own."""
    name, hours = map_name(place, "zh-Hant"), hours_text(place, "zh-Hant")
    return {"name_hant": name, **({"hours": hours} if hours else {})}


_AS_LISTED = frozenset({"id", "name", "other_names", "open_time", "keywords"})
"""What of a place stays as its record has it: code reads it, and the name is looked for."""


def _in_traditional(record: Any, kept: Collection[str] = ("id",)) -> Any:
    """Return what a record says in traditional characters, for nobody but its reader."""
    if isinstance(record, str):
        return in_script(record, "zh-Hant")
    if isinstance(record, list):
        return [_in_traditional(each, kept) for each in record]
    if not isinstance(record, dict):
        return record
    return {key: value if key in kept else _in_traditional(value, kept)
            for key, value in record.items()}  # fmt: skip


def sources_as_shown(
    sources: Iterable[Source],
    places: Iterable[Place],
    language: Language,
    routes: Iterable[Route] = (),
    *,
    weather: Iterable[Weather] = (),
    days: Sequence[str] = (),
) -> list[Source]:
    """Return the sources, those of these records with what they say now.

    What a place is far from, and what a way joins, has its name in the reader's language only when
    all is known. A forecast tells the `days` that are asked for: a quote of all is cut before them.
    """
    listed = [*places]
    ways = {route["source"]: route for route in ways_said(routes, listed, language)}
    records = {id: place for place in listed for id in source_ids(place)}
    forecasts = {each["source"]: each for each in weather if reached(each, days)}

    def told(source: Source) -> Source:
        if place := records.get(source["id"]):
            return place_source(source, place, language)
        if way := ways.get(source["id"]):
            titled = source_said(source, [way])
            return Source(**{**titled, "quotes": [route_text(way, language)]})
        if forecast := forecasts.get(source["id"]):
            source = Source(**{**source, "quotes": [weather_text(forecast, language, days)]})
        return Source(**{**source, "quotes": _as_quoted(source["quotes"], language)})

    return [told(source) for source in sources]


def ways_said(routes: Iterable[Route], places: Sequence[Place], language: Language) -> list[Route]:
    """Return the ways between places called as these are: another search may have had their names.

    A reader of Chinese has the map's own.
    """
    names = {} if is_chinese(language) else english_names(places)
    return [route_said(route, names) for route in routes]


async def forecasts_of(weather: Sequence[Weather], turn: Turn) -> list[Weather]:
    """Return the forecasts as the message carries them: with the days asked for marked.

    One a town, and none that reaches no day that is asked for. For who reads no Chinese they are
    in the reader's language, too.
    """
    if not weather:
        return []
    days, language = days_forecast(turn, weather), reader_language(turn)
    marked = [with_days_asked(each, days) for each in one_a_city(weather)]
    forecasts = [w for w in marked if not days or any("asked" in day for day in w["days"])]
    if is_chinese(language):
        return _in_traditional(forecasts) if language == "zh-Hant" else forecasts
    return await asyncio.to_thread(lambda: [forecast_told(each, language) for each in forecasts])


def days_forecast(turn: Turn, weather: Sequence[Weather]) -> list[str]:
    """Return the days whose weather is asked for, on the calendar where the forecasts are."""
    zones = [zone_named(each.get("zone", str(CHINA))) for each in weather]
    days = (days_named(turn["question"], day_there(turn["started_at"], z)) for z in zones)
    return list(dict.fromkeys([*filter(None, [turn.get("day")]), *itertools.chain(*days)]))


def forecast_lines(turn: Turn, weather: Sequence[Weather], language: Language) -> str:
    """Return the forecasts for a writer, and which of the days asked for they do not reach."""
    lines = [weather_lines(weather, language)]
    for each in one_a_city(weather):
        lines.append(not_reached(each, language, days_forecast(turn, [each])))
    return "\n".join(filter(None, lines))


async def readable(
    anchor: Anchor | None, language: Language, known: Sequence[Place] = ()
) -> Anchor | None:
    """Return the centre as the message carries it; for who reads no Chinese in Latin letters, too.

    That is its English name, where it is one of the `known` places, or its sound.
    """
    if not anchor or reads_han(language):
        return _in_traditional(anchor) if language == "zh-Hant" else anchor
    names = [anchor["name"], anchor.get("district", "")]
    name, district = await asyncio.to_thread(lambda: [*map(district_in_english, names)])
    name = english_names(known).get(anchor["name"], name)
    told = {"name_en": name} | ({"district_en": district} if district else {})
    return Anchor(**{**told, **anchor})  # type: ignore[typeddict-item]


def chosen_ways(
    routes: Sequence[Route], rounds: Sequence[int], cited: Container[str]
) -> list[Route]:
    """Return the ways that the question asked for, by the round of each query, or an answer cites.

    What was measured later, to choose by, is none of the answer's; all where it cites no way.
    """
    asked = {f"a{at}" for at, number in enumerate(rounds) if number == min(rounds)}
    told = [
        route
        for route in routes
        if route["source"] in cited or route["source"].partition("-")[0] in asked
    ]
    is_cited = any(route["source"] in cited for route in routes)
    return told if is_cited and rounds else [*routes]


def cited_ways(routes: Iterable[Route], used: Iterable[Source]) -> list[Route]:
    """Return the ways that a text cites, in its order, each once; those of one address are one."""
    keys = [key for source in used for key in (source["id"], source["url"]) if key]
    told = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    places = [(min(told.get(route[key], len(told)) for key in ("source", "url")), route)
              for route in routes]  # fmt: skip
    cited = (each for each in places if each[0] < len(told))
    return each_way_once(route for _, route in sorted(cited, key=itemgetter(0)))


async def ways_of(
    routes: Sequence[Route], language: Language, known: Sequence[Place] = ()
) -> list[Route]:
    """Return the ways as the message carries them; ends and stops in Latin letters, too."""
    ways = list[Route]()
    for route in ways_said(routes, known, language):
        way = Route(**route)
        for key in ("ends", "via"):
            if key in route:
                way[key] = [await readable(each, language, known) or each for each in route[key]]
        ways.append(way)
    return _in_traditional(ways) if language == "zh-Hant" else ways


def _with_mentions(
    places: list[Place],
    used: list[Source],
    text: str,
    *,
    first: Sequence[str],
    on_way: Collection[str] = (),
    by_name: Container[str] | None = None,
) -> list[Place]:
    """Return the places with those marked that the answer names or cites: first, as it lists them.

    Those with the ids of `first` come before them. Of the others none stays that nobody asked for,
    or that fails what was demanded. A bare name counts for those `by_name`, for all without them.
    """
    leading = {id: at for at, id in enumerate(first)}
    numbers = {source["id"]: source.get("number") or 0 for source in used}
    cited = {p["id"]: min(own) for p in places
             if (own := [numbers[id] for id in source_ids(p) if id in numbers])}  # fmt: skip
    named = mentioned(places, text)
    # Of namesakes, two branches of a café, a text names the one that it cites.
    told = {named[id] for id in cited if id in named}
    twice = records_again(places)
    named = {id: at for id, at in named.items()
             if id in cited or not (at in told or id in twice)}  # fmt: skip
    if by_name is not None:
        named = {id: at for id, at in named.items() if id in cited or id in by_name}
    last = len(places) + len(used) + 1

    def order(place: Place) -> tuple[bool, int, int, int]:
        id = place["id"]
        is_mentioned = id in named or id in cited or id in on_way
        leads = leading.get(id, len(leading))
        return not is_mentioned, leads, cited.get(id, last), named.get(id, 0)

    marked = [Place(**{**p, "mentioned": not order(p)[0]}) for p in sorted(places, key=order)]
    for place in marked:
        place.pop("demands", None)
    named_first = [p for p in marked if p["mentioned"]]
    others = [p for p in marked if not (p["mentioned"] or _is_unasked(p) or fails_a_demand(p))]
    others.sort(key=_lacks)
    return [*(named_first if first else in_list_order(named_first, text)), *others]


def on_cards(
    places: Sequence[Place], language: Language, *, is_report: bool, is_day: bool = False
) -> list[Place]:
    """Return the places that a message shows, as it shows them; the turn keeps all.

    Beside those that its text names they are few, of which the record tells what was asked, and
    none that was looked for beside one of them: a café by the bookshop. A report, and a planned
    day, is read for its plan, and shows none besides.
    """
    named = [place for place in places if place.get("mentioned")]
    again = records_again(named) if is_report else ()
    named = [place for place in named if place["id"] not in again]
    names = {name for place in named for name in (place["name"], place.get("name_en"))}
    unnamed = (place for place in places if not (place.get("mentioned") or _lacks(place)))
    others = [place for place in unnamed if place["distance_from"] not in names]
    others = others[: 0 if (is_report or is_day) and named else _MOST_OTHERS]
    asked = [_without_unasked(_without_clock(place)) for place in [*named, *others]]
    return _in_traditional(asked, _AS_LISTED) if language == "zh-Hant" else asked


def _lacks(place: Place) -> bool:
    """Return whether a record lacks where a place is, or what a field of it could tell."""
    unknown = (v for v in place.get("verdicts", []) if v["verdict"] == "unknown" and v["field"])
    return not place["address"] or any(unknown)


def _without_clock(place: Place) -> Place:
    """Return a place that the text rules out without whether it is open just now."""
    is_out = any(each["constraint"] == BY_ANSWER for each in place.get("verdicts", []))
    kept = {key: value for key, value in place.items() if key != "opening"}
    return cast(Place, kept) if is_out else place


def _without_unasked(place: Place) -> Place:
    """Return a place without how far it is from what only who wrote the text chose by."""
    further = [each for each in place.get("further", []) if "unasked" not in each]
    kept = {key: value for key, value in place.items() if key != "further"}
    return cast(Place, kept | ({"further": further} if further else {}))


def _is_unasked(place: Place) -> bool:
    """Return whether a place is of a kind that was not asked for."""
    verdicts = place.get("verdicts", [])
    other = any(v["constraint"] == "kind" and v["verdict"] == "violated" for v in verdicts)
    return other or is_of_no_kind_searched(place)


def with_pin_numbers(
    places: Sequence[Place], written: Mapping[str, tuple[int, str]], listed: Sequence[str] = ()
) -> list[Place]:
    """Return the places with the numbers of their pins, cards and rows, from 1, in their order.

    An answer's own numbers, as `list_numbers` tells them, hold where one list has them. Of those
    without one the `listed` come first: a list whose cards begin at 2 has lost its first one.
    """
    own = {id: number for id, (number, heading) in written.items() if not heading}
    further = itertools.count(max(own.values(), default=0) + 1)
    ids = [place["id"] for place in places]
    for id in [*(each for each in listed if each in ids), *ids]:
        if id not in own:
            own[id] = next(further)
    numbered = [Place(**{**place, "number": own[place["id"]]}) for place in places]
    return sorted(numbered, key=itemgetter("number"))


def distinct_places(places: Sequence[Place]) -> list[Place]:
    """Return one record a place, the more detailed one, with what the others add.

    That is the ids of their sources, and from where else its distance is known.
    """
    records: dict[str, list[Place]] = {}
    for place in places:
        records.setdefault(place["id"], []).append(place)
    return [_joined(same) for same in records.values()]


def _joined(records: Sequence[Place]) -> Place:
    best = next((place for place in records if place["detailed"]), records[0])
    joined = Place(**best)
    ids = list(dict.fromkeys(id for place in [best, *records] for id in source_ids(place)))
    if len(ids) > 1:
        joined["sources"] = ids
    if any(place.get("demands") != best.get("demands") for place in records):
        # Which of the searches it is to serve is not known.
        joined.pop("demands", None)
    further = {each["origin"]: each for place in records for each in place.get("further", [])}
    for place in records:
        if (name := place["distance_from"]) and (metres := place["distance_m"]) is not None:
            further.setdefault(name, Distance(origin=name, metres=metres))
    further.pop(best["distance_from"] or "", None)
    if further:
        joined["further"] = [*further.values()]
    return joined


def from_origins_named(places: Iterable[Place], question: str) -> list[Place]:
    """Return places with how far they are from what the question names alone.

    From where else a search was made is a plan's own choice; where it names none, the first stays.
    Letters tell nothing of a name in a script that the question has not: of 和平饭店 alone nobody
    knows that it is the Peace Hotel, so all of these stay.
    """
    asked, here = letters_of(question), {*in_every_language("map.here")}
    scripts = alphabets(question)

    def may_be_named(far: Distance) -> bool:
        return "origin_en" not in far and alphabets(far["origin"]).isdisjoint(scripts)

    def is_named(far: Distance) -> bool:
        names = (far["origin"], far.get("origin_en", ""))
        return far["origin"] in here or any(
            own in asked for name in names if (own := letters_of(name))
        )

    def told(place: Place) -> Place:
        if "further" not in place or "detour_m" in place:
            return place
        own = own_distance(place)
        every = (own, *place["further"])
        named = [*filter(is_named, every)] or [*filter(may_be_named, every)]
        first, *others = named or [own]
        kept = {key: value for key, value in place.items() if key != "further"}
        if first is not own:
            kept = {key: value for key, value in kept.items() if key not in OF_ITS_ORIGIN}
            kept |= {"distance_m": first["metres"], "distance_from": first["origin"]}
            kept |= {"distance_from_en": first["origin_en"]} if "origin_en" in first else {}
        return cast(Place, {**kept, "further": others} if others else kept)

    return list(map(told, places))


def with_nearest(places: Sequence[Place]) -> list[Place]:
    """Return the places with how far it is from each to the nearest of another kind asked for.

    A park with a car park, a café by the museum: two searches found them, apart from each other.
    What fails a demand, or is of another kind than its search was for, is no place to be near to.
    """
    sought = _sought(places)
    return [
        # How far a car park is from each museum stands with the museum.
        place if own and own <= _BESIDE else _near(place, own, sought, is_asked=False)
        for place, (_, own, _) in zip(places, sought, strict=True)
    ]


def with_nearest_found(earlier: Sequence[Place], places: Sequence[Place]) -> list[Place]:
    """Return places that were shown before with how far the nearest of the kind found now is.

    "Which of these is nearest to the metro" is asked of all of them, wherever it was looked for.
    """
    sought = _sought(places)
    again = {place["id"] for place in places}
    return [
        place if place["id"] in again else _near(place, kinds_searched(place), sought)
        for place in earlier
    ]


_Sought = tuple[Place, set[PlaceKind | None], bool]
"""A place, the kinds that its search was for, and whether it is one to be near to."""


def _sought(places: Sequence[Place]) -> list[_Sought]:
    kinds: dict[str, set[PlaceKind | None]] = {}
    for place in places:
        for branch in _branches(place):
            kinds.setdefault(branch, set()).update(kinds_searched(place))
    found = list[_Sought]()
    for place in places:
        its = set[PlaceKind | None]().union(*(kinds[branch] for branch in _branches(place)))
        # One search for cafés and stations has both: a station is what the cafés are to be near to.
        own = kinds_searched(place)
        its = own if own and own <= _BESIDE else its - _BESIDE
        fits = not fails_a_demand(place)
        found.append((place, its, fits and not is_of_none(place, its)))
    return found


def _near(
    place: Place, own: set[PlaceKind | None], sought: Iterable[_Sought], *, is_asked: bool = True
) -> Place:
    """Return a place with how far the nearest of another kind is, where one is close by.

    A car park or a station is always asked for beside something.
    """
    sought = [*sought]
    names = Counter(other["name"] for other, _, _ in sought)
    # What was looked for around one place is the nearest to that one, not to all.
    around = {other["name"] for other, _, _ in sought} - {place["name"]}
    others = [
        (metres, other["name"], its, other.get("name_en"))
        for other, its, fits in sought
        # Of which of three branches it would be is not told by a name.
        if fits and _are_other_kinds(own, its) and names[other["name"]] == 1
        if place["distance_from"] not in (other["name"], other.get("name_en"))
        if (metres := metres_apart(place["wgs84"], other["wgs84"]))
        <= (_NEXT_DOOR_M if other["distance_from"] in around else _BESIDE_M)
    ]
    if not others:
        return place
    metres, name, its, english = min(others, key=itemgetter(0, 1))
    near = Distance(origin=name, metres=round(metres))
    if english:
        near["origin_en"] = english
    if known := [kind for kind in its if kind]:
        near["kind"] = min(known, key=str)
    if not (is_asked or near.get("kind") in _BESIDE):
        near["unasked"] = True
    told = [each for each in place.get("further", []) if each["origin"] != name]
    return Place(**{**place, "further": [*told, near]})


def _are_other_kinds(own: set[PlaceKind | None], its: set[PlaceKind | None]) -> bool:
    """Return whether two searches were for different kinds; one of them has to be known."""
    return bool(own and its and (own | its) - {None}) and own.isdisjoint(its)


def _branches(place: Place) -> set[str]:
    """Return the searches whose records a place is in: one has several words for one kind."""
    return {id.partition("-")[0] for id in source_ids(place)}

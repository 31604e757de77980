"""Order the places into a day, by code: which stops, when, and how to get from one to the next."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Any

from langgraph.runtime import Runtime

from agent.assistants.common.gaps import run_gap
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.shown_records import distinct_places
from agent.assistants.common.turn import open_meter, words_of_user
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.processor import compute
from agent.core.progress import Emit, event
from agent.evidence.geo import location_in, metres_apart
from agent.evidence.hours import clock_of, hours_of
from agent.evidence.kinds import (
    is_any_of_kind,
    is_called,
    is_found_for,
    is_meal,
    is_stop,
    names_kind,
)
from agent.evidence.mentions import (
    day_ends,
    fails_a_demand,
    mentioned,
    places_of,
    source_ids,
    without_origins,
)
from agent.evidence.names import map_name, with_pinyin
from agent.evidence.open_when import openness
from agent.evidence.ordering import judged
from agent.evidence.outing.aim import TOO_FAR_M, Aim, in_their_turn, stars_of
from agent.evidence.outing.beside import beside_lines
from agent.evidence.outing.legs import HERE, THERE, Legs, used_legs
from agent.evidence.outing.plan import plan_day, sorted_out
from agent.evidence.outing.schedule import MEALS
from agent.evidence.outing.spare import spare_places
from agent.evidence.outing.wish import by_search_of, dated_wish, with_found_places
from agent.evidence.types import (
    DayEnd,
    Gap,
    LeftOut,
    Leg,
    MapTask,
    Outing,
    OutingWish,
    Place,
    Point,
)
from agent.evidence.zones import CHINA, zone_of
from agent.mcp.new_records import NamedStop
from agent.mcp.records import MapOptions, MapResult
from agent.state import OverallState, Turn, Update, reader_language, replaced
from agent.texts import Language, reads_han, say

log = logging.getLogger(__name__)
NODE = "plan_outing"
ID = "outing"
"""Of its events."""
_MOST_REASONS = 4
_MOST_NAMES = 3
"""Stops that are looked up by their names for one plan."""
_FORECAST, _FORECAST_DAYS = "y9", 4
"""The prefix of its source, and how many days ahead it is asked for."""
_END = "y8"
"""The prefix of the source of where a day begins or ends, which nobody cites."""
_SAME_SPOT_M = 20
"""Within which two distances are from one point."""
_MOST_RIDES = 8
"""Ways by bus and train that are measured for one plan; the others stay estimates."""


async def plan_outing(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Plan the day that was wished for; leave a gap where fewer than two places are known.

    A day that was planned before goes on with one.
    """
    services, turn, language = get_services(), state["turn"], reader_language(state["turn"])
    meter = open_meter(turn, runtime.context or Configuration(), services, spent=state.get("usage"))
    emit, text = runtime.stream_writer, say("outing.name", turn["language"])
    emit(event("map_started", NODE, id=ID, text=text))
    earlier = (state.get("previous") or NO_PREVIOUS)["places"]
    again = [place for place in earlier if place["id"] in turn.get("replans", [])]
    known = [*again, *state.get("places", [])]
    wish, zone = await asyncio.to_thread(_wish, turn, known, services.now())
    found = _found(state, again, wish)
    wish = with_found_places(wish, found if again else [])
    named, found = await _named(wish, [*again, *found], services, meter, language)
    demands = turn.get("constraints", {})
    places = [p for p in judged([*found, *named.places], demands, language) if is_stop(p)]
    if not reads_han(language):
        places = await asyncio.to_thread(with_pinyin, places)
    ends = await _ends(state, wish, known, services, meter)
    asked_for = _asked_for(state, places)
    spare = spare_places(wish, _outing_before(state), judged(earlier, demands, language), places)
    aim = _aim(state, wish, places, ends, spare)
    places += spare
    planner = _Planner(places, aim, services=services, meter=meter, emit=emit)
    is_day = len(places) > 1 or bool(places and _planned_before(state))
    outing = await planner.outing() if is_day else None
    lacks_meal = outing is not None and not MEALS.keys().isdisjoint(outing.get("lacks", ()))
    shown = [p for p in earlier if is_meal(p)] if lacks_meal else []
    shown = judged(shown, demands, language)
    if outing and (meals := _meals_shown_before(outing, shown, places, aim)):
        aim = in_their_turn(aim, meals, [p for p in places if p["id"] not in places_of(outing)])
        planner = _Planner([*places, *meals], aim, services=services, meter=meter, emit=emit)
        outing = await planner.outing() or outing
    if outing:
        missed = [left for left in outing["left_out"] if _is_missed(left, aim, asked_for)]
        outing["left_out"] = [*missed, *_unwanted_before(state, outing)]
        _tell_ends(outing, ends)
        outing["url"] = planner.link(outing)
        outing |= {} if zone is CHINA else {"zone": str(zone)}
    count = sum("place" in stop for stop in outing["stops"]) if outing else 0
    log.info("turn=%s %s: %d of %d places", turn["id"], NODE, count, len(places))
    emit(event("map_done", NODE, id=ID, text=text, count=count))
    for gap in (gaps := [] if outing else [planner.gap()]):
        emit(event("gap", NODE, text=gap["message"]))
    closing = Update(outing=outing, gaps=gaps)
    if outing:
        # What is told of a day, the forecast too, is of the one that was planned.
        closing["turn"] = Turn(**{**state["turn"], "day": outing["day"]})
        if not state.get("weather"):
            await _add_forecast(
                named, outing, [*places, *shown], services, meter=meter, language=language
            )
    told = _with_walks(state.get("places", []), named.places, planner.ways, aim.near)
    records = Update(places=told, sources_gathered=named.sources, weather=named.weather)
    return Update(**{**records, **closing, "usage": meter.usage})


def _aim(
    state: OverallState,
    wish: OutingWish,
    places: Sequence[Place],
    ends: Mapping[str, DayEnd],
    spare: Sequence[Place],
) -> Aim:
    """Return what the day over these places is to be, and between which ends."""
    start, end = (ends[key]["wgs84"] if key in ends else None for key in ("start", "end"))
    return Aim(
        wish, reader_language(state["turn"]), start or state["turn"]["near"],
        _wanted(state, places), _planned_before(state), _kinds(state), _chosen(state, places),
        _asked_kinds(state), _unsaid(state, wish), end, frozenset(place["id"] for place in spare),
    )  # fmt: skip


async def _add_forecast(
    named: MapResult,
    outing: Outing,
    places: Sequence[Place],
    services: Services,
    *,
    meter: Meter,
    language: Language,
) -> None:
    """Add the forecast of the city, if it reaches the day: one call, whose reply is kept a while.

    That it could not be had is told to nobody: nobody asked for it.
    """
    stops = [place for place in places if place["id"] in places_of(outing)]
    # A playground's record has no address.
    first = next((place for place in stops if place["city"]), stops[0])
    ahead = date.fromisoformat(outing["day"]) - services.now().date()
    if not (city := first["city"]) or ahead.days > _FORECAST_DAYS:
        return
    client = services.maps.of(first["id"].partition(":")[0])
    found = await client.map_result(
        MapTask(intent="weather", city=city), city,
        options=MapOptions(prefix=_FORECAST, language=language), meter=meter,
        on_call=lambda call: None,
    )  # fmt: skip
    told = [w for w in found.weather if any(d["date"] == outing["day"] for d in w["days"])]
    named.weather += told
    ids = {each["source"] for each in told}
    named.sources += [source for source in found.sources if source["id"] in ids]


async def _named(
    wish: OutingWish, places: Sequence[Place], services: Services, meter: Meter, language: Language
) -> tuple[MapResult, list[Place]]:
    """Return what the map has for the words of an order by which no place is known.

    That is the place of such a name, which may be known from the web only; else the words are a
    kind that no search had ("something indoors for children"), and of the places, which are
    returned with that, those are of it that the map finds for them.
    """
    words = [word for word in wish.get("order", ()) if not is_any_of_kind(word)]
    words = [word for word in words if not any(_is_for(place, word) for place in places)]
    named, known = MapResult(), [*places]
    if not places:
        return named, known
    provider = places[0]["id"].partition(":")[0]
    client = services.maps.of(provider)
    for at, word in enumerate(words[:_MOST_NAMES]):
        task = MapTask(intent="poi", place=word, city=places[0]["city"])
        options = MapOptions(prefix=f"y{at}", language=language)
        found = await client.map_result(
            task, word, options=options, meter=meter, on_call=lambda call: None
        )
        called = [place for place in found.places if is_called(place, word)]
        for one in sorted(called, key=lambda p: metres_apart(p["wgs84"], places[0]["wgs84"]))[:1]:
            named.places.append(one)
            named.sources += [each for each in found.sources if each["id"] == one["source"]]
        ids = {place["id"] for place in found.places if not called}
        ids |= {f"{provider}:{hit['id']}" for hit in found.hits if not called}
        known = [
            Place(**{**p, "keywords": [*p["keywords"], word]}) if p["id"] in ids else p
            for p in known
        ]
    left = [word for word in words if not any(_is_for(p, word) for p in (*known, *named.places))]
    if len(left) == 1 and not left[0][:1].isupper():
        # A name is of one place.
        known = by_search_of(known, wish["order"], *left)
    return named, known


async def _ends(
    state: OverallState, wish: OutingWish, known: Sequence[Place], services: Services, meter: Meter
) -> dict[str, DayEnd]:
    """Return the named `start` and `end` of a day that are known, or that the map knows.

    Who names only the start comes back there, as one does to one's own position.
    """
    ends = dict[str, DayEnd]()
    earlier = _outing_before(state)
    before = [earlier.get("start"), earlier.get("end")] if earlier else []
    asked = {"start": wish.get("from_place", ""), "end": wish.get("to_place", "")}
    for key, name in asked.items():
        if not (name and known) or (key == "end" and name == asked["start"]):
            continue
        found = next((end for end in before if end and end["asked"] == name), None)
        if found is None and (place := await _place_named(name, state, known, services, meter)):
            shown = map_name(place, reader_language(state["turn"]))
            found = DayEnd(asked=name, name=shown, wgs84=place["wgs84"])
        if found:
            ends[key] = found
    return ends


async def _place_named(
    name: str, state: OverallState, known: Sequence[Place], services: Services, meter: Meter
) -> Place | None:
    """Return the place of a name that is known, or that the map has first near these."""
    called = [place for place in known if is_called(place, name)]
    if not called:
        task = MapTask(intent="poi", place=name, city=known[0]["city"])
        found = await services.maps.of(known[0]["id"].partition(":")[0]).map_result(
            task, name, meter=meter, on_call=lambda call: None,
            options=MapOptions(prefix=_END, language=reader_language(state["turn"])),
        )  # fmt: skip
        near = [p for p in found.places if metres_apart(p["wgs84"], known[0]["wgs84"]) <= TOO_FAR_M]
        called = [place for place in near if is_called(place, name)] or near
    return next(iter(called), None)


def _with_walks(
    places: Sequence[Place], named: Sequence[Place], ways: Legs, start: Point | None
) -> Any:
    """Return the update of the places: with the measured way on foot from where the day begins.

    Only where that is what their distance is told from, too; else the `named` ones alone come in.
    """

    def told(place: Place) -> Place:
        leg, line = ways.get((HERE, place["id"])), place["distance_m"]
        if not (start and leg and line is not None) or leg["estimated"]:
            return place
        is_from_there = abs(metres_apart(start, place["wgs84"]) - line) <= _SAME_SPOT_M
        if leg["mode"] != "walking" or not is_from_there:
            return place
        return Place(**{**place, "walk_m": leg["distance_m"], "walk_s": leg["duration_s"]})

    walked = [told(place) for place in places]
    return [*named] if walked == [*places] else replaced([*walked, *named])


def _tell_ends(outing: Outing, ends: Mapping[str, DayEnd]) -> None:
    """Note in a day where it begins and ends, and which of the named places nobody found."""
    wish = outing["wish"]
    if start := ends.get("start"):
        outing["start"] = start
    if end := ends.get("end"):
        outing["end"] = end
    named = {wish[key] for key in ("from_place", "to_place") if wish.get(key)}
    if lost := sorted(named - {end["asked"] for end in ends.values()}):
        outing["lacks"] = [*outing.get("lacks", ()), *lost]


def _is_for(place: Place, word: str) -> bool:
    """Return whether a place was searched for by a word of an order, or is called so."""
    return word.casefold() in map(str.casefold, place["keywords"]) or is_called(place, word)


def _wish(turn: Turn, places: Sequence[Place], now: datetime) -> tuple[OutingWish, tzinfo]:
    """Return what is wanted of the day on the clock of its places, and their zone.

    It is as of when it was asked for, and then of now: its plan may have been reviewed for hours.
    """
    zone = zone_of(places[0]) if places else CHINA
    not_on = turn.get("constraints", {}).get("not_on", [])
    wish = dated_wish(turn["outing"], datetime.fromtimestamp(turn["started_at"], zone), not_on)
    return dated_wish(wish, now.astimezone(zone), not_on), zone


def _found(state: OverallState, again: Sequence[Place], wish: OutingWish) -> list[Place]:
    """Return what this turn found for a day; beside the places `again` of earlier turns the best.

    That is one of each query.
    """
    demands, language = state["turn"].get("constraints", {}), reader_language(state["turn"])
    places, ids = distinct_places(state.get("places", [])), {place["id"] for place in again}
    # What a search for restaurants finds and is none, a cake shop, nobody asked for.
    places = [
        p for p in places if not p["keywords"] or any(is_found_for(p, w) for w in p["keywords"])
    ]
    if not again:
        return places
    if not _has_room(state, wish):
        return []
    found = [place for place in places if place["id"] not in ids and is_stop(place)]
    found = judged(found, demands, language)
    _, against = sorted_out(found, Aim(wish, language))
    shut = {left["place"] for left in against if left["reason"] in ("closed", "hours")}
    chosen = _chosen(state, found)
    return coming_in(found, again, shut, chosen)[: len(state["query_list"])]


def _meals_shown_before(
    outing: Outing, earlier: Sequence[Place], places: Sequence[Place], aim: Aim
) -> list[Place]:
    """Return of the places of earlier answers the nearest for each meal that a plan lacks.

    It is surely open then, and fails no demand.
    """
    stops, known = places_of(outing), {place["id"] for place in places}
    at = [place["wgs84"] for place in places if place["id"] in stops]
    left = [p for p in earlier if p["id"] not in known and not fails_a_demand(p)]
    left = [p for p in left if p["id"] not in aim.wish.get("without", [])]
    left.sort(key=lambda p: min((metres_apart(p["wgs84"], each) for each in at), default=0))
    weekday = [date.fromisoformat(outing["day"]).isoweekday()]
    chosen: dict[str, Place] = {}
    for meal, (_, latest) in MEALS.items():
        clock = clock_of(latest)
        for place in left if meal in outing.get("lacks", ()) else ():
            hours = [openness(each, clock, weekday) for each in hours_of(place)]
            if place["id"] not in chosen and {*hours} == {"satisfied"}:
                chosen[place["id"]] = place
                break
    return [*chosen.values()]


def _has_room(state: OverallState, wish: OutingWish) -> bool:
    """Return whether what was found may come into a day: not where a planned one only moves."""
    planned, outing = _planned_before(state), _outing_before(state)
    if not planned or not outing or wish.get("incoming") or wish["day"] != outing["day"]:
        return True
    goes = not {*wish.get("without", [])}.isdisjoint(planned)
    return goes or any("place" not in stop for stop in outing["stops"])


def coming_in(
    found: Sequence[Place],
    stops: Sequence[Place],
    shut: Collection[str] = (),
    chosen: Collection[str] = (),
) -> list[Place]:
    """Return the stops that come into a day: of what each query found the best on the way.

    The way is from one stop to the next, over it; a kilometre of it outweighs a star. What fails a
    demand, or is not open then, comes in where all do; of the others the `chosen` one.
    """
    if not stops:
        return list(found)

    def fit(place: Place) -> tuple[bool, bool, float]:
        fails = fails_a_demand(place)
        ways = sorted(metres_apart(place["wgs84"], stop["wgs84"]) for stop in stops)
        against = fails or place["id"] in shut
        return against, place["id"] not in chosen, sum(ways[:2]) / 1000 - stars_of(place)

    branches: dict[str, list[Place]] = {}
    for place in found:
        branches.setdefault(place["source"].partition("-")[0], []).append(place)
    return [min(of_query, key=fit) for of_query in branches.values()]


def _kinds(state: OverallState) -> frozenset[str]:
    """Return the words of the kinds of place that this turn's searches were for."""
    tasks = [task for query in state["query_list"] if (task := query["map"])]
    kinds = [task.get("keywords") or [] for task in tasks if task["intent"] != "poi"]
    return frozenset(" ".join(word.split()).casefold() for words in kinds for word in words)


def _asked_kinds(state: OverallState) -> list[str]:
    """Return of these the ones that the question itself names, in any language that has texts.

    "A cinema near the museum" asks for no museum.
    """
    said = _said(state)
    return [word for word in sorted(_kinds(state)) if names_kind(said, word)]


def _said(state: OverallState) -> str:
    turn = state["turn"]
    return without_origins(f"{turn['question']}\n{words_of_user(turn)}")


def _unsaid(state: OverallState, wish: OutingWish) -> list[str]:
    """Return the kinds in a new day's order that a model has read out of what the person said."""
    said, order = _said(state), [] if _planned_before(state) else wish.get("order", ())
    return [word for word in order if is_any_of_kind(word) and not names_kind(said, word)]


def _chosen(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places that reflection has chosen for the day."""
    chosen = {*state.get("chosen_stops", [])}
    return frozenset(p["id"] for p in places if not chosen.isdisjoint(source_ids(p)))


def _wanted(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places that the person wants: they come first.

    They are those that they asked for; of a list all, but where the day has room for only some of
    them, or says of what kinds they are. What a changed day had no time for waits for room.
    """
    turn = state["turn"]
    wish, again = turn["outing"], turn.get("replans", [])
    is_list = "order" not in wish and len(again) <= wish.get("stops", len(again))
    return (_asked_for(state, places) | frozenset(again if is_list else [])) - _waits(state, places)


def _waits(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of what the planned day had no time for, and that is not named now."""
    outing = _outing_before(state)
    left = outing["left_out"] if outing and _planned_before(state) else []
    full = frozenset(each["place"] for each in left if _is_full(each))
    return full - _named_in(state, places)


def _asked_for(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places named to go to; of a day that is changed of all."""
    if _planned_before(state):
        return frozenset(place["id"] for place in places)
    return _named_in(state, places)


def _named_in(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places that the question names as somewhere to go."""
    words = f"{state['turn']['question']}\n{words_of_user(state['turn'])}"
    # "Lunch near the museum" asks for no museum.
    return frozenset(mentioned(places, without_origins(words)))


def _outing_before(state: OverallState) -> Outing | None:
    return (state.get("previous") or NO_PREVIOUS).get("outing")


def _planned_before(state: OverallState) -> list[str]:
    """Return the ids of the stops, in order, of the planned day that is changed; else none."""
    stops = places_of(_outing_before(state))
    return [] if set(stops).isdisjoint(state["turn"].get("replans", [])) else stops


def _is_missed(left: LeftOut, aim: Aim, asked_for: Collection[str]) -> bool:
    """Return whether somebody asks why a place is not in the plan.

    That a day has no room for all of a list, of which nobody named this one, needs no word.
    """
    named = asked_for if _is_full(left) else aim.wanted
    is_of_some = "stops" in aim.wish and "order" not in aim.wish
    return left["place"] in named and not (_is_full(left) and is_of_some)


def _is_full(left: LeftOut) -> bool:
    """Return whether a place is not in the plan for want of time."""
    return left["reason"] in ("time", "meals")


def _unwanted_before(state: OverallState, outing: Outing) -> list[LeftOut]:
    """Return what earlier changes of the day took out of it, and no later one put back."""
    told, earlier = {each["place"] for each in outing["left_out"]}, _outing_before(state)
    gone = {*outing["wish"].get("without", [])} - {*told, *places_of(outing)}
    return [
        LeftOut(**{**left, "source": ""})
        for left in (earlier["left_out"] if earlier else ())
        if left["place"] in gone and left["reason"] == "unwanted"
    ]


class _Planner:
    """Plan one day: over ways on foot, then once more with the rides that the plan needs."""

    def __init__(
        self, places: Sequence[Place], aim: Aim, *, services: Services, meter: Meter, emit: Emit
    ) -> None:
        self._aim, self._maps, self._meter, self._emit = aim, services.maps, meter, emit
        self._all = places
        self.ways: Legs = {}
        """The measured ones on foot to the stops of the plan."""
        self._places, self._against = sorted_out(places, aim)
        self._stops = list[NamedStop]()

    async def outing(self) -> Outing | None:
        """Return the plan, linked to the map; None where no stop fits into the day."""
        walks = await self._walks()
        outing = await self._planned(walks)
        if outing and (rides := await self._rides(outing)):
            outing = await self._planned({**walks, **rides})
        if outing:
            if lines := [*beside_lines(outing, self._places, walks, self._aim.language)]:
                outing["told"] = [*outing.get("told", ()), *lines]
            by_id = {place["id"]: place for place in self._places}
            stops = [by_id[id] for id in places_of(outing)]
            self.ways = {ends: leg for ends, leg in walks.items() if ends[1] in places_of(outing)}
            self._stops = [(place["name"], place["location"]) for place in stops]
        return outing

    def link(self, outing: Outing) -> str:
        """Return the address of the planned day on the map, from and to its named ends, too."""
        crs = self._stops[0][1]["crs"]
        outer = [
            [(end["name"], location_in(crs, end["wgs84"]))] if end else []
            for end in day_ends(outing)
        ]
        return self._maps.stops_link([*outer[0], *self._stops, *outer[1]])

    def gap(self) -> Gap:
        """Return that no day came of it, with what speaks against the places that were found."""
        language, against = self._aim.language, self._against
        if not against:
            return run_gap("outing.outing_too_few", language)
        reasons = [
            say("outing.left_out_line", language, name=left["name"], reason=left["text"])
            for left in against[:_MOST_REASONS]
        ]
        joined = say("outing.between_reasons", language).join(reasons)
        return run_gap("outing.outing_impossible", language, reasons=joined)

    async def _planned(self, legs: Legs) -> Outing | None:
        """Return the plan over these ways; the search takes the processor for up to seconds."""
        return await compute(lambda: plan_day(self._all, self._aim, legs), otherwise=lambda: None)

    async def _walks(self) -> dict[tuple[str, str], Leg]:
        ids = [place["id"] for place in self._places]
        points = [place["location"] for place in self._places]
        ends = ((HERE, self._aim.near), (THERE, self._aim.end))
        named = [(id, point) for id, point in ends if point]
        if points:
            ids = [*(id for id, _ in named), *ids]
            crs = points[0]["crs"]
            points = [*(location_in(crs, point) for _, point in named), *points]
        legs = await self._maps.walks(points, meter=self._meter, on_call=self._on_call)
        return {(ids[start], ids[end]): leg for (start, end), leg in legs.items()}

    async def _rides(self, outing: Outing) -> dict[tuple[str, str], Leg]:
        """Return the measured rides of a plan, where it goes by bus or train."""
        by_id = {place["id"]: place for place in self._places}
        legs = [stop["leg"] for stop in outing["stops"] if "leg" in stop]
        legs += [outing["back"]] if "back" in outing else []
        wanted = [
            ends
            for ends, leg in zip(used_legs(outing), legs, strict=True)
            if leg["mode"] == "transit" and leg["estimated"] and {HERE, THERE}.isdisjoint(ends)
        ]
        rides: dict[tuple[str, str], Leg] = {}
        for start, end in wanted[:_MOST_RIDES]:
            one, other = by_id[start], by_id[end]
            ride = await self._maps.ride(
                one["location"], other["location"], one["city"] or "",
                meter=self._meter, on_call=self._on_call,
            )  # fmt: skip
            if ride:
                rides[start, end] = ride
        return rides

    def _on_call(self, call: str) -> None:
        self._emit(event("map_call", NODE, id=ID, text=call))

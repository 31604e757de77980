"""Order the places into a day, by code: which stops, when, and how to get from one to the next."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from datetime import datetime, tzinfo

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
from agent.evidence.constraints import judged
from agent.evidence.geo import location_in, metres_apart
from agent.evidence.kinds import is_stop
from agent.evidence.mentions import mentioned, places_of
from agent.evidence.names import with_pinyin
from agent.evidence.outing.plan import (
    HERE,
    Aim,
    Legs,
    plan,
    rating_of,
    sorted_out,
    used_legs,
)
from agent.evidence.outing.wish import settled, with_found
from agent.evidence.types import Gap, LeftOut, Leg, Outing, OutingWish, Place
from agent.evidence.zones import CHINA, zone_of
from agent.state import OverallState, Turn, Update, reader_language
from agent.texts import is_chinese, say

log = logging.getLogger(__name__)
NODE = "plan_outing"
ID = "outing"
"""Of its events."""
_MOST_REASONS = 4
_MOST_RIDES = 8
"""Ways by bus and train that are measured for one plan; the others stay estimates."""


async def plan_outing(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Plan the day that was wished for; leave a gap where fewer than two places are known."""
    services, turn = get_services(), state["turn"]
    meter = open_meter(turn, runtime.context or Configuration(), services, spent=state.get("usage"))
    emit, text = runtime.stream_writer, say("outing.name", turn["language"])
    emit(event("map_started", NODE, id=ID, text=text))
    earlier = (state.get("previous") or NO_PREVIOUS)["places"]
    again = [place for place in earlier if place["id"] in turn.get("replans", [])]
    known = [*again, *state.get("places", [])]
    wish, zone = await asyncio.to_thread(_wish, turn, known, services.now())
    found = _found(state, again, wish)
    wish = with_found(wish, found if again else [])
    demands, language = turn.get("constraints", {}), reader_language(turn)
    places = [place for place in judged([*again, *found], demands, language) if is_stop(place)]
    if not is_chinese(turn["language"]):
        places = await asyncio.to_thread(with_pinyin, places)
    turn = Turn(**{**turn, "outing": wish})
    aim = Aim(
        wish, reader_language(turn), turn["near"], _wanted(state, places), _planned_before(state)
    )
    planner = _Planner(places, aim, services=services, meter=meter, emit=emit)
    outing = await planner.outing() if len(places) > 1 else None
    if outing and zone is not CHINA:
        outing["zone"] = str(zone)
    count = sum("place" in stop for stop in outing["stops"]) if outing else 0
    log.info("turn=%s %s: %d of %d places", turn["id"], NODE, count, len(places))
    emit(event("map_done", NODE, id=ID, text=text, count=count))
    gaps = [] if outing else [planner.gap()]
    for gap in gaps:
        emit(event("gap", NODE, text=gap["message"]))
    return Update(outing=outing, gaps=gaps, usage=meter.usage)


def _wish(turn: Turn, places: Sequence[Place], now: datetime) -> tuple[OutingWish, tzinfo]:
    """Return what is wanted of the day on the clock of its places, and their zone.

    It is as of when it was asked for, and then of now: its plan may have been reviewed for hours.
    """
    zone = zone_of(places[0]) if places else CHINA
    not_on = turn.get("constraints", {}).get("not_on", [])
    wish = settled(turn["outing"], datetime.fromtimestamp(turn["started_at"], zone), not_on)
    return settled(wish, now.astimezone(zone), not_on), zone


def _found(state: OverallState, again: Sequence[Place], wish: OutingWish) -> list[Place]:
    """Return what this turn found for a day; beside the places `again` of earlier turns the best.

    That is one of each query.
    """
    demands, language = state["turn"].get("constraints", {}), reader_language(state["turn"])
    places, ids = distinct_places(state.get("places", [])), {place["id"] for place in again}
    if not again:
        return places
    if not _has_room(state, wish):
        return []
    found = [place for place in places if place["id"] not in ids and is_stop(place)]
    found = judged(found, demands, language)
    _, against = sorted_out(found, Aim(wish, language))
    shut = {left["place"] for left in against if left["reason"] in ("closed", "hours")}
    return coming_in(found, again, shut)[: len(state["query_list"])]


def _has_room(state: OverallState, wish: OutingWish) -> bool:
    """Return whether what was found may come into a day: not where a planned one only moves."""
    planned, outing = _planned_before(state), (state.get("previous") or NO_PREVIOUS).get("outing")
    if not planned or not outing or wish.get("incoming") or wish["day"] != outing["day"]:
        return True
    goes = not {*wish.get("without", [])}.isdisjoint(planned)
    return goes or any("place" not in stop for stop in outing["stops"])


def coming_in(
    found: Sequence[Place], stops: Sequence[Place], shut: Collection[str] = ()
) -> list[Place]:
    """Return the stops that come into a day: of what each query found the best on the way.

    The way is from one stop to the next, over it; a kilometre of it outweighs a star. What fails a
    demand, or is not open then, comes in where all do.
    """
    if not stops:
        return list(found)

    def fit(place: Place) -> tuple[bool, float]:
        fails = any(verdict["verdict"] == "violated" for verdict in place.get("verdicts", []))
        ways = sorted(metres_apart(place["wgs84"], stop["wgs84"]) for stop in stops)
        return fails or place["id"] in shut, sum(ways[:2]) / 1000 - rating_of(place)

    branches: dict[str, list[Place]] = {}
    for place in found:
        branches.setdefault(place["source"].partition("-")[0], []).append(place)
    return [min(of_query, key=fit) for of_query in branches.values()]


def _wanted(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places that the person wants: they come first, and are missed.

    They are those that the question names; of a day that is changed all, also what comes in; of a
    list all, but where the day has room for only some of them, or says of what kinds they are.
    """
    turn = state["turn"]
    wish, again = turn["outing"], turn.get("replans", [])
    is_list = "order" not in wish and len(again) <= wish.get("stops", len(again))
    if _planned_before(state):
        return frozenset(place["id"] for place in places)
    named = mentioned(places, f"{turn['question']}\n{words_of_user(turn)}")
    return frozenset([*named, *(again if is_list else [])])


def _planned_before(state: OverallState) -> list[str]:
    """Return the ids of the stops, in order, of the planned day that is changed; else none."""
    stops = places_of((state.get("previous") or NO_PREVIOUS).get("outing"))
    return [] if set(stops).isdisjoint(state["turn"].get("replans", [])) else stops


class _Planner:
    """Plan one day: over ways on foot, then once more with the rides that the plan needs."""

    def __init__(
        self, places: Sequence[Place], aim: Aim, *, services: Services, meter: Meter, emit: Emit
    ) -> None:
        self._aim, self._maps, self._meter, self._emit = aim, services.maps, meter, emit
        self._all = places
        self._places, self._against = sorted_out(places, aim)

    async def outing(self) -> Outing | None:
        """Return the plan, linked to the map; None where no stop fits into the day."""
        walks = await self._walks()
        outing = await self._planned(walks)
        if outing and (rides := await self._rides(outing)):
            outing = await self._planned({**walks, **rides})
        if outing:
            by_id = {place["id"]: place for place in self._places}
            stops = [by_id[id] for id in places_of(outing)]
            named = [(place["name"], place["location"]) for place in stops]
            outing["url"] = self._maps.stops_link(named)
            outing["left_out"] = [left for left in outing["left_out"] if self._is_missed(left)]
        return outing

    def _is_missed(self, left: LeftOut) -> bool:
        """Return whether somebody asks why a place is not in the plan.

        Who wants only some of the places knows that the day has no room for the others.
        """
        is_chosen = "stops" in self._aim.wish and left["reason"] in ("time", "meals")
        return left["place"] in self._aim.wanted and not is_chosen

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
        return await compute(lambda: plan(self._all, self._aim, legs), otherwise=lambda: None)

    async def _walks(self) -> dict[tuple[str, str], Leg]:
        ids = [place["id"] for place in self._places]
        points = [place["location"] for place in self._places]
        if (near := self._aim.near) and points:
            ids, points = [HERE, *ids], [location_in(points[0]["crs"], near), *points]
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
            if leg["mode"] == "transit" and leg["estimated"] and HERE not in ends
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

"""Order the places into a day, by code: which stops, when, and how to get from one to the next."""

import asyncio
import logging
from collections.abc import Sequence
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
from agent.evidence.mentions import mentioned, places_of
from agent.evidence.outing.plan import HERE, MOST_VISITS, Legs, impossible, is_stop, plan, used_legs
from agent.evidence.outing.wish import settled
from agent.evidence.records import map_name, with_pinyin
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
    places = _candidates(state)
    meter = open_meter(turn, runtime.context or Configuration(), services, spent=state.get("usage"))
    emit, text = runtime.stream_writer, say("outing.name", turn["language"])
    emit(event("map_started", NODE, id=ID, text=text))
    if not is_chinese(turn["language"]):
        places = await asyncio.to_thread(with_pinyin, places)
    wish, zone = await asyncio.to_thread(_wish, turn, places, services.now())
    wanted = _wanted(state, places)
    places.sort(key=lambda place: place["id"] not in wanted)
    turn = Turn(**{**turn, "outing": wish})
    planner = _Planner(turn, places, wanted, services=services, meter=meter, emit=emit)
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


def _candidates(state: OverallState) -> list[Place]:
    """Return the places of this turn, or of an earlier one, that are worth a stop of their own."""
    turn = state["turn"]
    demands, language = turn.get("constraints", {}), reader_language(turn)
    if again := turn.get("replans"):
        earlier = (state.get("previous") or NO_PREVIOUS)["places"]
        places = [place for place in earlier if place["id"] in again]
        found = [one for one in distinct_places(state.get("places", [])) if one["id"] not in again]
        found = judged([one for one in found if is_stop(one)], demands, language)
        places += coming_in(found, places)[: len(state["query_list"])]
    else:
        places = distinct_places(state.get("places", []))
    return [place for place in judged(places, demands, language) if is_stop(place)]


def coming_in(found: Sequence[Place], stops: Sequence[Place]) -> list[Place]:
    """Return the stops that come into a day: of what each query found what is least out of the way.

    The way is from one stop to the next, over it. What fails a demand comes in where all do.
    """
    if not stops:
        return list(found)

    def out_of_the_way(place: Place) -> tuple[bool, float]:
        fails = any(verdict["verdict"] == "violated" for verdict in place.get("verdicts", []))
        ways = sorted(metres_apart(place["wgs84"], stop["wgs84"]) for stop in stops)
        return fails, sum(ways[:2])

    branches: dict[str, list[Place]] = {}
    for place in found:
        branches.setdefault(place["source"].partition("-")[0], []).append(place)
    return [min(of_query, key=out_of_the_way) for of_query in branches.values()]


def _wanted(state: OverallState, places: Sequence[Place]) -> frozenset[str]:
    """Return the ids of the places that the person wants: they come first, and are missed.

    They are those that the question names; of a day that is changed its stops, and what comes in;
    of a list all, but where the day has room for only some of them.
    """
    turn, previous = state["turn"], state.get("previous") or NO_PREVIOUS
    ids = set(mentioned(places, f"{turn['question']}\n{words_of_user(turn)}"))
    again, outing = turn.get("replans", []), previous.get("outing")
    stops = set(places_of(outing))
    if stops.intersection(again):
        ids |= stops | {place["id"] for place in places if place["id"] not in again}
    elif len(again) <= turn["outing"].get("stops", len(again)):
        ids |= {*again}
    return frozenset(ids)


class _Planner:
    """Plan one day: over ways on foot, then once more with the rides that the plan needs."""

    def __init__(
        self,
        turn: Turn,
        places: Sequence[Place],
        wanted: frozenset[str],
        *,
        services: Services,
        meter: Meter,
        emit: Emit,
    ) -> None:
        self._turn, self._places, self._maps = turn, places, services.maps
        self._wanted = wanted
        self._meter, self._emit = meter, emit
        self._near = turn["near"]
        self._dear = list[LeftOut]()
        """What gave way because all came to more than the day may cost."""

    async def outing(self) -> Outing | None:
        """Return the plan, linked to the map; None where no stop fits into the day."""
        walks = await self._walks()
        outing = await self._affordable(walks)
        if outing and (rides := await self._rides(outing)):
            outing = await self._planned({**walks, **rides})
        if outing:
            outing["left_out"] += self._dear
            by_id = {place["id"]: place for place in self._places}
            stops = [by_id[id] for id in places_of(outing)]
            named = [(place["name"], place["location"]) for place in stops]
            outing["url"] = self._maps.stops_link(named)
            outing["left_out"] = [left for left in outing["left_out"] if self._is_missed(left)]
        return outing

    async def _affordable(self, legs: Legs) -> Outing | None:
        """Return the plan whose stops cost no more together than the day may.

        While they do, the dearest that nobody asked for by name gives way to others.
        """
        outing = await self._planned(legs)
        while outing and (dearest := self._dearest_of_too_many(outing)):
            self._places = [place for place in self._places if place["id"] != dearest["id"]]
            self._dear.append(self._too_dear(dearest))
            outing = await self._planned(legs)
        return outing

    def _dearest_of_too_many(self, outing: Outing) -> Place | None:
        demands = self._turn.get("constraints", {})
        total, people = demands.get("total_cost"), demands.get("people", 1)
        by_id = {place["id"]: place for place in self._places}
        paid = [place for id in places_of(outing) if (place := by_id[id])["cost"]]
        paid = [place for place in paid if place.get("per_head", True) and "currency" not in place]
        if total is None or sum(place["cost"] or 0 for place in paid) * people <= total:
            return None
        free_to_go = [place for place in paid if place["id"] not in self._wanted]
        return max(free_to_go, key=lambda place: place["cost"] or 0, default=None)

    def _too_dear(self, place: Place) -> LeftOut:
        language = reader_language(self._turn)
        total = self._turn.get("constraints", {}).get("total_cost", 0)
        text = say("outing.left_out.dear", language, total=f"{total:g}")
        return LeftOut(
            place=place["id"], name=map_name(place, language), source=place["source"],
            reason="dear", text=text,
        )  # fmt: skip

    def _is_missed(self, left: LeftOut) -> bool:
        """Return whether somebody asks why a place is not in the plan.

        Who wants only some of the places knows that the day has no room for the others.
        """
        is_chosen = not self._turn["outing"].keys().isdisjoint(("stops", "order")) and left[
            "reason"
        ] in ("time", "meals")
        return left["place"] in self._wanted and not is_chosen

    def gap(self) -> Gap:
        """Return that no day came of it, with what speaks against the places that were found."""
        language = reader_language(self._turn)
        against = impossible(self._places, self._turn["outing"], near=self._near, language=language)
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
        wish, language = self._turn["outing"], reader_language(self._turn)
        return await compute(
            lambda: plan(
                self._places, wish, legs, near=self._near, language=language, wanted=self._wanted
            ),
            otherwise=lambda: None,
        )

    async def _walks(self) -> dict[tuple[str, str], Leg]:
        ids = [place["id"] for place in self._places[:MOST_VISITS]]
        points = [place["location"] for place in self._places[:MOST_VISITS]]
        if self._near and points:
            ids, points = [HERE, *ids], [location_in(points[0]["crs"], self._near), *points]
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

"""Ask a map by key that finds names, searches around a position and plans ways: Tencent, Mapbox."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from agent.evidence.geo import location_in, metres_apart, parse_lnglat
from agent.evidence.maps import WAY_TIMES
from agent.evidence.types import (
    AvoidedRoad,
    Crs,
    Location,
    MapTask,
    Place,
    Route,
    RouteStep,
    TravelMode,
    WayWish,
)
from agent.mcp.new_records import NamedStop, legs_over, new_route
from agent.mcp.prefetch import DEFAULT_RADIUS_M, Prefetch, one_line_of
from agent.mcp.records import (
    NOT_FOUND,
    BranchCalls,
    MapRecords,
    has_name,
    lnglat,
    place_line,
    route_line,
)
from agent.mcp.reply_text import compacted, fitting_lines
from agent.texts import Language, say

_MOST_ENTERED, _MOST_RADIUS_M, _TWO = 8, 10_000, 2
Request = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


@dataclass(frozen=True)
class Way:
    """Hold a way as a service tells it."""

    distance_m: int | None
    duration_s: int | None
    steps: list[RouteStep] = field(default_factory=list)
    line: list[list[float]] = field(default_factory=list)
    """[lng, lat], WGS-84."""


@dataclass(frozen=True)
class Travel:
    """Hold how one goes, as far as a service heeds it."""

    mode: TravelMode
    avoid: Sequence[AvoidedRoad] = ()
    at: Mapping[str, str] = field(default_factory=dict)
    """When, with the date; of a way without further stops."""


class KeyedService(Protocol):
    """What differs between such maps: their tools' arguments, and what their replies hold."""

    provider: str
    crs: Crs
    heeds: frozenset[WayWish]
    modes: tuple[TravelMode, ...]

    def find(self, name: str, city: str | None, country: str | None, language: Language) -> Request:
        """Return what finds a place by its name or address."""
        ...

    def around(self, at: Location, word: str, language: Language) -> Request:
        """Return what finds a kind of place around a position, the nearest first."""
        ...

    def way(self, start: Location, end: Location, travel: Travel) -> Request:
        """Return what plans a way."""
        ...

    def asked_way(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> tuple[TravelMode, list[Location]] | None:
        """Return the mode and the stops of a call for a way; None of any other call."""
        ...

    def places(self, reply: Mapping[str, Any]) -> list[Place]:
        """Return the places of a reply, in its order."""
        ...

    def read_way(self, reply: Mapping[str, Any]) -> Way:
        """Return the first way of a reply."""
        ...

    def way_link(self, mode: TravelMode, stops: Sequence[NamedStop]) -> str:
        """Return the page of a way."""
        ...


class KeyedReader:
    """Enter such a map's replies into the records of a branch."""

    def __init__(self, records: MapRecords, service: KeyedService) -> None:
        self.records, self._service = records, service
        self._language = records.options.language

    def read(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> str:
        """Enter the records of a model's call; return the reply as the model reads it."""
        if asked := self._service.asked_way(tool, arguments):
            way, (mode, stops) = self._service.read_way(reply), asked
            if way.distance_m is None or len(stops) < _TWO:
                return compacted([], reply, leave_out=("polyline", "geometry"))
            named = [(self._name(stop), stop) for stop in stops]
            return route_line(self.add_way([way], mode, named), self._language)
        places = self.add_places(reply, [])
        lines = [f"{place_line(p, self._language)} | {lnglat(p['location'])}" for p in places]
        return fitting_lines(lines, self._language) if lines else compacted([], reply)

    def _name(self, stop: Location) -> str:
        """Return what stands at a position, as far as it is known."""
        known = {lnglat(place["location"]): place["name"] for place in self.records.result.places}
        return known.get(lnglat(stop), lnglat(stop))

    def add_places(
        self,
        reply: Mapping[str, Any],
        keywords: Sequence[str],
        *,
        named: Callable[[Mapping[str, Sequence[str]]], set[str]] = lambda names: set(),
    ) -> list[Place]:
        """Add the first places of a reply to the records, and return those that were added.

        `named` gets the names by id and returns the ids to add besides, whatever their rank; once
        web pages were read only these are added. What lies too far away is left out.
        """
        rows, options = self._service.places(reply), self.records.options
        names = {row["id"]: [row["name"], row.get("name_en", "")] for row in rows}
        chosen = named(names) | {row["id"] for row in rows[:_MOST_ENTERED] if not options.pages}
        rows = [row for row in rows if row["id"] in chosen - options.entered]
        return [place for row in rows if (place := self.records.add_place(row, keywords))]

    def add_way(self, ways: Sequence[Way], mode: TravelMode, stops: Sequence[NamedStop]) -> Route:
        """Enter a way over all stops, which is as long as its parts together."""
        ends = [lnglat(at) for _, at in stops]
        seconds = [way.duration_s for way in ways]
        route = new_route(
            id=":".join([self._service.provider, mode, *ends]),
            mode=mode,
            stops=stops,
            url=self._service.way_link(mode, stops),
            distance_m=sum(way.distance_m or 0 for way in ways),
            duration_s=None if None in seconds else sum(filter(None, seconds)),
            steps=legs_over(stops, [(way.distance_m, way.duration_s) for way in ways])
            or [step for way in ways for step in way.steps],
            line=[point for way in ways for point in way.line],
        )
        return self.records.add_route(route)


class KeyedPrefetch(Prefetch):
    """Make a fixed sequence of calls for each intent."""

    def __init__(
        self,
        service: KeyedService,
        task: MapTask,
        query: str,
        records: MapRecords,
        call: BranchCalls,
    ) -> None:
        super().__init__(task, query, records, call)
        self.heeds = service.heeds
        self._service, self._reader = service, KeyedReader(records, service)
        self._language = records.options.language

    async def _nearby(self) -> None:
        middle = await self._middle(_MOST_RADIUS_M)
        name, at = middle or await self._stop(self._place or self._city)
        self._records.set_centre(name, at)
        radius = self._task.get("radius_m") or DEFAULT_RADIUS_M
        self._result.radius_m = min(radius, _MOST_RADIUS_M)
        for word in self._keywords():
            tool, arguments = self._service.around(at, word, self._language)
            reply = await self._call(tool, arguments)
            found = self._service.places(reply)
            self._reader.add_places(reply, [word], named=self._named)
            self._note_search(word, name, len(found), self._result.radius_m, is_cut=bool(found))
        if not self._result.places:
            raise self._refused("no results", "map_no_results")

    _area = _nearby

    async def _weather(self) -> None:
        """Weather and what is at a position are told by others."""
        raise self._refused(f"no {self._task['intent']}", "map_cannot")

    _regeo = _weather

    async def _poi(self) -> None:
        name = self._place or next(iter(self._keywords()), None) or self._query
        found = self._reader.add_places(await self._found(name), [name])
        self._note_search(name, self._city or "", len(found))
        if not found:
            raise self._refused(f"{name}: not found", NOT_FOUND)

    async def _route(self) -> None:
        named = [self._task.get("origin"), *self._task.get("via", [])]
        end = self._task.get("destination") or self._place
        stops = [await self._stop(one_line_of(name)) for name in (*named, end)]
        straight = sum(metres_apart(one[1], other[1]) for one, other in pairwise(stops))
        mode = self._mode(straight, self._service.modes)
        travel = self._travel(mode) if mode == "driving" else Travel(mode)
        requests = [self._service.way(a[1], b[1], travel) for a, b in pairwise(stops)]
        ways = [self._service.read_way(await self._call(*request)) for request in requests]
        if any(way.distance_m is None for way in ways):
            raise self._refused("no way between the two", "map_no_route")
        self._reader.add_way(ways, mode, stops)

    def _travel(self, mode: TravelMode) -> Travel:
        """Return how one drives; times that cannot be sent are told."""
        task = self._task
        times = {key: moment for key in WAY_TIMES if "T" in (moment := task.get(key, ""))}
        at: dict[str, str] = {}
        if not task.get("via"):
            at = {key: moment for key, moment in times.items() if key in self.heeds}
        self.heeds -= {*WAY_TIMES} - at.keys()
        return Travel(mode, task.get("avoid", []), at)

    async def _stop(self, name: str | None) -> NamedStop:
        if near := self._meant_here(name):
            return say("map.here", self._language), location_in(self._service.crs, near)
        if not name:
            raise self._no_place()
        if known := self._known(name):
            return name, known["location"]
        if point := parse_lnglat(name):
            return name, Location(lng=point[0], lat=point[1], crs=self._service.crs)
        rows = self._service.places(await self._found(name))
        if not rows:
            self._unknown_end = name
            raise self._refused(f"{name}: not found", NOT_FOUND)
        first, at = rows[0], rows[0]["location"]
        alike = [row["city"] for row in rows if has_name(row, first["name"]) and not self._city]
        towns = [town for town in dict.fromkeys(alike) if town]
        if len(towns) > 1:
            self._tell_city(name, towns[0], towns[1:], at)
        return name, at

    async def _found(self, name: str) -> dict[str, Any]:
        country = self._task.get("country")
        return await self._call(*self._service.find(name, self._city, country, self._language))

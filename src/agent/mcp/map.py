"""Answer for the maps: a client for each server, the one that covers a place is asked."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from agent.core.budget import Meter, unlimited_meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import BoundedCache, SingleFlight
from agent.core.errors import AgentError, BudgetExceeded, ProviderError, ProviderRefused
from agent.core.redaction import scrub
from agent.core.strings import has_han
from agent.evidence.agreement import bare_name, disagreement
from agent.evidence.geo import parse_lnglat
from agent.evidence.maps import way_wishes
from agent.evidence.types import Gap, Leg, Location, MapTask, Point, WayWish
from agent.evidence.vocabulary import limiting_cities, subject_in_english
from agent.evidence.zones import country_at, zone_at
from agent.mcp.map_server import DailySearches, MapServer, Pauses, Ways, window_pace
from agent.mcp.new_records import NamedStop
from agent.mcp.prefetch import calls_for_walks, means_here
from agent.mcp.records import (
    NOT_FOUND,
    NOT_SET_UP,
    WAITING_HELPS,
    BranchCalls,
    MapOptions,
    MapRecords,
    MapResult,
    OnCall,
    map_gap,
)
from agent.mcp.servers import SERVERS, TellStep, map_names
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.mcp.tools import BranchTools, branch_tools, subject_of
from agent.settings import Settings
from agent.texts import Language, is_chinese, reads_han

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_CACHE_SECONDS = 600.0
"""Of replies whose tool names no time, and of errors that say there is no such place."""
_CACHED = 2000
_HELD_AGAINST = 3
"""Places of a result that a second map is asked about, one call each."""
_ELSEWHERE = frozenset({NOT_FOUND, "map_not_covered", "map_cannot"})
"""Codes of what another map may know."""

log = logging.getLogger(__name__)
# Longer than the session's own limits together, which say better what went wrong.
_LONGEST_CALL = 300.0
# That the map does not know a name is an answer; that there is no map is the operator's choice.
_NO_FAULT = frozenset({NOT_FOUND, *NOT_SET_UP})
POLICY = Policy(
    provider="map",
    spends="map_calls",
    timeout=_LONGEST_CALL,
    base_delay=0.6,
    retry_on=lambda error: error.code in {*WAITING_HELPS, "timeout"},
)


class Gateway:
    """Call one map server for all runs of a process."""

    def __init__(
        self,
        server: MapServer,
        session: SupervisedSession,
        calls: Calls,
        *,
        qps: float = 2.5,
        daily: DailySearches | None = None,
        cache: BoundedCache[str, str | ProviderError] | None = None,
        policy: Policy = POLICY,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._server, self._session, self._calls, self._now = server, session, calls, now
        self._policy = replace(policy, provider=server.provider)
        names = {server.provider, *server.service_of.values()}
        self._paces = {name: window_pace(qps) for name in names}
        self._daily = daily or DailySearches(0, server.quota)
        self._cache = cache or BoundedCache(_CACHED, seconds=_CACHE_SECONDS)
        self._pauses = Pauses(server.quota)
        self._flights = SingleFlight()

    async def call(self, tool: str, args: Mapping[str, Any], *, meter: Meter) -> dict[str, Any]:
        """Return the reply; one that is known already costs nothing.

        Raises a ProviderError of the server, or BudgetExceeded.
        """
        cleaned = self._server.arguments(tool, args)
        key = self._server.key(tool, cleaned)
        cached = self._cache.get(key)
        if isinstance(cached, ProviderError):
            raise cached.with_traceback(None)
        return self._server.parse(cached or await self._shared(key, tool, cleaned, meter))

    async def _shared(self, key: str, tool: str, cleaned: dict[str, Any], meter: Meter) -> str:
        """Make one call for equal ones under way; the first caller pays."""
        mine = False

        async def send() -> str:
            nonlocal mine
            mine = True
            return await self._paid(key, tool, cleaned, meter)

        while True:
            try:
                return await self._flights.do(key, send)
            except BudgetExceeded:
                # The budget that is spent may be that of another run.
                if mine:
                    raise

    async def _paid(self, key: str, tool: str, cleaned: dict[str, Any], meter: Meter) -> str:
        self._pauses.check(tool)
        request = {"tool": tool, "arguments": cleaned}
        try:
            text = await self._calls.once(
                self._policy, lambda: self._send(tool, cleaned), meter=meter, request=request
            )
        except ProviderError as error:
            level = logging.INFO if error.code in _NO_FAULT else logging.WARNING
            log.log(level, "turn=%s %s failed: %s (%s)", meter.turn_id, tool, error, error.code)
            self._pauses.note(tool, error)
            if error.code == NOT_FOUND:
                self._cache.put(key, error)
            raise
        self._cache.put(key, text, seconds=self._server.cache_seconds.get(tool))
        return text

    async def _send(self, tool: str, cleaned: dict[str, Any]) -> str:
        self._pauses.check(tool)
        # A start takes long enough to bring calls paced before it too close together.
        await self._session.ready()
        name = self._server.service_of.get(tool, self._server.provider)
        await asyncio.sleep(await self._calls.book(name, self._paces[name]))
        await self._daily.spend(tool)
        return self._read(tool, await self._session.call_tool(tool, dict(cleaned)))

    def _read(self, tool: str, result: "CallToolResult") -> str:
        """Return the text of a good reply; raise a bad one's error."""
        text = scrub(text_of(result))
        if result.isError:
            error, quota = self._server.error(tool, text), self._server.quota
            if quota and error.code == "map_quota_day":
                raise quota.spent(str(error), self._now())
            raise error
        self._server.parse(text)
        return text


class MapClient:
    """Answer map questions of all runs of a process, by one server."""

    def __init__(
        self,
        server: MapServer,
        session: SupervisedSession,
        gateway: Gateway,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.server, self.session, self._gateway, self._now = server, session, gateway, now

    @property
    def provider(self) -> str:
        """Return the name of the map."""
        return self.server.provider

    async def map_result(
        self, task: MapTask, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> MapResult:
        """Fetch in code what the task needs; failures are gaps."""
        result = MapResult(intent=task["intent"], provider=self.provider)
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language, query)
        await self.server.prefetch(task, query, records, call).run()
        return result

    async def look_up_more(
        self,
        result: MapResult,
        task: MapTask,
        query: str,
        *,
        options: MapOptions,
        meter: Meter,
        on_call: OnCall,
    ) -> None:
        """Look up further hits, until `options.details` + `options.more` places are known.

        To be called last, when the model has what it asked for: these calls are the first to go,
        and what of the wishes is not met is told as it is then.
        """
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language, query)
        missing = options.details + options.more - len(result.places)
        prefetch = self.server.prefetch(task, query, records, call)
        await prefetch.more(min(missing, call.left() - calls_for_walks(task, result, options)))
        prefetch.tell()

    async def tools(
        self, result: MapResult, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> BranchTools:
        """Return the tools a model may call; raise ProviderError if the server cannot be had."""
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language, query)
        return await branch_tools(self.session, records, query, call)

    def ways(self, meter: Meter, on_call: OnCall) -> tuple[Ways, BranchCalls] | None:
        """Return what measures ways, with the calls it may make; None where nothing does."""
        ways = self.server.ways
        return (ways, self._calling(meter, on_call)) if ways else None

    async def health(self) -> dict[str, Any]:
        """Return {provider, configured, works, message, …} for `doctor`; never raise."""
        report: dict[str, Any] = {
            "provider": self.server.provider,
            "configured": True,
            "works": False,
            "tools": 0,
            "server": None,
            "code": None,
        }
        try:
            catalogue = await self.session.list_tools()
            report |= {"works": True, "tools": len(catalogue.tools)}
            report["server"] = await self.session.server_version()
            report["message"] = f"{report['server']}, {report['tools']} tools as expected"
        except AgentError as error:
            configured = error.code not in ("map_key_missing", "map_no_node")
            report |= {"code": error.code, "message": str(error), "configured": configured}
        return report

    async def aclose(self) -> None:
        """End the server; callable from any loop."""
        await self.session.aclose()

    def _records(self, result: MapResult, options: MapOptions, query: str) -> MapRecords:
        presentation = self.server.presentation
        # What a question names there are cities of China.
        cities = limiting_cities(query) if self.server.crs == "GCJ-02" else []
        return MapRecords(result, options, presentation=presentation, cities=cities, now=self._now)

    def _calling(
        self, meter: Meter, on_call: OnCall, language: Language = "zh", query: str = ""
    ) -> BranchCalls:
        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            subject = subject_of(arguments)
            subject = subject_in_english(subject) if not is_chinese(language) else subject
            # What it searches for by a word that its reader has not is told as the query says it.
            if not reads_han(language) and has_han(subject) and arguments.get("keywords"):
                subject = subject if has_han(query) else query
            on_call(f"{tool} {subject}"[:120].strip())
            if self.server.crs != "GCJ-02":
                # The borders of zones, which each record needs, are loaded off the loop.
                await asyncio.to_thread(zone_at, _HELSINKI)
            return await self._gateway.call(tool, arguments, meter=meter)

        return BranchCalls(call, left=lambda: meter.left("map_calls"))


_TIANANMEN: Final = Point(lng=116.3974, lat=39.9087)
_HELSINKI: Final = Point(lng=24.9414, lat=60.1709)


async def probe_map(client: MapClient, language: Language) -> MapResult:
    """Ask a map for one thing, to see whether its key works; failures are gaps."""
    near = _HELSINKI if client.server.covers is None else _TIANANMEN
    return await client.map_result(
        client.server.probe,
        "",
        options=MapOptions(prefix="here", language=language, near=near),
        meter=unlimited_meter("probe"),
        on_call=lambda call: None,
    )


class Maps:
    """Ask the map that covers a place: the first of `clients` that does, and has what it needs."""

    def __init__(self, clients: Sequence[MapClient]) -> None:
        self.clients = list(clients)

    def of(self, provider: str) -> MapClient:
        """Return the client of a map by its name; the first one for another name."""
        return next((one for one in self.clients if one.provider == provider), self.clients[0])

    def covering(self, country: str | None, wished: Sequence[WayWish] = ()) -> list[MapClient]:
        """Return the clients that know a country, best first; all where none is named.

        One that lacks a key stands behind those that do not, and of those one that can do less of
        what is wished of a way.
        """
        fit = [client for client in self.clients if _covers(client.server, country)]
        return sorted(fit, key=lambda client: (
            bool(client.server.missing), len({*wished} - client.server.heeds),
        ))  # fmt: skip

    async def map_result(
        self, task: MapTask, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> MapResult:
        """Fetch in code what the task needs; failures are gaps.

        Where nobody knows the country, a map that does not know the place leaves it to the next.
        """
        country = await _country(task, options.near)
        result = MapResult(intent=task["intent"], open_for_tools=False)
        clients = self.covering(country, way_wishes(task))
        if not clients:
            provider = self.clients[0].provider
            error = ProviderRefused(provider, f"no map of {country}", code="map_not_covered")
            about = task.get("place") or task.get("city") or task.get("destination") or query
            result.gaps.append(map_gap(error, query, options.language, about, provider=provider))
        for at, client in enumerate(clients):
            if at and client.server.missing:
                # One map was asked: that another is not set up takes nothing from its answer.
                break
            result = await client.map_result(
                task, query, options=options, meter=meter, on_call=on_call
            )
            if result.complete or not any(gap["code"] in _ELSEWHERE for gap in result.gaps):
                break
        await self._hold_against_another(
            result, country, query, options=options, meter=meter, on_call=on_call
        )
        return result

    async def _hold_against_another(
        self,
        result: MapResult,
        country: str | None,
        query: str,
        *,
        options: MapOptions,
        meter: Meter,
        on_call: OnCall,
    ) -> None:
        """Tell where a second map knows some of the places, and tells them otherwise."""
        asked, crs = result.places[:_HELD_AGAINST], self.of(result.provider).server.crs
        second = next(
            (
                one
                for one in self.covering(country)
                if one.server.is_second_voice
                and one.provider != result.provider
                and not one.server.missing
                and one.server.crs == crs
            ),
            None,
        )
        is_search = result.intent in ("nearby", "area", "poi")
        if (
            second is None
            or not is_search
            or options.pages
            or meter.left("map_calls") <= len(asked)
        ):
            return
        quiet = replace(options, prefix="second", constraints={}, on_found=lambda spots: None)
        tasks = [MapTask(intent="poi", place=bare_name(p), city=p["city"]) for p in asked]
        found = await asyncio.gather(
            *(
                second.map_result(task, query, options=quiet, meter=meter, on_call=on_call)
                for task in tasks
            )
        )
        for place, known in zip(asked, found, strict=True):
            if message := disagreement(place, known.places, options.language):
                gap = Gap(
                    query=query, provider=second.provider, code="map_differs", message=message
                )
                result.gaps.append(Gap(**{**gap, "concerns": [place["source"]]}))

    async def district(self, near: Point, language: Language, *, meter: Meter) -> str:
        """Return the city and district of a position; empty where the map does not know them."""
        map_result = await self.map_result(
            MapTask(intent="regeo"),
            "",
            options=MapOptions(prefix="here", language=language, near=near),
            meter=meter,
            on_call=lambda call: None,
        )
        return next((place["name"] for place in map_result.places), "")

    async def look_up_more(
        self,
        result: MapResult,
        task: MapTask,
        query: str,
        *,
        options: MapOptions,
        meter: Meter,
        on_call: OnCall,
    ) -> None:
        """Look up further hits of the map that gave the result; see `MapClient.look_up_more`."""
        await self.of(result.provider).look_up_more(
            result, task, query, options=options, meter=meter, on_call=on_call
        )

    async def tools(
        self, result: MapResult, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> BranchTools:
        """Return the tools a model may call: those of the map that gave the result, else of all.

        Raise ProviderError if no server can be had.
        """
        clients = [self.of(result.provider)] if result.provider else self._set_up()
        offered, failed = list[BranchTools](), list[ProviderError]()
        for client in clients:
            try:
                offered.append(
                    await client.tools(result, query, options=options, meter=meter, on_call=on_call)
                )
            except ProviderError as error:
                failed.append(error)
        if not offered:
            raise failed[0]
        return BranchTools([tool for branch in offered for tool in branch.tools])

    def _set_up(self) -> list[MapClient]:
        """Return the clients that lack nothing; the first one where all lack something."""
        return [one for one in self.clients if not one.server.missing] or self.clients[:1]

    async def walks_from(
        self, start: Location, points: Sequence[Location], *, meter: Meter, on_call: OnCall
    ) -> dict[int, Leg]:
        """Return the ways on foot from one point to others, as far as they are measured."""
        measuring = self._measuring([start, *points], meter, on_call)
        return await measuring[0].from_one(start, points, measuring[1]) if measuring else {}

    async def walks(
        self, points: Sequence[Location], *, meter: Meter, on_call: OnCall
    ) -> dict[tuple[int, int], Leg]:
        """Return the ways on foot between points, by their indices, as far as they are measured."""
        measuring = self._measuring(points, meter, on_call)
        return await measuring[0].on_foot(points, measuring[1]) if measuring else {}

    async def ride(
        self, start: Location, end: Location, city: str, *, meter: Meter, on_call: OnCall
    ) -> Leg | None:
        """Return the way by bus and train; None where the map does not tell."""
        measuring = self._measuring([start, end], meter, on_call)
        return await measuring[0].by_transit(start, end, city, measuring[1]) if measuring else None

    def stops_link(self, stops: Sequence[NamedStop]) -> str:
        """Return the address of a map of the stops; empty where the map has none."""
        client = self._of_datum([location for _, location in stops])
        return client.server.ways.link(stops) if client and client.server.ways else ""

    def _of_datum(self, points: Sequence[Location]) -> MapClient | None:
        """Return the client in whose datum all points are: a map measures its own places."""
        datums = {point["crs"] for point in points}
        return next((one for one in self._set_up() if datums == {one.server.crs}), None)

    def _measuring(
        self, points: Sequence[Location], meter: Meter, on_call: OnCall
    ) -> tuple[Ways, BranchCalls] | None:
        client = self._of_datum(points)
        return client.ways(meter, on_call) if client else None

    @property
    def running(self) -> bool:
        """Return whether one of the servers runs."""
        return any(client.session.running for client in self.clients)

    @property
    def problem(self) -> str | None:
        """Return the code of the last failure of a server that has not worked since."""
        return next((one.session.problem for one in self.clients if one.session.problem), None)

    async def aclose(self) -> None:
        """End the servers; callable from any loop."""
        await asyncio.gather(*(client.aclose() for client in self.clients))


def _covers(server: MapServer, country: str | None) -> bool:
    """Return whether a map may be asked about a country; any where none is named."""
    known = server.covers is None or country in server.covers
    return country is None or (known and country not in server.leaves_out)


async def _country(task: MapTask, near: Point | None) -> str | None:
    """Return the country of a task, as told or by the position; "" is any but China."""
    if country := task.get("country"):
        return country
    ends = (task.get("place"), task.get("city"), task.get("origin"), task.get("destination"))
    named = [name for name in ends if name]
    position = next((point for name in named if (point := parse_lnglat(name))), None)
    if position is None and near and all(map(means_here, named)):
        position = (near["lng"], near["lat"])
    if position is None:
        return None
    lng, lat = position
    return await asyncio.to_thread(country_at, Point(lng=lng, lat=lat))


def build_map_client(
    settings: Settings,
    calls: Calls,
    *,
    redirect: str | None = None,
    notify: TellStep | None = None,
    server: MapServer | None = None,
) -> MapClient:
    """Return the map for these settings; nothing is started before the first call.

    `redirect` is the address of the sample's stand-in for Amap, whose records are labelled so.
    `notify` hears in one line when the server has to be installed first. `server` is an entry
    of the table of servers, Amap's unless it is named.
    """
    server = server or SERVERS["amap"](settings, redirect=redirect, notify=notify)
    limits = SessionLimits(
        start=settings.map_start_seconds,
        call=settings.map_call_seconds,
        idle=settings.map_idle_seconds,
    )
    session = SupervisedSession(server, limits=limits)
    daily = DailySearches(
        server.daily_limit,
        server.quota,
        file=settings.tanlu_data_dir / "map-usage.sqlite",
        shared=calls.shared,
    )
    gateway = Gateway(server, session, calls, qps=server.qps, daily=daily)
    return MapClient(server, session, gateway)


def build_maps(
    settings: Settings, calls: Calls, *, redirect: str | None = None, notify: TellStep | None = None
) -> Maps:
    """Return the maps of MAP_SERVERS; nothing is started before the first call.

    With a `redirect`, the sample's, there is only the map that it stands for.
    """
    names = ["amap"] if redirect else map_names(settings)
    return Maps(
        [
            build_map_client(
                settings,
                calls,
                server=SERVERS[name](settings, redirect=redirect, notify=notify),
            )
            for name in names
        ]
    )


def text_of(result: "CallToolResult") -> str:
    """Return the object that a reply holds beside its text, as JSON; else all text blocks."""
    if result.structuredContent is not None and not result.isError:
        return json.dumps(result.structuredContent, ensure_ascii=False)
    return "\n".join(block.text for block in result.content if block.type == "text")

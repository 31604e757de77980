"""Answer for the map: one server, one gateway, the records of each branch."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mcp.types import CallToolResult

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import BoundedCache, SingleFlight
from agent.core.errors import AgentError, BudgetExceeded, ProviderError
from agent.core.redaction import scrub
from agent.evidence.types import Leg, Location, MapTask, Point
from agent.evidence.vocabulary import limiting_cities, subject_in_english
from agent.mcp.map_server import DailySearches, MapServer, NamedStop, Pauses, window_pace
from agent.mcp.records import (
    NOT_FOUND,
    NOT_SET_UP,
    WAITING_HELPS,
    BranchCalls,
    MapOptions,
    MapRecords,
    MapResult,
    OnCall,
    text_of,
)
from agent.mcp.servers import SERVERS, TellStep
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.mcp.tools import BranchTools, branch_tools, subject_of
from agent.settings import Settings
from agent.texts import Language, is_chinese

_CACHE_SECONDS = 600.0
"""Of replies whose tool names no time, and of errors that say there is no such place."""
_CACHED = 2000

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
        self._pace = window_pace(qps)
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
        await asyncio.sleep(await self._calls.book(self._server.provider, self._pace))
        await self._daily.spend(tool)
        return self._read(tool, await self._session.call_tool(tool, dict(cleaned)))

    def _read(self, tool: str, result: CallToolResult) -> str:
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
    """Answer map questions of all runs of a process."""

    def __init__(
        self,
        server: MapServer,
        session: SupervisedSession,
        gateway: Gateway,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._server, self.session, self._gateway, self._now = server, session, gateway, now

    async def map_result(
        self, task: MapTask, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> MapResult:
        """Fetch in code what the task needs; failures are gaps."""
        result = MapResult(intent=task["intent"])
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language)
        await self._server.prefetch(task, query, records, call).run()
        return result

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
        """Look up further hits, until `options.details` + `options.more` places are known.

        To be called when the model has what it asked for: these calls are the first to go.
        """
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language)
        missing = options.details + options.more - len(result.places)
        await self._server.prefetch(task, query, records, call).more(min(missing, call.left()))

    async def tools(
        self, result: MapResult, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> BranchTools:
        """Return the tools a model may call; raise ProviderError if the server cannot be had."""
        records = self._records(result, options, query)
        call = self._calling(meter, on_call, options.language)
        return await branch_tools(self.session, records, query, call)

    async def walks_from(
        self, start: Location, points: Sequence[Location], *, meter: Meter, on_call: OnCall
    ) -> dict[int, Leg]:
        """Return the ways on foot from one point to others, as far as they are measured."""
        ways = self._server.ways
        return await ways.from_one(start, points, self._calling(meter, on_call)) if ways else {}

    async def walks(
        self, points: Sequence[Location], *, meter: Meter, on_call: OnCall
    ) -> dict[tuple[int, int], Leg]:
        """Return the ways on foot between points, by their indices, as far as they are measured."""
        ways = self._server.ways
        return await ways.on_foot(points, self._calling(meter, on_call)) if ways else {}

    async def ride(
        self, start: Location, end: Location, city: str, *, meter: Meter, on_call: OnCall
    ) -> Leg | None:
        """Return the way by bus and train; None where the map does not tell."""
        ways = self._server.ways
        call = self._calling(meter, on_call)
        return await ways.by_transit(start, end, city, call) if ways else None

    def stops_link(self, stops: Sequence[NamedStop]) -> str:
        """Return the address of a map of the stops; empty where the map has none."""
        return self._server.ways.link(stops) if self._server.ways else ""

    async def health(self) -> dict[str, Any]:
        """Return {provider, configured, works, message, …} for `doctor`; never raise."""
        report: dict[str, Any] = {
            "provider": self._server.provider,
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
        presentation = self._server.presentation
        cities = limiting_cities(query)
        return MapRecords(result, options, presentation=presentation, cities=cities, now=self._now)

    def _calling(self, meter: Meter, on_call: OnCall, language: Language = "zh") -> BranchCalls:
        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            subject = subject_of(arguments)
            subject = subject_in_english(subject) if not is_chinese(language) else subject
            on_call(f"{tool} {subject}"[:120].strip())
            return await self._gateway.call(tool, arguments, meter=meter)

        return BranchCalls(call, left=lambda: meter.left("map_calls"))


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

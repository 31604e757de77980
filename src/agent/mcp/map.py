"""Answer for the map: one server, one gateway, the records of each branch."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import AgentError
from agent.evidence.places import limiting_cities
from agent.evidence.types import MapTask, Point
from agent.mcp.gateway import Gateway
from agent.mcp.map_server import MapServer
from agent.mcp.quota import DailySearches
from agent.mcp.records import MapRecords
from agent.mcp.servers import SERVERS, Notify
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.mcp.tools import BranchTools, branch_tools, subject_of
from agent.mcp.types import BranchCalls, MapOptions, MapResult, OnCall
from agent.settings import Settings
from agent.texts import Language


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
        await self._server.prefetch(task, query, records, self._calling(meter, on_call)).run()
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
        records, call = self._records(result, options, query), self._calling(meter, on_call)
        wanted = options.details + options.more - len(result.places)
        await self._server.prefetch(task, query, records, call).more(min(wanted, call.left()))

    async def tools(
        self, result: MapResult, query: str, *, options: MapOptions, meter: Meter, on_call: OnCall
    ) -> BranchTools:
        """Return the tools a model may call; raise ProviderError if the server cannot be had."""
        records = self._records(result, options, query)
        return await branch_tools(self.session, records, query, self._calling(meter, on_call))

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

    def _calling(self, meter: Meter, on_call: OnCall) -> BranchCalls:
        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            on_call(f"{tool} {subject_of(arguments)}"[:120].strip())
            return await self._gateway.call(tool, arguments, meter=meter)

        return BranchCalls(call, left=lambda: meter.left("map_calls"))


def build_map_client(
    settings: Settings,
    calls: Calls,
    *,
    redirect: str | None = None,
    notify: Notify | None = None,
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
    )
    gateway = Gateway(server, session, calls, qps=server.qps, daily=daily)
    return MapClient(server, session, gateway)

"""The map as nodes are given it: one server, one gateway, a ledger for each branch."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import AgentError
from agent.evidence.types import MapTask
from agent.mcp.gateway import Gateway
from agent.mcp.prefetch import Prefetch
from agent.mcp.quota import DailySearches
from agent.mcp.records import Ledger, Presentation
from agent.mcp.servers import amap_server, contract_problem, node_version
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.mcp.tools import AmapTools, Ask, asked_about, branch_tools
from agent.mcp.types import MapOptions, Survey, Tell
from agent.settings import Settings

log = logging.getLogger(__name__)
_SAMPLE = Presentation(label="map.sample", links_by_id=False)


class MapDesk:
    """Answers map questions of all runs of a process."""

    def __init__(
        self,
        session: SupervisedSession,
        gateway: Gateway,
        *,
        presentation: Presentation | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.session, self._gateway, self._now = session, gateway, now
        self._presentation = presentation or Presentation()

    async def survey(
        self, task: MapTask, query: str, *, options: MapOptions, meter: Meter, tell: Tell
    ) -> Survey:
        """Prefetch in code: geocode, search around, look the best up. Failures are gaps."""
        survey = Survey(intent=task["intent"])
        ledger = self._ledger(survey, options)
        await Prefetch(task, query, ledger, self._asking(meter, tell)).run()
        return survey

    async def look_up_more(
        self,
        survey: Survey,
        task: MapTask,
        query: str,
        *,
        options: MapOptions,
        meter: Meter,
        tell: Tell,
    ) -> None:
        """Details of `options.more` further hits, while a model writes; failures are gaps."""
        ledger = self._ledger(survey, options)
        await Prefetch(task, query, ledger, self._asking(meter, tell)).more(options.more)

    async def tools(
        self, survey: Survey, query: str, *, options: MapOptions, meter: Meter, tell: Tell
    ) -> AmapTools:
        """The tools a model may call; raises ProviderError if the server cannot be had."""
        ledger = self._ledger(survey, options)
        return await branch_tools(self.session, ledger, query, self._asking(meter, tell))

    async def health(self) -> dict[str, Any]:
        """For `doctor`: {provider, configured, works, message, …}. Never raises."""
        found: dict[str, Any] = {
            "provider": "amap",
            "configured": True,
            "works": False,
            "tools": 0,
            "node": await asyncio.to_thread(node_version),
            "server": None,
            "code": None,
        }
        try:
            listed = await self.session.list_tools()
            found |= {"works": True, "tools": len(listed.tools)}
            found["server"] = await self.session.server_version()
            found["message"] = f"{found['server']}, {found['tools']} tools as expected"
        except AgentError as error:
            configured = error.code not in ("map_key_missing", "map_no_node")
            found |= {"code": error.code, "message": str(error), "configured": configured}
        return found

    async def aclose(self) -> None:
        """End the server; callable from any loop."""
        await self.session.aclose()

    def _ledger(self, survey: Survey, options: MapOptions) -> Ledger:
        return Ledger(survey, options, presentation=self._presentation, now=self._now)

    def _asking(self, meter: Meter, tell: Tell) -> Ask:
        async def ask(tool: str, asked: dict[str, Any]) -> dict[str, Any]:
            tell(f"{tool} {asked_about(asked)}"[:120].strip())
            return await self._gateway.call(tool, asked, meter=meter)

        return ask


def build_map_desk(
    settings: Settings,
    calls: Calls,
    *,
    redirect: str | None = None,
    told: Callable[[str], None] | None = None,
) -> MapDesk:
    """The map for these settings; nothing is started before the first call.

    `redirect` is the address of the sample's stand-in for Amap, whose records are labelled so.
    `told` hears in one line when the server has to be installed first.
    """
    limits = SessionLimits(
        start=settings.map_start_seconds,
        call=settings.map_call_seconds,
        idle=settings.map_idle_seconds,
    )
    session = SupervisedSession(
        lambda: amap_server(settings, redirect=redirect, tell=told),
        check=contract_problem,
        limits=limits,
    )
    counted = settings.tanlu_data_dir / "map-usage.sqlite"
    daily = DailySearches(0 if redirect else settings.amap_daily_search_limit, file=counted)
    gateway = Gateway(session, calls, qps=settings.amap_qps, daily=daily)
    return MapDesk(session, gateway, presentation=_SAMPLE if redirect else None)

"""Call a map server: clean, cache, share, pace and count calls, classify and scrub replies."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from mcp.types import CallToolResult

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import BoundedCache, SingleFlight
from agent.core.errors import BudgetExceeded, ProviderError
from agent.core.redaction import scrub
from agent.mcp.map_server import MapServer
from agent.mcp.quota import DailySearches, Pauses, window_pace
from agent.mcp.records import text_of
from agent.mcp.types import NOT_FOUND, NOT_SET_UP, WAITING_HELPS

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


class ToolSession(Protocol):
    """Make the calls that a gateway needs of a session."""

    async def ready(self) -> None: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> CallToolResult: ...


class Gateway:
    """Call one map server for all runs of a process."""

    def __init__(
        self,
        server: MapServer,
        session: ToolSession,
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
        await self._pace.wait()
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

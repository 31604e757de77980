"""The one way to the map: cleans, caches, shares, paces, counts, classifies, scrubs."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from mcp.types import CallToolResult

from agent.budget import Meter
from agent.calls import Calls, Policy, SingleFlight
from agent.errors import BudgetExceeded, ProviderError
from agent.mcp.amap_errors import NOT_FOUND, NOT_SET_UP, WAITING_HELPS, failure
from agent.mcp.arguments import cache_key, clean_arguments
from agent.mcp.cache import ReplyCache
from agent.mcp.quota import SHANGHAI, DailySearches, Pauses, WindowPace, day_is_spent
from agent.mcp.replies import parsed, text_of
from agent.redaction import scrub

log = logging.getLogger(__name__)
# Longer than the session's own limits together, which say better what went wrong.
_LONGEST_CALL = 300.0
# That the map does not know a name is an answer; that there is no map is the operator's choice.
_NO_FAULT = frozenset({NOT_FOUND, *NOT_SET_UP})
POLICY = Policy(provider="amap", spends="map_calls", timeout=_LONGEST_CALL, base_delay=0.6)


class ToolSession(Protocol):
    """What the gateway needs of a session."""

    async def ready(self) -> None: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> CallToolResult: ...


class Gateway:
    """Calls of one map server for all runs of a process."""

    def __init__(
        self,
        session: ToolSession,
        calls: Calls,
        *,
        qps: float = 2.5,
        daily: DailySearches | None = None,
        cache: ReplyCache | None = None,
        policy: Policy = POLICY,
        now: Callable[[], datetime] = lambda: datetime.now(SHANGHAI),
    ) -> None:
        self._session, self._calls, self._policy, self._now = session, calls, policy, now
        self._pace = WindowPace(qps)
        self._daily = daily or DailySearches(0)
        self._cache = cache or ReplyCache()
        self._pauses = Pauses()
        self._flights = SingleFlight()

    async def call(self, tool: str, args: Mapping[str, Any], *, meter: Meter) -> dict[str, Any]:
        """The reply without empties; what is known already costs nothing.

        Raises ProviderError with the code of `amap_errors`, or BudgetExceeded.
        """
        cleaned = clean_arguments(tool, args)
        key = cache_key(tool, cleaned)
        known = self._cache.get(key)
        if isinstance(known, ProviderError):
            raise known.with_traceback(None)
        return parsed(known or await self._shared(key, tool, cleaned, meter))

    async def _shared(self, key: str, tool: str, cleaned: dict[str, str], meter: Meter) -> str:
        """One call for equal ones under way; whoever comes first pays."""
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

    async def _paid(self, key: str, tool: str, cleaned: dict[str, str], meter: Meter) -> str:
        self._pauses.check(tool)
        request = {"tool": tool, "arguments": cleaned}
        try:
            text = await self._calls.once(
                self._policy, lambda: self._send(tool, cleaned), meter=meter, request=request
            )
        except _NoUseWaiting as given:
            error = given.error
        except ProviderError as given_up:
            error = given_up
        else:
            self._cache.put(tool, key, text)
            return text
        level = logging.INFO if error.code in _NO_FAULT else logging.WARNING
        log.log(level, "turn=%s %s failed: %s (%s)", meter.turn_id, tool, error, error.code)
        self._pauses.note(tool, error)
        if error.code == NOT_FOUND:
            self._cache.put_not_found(key, error)
        raise error

    async def _send(self, tool: str, cleaned: dict[str, str]) -> str:
        try:
            self._pauses.check(tool)
            # A start takes long enough to bring calls paced before it too close together.
            await self._session.ready()
            await self._pace.wait()
            await self._daily.spend(tool)
            return self._read(tool, await self._session.call_tool(tool, dict(cleaned)))
        except ProviderError as error:
            if error.code in WAITING_HELPS:
                raise
            raise _NoUseWaiting(error) from None

    def _read(self, tool: str, result: CallToolResult) -> str:
        """The text of a good reply; a bad one's error."""
        text = scrub(text_of(result))
        if result.isError:
            error = failure(tool, text)
            raise day_is_spent(str(error), self._now()) if error.code == "map_quota_day" else error
        parsed(text)
        return text


class _NoUseWaiting(Exception):
    """Carries an error past the retries of `Calls`."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        self.error = error

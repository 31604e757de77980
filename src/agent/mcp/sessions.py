"""A supervised MCP session: one server process for every thread and event loop of this process.

Calls may come from anywhere and run in parallel. A dead server is started again and the call that
it took along is repeated once (all tools only read); every wait has a limit.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp.types import CallToolResult, ListToolsResult, Tool

from agent.errors import ProviderError, ProviderUnavailable
from agent.mcp.amap_errors import NOT_SET_UP
from agent.mcp.connection import Connection, ConnectionLost, Unanswered
from agent.mcp.owner import OwnerLoop, owner_loop
from agent.mcp.servers import ServerSpec

log = logging.getLogger(__name__)
_BACK_OFF = (0.0, 0.5, 2.0, 8.0, 30.0)


@dataclass(frozen=True)
class SessionLimits:
    """Seconds."""

    resolve: float = 200
    """To find out what to start, an installation included."""
    start: float = 20
    call: float = 15
    ping: float = 1.5
    idle: float = 300


class SupervisedSession:
    """Offers what `load_mcp_tools` needs of a session, and outlives its server.

    `resolve` names the server and may block; `check` returns what is wrong with its tools, or
    None. All failures are ProviderErrors of `amap`.
    """

    def __init__(
        self,
        resolve: Callable[[], ServerSpec],
        *,
        check: Callable[[list[Tool]], str | None] = lambda tools: None,
        limits: SessionLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve, self._check, self._clock = resolve, check, clock
        self.limits = limits or SessionLimits()
        self.starts = 0
        self._connection: Connection | None = None
        self._failures = 0
        self._not_before = 0.0
        self._last_error: ProviderError | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The running server's process id."""
        connection = self._connection
        return connection.pid if connection and connection.alive else None

    @property
    def problem(self) -> str | None:
        """The code of what went wrong last, as long as nothing has worked since."""
        return self._last_error.code if self._failures and self._last_error else None

    async def ready(self) -> None:
        """Start the server unless it runs."""
        await self._owner().run(self._connected())

    async def list_tools(self, cursor: str | None = None) -> ListToolsResult:
        """The tools, as the server listed them when it started."""
        connection = await self._owner().run(self._connected())
        return ListToolsResult(tools=connection.tools)

    async def server_version(self) -> str:
        """Name and version the server gives itself."""
        return (await self._owner().run(self._connected())).server_version

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> CallToolResult:
        """Call one tool; what the tool itself reports as an error is in the result."""
        seconds = read_timeout_seconds.total_seconds() if read_timeout_seconds else None
        return await self._owner().run(
            self._call(name, arguments or {}, seconds or self.limits.call)
        )

    async def aclose(self) -> None:
        """End the server for good; callable from any loop, also more than once."""
        self._closed = True
        await self._owner().run(self._close())

    def _owner(self) -> OwnerLoop:
        return owner_loop()

    async def _call(self, name: str, arguments: dict[str, Any], seconds: float) -> CallToolResult:
        reason = ""
        for _ in range(2):
            connection = await self._connected()
            try:
                result = await connection.call(name, arguments, seconds)
            except ConnectionLost as lost:
                reason = str(lost)
                log.warning("map server died during %s: %s", name, reason)
            except Unanswered:
                await self._end_if_frozen(connection)
                raise ProviderUnavailable(
                    "amap", f"{name}: no answer within {seconds:g} s", code="map_timeout"
                ) from None
            else:
                self._failures = 0
                return result
        self._count_failure()
        self._last_error = _down(f"died twice during {name}: {reason}")
        raise self._last_error

    async def _end_if_frozen(self, connection: Connection) -> None:
        if not await connection.answers(self.limits.ping):
            log.warning("map server %s does not answer at all; ended", connection.pid)
            connection.stop("frozen")

    async def _connected(self) -> Connection:
        """The live connection, started by whoever comes first; runs on the owner loop."""
        connection = self._connection
        if connection is None or not connection.alive:
            self._refuse_for_now()
            connection = self._connection = Connection(self._resolve, self._check, self.limits)
            self.starts += 1
            connection.run(contextvars.Context())
            connection.ready.add_done_callback(self._started)
        await asyncio.shield(connection.ready)
        return connection

    def _refuse_for_now(self) -> None:
        if self._closed:
            raise _down("the session is closed")
        wait = self._not_before - self._clock()
        if wait > 0 and self._last_error:
            raise type(self._last_error)(
                "amap",
                f"{self._last_error} (next attempt in {wait:.1f} s)",
                code=self._last_error.code,
            )

    def _started(self, ready: asyncio.Future[None]) -> None:
        if ready.cancelled():
            return
        error = ready.exception()
        if isinstance(error, ProviderError):
            self._last_error = error
            self._count_failure()
            level = logging.INFO if error.code in NOT_SET_UP else logging.WARNING
            log.log(level, "map server did not start: %s", error)

    def _count_failure(self) -> None:
        pause = _BACK_OFF[min(self._failures, len(_BACK_OFF) - 1)]
        self._failures += 1
        self._not_before = self._clock() + pause

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.stop("closed")
            await connection.ended()


def _down(reason: str) -> ProviderUnavailable:
    return ProviderUnavailable("amap", f"map server: {reason}", code="map_server_down")

"""One server process and its session, opened and closed by one task on the owner loop."""

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import ClientSession, McpError
from mcp.types import CONNECTION_CLOSED, CallToolResult, Tool

from agent.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
)
from agent.lines import one_line
from agent.mcp.servers import ServerSpec
from agent.mcp.stdio import TOO_LARGE, ServerProcess, run_server
from agent.redaction import scrub

if TYPE_CHECKING:
    from agent.mcp.sessions import SessionLimits

T = TypeVar("T")
log = logging.getLogger(__name__)
_REQUEST_TIMEOUT = 408
_STDERR_WAIT = 0.5


class ConnectionLost(Exception):
    """The server went away while the call was under way."""


class Unanswered(Exception):
    """The call's time is up; the server may still be well."""


class Connection:
    """Starts when `run` is called; `ready` tells how that went."""

    def __init__(
        self,
        resolve: Callable[[], ServerSpec],
        check: Callable[[list[Tool]], str | None],
        limits: "SessionLimits",
    ) -> None:
        self._resolve, self._check, self._limits = resolve, check, limits
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tools: list[Tool] = []
        self.server_version = ""
        self.pid: int | None = None
        self.alive = True
        self._reason = "ended"
        self._stop = asyncio.Event()
        self._pending: set[anyio.CancelScope] = set()
        self._used = 0.0
        self._task: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None
        self._server: ServerProcess | None = None

    def run(self, context: contextvars.Context) -> None:
        """Open it in a task of its own, free of the caller's context."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._own(), name="map-session", context=context)

    async def call(self, name: str, arguments: dict[str, Any], seconds: float) -> CallToolResult:
        """Raises ConnectionLost, Unanswered, or MalformedReply (`map_malformed`, …)."""
        limit = timedelta(seconds=seconds)
        return await self._ask(
            lambda session: session.call_tool(name, arguments, read_timeout_seconds=limit)
        )

    async def answers(self, seconds: float) -> bool:
        """Whether it answers a ping in that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._ask(lambda session: session.send_ping())
        except (TimeoutError, ConnectionLost, Unanswered, ProviderError):
            return False
        return True

    def stop(self, reason: str) -> None:
        """End it; calls under way fail at once with ConnectionLost."""
        if self.alive:
            self.alive, self._reason = False, reason
            self._stop.set()
            for scope in tuple(self._pending):
                scope.cancel()

    async def ended(self) -> None:
        """Wait until its process is gone."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _ask(self, send: Callable[[ClientSession], Awaitable[T]]) -> T:
        if self._session is None or not self.alive:
            raise ConnectionLost(self._reason)
        scope = anyio.CancelScope()
        try:
            with scope:
                self._pending.add(scope)
                return await send(self._session)
        except McpError as error:
            raise self._translated(error) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            self.stop("closed its streams")
        except Exception as error:  # noqa: BLE001 - whatever its checks of a result raise
            said = f"a result outside the protocol ({type(error).__name__})"
            raise MalformedReply("amap", said, code="map_malformed") from None
        finally:
            self._pending.discard(scope)
            self._used = asyncio.get_running_loop().time()
        raise ConnectionLost(self._reason)

    def _translated(self, error: McpError) -> Exception:
        if error.error.code == _REQUEST_TIMEOUT:
            return Unanswered()
        if error.error.code == CONNECTION_CLOSED:
            return ConnectionLost(self._reason)
        code = "map_too_large" if error.error.code == TOO_LARGE else "map_malformed"
        return MalformedReply("amap", scrub(error.error.message)[:300], code=code)

    async def _own(self) -> None:
        """Open, wait for the end, close: all in this task."""
        try:
            async with asyncio.timeout(self._limits.resolve):
                spec = await asyncio.to_thread(self._resolve)
            async with run_server(spec) as server:
                self._server, self.pid = server, server.pid
                log.info("map server %d started: %r", server.pid, spec)
                async with ClientSession(server.read, server.write) as session:
                    await self._serve(server, session)
        except (Exception, asyncio.CancelledError) as error:
            self._failed(error)
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.stop("ended")
            if not self.ready.done():
                self.ready.set_exception(self._down("stopped while starting"))
            # Nobody may be waiting any more.
            self.ready.exception()
            if self.pid is not None:
                log.info("map server %d ended: %s", self.pid, self._reason)

    async def _serve(self, server: ServerProcess, session: ClientSession) -> None:
        await self._start(server, session)
        self._session = session
        self._used = asyncio.get_running_loop().time()
        if not self.ready.done():
            self.ready.set_result(None)
        await self._until_over(server)

    async def _start(self, server: ServerProcess, session: ClientSession) -> None:
        async def greet() -> None:
            greeting = await session.initialize()
            self.server_version = f"{greeting.serverInfo.name} {greeting.serverInfo.version}"
            self.tools = (await session.list_tools()).tools

        greeting = asyncio.ensure_future(greet())
        others = [asyncio.ensure_future(e.wait()) for e in (server.gone, self._stop)]
        try:
            await asyncio.wait(
                [greeting, *others], timeout=self._limits.start, return_when="FIRST_COMPLETED"
            )
            if not greeting.done():
                raise self._down(await self._why_not(server))
            await greeting
        except McpError as error:
            raise self._down(await self._why_not(server, scrub(error.error.message))) from None
        finally:
            for waiter in (greeting, *others):
                waiter.cancel()
            await asyncio.gather(greeting, *others, return_exceptions=True)
        if problem := self._check(self.tools):
            raise MalformedReply("amap", problem, code="map_contract")

    async def _why_not(self, server: ServerProcess, said: str = "") -> str:
        if not server.gone.is_set():
            return said or f"did not answer within {self._limits.start:g} s of its start"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STDERR_WAIT):
                await server.exited()
        words = server.last_words()
        return f"ended at its start: {words}" if words else "ended at its start without a word"

    async def _until_over(self, server: ServerProcess) -> None:
        """Until stopped, dead, or unused for a while."""
        waiters = [asyncio.ensure_future(e.wait()) for e in (server.gone, self._stop)]
        loop = asyncio.get_running_loop()
        try:
            while not any(waiter.done() for waiter in waiters):
                left = self._used + self._limits.idle - loop.time()
                if left <= 0 and not self._pending:
                    self.stop("idle")
                    return
                await asyncio.wait(
                    waiters, timeout=1.0 if left <= 0 else left, return_when=asyncio.FIRST_COMPLETED
                )
        finally:
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
        self.stop(f"exited {server.last_words()}".strip())

    def _failed(self, error: BaseException) -> None:
        problem = error
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        if not isinstance(problem, AgentError):
            text = one_line(scrub(f"{type(problem).__name__}: {problem}"), longest=300)
            if isinstance(problem, TimeoutError):
                text = f"could not be prepared within {self._limits.resolve:g} s"
            problem = self._down(text)
        self.stop(str(problem))
        if not self.ready.done():
            self.ready.set_exception(problem)

    def _down(self, reason: str) -> ProviderError:
        if "AMAP_MAPS_API_KEY" in reason:
            return ProviderRefused("amap", f"map server: {reason}", code="map_key_missing")
        return ProviderUnavailable("amap", f"map server: {reason}", code="map_server_down")

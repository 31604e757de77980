"""Supervise an MCP session: one server process for all threads and loops of this process.

Sessions must be opened and closed by one task on one loop, and on Linux a server dies with the
thread that spawned it; callers come from many loops and go.

Calls may come from anywhere and run in parallel. A dead server is started again and the call that
failed with it is repeated once (all tools only read); every wait has a limit. The protocol's
package takes longer to import than all else of this folder: it comes with the first session.
"""

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx

from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
)
from agent.core.redaction import scrub
from agent.core.strings import one_line
from agent.mcp.map_server import MapServer, ServerAddress, ServerCommand
from agent.mcp.records import NOT_SET_UP
from agent.mcp.transports import (
    TOO_LARGE,
    RemoteServer,
    ServerProcess,
    reach_server,
    run_server,
)

if TYPE_CHECKING:
    from mcp import ClientSession, McpError
    from mcp.types import CallToolResult, ListToolsResult, Tool

T = TypeVar("T")


class OwnerLoop:
    """Run an event loop in a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="map-sessions", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Return whether it can be used here: a fork copies the object but not the thread."""
        return self.pid == os.getpid() and self._thread.is_alive()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run on the owner loop; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the owner loop and wait; cancelling the caller cancels the work."""
        return await asyncio.wrap_future(self.submit(work))

    def stop(self, seconds: float = 3.0) -> None:
        """Cancel everything on the loop, so that sessions close, and end the thread."""
        if not self.alive:
            return
        with contextlib.suppress(Exception):
            self.submit(_cancel_all()).result(seconds)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(seconds)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_lock = threading.Lock()
_owner: OwnerLoop | None = None


def owner_loop() -> OwnerLoop:
    """Return the process's owner loop, started at the first call and stopped at exit."""
    global _owner
    with _lock:
        if _owner is None or not _owner.alive:
            _owner = OwnerLoop()
            atexit.register(_owner.stop)
        return _owner


log = logging.getLogger(__name__)
_REQUEST_TIMEOUT = 408
_STDERR_WAIT = 0.5
_REFUSED = (401, 403)


AnyServer = ServerProcess | RemoteServer


def _opened(
    command: ServerCommand | ServerAddress,
) -> contextlib.AbstractAsyncContextManager[AnyServer]:
    """Start a server, or reach one that others run."""
    return reach_server(command) if isinstance(command, ServerAddress) else run_server(command)


class ConnectionLost(Exception):
    """Report that the server went away while the call was under way."""


class Unanswered(Exception):
    """Report that the call's time is up; the server may still be well."""


class Connection:
    """Own one process of the server; `ready` says how its start went."""

    def __init__(self, server: MapServer, limits: "SessionLimits") -> None:
        self._entry, self._limits = server, limits
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

    def run(self, context: contextvars.Context) -> None:
        """Open it in a task of its own, free of the caller's context."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._own(), name="map-session", context=context)

    async def call(self, name: str, arguments: dict[str, Any], seconds: float) -> "CallToolResult":
        """Call a tool; raise ConnectionLost, Unanswered, or MalformedReply (`map_malformed`, …)."""
        limit = timedelta(seconds=seconds)
        return await self._send(
            lambda session: session.call_tool(name, arguments, read_timeout_seconds=limit)
        )

    async def answers(self, seconds: float) -> bool:
        """Return whether it answers a ping in that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._send(lambda session: session.send_ping())
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

    async def _send(self, send: "Callable[[ClientSession], Awaitable[T]]") -> T:
        from mcp import McpError

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
            problem = f"a result outside the protocol ({type(error).__name__})"
            raise MalformedReply(self._entry.provider, problem, code="map_malformed") from None
        finally:
            self._pending.discard(scope)
            self._used = asyncio.get_running_loop().time()
        raise ConnectionLost(self._reason)

    def _translated(self, error: "McpError") -> Exception:
        from mcp.types import CONNECTION_CLOSED

        if error.error.code == _REQUEST_TIMEOUT:
            return Unanswered()
        if error.error.code == CONNECTION_CLOSED:
            return ConnectionLost(self._reason)
        code = "map_too_large" if error.error.code == TOO_LARGE else "map_malformed"
        return MalformedReply(self._entry.provider, scrub(error.error.message)[:300], code=code)

    async def _own(self) -> None:
        """Open, wait for the end, close: all in this task."""
        from mcp import ClientSession

        try:
            async with asyncio.timeout(self._limits.resolve):
                command = await asyncio.to_thread(self._entry.command)
            async with _opened(command) as server:
                self.pid = server.pid
                log.info("map server %s started: %r", server.pid or "", command)
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

    async def _serve(self, server: AnyServer, session: "ClientSession") -> None:
        await self._start(server, session)
        self._session = session
        self._used = asyncio.get_running_loop().time()
        if not self.ready.done():
            self.ready.set_result(None)
        await self._until_over(server)

    async def _start(self, server: AnyServer, session: "ClientSession") -> None:
        from mcp import McpError

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
        if problem := self._entry.catalogue.problem(self.tools):
            raise MalformedReply(self._entry.provider, problem, code="map_contract")

    async def _why_not(self, server: AnyServer, message: str = "") -> str:
        if not server.gone.is_set():
            return message or f"did not answer within {self._limits.start:g} s of its start"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STDERR_WAIT):
                await server.exited()
        words = server.last_words()
        return f"ended at its start: {words}" if words else "ended at its start without a word"

    async def _until_over(self, server: AnyServer) -> None:
        """Wait until it is stopped, dead, or unused for a while."""
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
        if isinstance(problem, httpx.HTTPError):
            problem = _of_http(self._entry.provider, problem)
        if not isinstance(problem, AgentError):
            text = one_line(scrub(f"{type(problem).__name__}: {problem}"), longest=300)
            if isinstance(problem, TimeoutError):
                text = f"could not be prepared within {self._limits.resolve:g} s"
            problem = self._down(text)
        self.stop(str(problem))
        if not self.ready.done():
            self.ready.set_exception(problem)

    def _down(self, reason: str) -> ProviderError:
        variable = self._entry.key_variable
        if variable and variable in reason:
            message = f"map server: {reason}"
            return ProviderRefused(self._entry.provider, message, code="map_key_missing")
        return _down(self._entry.provider, reason)


_BACK_OFF = (0.0, 0.5, 2.0, 8.0, 30.0)


@dataclass(frozen=True)
class SessionLimits:
    """Set the limits of a session in seconds."""

    resolve: float = 200
    """To find the command to start, an installation included."""
    start: float = 20
    call: float = 15
    ping: float = 1.5
    idle: float = 300


class SupervisedSession:
    """Offer what `load_mcp_tools` needs of a session, and outlive the server's process.

    All failures are ProviderErrors of the server's provider.
    """

    def __init__(
        self,
        server: MapServer,
        *,
        limits: SessionLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server, self._clock = server, clock
        self.limits = limits or SessionLimits()
        self.starts = 0
        self._connection: Connection | None = None
        self._failures = 0
        self._not_before = 0.0
        self._last_error: ProviderError | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Return the running server's process id."""
        connection = self._connection
        return connection.pid if connection and connection.alive else None

    @property
    def running(self) -> bool:
        """Return whether there is a connection."""
        return self._connection is not None and self._connection.alive

    @property
    def problem(self) -> str | None:
        """Return the code of the last failure, as long as nothing has worked since."""
        return self._last_error.code if self._failures and self._last_error else None

    async def ready(self) -> None:
        """Start the server unless it runs."""
        await self._owner().run(self._connected())

    async def list_tools(self, cursor: str | None = None) -> "ListToolsResult":
        """Return the tools, as the server listed them when it started."""
        from mcp.types import ListToolsResult

        connection = await self._owner().run(self._connected())
        return ListToolsResult(tools=connection.tools)

    async def server_version(self) -> str:
        """Return the name and version the server gives itself."""
        return (await self._owner().run(self._connected())).server_version

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> "CallToolResult":
        """Call one tool; an error that the tool itself reports is in the result."""
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

    async def _call(self, name: str, arguments: dict[str, Any], seconds: float) -> "CallToolResult":
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
                message = f"{name}: no answer within {seconds:g} s"
                provider = self.server.provider
                raise ProviderUnavailable(provider, message, code="map_timeout") from None
            else:
                self._failures = 0
                return result
        self._count_failure()
        self._last_error = _down(self.server.provider, f"died twice during {name}: {reason}")
        raise self._last_error

    async def _end_if_frozen(self, connection: Connection) -> None:
        if not await connection.answers(self.limits.ping):
            log.warning("map server %s does not answer at all; ended", connection.pid)
            connection.stop("frozen")

    async def _connected(self) -> Connection:
        """Return the live connection, started by the first caller; runs on the owner loop."""
        connection = self._connection
        if connection is None or not connection.alive:
            self._refuse_for_now()
            connection = self._connection = Connection(self.server, self.limits)
            self.starts += 1
            connection.run(contextvars.Context())
            connection.ready.add_done_callback(self._started)
        await asyncio.shield(connection.ready)
        return connection

    def _refuse_for_now(self) -> None:
        if self._closed:
            raise _down(self.server.provider, "the session is closed")
        wait = self._not_before - self._clock()
        if wait > 0 and self._last_error:
            raise type(self._last_error)(
                self.server.provider,
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


def _of_http(provider: str, error: httpx.HTTPError) -> ProviderError:
    """Return the failure of a server that is reached by HTTP."""
    if not isinstance(error, httpx.HTTPStatusError):
        text = one_line(scrub(f"{type(error).__name__}: {error}"), longest=300)
        return ProviderUnavailable(provider, f"map server: {text}", code="map_network")
    status = error.response.status_code
    if status in _REFUSED:
        return ProviderRefused(provider, f"map server: HTTP {status}", code="map_key_invalid")
    return _down(provider, f"HTTP {status}")


def _down(provider: str, reason: str) -> ProviderUnavailable:
    return ProviderUnavailable(provider, f"map server: {reason}", code="map_server_down")

"""Call an ASGI application in this process, and read its answer while it is being written.

httpx's own transport hands an answer over only once it has ended; a run's stream is read as it
grows.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.types import ASGIApp, Message, Scope

from agent.runs.engine import IN_PROCESS

_GOODBYE_SECONDS = 1.0
"""For an application to notice that nobody reads its answer any more."""


class InProcessTransport(httpx.AsyncBaseTransport):
    """Hand requests to an application; `root_path` marks those that its guard lets through."""

    def __init__(self, app: ASGIApp, *, root_path: str = "") -> None:
        self._app, self._root_path = app, root_path

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = _Exchange(await request.aread())
        call = self._app(self._scope(request), exchange.receive, exchange.send)
        exchange.task = asyncio.create_task(_ended(call, exchange))
        begin = await exchange.begun()
        return httpx.Response(begin["status"], headers=begin.get("headers", []), stream=exchange)

    def _scope(self, request: httpx.Request) -> Scope:
        url = request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "server": (url.host, url.port),
            "client": IN_PROCESS,
            "root_path": self._root_path,
        }


class _Exchange(httpx.AsyncByteStream):
    """Hold one request and the parts of its answer as they come."""

    task: "asyncio.Task[None]"

    def __init__(self, body: bytes) -> None:
        self._unread = [body]
        self._gone = asyncio.Event()
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._begin: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def receive(self) -> Message:
        if self._unread:
            return {"type": "http.request", "body": self._unread.pop(), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begin.set_result(message)
        elif message["type"] == "http.response.body":
            if part := message.get("body"):
                self._parts.put_nowait(part)
            if not message.get("more_body"):
                self.end()

    def end(self) -> None:
        """Note that no further part comes."""
        self._parts.put_nowait(None)

    async def begun(self) -> Message:
        """Return the answer's status and headers; raise what the application raised instead."""
        try:
            waited: set[asyncio.Future[Any]] = {self.task, self._begin}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        if not self._begin.done():
            await self.task
            raise httpx.RemoteProtocolError("the application ended without an answer")
        return self._begin.result()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._parts.get()) is not None:
            yield part

    async def aclose(self) -> None:
        self._gone.set()
        if not self.task.done():
            await asyncio.wait({self.task}, timeout=_GOODBYE_SECONDS)
            self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self.task


async def _ended(call: Any, exchange: _Exchange) -> None:
    try:
        await call
    finally:
        exchange.end()

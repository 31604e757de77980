"""A loopback service: an aiohttp application in a thread of its own, with a log and faults.

The offline mode and the tests run the same services; a fault switched on makes one misbehave in
the ways real ones do.
"""

import asyncio
import json
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from agent.sample.gemini_wire import tokens
from agent.sample.model.request import Turn

FaultKind = Literal[
    "status", "drop", "drop_mid_body", "hang", "garbage", "cut_json", "broken_text", "empty", "html"
]
# Injected drops are wanted; aiohttp would log each as an error.
_QUIET = logging.Logger("agent.sample.quiet", level=logging.CRITICAL + 1)
BODY: web.RequestKey[Any] = web.RequestKey("body", object)
"""`request[BODY]` is the body as parsed JSON, text, bytes of a file, or None."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """One way to misbehave, for requests `match` accepts, `times` times (None: always)."""

    kind: FaultKind
    match: Callable[[web.Request, Any], bool] = lambda request, body: True
    times: int | None = 1
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 3600


_WORDS = re.compile("[\u3400-\u9fff]|\\w \\w")
BROKEN = "\ud83d\x00\x9b31m\u202e"


@dataclass(frozen=True)
class Recorded:
    """A request as it came in; `body` is parsed JSON, text, or None."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Service:
    """Routes plus a request log, faults and a latency; mount it with `serve`."""

    def __init__(
        self, name: str, latency: Callable[[web.Request, Any], float] | None = None
    ) -> None:
        self.name = name
        self.requests: list[Recorded] = []
        self.faults: list[Fault] = []
        self.latency = latency
        self.connections = 0
        self.app = web.Application(middlewares=[self._middleware], client_max_size=64 << 20)

    def fail(self, kind: FaultKind, **details: Any) -> Fault:
        """Switch a fault on; see Fault for the details."""
        fault = Fault(kind, **details)
        self.faults.append(fault)
        return fault

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        body = await _body(request)
        request[BODY] = body
        self.requests.append(
            Recorded(request.method, request.path, dict(request.query), dict(request.headers), body)
        )
        if fault := self._due(request, body):
            return await _misbehave(fault, request, handler)
        if self.latency and (seconds := self.latency(request, body)) > 0:
            await asyncio.sleep(seconds)
        return await handler(request)

    def _due(self, request: web.Request, body: Any) -> Fault | None:
        for fault in self.faults:
            if fault.times != 0 and fault.match(request, body):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


async def _body(request: web.Request) -> Any:
    if not request.can_read_body:
        return None
    if request.content_type == "application/octet-stream":
        return await request.read()
    try:
        return await request.json()
    except ValueError:
        return await request.text()


async def _misbehave(fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
    match fault.kind:
        case "status":
            return web.json_response(
                fault.body or {"error": {"code": fault.status, "message": "injected fault"}},
                status=fault.status,
                headers=fault.headers,
            )
        case "hang":
            await asyncio.sleep(fault.seconds)
        case "drop":
            _abort(request)
        case "drop_mid_body":
            await _half(request, await handler(request))
        case "garbage":
            return web.Response(body=b"\xff\xfe\x00 not json {", content_type="application/json")
        case "cut_json":
            whole = await handler(request)
            text = getattr(whole, "text", None) or '{"cut": '
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        case "broken_text":
            whole = await handler(request)
            text = getattr(whole, "text", None)
            return web.json_response(broken(json.loads(text))) if text else whole
        case "empty":
            return web.Response(body=b"", content_type="application/json")
        case "html":
            return web.Response(
                text="<html><body>502 Bad Gateway</body></html>",
                status=fault.status,
                content_type="text/html",
            )
    return await handler(request)


def broken(value: Any) -> Any:
    """The same reply, but every text of words ends in half a character and control characters."""
    if isinstance(value, dict):
        return {name: broken(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [broken(inner) for inner in value]
    if not isinstance(value, str) or not _WORDS.search(value) or value.startswith("http"):
        return value
    try:
        return json.dumps(broken(json.loads(value)))
    except ValueError:
        return value + BROKEN


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError("injected fault: dropped connection")


async def _half(request: web.Request, whole: web.StreamResponse) -> None:
    body = getattr(whole, "body", None) or b"{}"
    broken = web.StreamResponse(headers={"Content-Length": str(len(body) + 10)})
    broken.content_type = "application/json"
    await broken.prepare(request)
    await broken.write(bytes(body)[: len(body) // 2])
    await asyncio.sleep(0)
    _abort(request)


@dataclass(frozen=True)
class Running:
    url: str
    port: int


@contextmanager
def serve(app: web.Application, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[Running]:
    """Run an application on loopback in a thread with its own event loop."""
    background = Background(app, host, port)
    background.start()
    try:
        yield Running(f"http://{host}:{background.port}", background.port)
    finally:
        background.stop()


class Background:
    """The thread behind `serve`; for owners that start and stop at different places."""

    def __init__(self, app: web.Application, host: str = "127.0.0.1", port: int = 0) -> None:
        self._app, self._host, self.port = app, host, port
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="loopback-service", daemon=True)

    def start(self) -> None:
        """Start and wait until it listens; raises what prevented it."""
        self._thread.start()
        self._ready.wait()
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        """Stop and wait for the thread; open connections are closed."""
        if self._loop and self._stop:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runner = web.AppRunner(
            self._app,
            access_log=None,
            logger=_QUIET,
            shutdown_timeout=0.2,
            handler_cancellation=True,
        )
        await runner.setup()
        site = web.TCPSite(runner, self._host, self.port, backlog=512)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()


FaultyEvent = Literal["error", "max_tokens", "safety"]


@dataclass(frozen=True)
class Speed:
    """How fast a stream comes: seconds to the first chunk, then tokens a second (0: at once)."""

    first_chunk: float = 0
    tokens_per_second: float = 0
    chunk_tokens: int = 20


@dataclass
class StreamFault:
    """A stream that goes wrong after `after` characters, `times` times (None: always)."""

    kind: Literal["drop", "no_finish", "error", "stall", "max_tokens", "safety"]
    after: int = 0
    times: int | None = 1
    match: Callable[[Turn], bool] = lambda turn: True


class StreamingService(Service):
    """A service whose answers can come in pieces."""

    def __init__(
        self,
        name: str,
        *,
        latency: Callable[[web.Request, Any], float] | None = None,
        speed: Callable[[Turn], Speed] | None = None,
    ) -> None:
        super().__init__(name, latency)
        self.speed = speed or (lambda turn: Speed())
        self.stream_faults: list[StreamFault] = []

    def fail_stream(self, kind: Any, **details: Any) -> StreamFault:
        """Switch a stream's fault on; see StreamFault."""
        fault = StreamFault(kind, **details)
        self.stream_faults.append(fault)
        return fault

    async def _open_stream(self, request: web.Request, speed: Speed) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await asyncio.sleep(speed.first_chunk)
        await response.prepare(request)
        return response

    def _stream_fault(self, turn: Turn) -> StreamFault | None:
        for fault in self.stream_faults:
            if fault.times != 0 and fault.match(turn):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


async def send_pieces(
    pieces: Iterable[str],
    speed: Speed,
    fault: StreamFault | None,
    send: Callable[[str], Awaitable[None]],
) -> None:
    """Send text at its speed, up to where the fault sets in."""
    sent = 0
    for text in pieces:
        if fault and sent >= fault.after:
            return
        if sent and speed.tokens_per_second:
            await asyncio.sleep(tokens(text) / speed.tokens_per_second)
        await send(text)
        sent += len(text)


async def go_wrong(
    request: web.Request, fault: StreamFault, send: Callable[[FaultyEvent], Awaitable[None]]
) -> None:
    """Break a stream off; the faults that are events of the protocol are left to `send`."""
    match fault.kind:
        case "drop":
            await asyncio.sleep(0)
            if request.transport:
                request.transport.abort()
            raise ConnectionResetError("injected fault: dropped stream")
        case "stall":
            await asyncio.sleep(3600)
        case "error" | "max_tokens" | "safety":
            await send(fault.kind)

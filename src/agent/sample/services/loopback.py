"""Serve a loopback service: an aiohttp application in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from aiohttp import web

log = logging.getLogger(__name__)
# A connection that a client drops is nothing to report; aiohttp would log each as an error.
_QUIET = logging.Logger("agent.sample.quiet", level=logging.CRITICAL + 1)
_CHUNK_TOKENS = 20
BODY: web.RequestKey[Any] = web.RequestKey("body", object)
"""`request[BODY]` is the body as parsed JSON, text, bytes of a file, or None."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RefusedRequest(Exception):
    """Refuse a request, with this status and the word of the protocol for why."""

    def __init__(self, message: str, status: int = 400, reason: str | None = None) -> None:
        super().__init__(message)
        self.message, self.status, self.reason = message, status, reason


class Service:
    """Hold the routes of one service; serve its `app`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.app = web.Application(middlewares=[self._middleware], client_max_size=64 << 20)

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        request[BODY] = await _body(request)
        try:
            return await self.respond(request, handler)
        except RefusedRequest as error:
            return web.json_response(self.refusal(error), status=error.status)
        except (web.HTTPException, OSError):
            raise
        except Exception:
            log.exception("%s failed at %s", self.name, request.path)
            raise

    async def respond(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request whose body has been read."""
        return await handler(request)

    def refusal(self, error: RefusedRequest) -> Any:
        """Return the body with which the protocol refuses a request."""
        return {"detail": error.message}


def check_bearer(
    request: web.Request, key: str | None, message: str, reason: str | None = None
) -> None:
    """Refuse a request without the key as bearer; without a key everybody may come."""
    if key and request.headers.get("Authorization") != f"Bearer {key}":
        raise RefusedRequest(message, 401, reason)


async def _body(request: web.Request) -> Any:
    if not request.can_read_body:
        return None
    if request.content_type == "application/octet-stream":
        return await request.read()
    try:
        return await request.json()
    except ValueError:
        return await request.text()


class StreamedReply(Protocol):
    """Describe an answer that can be sent in pieces, as the events of its protocol."""

    def pieces(self, chunk_tokens: int) -> Iterable[str]:
        """Yield the text in chunks of about so many tokens."""

    def event(self, piece: str) -> bytes:
        """Return the event that carries a piece."""

    def end(self) -> Iterable[bytes]:
        """Yield the events after the last piece."""


class StreamingService(Service):
    """Send answers as server-sent events."""

    async def stream(self, request: web.Request, reply: StreamedReply) -> web.StreamResponse:
        """Send a reply in pieces, then its end."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in reply.pieces(_CHUNK_TOKENS):
            await response.write(reply.event(piece))
        for event in reply.end():
            await response.write(event)
        await response.write_eof()
        return response


class Background:
    """Hold the thread that serves an application from `start` to `stop`."""

    def __init__(self, app: web.Application, host: str = "127.0.0.1", port: int = 0) -> None:
        self._app, self._host, self.port = app, host, port
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="loopback-service", daemon=True)

    def start(self) -> None:
        """Start and wait until it listens; raise the error that prevented it."""
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

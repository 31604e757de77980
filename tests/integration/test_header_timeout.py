"""Connections that do not get to a request are closed; all others live as long as before."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from agent.engines.langgraph import request_heads as header_timeout
from agent.engines.langgraph.request_heads import LARGEST_HEAD, limited_heads
from tests.support.ports import free_port

SOON = 0.2
LATE = 3 * SOON
LONG = 30.0
"""Seconds after which a test fails; nothing of it takes so long."""
HEAD = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n"

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Uvicorn(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listens.set()


class Server:
    """uvicorn on loopback, in this loop; `answer` holds replies back until it is set."""

    def __init__(self, http: Any, keep_alive: float) -> None:
        self.port, self.answer = free_port(), asyncio.Event()
        self.answer.set()
        app = Starlette(
            routes=[
                Route("/", self._echo, methods=["GET", "POST"]),
                Route("/refused", self._refuse, methods=["POST"]),
                WebSocketRoute("/socket", _talk),
            ]
        )
        self.uvicorn = Uvicorn(
            uvicorn.Config(
                app, port=self.port, http=http, log_config=None, lifespan="off",
                timeout_keep_alive=keep_alive,  # type: ignore[arg-type]
            )
        )  # fmt: skip
        self._open: list[asyncio.StreamWriter] = []

    async def _echo(self, request: Request) -> Response:
        body = await request.body()
        await self.answer.wait()
        return PlainTextResponse(b"got " + body)

    async def _refuse(self, _: Request) -> Response:
        return PlainTextResponse("no", 413)

    async def open(self, data: bytes = b"") -> Pair:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._open.append(writer)
        writer.write(data)
        return reader, writer

    async def close(self) -> None:
        for writer in self._open:
            writer.close()
        self.uvicorn.should_exit = True


async def _talk(socket: WebSocket) -> None:
    await socket.accept()
    async for text in socket.iter_text():
        await socket.send_text(f"heard {text}")


Serve = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture(name="serve", params=["h11", "httptools"])
def serve_fixture(request: pytest.FixtureRequest) -> Serve:
    @asynccontextmanager
    async def serve(
        seconds: float = SOON, most: int = 100, keep_alive: float = LONG
    ) -> AsyncIterator[Server]:
        server = Server(request.param, keep_alive)
        with limited_heads(seconds, most):
            serving = asyncio.create_task(server.uvicorn.serve())
            async with asyncio.timeout(LONG):
                await server.uvicorn.listens.wait()
            try:
                yield server
            finally:
                await server.close()
                await serving

    return serve


async def ended(reader: asyncio.StreamReader, seconds: float = LONG) -> bytes:
    """What came until the server closed the connection; TimeoutError where it does not."""
    async with asyncio.timeout(seconds):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def answer(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(LONG):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return await reader.readexactly(length)


async def stays_open(reader: asyncio.StreamReader, seconds: float = LATE) -> None:
    with pytest.raises(TimeoutError):
        await ended(reader, seconds)


@pytest.mark.parametrize("data", [b"", b"G", HEAD[:-2], b"GET / HTTP/1.1\r\nx: " + b"y" * 5000])
async def test_a_connection_without_a_whole_head_is_closed(serve: Serve, data: bytes) -> None:
    async with serve() as server:
        reader, _ = await server.open(data)
        assert await ended(reader) == b""


async def test_a_byte_now_and_then_gains_no_time(serve: Serve) -> None:
    async with serve() as server:
        reader, writer = await server.open(b"GET / HTTP/1.1\r\nx: ")
        closed = asyncio.create_task(ended(reader))
        while not closed.done():
            writer.write(b"y")
            await asyncio.wait([closed], timeout=SOON / 4)
        assert closed.result() == b""


async def test_the_head_after_an_answered_request_has_no_more_time_than_the_first(
    serve: Serve,
) -> None:
    async with serve() as server:
        reader, writer = await server.open(HEAD + b"abc")
        assert await answer(reader) == b"got abc"
        writer.write(HEAD[:-2])
        assert await ended(reader) == b""


async def test_what_goes_on_after_a_refusal_is_not_read_for_ever(serve: Serve) -> None:
    """Whoever has no key is answered at once, and may have announced a body of any length."""
    async with serve() as server:
        head = b"POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n"
        reader, writer = await server.open(head)
        assert await answer(reader) == b"no"
        closed = asyncio.create_task(ended(reader))
        while not closed.done():
            writer.write(b"y")
            await asyncio.wait([closed], timeout=SOON / 4)
        assert closed.result() == b""


async def test_a_body_that_was_refused_may_be_sent_to_its_end(serve: Serve) -> None:
    """A client that reads the answer only then would else never see it."""
    async with serve(LONG) as server:
        size = 4 * LARGEST_HEAD
        head = b"POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size
        reader, writer = await server.open(head)
        assert await answer(reader) == b"no"
        writer.write(b"y" * size + HEAD + b"abc")
        assert await answer(reader) == b"got abc"


async def test_a_head_without_end_is_not_kept(serve: Serve) -> None:
    async with serve(LONG) as server:
        reader, _ = await server.open(b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * LARGEST_HEAD)
        await ended(reader)


async def test_an_idle_connection_is_kept_as_long_as_uvicorn_keeps_it(serve: Serve) -> None:
    async with serve(keep_alive=2 * LATE) as server:
        reader, writer = await server.open(HEAD + b"abc")
        assert await answer(reader) == b"got abc"
        await stays_open(reader)
        writer.write(HEAD + b"def")
        assert await answer(reader) == b"got def"
        before = time.monotonic()
        assert await ended(reader) == b""
        assert time.monotonic() - before > LATE


async def test_a_body_may_take_its_time_and_so_may_the_answer(serve: Serve) -> None:
    async with serve() as server:
        server.answer.clear()
        reader, writer = await server.open(HEAD)
        for byte in (b"a", b"b", b"c"):
            await stays_open(reader, 2 * SOON)
            writer.write(byte)
        await stays_open(reader)
        server.answer.set()
        assert await answer(reader) == b"got abc"


async def test_a_quiet_web_socket_stays(serve: Serve) -> None:
    async with (
        serve() as server,
        connect(f"ws://127.0.0.1:{server.port}/socket") as socket,
    ):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(socket.recv(), LATE)
        await socket.send("a word")
        assert await socket.recv() == "heard a word"


async def test_where_too_many_wait_who_has_waited_longest_goes(serve: Serve) -> None:
    async with serve(LONG, most=4) as server:
        pairs = [await server.open() for _ in range(10)]
        asked, _ = await server.open(HEAD + b"abc")
        assert await answer(asked) == b"got abc"
        for reader, _ in pairs[:2]:
            assert await ended(reader, 10) == b""
        await stays_open(pairs[3][0], 0.05)


async def test_a_crowd_has_a_second(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async with serve(LONG, most=4) as server:
        pairs = [await server.open() for _ in range(7)]
        asked, writer = await server.open()
        writer.write(HEAD + b"abc")
        assert await answer(asked) == b"got abc"
        before = time.monotonic()
        for reader, _ in pairs[4:]:
            assert await ended(reader) == b""
        assert time.monotonic() - before < 10
        for reader, _ in pairs[:4]:
            await stays_open(reader, 0.05)
        assert caplog.text.count("TANLU_WAITING_CONNECTIONS") == 1


async def test_many_requests_at_once_are_no_crowd(serve: Serve) -> None:
    async with serve(LONG, most=40) as server:
        pairs = await asyncio.gather(*(server.open(HEAD + b"abc") for _ in range(60)))
        got = await asyncio.gather(*(answer(reader) for reader, _ in pairs))
        assert got == [b"got abc"] * 60


def test_another_uvicorn_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed:
        def __init__(self) -> None:
            self.loop = self.transport = self.scope = None

        def connection_made(self, transport: Any) -> None: ...

        def data_received(self, data: bytes) -> None: ...

    module = SimpleNamespace(H11Protocol=Changed, RequestResponseCycle=Changed)
    monkeypatch.setattr(header_timeout.importlib, "import_module", lambda _: module)
    told = r"uvicorn [\d.]+ is not as expected: H11Protocol lacks connection_lost, cycle"
    with pytest.raises(RuntimeError, match=told), limited_heads(10, 100):
        pass


def test_uvicorn_is_left_as_it_was() -> None:
    import_module = header_timeout.importlib.import_module
    kind = import_module("uvicorn.protocols.http.h11_impl").H11Protocol
    before = kind.data_received
    with limited_heads(10, 100):
        assert kind.data_received is not before
    assert kind.data_received is before

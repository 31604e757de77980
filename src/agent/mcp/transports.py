"""Speak with an MCP server: over stdio with one whose process we own, over HTTP with others.

The SDK's own transport over stdio hides the process id, copies quadratically when a line is huge,
waits seconds before it kills, and logs a traceback for every line of noise.
"""

import asyncio
import contextlib
import logging
import os
import re
import signal
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import httpx

from agent.core.outside import parse_json
from agent.core.proxies import proxy_for
from agent.core.redaction import scrub
from agent.mcp.map_server import ServerAddress, ServerCommand

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCMessage

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]

log = logging.getLogger(__name__)
# httpx logs every URL at INFO, which may hold a key.
logging.getLogger("httpx").setLevel(logging.WARNING)
LINE_LIMIT = 4 << 20
"""Bytes of one message; a longer one is answered with TOO_LARGE in its place."""
TOO_LARGE = -32099
_CHUNK = 1 << 16
_STDERR_LINES = 20
_REQUEST_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})')
_GRACE = 1.0


@dataclass
class ServerProcess:
    """Hold a running server: its process, its streams, the end of its stderr."""

    process: asyncio.subprocess.Process
    read: "Incoming"
    write: "Outgoing"
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it exited or closed its output."""
    stderr: deque[str] = field(default_factory=lambda: deque(maxlen=_STDERR_LINES))

    @property
    def pid(self) -> int:
        return self.process.pid

    words: "asyncio.Task[None] | None" = None

    async def exited(self) -> None:
        """Wait until it has exited and its stderr is read."""
        await self.process.wait()
        if self.words is not None:
            await asyncio.shield(self.words)

    def last_words(self) -> str:
        """Return the end of its stderr, without keys, on one line."""
        return scrub(" | ".join(line for line in self.stderr if line))[-500:]


@asynccontextmanager
async def run_server(command: ServerCommand) -> AsyncIterator[ServerProcess]:
    """Start a server; whatever happens, its process is gone when this ends."""
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        command.command,
        *command.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(command.env),
        cwd=command.cwd,
        start_new_session=os.name == "posix",
    )
    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    server = ServerProcess(process, read, write)
    server.words = asyncio.create_task(_read_stderr(server))
    tasks = [
        asyncio.create_task(_read_messages(server, to_session)),
        asyncio.create_task(_write_messages(server, from_session)),
        server.words,
    ]
    try:
        yield server
    finally:
        await _end(server, tasks)
        for stream in (to_session, read, write, from_session):
            stream.close()


async def _read_messages(
    server: ServerProcess, to_session: "MemoryObjectSendStream[SessionMessage | Exception]"
) -> None:
    from mcp.shared.message import SessionMessage

    assert server.process.stdout is not None
    lines = Lines()
    try:
        while chunk := await server.process.stdout.read(_CHUNK):
            for line in lines.feed(chunk):
                if message := _message(line):
                    await to_session.send(SessionMessage(message))
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass
    finally:
        server.gone.set()


async def _write_messages(
    server: ServerProcess, from_session: "MemoryObjectReceiveStream[SessionMessage]"
) -> None:
    assert server.process.stdin is not None
    with contextlib.suppress(ConnectionError, RuntimeError):
        async for item in from_session:
            text = item.message.model_dump_json(by_alias=True, exclude_none=True)
            server.process.stdin.write(text.encode("utf-8", "replace") + b"\n")
            await server.process.stdin.drain()


async def _read_stderr(server: ServerProcess) -> None:
    assert server.process.stderr is not None
    rest = b""
    while chunk := await server.process.stderr.read(_CHUNK):
        *lines, rest = (rest + chunk)[-_CHUNK:].split(b"\n")
        for line in lines:
            server.stderr.append(line.decode("utf-8", "replace").strip())
            log.debug("map server %d: %s", server.pid, scrub(server.stderr[-1]))
    server.stderr.append(rest.decode("utf-8", "replace").strip())


async def _end(server: ServerProcess, tasks: list[asyncio.Task[None]]) -> None:
    """Kill the whole group at once: every tool only reads, so nothing can be half done."""
    if server.process.returncode is None:
        _kill(server.process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            await server.exited()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if server.process.stdin is not None:
        server.process.stdin.close()
    # The pipes of a grandchild that outlived the server would keep the transport open.
    transport = getattr(server.process, "_transport", None)
    if transport is not None:
        transport.close()
        await asyncio.sleep(0)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _message(line: bytes) -> "JSONRPCMessage | None":
    """Return a line's message, in valid text; an error in place of an answer of no known form."""
    from mcp.types import PARSE_ERROR, JSONRPCMessage

    text = line.decode("utf-8", "replace").strip()
    if not text:
        return None
    request = None
    try:
        parsed = parse_json(text)
        if isinstance(parsed, dict) and "method" not in parsed:
            request = parsed.get("id")
        return JSONRPCMessage.model_validate(parsed)
    except ValueError:
        log.warning("map server wrote a line that is no message: %s", scrub(text[:120]))
    return _error(request, PARSE_ERROR, "not a message") if type(request) is int else None


class Lines:
    """Cut a stream into lines in linear time; a line over the limit becomes an error message."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk."""
        *ends, rest = chunk.split(b"\n")
        lines = []
        for end in ends:
            self._add(end)
            lines.append(self._take())
        self._add(rest)
        return lines

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
        else:
            self._parts.clear()
        self._head = self._head or part[:200]
        self._tail = (self._tail + part)[-200:]

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        if self._size > self._limit:
            line = _too_large(self._head, self._tail, self._size)
        self._parts, self._size, self._head, self._tail = [], 0, b"", b""
        return line


def _too_large(head: bytes, tail: bytes, size: int) -> bytes:
    """Return the error for a reply that was dropped, if its request can be identified."""
    ids = _REQUEST_ID.findall(tail) or _REQUEST_ID.findall(head)
    log.warning("map server sent a message of %d bytes; dropped", size)
    if not ids:
        return b""
    message = f"reply of {size} bytes is too large"
    return _error(int(ids[-1]), TOO_LARGE, message).model_dump_json().encode()


def _error(request: int, code: int, message: str) -> "JSONRPCMessage":
    from mcp.types import ErrorData, JSONRPCError, JSONRPCMessage

    error = ErrorData(code=code, message=message)
    return JSONRPCMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))


_CONNECT_SECONDS, _READ_SECONDS = 10.0, 300.0


@dataclass
class RemoteServer:
    """Hold the streams to a server that has no process here."""

    read: "Incoming"
    write: "Outgoing"
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Never set: a connection that breaks ends the task that holds it."""
    pid: None = None

    async def exited(self) -> None:
        """Wait for nothing."""

    def last_words(self) -> str:
        """Return nothing."""
        return ""


@asynccontextmanager
async def reach_server(address: ServerAddress) -> AsyncIterator[RemoteServer]:
    """Open the streams to a server; calls have limits of their own."""
    from mcp.client.streamable_http import streamable_http_client

    client = httpx.AsyncClient(
        headers=dict(address.headers),
        timeout=httpx.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
        proxy=proxy_for(address.url),
        trust_env=False,
    )
    async with client, streamable_http_client(address.url, http_client=client) as (read, write, _):
        yield RemoteServer(read, write)

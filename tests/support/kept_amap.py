"""Amap's server under Node, which stays for the next test: 0.2 s of CPU less for each.

A session gets streams of its own in front of those of a process that waits. One in which a call
was left open, or that ended, is not gone on with.
"""

import asyncio
import atexit
import functools
import itertools
import os
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.mcp import servers, session
from agent.mcp.map_server import ServerCommand
from agent.mcp.transports import ServerProcess

_BASE, _FILE = "AMAP_TEST_BASE_URL", "AMAP_TEST_BASE_FILE"
_MOVED = Path(__file__).with_name("amap_moved.cjs")
_start = session.run_server


@dataclass
class Kept:
    """A process, the file that tells it where the stand-in is, and how many calls are open."""

    server: ServerProcess
    base: Path
    ending: AsyncExitStack
    calls: int = 0

    @property
    def usable(self) -> bool:
        """Whether another session may have it."""
        alive = self.server.process.returncode is None and not self.server.gone.is_set()
        return alive and not self.calls


IDLE: dict[Any, list[Kept]] = defaultdict(list)
"""Those that wait, by what they were started with beside the address."""


_MOST = 2
"""Of a kind wait no more."""


def waiting_pids() -> set[int]:
    """Return the processes that wait."""
    return {kept.server.pid for kept in itertools.chain.from_iterable(IDLE.values())}


def keep_amap_server() -> None:
    """Let sessions with Amap's server over the sample share its processes, one after another."""
    session.run_server = shared  # type: ignore[assignment]


@pytest.fixture
def with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every session a process of its own, where a test looks at processes."""
    monkeypatch.setattr(session, "run_server", _start)


@asynccontextmanager
async def shared(command: ServerCommand) -> AsyncIterator[ServerProcess]:
    """Yield a process that waits, or a new one; any other server is started as always."""
    if str(servers._REDIRECT) not in command.args:
        async with _start(command) as server:
            yield server
        return
    env = dict(command.env)
    base = env.pop(_BASE)
    waiting = IDLE[command.args, *sorted(env.items())]
    kept = _usable(waiting) or await _started(command, env)
    kept.base.write_text(base)
    try:
        async with _streams(kept) as server:
            yield server
    finally:
        if kept.usable and len(waiting) < _MOST:
            waiting.append(kept)
        else:
            await kept.ending.aclose()


def _usable(waiting: list[Kept]) -> Kept | None:
    while waiting:
        kept = waiting.pop()
        if kept.usable:
            return kept
    return None


async def _started(command: ServerCommand, env: dict[str, str]) -> Kept:
    _end_at_exit()
    handle, name = tempfile.mkstemp(prefix="tanlu-amap-")
    os.close(handle)
    at = command.args.index(str(servers._REDIRECT)) + 1
    args = (*command.args[:at], "--require", str(_MOVED), *command.args[at:])
    env = {**env, _FILE: name}
    ending = AsyncExitStack()
    ending.callback(Path(name).unlink, missing_ok=True)
    server = await ending.enter_async_context(_start(replace(command, args=args, env=env)))
    return Kept(server, Path(name), ending)


@asynccontextmanager
async def _streams(kept: Kept) -> AsyncIterator[ServerProcess]:
    """Yield the process behind streams that its session may close."""
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def tell() -> None:
        async for item in from_session:
            kept.calls += isinstance(item.message.root, JSONRPCRequest)
            await kept.server.write.send(item)

    async def hear() -> None:
        async for item in kept.server.read:
            assert isinstance(item, SessionMessage)
            kept.calls -= isinstance(item.message.root, JSONRPCResponse | JSONRPCError)
            await to_session.send(item)

    tasks = [asyncio.create_task(tell()), asyncio.create_task(hear())]
    try:
        yield replace(kept.server, read=read, write=write)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (to_session, read, write, from_session):
            stream.close()


@functools.cache
def _end_at_exit() -> None:
    loop = asyncio.get_running_loop()

    async def end() -> None:
        for kept in itertools.chain.from_iterable(IDLE.values()):
            await kept.ending.aclose()

    def ended() -> None:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(end(), loop).result(5)

    atexit.register(ended)

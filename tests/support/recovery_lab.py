"""A server of a probe graph that is killed: every outside call can be counted and held."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.probe_service import Probe, probe_service

At = tuple[Probe, str]
OPEN_RUNS = "SELECT count(*) FROM runs WHERE status = 'open'"
_GRAPHS = {
    "probe": "tests.support.probe_graph:graph",
    "pausing": "tests.support.pausing_graph:graph",
}


@pytest.fixture(scope="module")
def probe_and_url() -> Iterator[At]:
    with probe_service() as found:
        yield found


@contextmanager
def probe_server(folder: Path, url: str, **options: Any) -> Iterator[DevServer]:
    """A server of the graphs of probes, which ask the service at `url`."""
    environment = {"PROBE_URL": url, "PYTHONPATH": str(REPOSITORY)}
    with dev_server(folder, env=environment, config={"graphs": _GRAPHS}, **options) as started:
        yield started


@pytest.fixture
def probe(probe_and_url: At) -> Probe:
    """As if nothing had been asked of it."""
    found, _ = probe_and_url
    found.held, found.seconds = set(), 0.0
    found.arrived.clear()
    found.answered.clear()
    return found


def question(turn: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": turn}]}


async def answered(client: LangGraphClient, thread_id: str, *, seconds: float = 120) -> Any:
    """The thread's state once its answer is there."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                state = await client.threads.get_state(thread_id)
            except NotFoundError:
                state = {"values": {}}
            messages = (state["values"] or {}).get("messages", [])
            if messages and messages[-1]["type"] == "ai":
                return state
            await asyncio.sleep(0.2)


async def listed(client: LangGraphClient, thread_id: str) -> Any:
    """The thread's runs, once the server knows some."""
    async with asyncio.timeout(120):
        while True:
            with suppress(NotFoundError):
                if runs := await client.runs.list(thread_id):
                    return runs
            await asyncio.sleep(0.1)


def stored(server: DevServer, query: str) -> int:
    """A number out of the server's run log."""
    with closing(sqlite3.connect(server.folder / "threads" / "runs.sqlite", timeout=10)) as db:
        return int(db.execute(query).fetchone()[0])


async def until(true: Callable[[], bool], *, seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(true):  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.05)


class Clients:
    """Clients of the one server, closed with the test."""

    def __init__(self, server: DevServer, stack: AsyncExitStack) -> None:
        self._server, self._stack = server, stack

    async def open(self) -> LangGraphClient:
        return await self._stack.enter_async_context(get_client(url=self._server.url))

    async def after_kill_9(self) -> LangGraphClient:
        """A client of the server that was killed and started again."""
        self._server.kill()
        await asyncio.to_thread(self._server.start)
        return await self.open()


@pytest.fixture
async def clients(server: DevServer) -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:
        yield Clients(server, stack)

"""What the tests of the map share; import the fixtures by name."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.budget import Budget, Limits, Meter
from agent.errors import ProviderError
from agent.mcp.contract import contract_problem
from agent.mcp.install import installed_server
from agent.mcp.node import find_node
from agent.mcp.servers import ServerSpec, death_signal
from agent.mcp.sessions import SessionLimits, SupervisedSession

SCRIPT = Path(__file__).with_name("map_servers.py")
QUICK = SessionLimits(start=10, call=5, ping=1.0)


def scripted(fault: str, marker: Path | None = None) -> ServerSpec:
    """A server that misbehaves."""
    command = [*death_signal(), sys.executable, str(SCRIPT), fault, str(marker or "")]
    environment = {"PATH": os.environ["PATH"], "AMAP_MAPS_API_KEY": "scripted-key-000"}
    return ServerSpec(command[0], tuple(command[1:]), environment)


@asynccontextmanager
async def scripted_session(
    fault: str, *, limits: SessionLimits = QUICK, marker: Path | None = None
) -> AsyncIterator[SupervisedSession]:
    session = SupervisedSession(
        lambda: scripted(fault, marker), check=contract_problem, limits=limits
    )
    try:
        yield session
    finally:
        await session.aclose()


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def servers_with(word: str) -> list[int]:
    """Processes of this machine whose command line holds the word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and is_running(int(folder.name)):
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


async def until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something another process does; fails when it never happens."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


def meter(*, map_calls: int = 12, seconds: float = 60) -> Meter:
    limits = Limits(
        max_searches=10,
        max_model_calls=10,
        max_map_calls=map_calls,
        max_run_tokens=10_000,
        max_run_seconds=seconds,
        answer_seconds=0,
    )
    return Budget("turn-1", limits).meter()


@pytest.fixture(scope="session")
def map_server_script() -> Path:
    """The pinned server, installed once into the cache; without Node the test is skipped."""
    try:
        return installed_server(find_node())
    except ProviderError as error:
        pytest.skip(f"no map server: {error}")

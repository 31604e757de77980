"""What the tests of the map share; import the fixtures by name."""

import asyncio
import functools
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CallToolResult
from pydantic import SecretStr

from agent.core.calls import Calls
from agent.core.errors import ProviderError
from agent.evidence.types import MapTask
from agent.mcp.amap.install import find_node, installed_server
from agent.mcp.map import MapClient, build_map_client, text_of
from agent.mcp.map_server import MapServer, ServerCommand
from agent.mcp.records import MapOptions, MapResult
from agent.mcp.servers import amap_server, death_signal
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.settings import Settings
from tests.support import meters
from tests.support.served import serve_in_thread
from tests.support.standins import AmapService

SCRIPT = Path(__file__).with_name("map_servers.py")
CANARY = "canary-key-4f1d9a77"
meter = functools.partial(meters.meter, map_calls=12)
QUICK = SessionLimits(start=60, call=30, ping=10)


def scripted(fault: str, marker: Path | None = None) -> ServerCommand:
    """A server that misbehaves."""
    command = [*death_signal(), sys.executable, str(SCRIPT), fault, str(marker or "")]
    environment = {"PATH": os.environ["PATH"], "AMAP_MAPS_API_KEY": "scripted-key-000"}
    return ServerCommand(command[0], tuple(command[1:]), environment)


def scripted_server(fault: str, marker: Path | None = None) -> MapServer:
    """Return Amap's entry of the table, with a process that misbehaves."""
    return replace(amap_server(Settings()), command=lambda: scripted(fault, marker))


@asynccontextmanager
async def scripted_session(
    fault: str, *, limits: SessionLimits = QUICK, marker: Path | None = None
) -> AsyncIterator[SupervisedSession]:
    session = SupervisedSession(scripted_server(fault, marker), limits=limits)
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


async def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something another process does; fails when it never happens."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - there is no event for what other processes do
            await asyncio.sleep(0.01)


@pytest.fixture(scope="session", name="map_server_script")
def script_fixture() -> Path:
    """The pinned server, installed once into the cache; without Node the test is skipped."""
    try:
        return installed_server(find_node())
    except ProviderError as error:
        pytest.skip(f"no map server: {error}")


@dataclass
class MapLab:
    """The real map server in front of the sample's stand-in for Amap."""

    amap: AmapService
    url: str
    settings: Settings
    maps: MapClient

    async def call(self, tool: str, **asked: object) -> CallToolResult:
        """Straight to the server, without the gateway."""
        return await self.maps.session.call_tool(tool, dict(asked))

    async def text(self, tool: str, **asked: object) -> str:
        return text_of(await self.call(tool, **asked))

    async def map_result(self, task: MapTask, **given: Any) -> MapResult:
        """One branch on an account of its own, unless `meter` is given."""
        options = MapOptions(
            prefix=given.pop("prefix", "a0"),
            language=given.pop("language", "zh"),
            **given.pop("options", {}),
        )
        told = given.pop("told", [])
        return await self.maps.map_result(
            task,
            given.pop("query", "问题"),
            options=options,
            meter=given.pop("meter", None) or meter(),
            on_call=told.append,
        )


@asynccontextmanager
async def map_lab(
    *, key: str = CANARY, qps: int | None = None, amap_qps: float = 1000, **changes: Any
) -> AsyncIterator[MapLab]:
    """Yield a map of its own, closed at the end."""
    amap = AmapService(key=key, qps=qps)
    settings = Settings(amap_maps_api_key=SecretStr(CANARY), amap_qps=amap_qps, **changes)
    with serve_in_thread(amap.app) as running:
        maps = build_map_client(settings, Calls(), redirect=running.url)
        try:
            yield MapLab(amap, running.url, settings, maps)
        finally:
            await maps.aclose()


@pytest.fixture(name="lab")
async def lab_fixture(map_server_script: Path) -> AsyncIterator[MapLab]:
    """The usual one, with the key it expects."""
    async with map_lab() as made:
        yield made

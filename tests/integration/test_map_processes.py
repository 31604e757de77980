"""One server process at any load, none when nobody needs it any more, whatever ends us."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent.core.calls import Calls
from agent.evidence.types import MapTask
from agent.mcp.map import build_map_client
from agent.mcp.session import SupervisedSession
from agent.settings import Settings
from tests.support.kept_amap import with_its_own
from tests.support.map_fixtures import (
    MapLab,
    is_running,
    lab_fixture,
    script_fixture,
    scripted,
    scripted_server,
    scripted_session,
    until,
)
from tests.support.served import serve_in_thread
from tests.support.standins import AmapService

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("with_its_own")]
__all__ = ["lab_fixture", "script_fixture", "with_its_own"]
NEARBY: MapTask = {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡"]}

OWNER = """
import asyncio, sys
from agent.mcp.map_server import ServerCommand
from agent.mcp.servers import amap_server
from agent.mcp.session import SupervisedSession
from agent.settings import Settings
from dataclasses import replace

async def main():
    command = ServerCommand({command!r}, {arguments!r}, {{}})
    session = SupervisedSession(replace(amap_server(Settings()), command=lambda: command))
    await session.list_tools()
    print(session.pid, flush=True)
    {then}

asyncio.run(main())
"""


def owner_script(then: str) -> str:
    """A program that starts a server which ignores its closed input, then does something."""
    spec = scripted("ignore_eof")
    return OWNER.format(command=spec.command, arguments=spec.args, then=then)


async def test_kill_9_under_six_parallel_calls_gives_six_results(lab: MapLab) -> None:
    lab.amap.latency = lambda request, body: 3600
    await lab.maps.session.list_tools()
    pid = lab.maps.session.pid
    assert pid is not None
    calls = [
        asyncio.create_task(lab.call("maps_search_detail", id=f"B0SAMPW00{n}")) for n in range(1, 7)
    ]
    await until(lambda: len(lab.amap.requests) == 6)
    lab.amap.latency = None
    os.kill(pid, signal.SIGKILL)
    results = await asyncio.gather(*calls)
    assert [result.isError for result in results] == [False] * 6
    assert lab.maps.session.starts == 2
    assert not is_running(pid)


async def test_thirty_surveys_at_once_use_one_server(lab: MapLab) -> None:
    map_results = await asyncio.gather(*(lab.map_result(NEARBY, prefix=f"a{n}") for n in range(30)))
    assert lab.maps.session.starts == 1
    assert all(map_result.places for map_result in map_results)
    assert len(lab.amap.asked("/v3/geocode/geo")) == 1


async def test_after_closing_no_server_is_left(lab: MapLab) -> None:
    await lab.map_result(NEARBY)
    pid = lab.maps.session.pid
    assert pid is not None
    await lab.maps.aclose()
    assert not is_running(pid)
    await lab.maps.aclose()


@pytest.mark.parametrize(
    "then",
    ["pass", "sys.exit(3)", "raise RuntimeError('x')", "import os; os._exit(1)"],
    ids=["end", "exit", "raise", "hard_exit"],
)
def test_when_our_process_ends_the_server_ends(then: str) -> None:
    script = owner_script(then)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False
    )
    pid = int(done.stdout.split()[0])
    asyncio.run(until(lambda: not is_running(pid)))


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_when_our_process_is_killed_the_server_dies_even_if_it_ignores_its_input(
    name: str,
) -> None:
    script = owner_script("await asyncio.sleep(3600)")
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.send_signal(signal.Signals[name])
    asyncio.run(until(lambda: not is_running(pid)))


def test_one_server_serves_event_loops_that_come_and_go(map_server_script: Path) -> None:
    amap, settings = AmapService(), Settings(amap_qps=1000)
    with serve_in_thread(amap.app) as running:
        maps = build_map_client(settings, Calls(), redirect=running.url)
        lab = MapLab(amap, running.url, settings, maps)
        assert asyncio.run(lab.map_result(NEARBY)).places
        assert asyncio.run(lab.map_result({"intent": "weather", "city": "上海"})).weather
        assert maps.session.starts == 1
        asyncio.run(maps.aclose())


def test_one_server_serves_threads_with_loops_of_their_own() -> None:
    session = SupervisedSession(scripted_server("none"))
    results: list[bool] = []

    def work() -> None:
        results.append(asyncio.run(session.call_tool("maps_geo", {})).isError is False)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(session.aclose())
    assert results == [True] * 4
    assert session.starts == 1


async def test_closing_from_another_loop_during_calls_ends_them() -> None:
    async with scripted_session("hang_in_call") as session:
        await session.list_tools()
        pid = session.pid
        assert pid is not None
        calls = [asyncio.create_task(session.call_tool("maps_geo", {})) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(lambda: asyncio.run(session.aclose()))
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, Exception) for result in results)
    assert not is_running(pid)

"""Cancelling at `/mcp`, or hanging up at `/v1`, cancels the run: the models count their calls."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest
from langgraph_sdk import get_client
from mcp import ClientSession, McpError
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

from agent.sample.model.reply import SampleModel
from tests.support.dev_server import DevServer, dev_server
from tests.support.mcp_client import connected, structured
from tests.support.served import serving
from tests.support.standins import GeminiService

pytestmark = [pytest.mark.server, pytest.mark.slow]
EN, OTHER = "How do sodium-ion batteries work?", "What is WebRTC?"


@pytest.fixture(scope="module")
def gemini() -> Iterator[GeminiService]:
    with serving(GeminiService(SampleModel(), key="CANARY-mcp-key-0123456789")) as served:
        served["gemini"].environment = served.environment
        yield served["gemini"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, gemini: GeminiService) -> Iterator[DevServer]:
    environment = {**gemini.environment, "GEO_ROUTING": "never", "MAX_RESEARCH_LOOPS": "1"}
    with dev_server(tmp_path_factory.mktemp("server"), env=environment) as started:
        yield started


@pytest.fixture(autouse=True)
def slow_models(gemini: GeminiService) -> Iterator[None]:
    gemini.requests.clear()
    gemini.latency = lambda request, body: 1.0
    yield
    gemini.latency = None


async def until(true: Callable[[], bool], *, seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.05)


async def last_run_ends(server: DevServer, over: str = "mcp") -> str:
    """The status in which the newest run ends."""
    async with get_client(url=server.url) as client, asyncio.timeout(120):
        (thread,) = await client.threads.search(
            metadata={"asked_over": over}, limit=1, sort_by="created_at", sort_order="desc"
        )
        while True:
            (run,) = await client.runs.list(thread["thread_id"])
            if run["status"] not in ("pending", "running"):
                return str(run["status"])
            await asyncio.sleep(0.05)


async def assert_nothing_more_is_asked(server: DevServer, gemini: GeminiService) -> None:
    """Another question is answered meanwhile, and the cancelled one is not heard of again."""
    spent = len(gemini.requests)
    async with connected(server.url) as session:
        gemini.latency = None
        structured(await session.call_tool("agent", {"question": OTHER}))
    assert [r for r in gemini.requests[spent:] if "sodium" in str(r.body)] == []


async def cancel(session: ClientSession, number: int) -> None:
    params = CancelledNotificationParams(requestId=number, reason="no longer needed")
    await session.send_notification(
        ClientNotification(CancelledNotification(method="notifications/cancelled", params=params))
    )


async def test_a_cancelled_call_cancels_the_run_and_only_its_own(
    server: DevServer, gemini: GeminiService
) -> None:
    async with connected(server.url) as session, connected(server.url) as other:
        call = asyncio.create_task(session.call_tool("agent", {"question": EN}))
        await until(lambda: len(gemini.requests) >= 2)
        number = session._request_id - 1
        await cancel(other, number)
        await session.send_ping()
        assert not call.done()
        await cancel(session, number)
        with pytest.raises(McpError, match="cancelled"):
            await call
        assert await last_run_ends(server) == "interrupted"
    await assert_nothing_more_is_asked(server, gemini)


async def test_a_dropped_connection_cancels_the_run(
    server: DevServer, gemini: GeminiService
) -> None:
    async def ask() -> None:
        async with connected(server.url) as session:
            await session.call_tool("agent", {"question": EN})

    asking = asyncio.create_task(ask())
    await until(lambda: len(gemini.requests) >= 2)
    asking.cancel()
    await asyncio.wait([asking])
    assert await last_run_ends(server) == "interrupted"
    await assert_nothing_more_is_asked(server, gemini)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_of_openai_s_api_that_hangs_up_cancels_its_run(
    server: DevServer, gemini: GeminiService, stream: bool
) -> None:
    body = {"model": "agent", "messages": [{"role": "user", "content": EN}], "stream": stream}

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
            await http.post("/v1/chat/completions", json=body)

    asking = asyncio.create_task(ask())
    await until(lambda: len(gemini.requests) >= 2)
    asking.cancel()
    await asyncio.wait([asking])
    assert await last_run_ends(server, "openai") == "interrupted"
    await assert_nothing_more_is_asked(server, gemini)


async def test_calls_are_written_down_as_every_run_is_and_leave_no_error(
    server: DevServer, gemini: GeminiService
) -> None:
    gemini.latency, before = None, written_down(server)
    async with connected(server.url) as session:
        structured(await session.call_tool("agent", {"question": OTHER}))
    assert written_down(server) == before + 1
    assert "[agent.server.mcp" not in server.output()
    assert "[mcp." not in server.output()
    assert "Traceback" not in server.output()


def written_down(server: DevServer) -> int:
    """How many runs the server has accepted so far."""
    path = server.folder / "threads" / "runs.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=10)) as db:
        return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])

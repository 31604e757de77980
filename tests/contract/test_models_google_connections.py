"""Gemini through the client: event loops, connections and proxies."""

import asyncio
import gc

import pytest

from agent.core.calls import Calls
from agent.models.client import ModelClient
from tests.contract.gemini_client import LITE, gemini_fixture, llm_fixture
from tests.support.map_fixtures import until
from tests.support.meters import meter
from tests.support.scripted import ASK, KEY, client_for
from tests.support.standins import GeminiService

__all__ = ["gemini_fixture", "llm_fixture"]


def test_a_client_serves_several_event_loops_in_turn(gemini: GeminiService) -> None:
    async def once() -> None:
        assert (await client.ask(LITE, ASK, meter=meter())).text

    from agent.settings import Settings
    from tests.support.served import serve_in_thread

    with serve_in_thread(gemini.app) as running:
        client = ModelClient(
            Settings(gemini_api_key=KEY, google_gemini_base_url=running.url), Calls()
        )
        asyncio.run(once())
        asyncio.run(once())
        asyncio.run(client.aclose())
    gc.collect()


async def test_connections_are_not_limited_to_a_hundred(
    gemini: GeminiService,
) -> None:
    gemini.fail("hang", times=None)
    async with client_for(gemini) as client:
        asks = [asyncio.create_task(client.ask(LITE, ASK, meter=meter())) for _ in range(200)]
        # No request ends, so that many are under way at once, however slow the machine is.
        await until(lambda: len(gemini.requests) > 110, seconds=60)
        for ask in asks:
            ask.cancel()
        ends = await asyncio.gather(*asks, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}


async def test_loopback_never_goes_through_a_proxy(
    gemini: GeminiService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:1")
    async with client_for(gemini) as client:
        assert (await client.ask(LITE, ASK, meter=meter())).text

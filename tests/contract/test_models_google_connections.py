"""Gemini through the desk: event loops, connections and proxies."""

import asyncio
import gc
from typing import Any

import pytest

from agent.calls import Calls
from agent.models.desk import ModelDesk
from agent.offline.gemini import GeminiService
from tests.support.gemini_desk import LITE, brain_fixture, gemini_fixture
from tests.support.scripted import ASK, KEY, desk_for, meter

__all__ = ["brain_fixture", "gemini_fixture"]


def test_a_desk_serves_several_event_loops_in_turn(gemini: GeminiService) -> None:
    async def once() -> None:
        assert (await desk.ask(LITE, ASK, meter=meter())).text

    from agent.offline.service import serve
    from agent.settings import Settings

    with serve(gemini.app) as running:
        desk = ModelDesk(Settings(gemini_api_key=KEY, google_gemini_base_url=running.url), Calls())
        asyncio.run(once())
        asyncio.run(once())
        asyncio.run(desk.aclose())
    gc.collect()


async def test_connections_are_reused_and_not_limited_to_a_hundred(
    gemini: GeminiService,
) -> None:
    waiting, most = 0, 0

    def latency(request: Any, body: Any) -> float:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        asyncio.get_running_loop().call_later(0.8, done)
        return 0.8

    def done() -> None:
        nonlocal waiting
        waiting -= 1

    gemini.latency = latency
    async with desk_for(gemini) as desk:
        asks = (desk.ask(LITE, ASK, meter=meter()) for _ in range(200))
        await asyncio.gather(*asks)
    assert most > 110


async def test_loopback_never_goes_through_a_proxy(
    gemini: GeminiService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:1")
    async with desk_for(gemini) as desk:
        assert (await desk.ask(LITE, ASK, meter=meter())).text

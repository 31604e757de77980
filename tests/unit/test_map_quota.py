from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CallToolResult, TextContent

from agent.core.calls import Calls
from agent.core.concurrency import BoundedCache
from agent.core.errors import ProviderError, ProviderRefused, RateLimited
from agent.mcp.amap.tools import QUOTA, SHANGHAI
from agent.mcp.map import Gateway
from agent.mcp.map_server import DailySearches, Pauses, window_pace
from agent.mcp.servers import amap_server
from agent.settings import Settings
from tests.support.map_fixtures import meter


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_no_window_of_the_pace_holds_more_than_its_burst() -> None:
    clock = Clock()
    pace = window_pace(2.5, clock)
    starts = [clock.now + pace.reserve() for _ in range(10)]
    assert starts[:3] == [1000.0] * 3
    for start in starts:
        assert sum(start <= other < start + 1 for other in starts) <= 3
    assert starts[9] == pytest.approx(1000 + 3 * 1.2)


@pytest.mark.parametrize(("rate", "burst"), [(0.5, 1), (1, 1), (2, 2), (30, 3)])
def test_a_slow_pace_has_no_burst(rate: float, burst: int) -> None:
    pace = window_pace(rate, Clock())
    waits = [pace.reserve() for _ in range(burst + 1)]
    assert waits[:burst] == [0.0] * burst
    assert waits[burst] == pytest.approx(burst / rate)


async def test_a_days_searches_are_counted_over_processes_until_midnight_in_shanghai(
    tmp_path: Path,
) -> None:
    now = [datetime(2026, 11, 21, 23, 0, tzinfo=SHANGHAI)]
    file = tmp_path / "deep" / "usage.sqlite"
    ours = DailySearches(2, QUOTA, file=file, now=lambda: now[0])
    theirs = DailySearches(2, QUOTA, file=file, now=lambda: now[0])
    await ours.spend("maps_text_search")
    await theirs.spend("maps_search_detail")
    await ours.spend("maps_geo")
    with pytest.raises(RateLimited, match="2026-11-22 00:00") as caught:
        await ours.spend("maps_around_search")
    assert caught.value.retry_after == 3600
    now[0] = datetime(2026, 11, 22, 0, 1, tzinfo=SHANGHAI)
    await ours.spend("maps_around_search")


async def test_without_a_limit_nothing_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "usage.sqlite"
    await DailySearches(0, QUOTA, file=file).spend("maps_text_search")
    assert not file.exists()


async def test_searches_are_counted_in_memory_where_there_is_no_file() -> None:
    daily = DailySearches(1, QUOTA)
    await daily.spend("maps_text_search")
    with pytest.raises(RateLimited):
        await daily.spend("maps_text_search")


def test_a_spent_day_pauses_searches_only() -> None:
    clock, pauses = Clock(), None
    pauses = Pauses(QUOTA, clock)
    pauses.note("maps_text_search", QUOTA.spent("spent", datetime.now(SHANGHAI)))
    with pytest.raises(RateLimited):
        pauses.check("maps_search_detail")
    pauses.check("maps_geo")
    clock.now += 86_401
    pauses.check("maps_search_detail")


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("amap", "slow down", retry_after=60, code="map_banned"),
        ProviderRefused("amap", "bad key", code="map_key_invalid"),
    ],
)
def test_a_ban_and_a_refused_key_pause_everything_for_a_minute(error: ProviderError) -> None:
    clock = Clock()
    pauses = Pauses(QUOTA, clock)
    pauses.note("maps_geo", error)
    with pytest.raises(type(error)):
        pauses.check("maps_weather")
    clock.now += 61
    pauses.check("maps_weather")


class Answering:
    """A session of a server that answers everything, but knows no place called "nowhere"."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def ready(self) -> None:
        """It is."""

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        self.calls.append(tool)
        lost = arguments.get("address") == "nowhere"
        text = "Geocoding failed: ENGINE_RESPONSE_DATA_ERROR" if lost else '{"return": []}'
        return CallToolResult(content=[TextContent(type="text", text=text)], isError=lost)


async def test_replies_hold_as_long_as_those_of_their_tool() -> None:
    clock, session = Clock(), Answering()
    cache: BoundedCache[str, str | ProviderError] = BoundedCache(9, seconds=600, clock=clock)
    gateway = Gateway(amap_server(Settings()), session, Calls(), qps=1000, cache=cache)

    async def ask() -> None:
        for tool, arguments in (("maps_geo", {"address": "here"}), ("maps_weather", {"city": "a"})):
            await gateway.call(tool, arguments, meter=meter())

    await ask()
    clock.now += 1799
    await ask()
    assert session.calls == ["maps_geo", "maps_weather"]
    clock.now += 2
    await ask()
    assert session.calls == ["maps_geo", "maps_weather", "maps_weather"]


async def test_a_place_not_found_is_remembered_for_ten_minutes() -> None:
    clock, session = Clock(), Answering()
    cache: BoundedCache[str, str | ProviderError] = BoundedCache(9, seconds=600, clock=clock)
    gateway = Gateway(amap_server(Settings()), session, Calls(), qps=1000, cache=cache)
    for seconds, calls in ((0, 1), (599, 1), (2, 2)):
        clock.now += seconds
        with pytest.raises(ProviderError) as caught:
            await gateway.call("maps_geo", {"address": "nowhere"}, meter=meter())
        assert (caught.value.code, len(session.calls)) == ("map_place_not_found", calls)

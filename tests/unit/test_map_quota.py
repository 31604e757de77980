from datetime import datetime
from pathlib import Path

import pytest

from agent.core.errors import ProviderError, ProviderRefused, RateLimited
from agent.mcp.amap.tools import CACHE_SECONDS, QUOTA, SHANGHAI
from agent.mcp.gateway import ReplyCache
from agent.mcp.quota import DailySearches, Pauses, WindowPace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_no_window_of_the_pace_holds_more_than_its_burst() -> None:
    clock = Clock()
    pace = WindowPace(2.5, clock)
    starts = [clock.now + pace.reserve() for _ in range(10)]
    assert starts[:3] == [1000.0] * 3
    for start in starts:
        assert sum(start <= other < start + 1 for other in starts) <= 3
    assert starts[9] == pytest.approx(1000 + 3 * 1.2)


@pytest.mark.parametrize(("rate", "burst"), [(0.5, 1), (1, 1), (2, 2), (30, 3)])
def test_a_slow_pace_has_no_burst(rate: float, burst: int) -> None:
    pace = WindowPace(rate, Clock())
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


def test_replies_are_forgotten_in_time_and_the_oldest_first() -> None:
    clock = Clock()
    cache = ReplyCache(CACHE_SECONDS, size=2, clock=clock)
    cache.put("maps_weather", "w", "rain")
    cache.put("maps_geo", "g", "here")
    clock.now += 1801
    assert cache.get("w") is None
    assert cache.get("g") == "here"
    cache.put("maps_geo", "h", "there")
    assert cache.get("g") == "here"
    cache.put("maps_geo", "i", "elsewhere")
    assert cache.get("h") is None
    assert cache.get("g") == "here"


def test_a_place_not_found_is_remembered_for_ten_minutes() -> None:
    clock = Clock()
    cache = ReplyCache(clock=clock)
    error = ProviderRefused("amap", "nothing", code="map_place_not_found")
    cache.put_not_found("k", error)
    assert cache.get("k") is error
    clock.now += 601
    assert cache.get("k") is None

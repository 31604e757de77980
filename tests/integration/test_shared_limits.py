"""Limits over all processes, in a real Redis; each of these clients stands for a process."""

import asyncio
import logging
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.core import shared_limits
from agent.core.calls import Calls
from agent.core.concurrency import Pace, SlidingWindow
from agent.core.errors import ConfigurationError, RateLimited
from agent.core.shared_limits import SharedLimits
from agent.core.telemetry import STEP, Cost, NodeStep
from agent.mcp.amap.tools import QUOTA
from agent.mcp.map_server import DailySearches
from agent.server.auth import owner_limits
from agent.server.auth.api_keys import access
from agent.server.auth.owner_limits import OwnerLimits, TooMany
from agent.settings import AccessSettings
from tests.support.ports import free_port
from tests.support.redis import Redis, needs_redis, redis_fixture, url_of

__all__ = ["redis_fixture"]


@pytest.fixture(name="processes")
async def processes_fixture(redis: Redis) -> AsyncIterator[list[SharedLimits]]:
    processes = [SharedLimits(url_of(redis.port)) for _ in range(3)]
    yield processes
    for process in processes:
        await process.aclose()


async def starts(
    processes: list[SharedLimits], name: str, limit: Pace | SlidingWindow, count: int
) -> list[float]:
    """When each of so many bookings may begin, all asked for at once."""

    async def one(process: SharedLimits) -> float:
        delay = await process.book(name, limit)
        return time.monotonic() + delay

    return sorted(await asyncio.gather(*(one(processes[n % 3]) for n in range(count))))


@needs_redis
async def test_several_processes_keep_one_pace(processes: list[SharedLimits]) -> None:
    found = await starts(processes, "pace", Pace(0.5, burst=2), 8)
    assert found[-1] - found[0] == pytest.approx(6 * 2.0, abs=1.5)


@needs_redis
async def test_no_window_of_several_processes_holds_more_than_its_limit(
    processes: list[SharedLimits],
) -> None:
    found = await starts(processes, "window", SlidingWindow(3, 5.0), 10)
    gaps = [later - found[at] for at, later in enumerate(found[3:])]
    assert min(gaps) > 4.0
    assert found[-1] - found[0] == pytest.approx(15.0, abs=1.0)


@needs_redis
async def test_an_unlimited_pace_waits_for_nobody(processes: list[SharedLimits]) -> None:
    assert await processes[0].book("unlimited", Pace(0)) == 0.0


@needs_redis
async def test_a_day_s_searches_are_counted_over_machines(
    processes: list[SharedLimits], tmp_path: Path
) -> None:
    def machine(number: int) -> DailySearches:
        return DailySearches(
            3, QUOTA, file=tmp_path / f"{number}.sqlite", shared=processes[number],
            now=lambda: datetime(2026, 11, 23, tzinfo=UTC),
        )  # fmt: skip

    tool = next(iter(QUOTA.tools))
    machines = [machine(number) for number in range(3)]
    for each in machines:
        await each.spend(tool)
    with pytest.raises(RateLimited, match="3 place searches are used up"):
        await machines[0].spend(tool)


@needs_redis
async def test_while_redis_is_away_a_process_keeps_its_own_limits_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    now = [100.0]
    redis = Redis(tmp_path)
    limits = SharedLimits(url_of(redis.port), clock=lambda: now[0])
    calls = Calls(shared=limits)
    pace = Pace(0.01)
    assert await calls.book("away", pace) == 0.0
    now[0] += 60
    assert await calls.book("away", pace) > 90
    assert await limits.count("away") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "each process alone" in caplog.text
    assert "secret-word" not in caplog.text
    redis.start()
    try:
        assert await limits.book("away", pace) > 190, "it is asked again only after a while"
        now[0] += 60
        assert await limits.book("away", pace) == 0.0
        assert "all processes again" in caplog.text
    finally:
        await limits.aclose()
        redis.kill()


async def test_a_redis_that_never_answers_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_limits, "_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        limits = SharedLimits(url_of(silent.getsockname()[1]))
        assert await asyncio.wait_for(limits.book("silent", Pace(1)), 10) == 0.0
        await limits.aclose()
    assert "each process alone" in caplog.text


def test_without_the_library_the_setting_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_limits, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"TANLU_REDIS_URL.*tanlu\[redis\]"):
        SharedLimits(url_of(1))


def test_an_address_of_something_else_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigurationError, match="redis://host") as refused:
        SharedLimits(SecretStr("http://:secret-word@host"))
    assert "secret-word" not in str(refused.value)


def test_the_library_is_not_imported_before_it_is_needed() -> None:
    program = "import sys, agent.services; sys.exit('redis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@needs_redis
async def test_runs_of_a_minute_are_counted_over_processes(
    processes: list[SharedLimits],
) -> None:
    waits = [await process.take("runs:alice", SlidingWindow(2, 60.0)) for process in processes]
    assert waits[:2] == [0.0, 0.0]
    assert waits[2] == pytest.approx(60.0, abs=2.0)
    assert await processes[2].take("runs:bob", SlidingWindow(2, 60.0)) == 0.0


@needs_redis
async def test_what_processes_spend_is_one_sum(processes: list[SharedLimits]) -> None:
    sums = [await process.add("usd:alice", 0.25) for process in processes]
    assert sums == [0.25, 0.5, 0.75]


@needs_redis
async def test_an_owner_s_dollars_are_those_of_all_processes(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_limits, "is_free", lambda: False)
    monkeypatch.setenv("TANLU_API_KEYS", "alice:alice-key-0123456789")
    access.cache_clear()
    try:
        settings = AccessSettings(tanlu_daily_usd=1)
        here, there = (OwnerLimits(settings, SharedLimits(url_of(redis.port))) for _ in range(2))
        async with here.running(), there.running():
            token = STEP.set(NodeStep("agent", "node", owner="alice"))
            here._note(Cost("google:some-model", 1.0))
            STEP.reset(token)
            async with asyncio.timeout(20):
                while await there.spent("alice") < 1:  # noqa: ASYNC110 - another process changes it
                    await asyncio.sleep(0.01)
            with pytest.raises(TooMany, match="daily_usd"):
                await there.admit("alice")
    finally:
        access.cache_clear()


async def test_without_redis_an_owner_s_runs_are_counted_here() -> None:
    alone = OwnerLimits(AccessSettings(tanlu_runs_per_minute=1), SharedLimits(url_of(free_port())))
    async with alone.running():
        await alone.admit("alice")
        with pytest.raises(TooMany):
            await alone.admit("alice")

"""Check what several processes share: Postgres, Redis, clocks, and the runs that wait there."""

import asyncio
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from pydantic import SecretStr

from agent.core.errors import AgentError
from agent.core.shared_limits import SharedLimits
from agent.runs.run_log import RunLog
from agent.settings import Settings

T = TypeVar("T")
SECONDS = 10.0
"""For each of them to answer."""
_LARGEST_DIFFERENCE = 1.0
"""Seconds between two clocks; times of runs are compared, and limits are booked by the minute."""
_PACKAGES = ("tanlu", "langgraph", "langgraph-api", "aegra-api")
Report = tuple[str, str, str, str]
"""Name, state, detail and the key of what to do."""

_LEASES = (
    "SELECT count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'pending'),"
    " count(*) FILTER (WHERE status = 'running' AND lease_expires_at <"
    " now() - interval '60 seconds') FROM public.runs"
)
"""A minute after its end some server should have taken a lease up."""
_HAS_LEASES = (
    "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public'"
    " AND table_name = 'runs' AND column_name = 'lease_expires_at'"
)


async def examine_cluster(settings: Settings) -> list[Report]:
    """Return a report for each part; none where nothing is shared."""
    database, redis = settings.database_url, settings.tanlu_redis_url
    asking = []
    if database:
        asking += [_limited("postgres", _postgres(database)), _limited("runs", _runs(database))]
    if redis:
        asking.append(_limited("redis", _redis(redis)))
    reports = [report for reports in await asyncio.gather(*asking) for report in reports]
    return [*reports, ("versions", "ok", _versions(), "")] if reports else []


async def _limited(name: str, asking: Any) -> list[Report]:
    """Return the reports, or why there are none; errors name no password."""
    try:
        async with asyncio.timeout(SECONDS):
            reports: list[Report] = await asking
            return reports
    except TimeoutError:
        problem = f"no answer within {SECONDS:g} s"
    except AgentError as error:
        problem = error.message
    except Exception as error:  # noqa: BLE001 - what a library's connection raises is its own
        problem = " ".join(str(error).split())[:300] or type(error).__name__
    return [(name, "broken", problem, "database" if name != "redis" else "redis")]


async def _postgres(url: SecretStr) -> list[Report]:
    def ask() -> tuple[str, int, int, float, list[int]]:
        from agent.runs.postgres import connect

        with connect(url) as connection:

            def one(sql: str) -> Any:
                row = connection.execute(sql.encode()).fetchone()
                return row[0] if row else None

            server = str(one("SHOW server_version")).split()[0]
            used = int(one("SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL"))
            most = int(one("SHOW max_connections"))
            apart = _apart(lambda: float(one("SELECT extract(epoch FROM clock_timestamp())")))
            leases: list[int] = []
            if one(_HAS_LEASES):
                leases = [int(n) for n in connection.execute(_LEASES.encode()).fetchone() or ()]
            return server, used, most, apart, leases

    server, used, most, apart, leases = await asyncio.to_thread(ask)
    reports = [_connections(server, used, most), _clock("clock of postgres", apart)]
    return [*reports, *([_lease_report(*leases)] if leases else [])]


def _connections(server: str, used: int, most: int) -> Report:
    detail = f"{server}, {used} of {most} connections in use"
    return ("postgres", "missing", detail, "connections") if used > 0.9 * most else (
        "postgres", "ok", detail, "")  # fmt: skip


def _lease_report(running: int, waiting: int, expired: int) -> Report:
    detail = f"{running} runs under way, {waiting} waiting, {expired} of a server that is gone"
    return "leases", "missing" if expired else "ok", detail, "servers" if expired else ""


async def _runs(url: SecretStr) -> list[Report]:
    run_log = RunLog(url)
    try:
        pending = await run_log.pending()
    finally:
        await run_log.aclose()
    detail = f"{pending.open} open, by {pending.processes} processes"
    if not pending.orphaned:
        return [("runs", "ok", detail, "")]
    minutes = (time.time() - pending.oldest) / 60
    detail = f"{detail}; {pending.orphaned} of processes that are gone, for {minutes:.0f} minutes"
    return [("runs", "missing", detail, "servers")]


async def _redis(url: SecretStr) -> list[Report]:
    shared = SharedLimits(url)
    try:
        server, now = await shared.server()
    finally:
        await shared.aclose()
    return [("redis", "ok", server, ""), _clock("clock of redis", time.time() - now)]


def _apart(read: Callable[[], float]) -> float:
    """Return the seconds by which our clock is ahead, half of the way there taken off."""
    began = time.time()
    theirs = read()
    return (began + time.time()) / 2 - theirs


def _clock(name: str, apart: float) -> Report:
    detail = f"{abs(apart):.2f} s {'behind' if apart > 0 else 'ahead of'} this machine's"
    wrong = abs(apart) > _LARGEST_DIFFERENCE
    return name, "missing" if wrong else "ok", detail, "clock" if wrong else ""


def _versions() -> str:
    """Return those of the packages that serve; all instances should have the same."""
    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(versions)

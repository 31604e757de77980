"""`tanlu doctor` on what several processes share, with a real Postgres and a real Redis."""

import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.cli import doctor
from agent.cli.doctor import _cluster, _groups
from agent.runs.run_log import RunLog
from agent.settings import Settings
from tests.support.ports import free_port
from tests.support.postgres import PASSWORD, database_fixture, postgres_fixture, rows
from tests.support.redis import Redis, needs_redis, redis_fixture, url_of
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture", "redis_fixture"]


async def found(settings: Settings) -> dict[str, tuple[str, str, str]]:
    checks = await _cluster(settings)
    return {c["name"]: (c["state"], c["detail"], c["suggestion"]) for c in checks}


async def test_nothing_is_said_of_a_cluster_where_nothing_is_shared(tmp_path: Path) -> None:
    assert await found(Settings(tanlu_data_dir=tmp_path)) == {}


@needs_redis
async def test_what_is_shared_is_named_with_versions_and_clocks(
    database: SecretStr, redis: Redis
) -> None:
    settings = Settings(database_url=database, tanlu_redis_url=url_of(redis.port))
    checks = await found(settings)
    assert {name: state for name, (state, _, _) in checks.items()} == {
        f"cluster: {name}": "ok"
        for name in ("postgres", "clock of postgres", "runs", "redis", "clock of redis", "versions")
    }
    assert "connections in use" in checks["cluster: postgres"][1]
    assert checks["cluster: redis"][1][0].isdigit()
    assert "langgraph 1" in checks["cluster: versions"][1]
    assert PASSWORD not in str(checks)
    assert list(_groups(await _cluster(settings))) == ["cluster"]


async def test_runs_of_processes_that_are_gone_are_told(database: SecretStr) -> None:
    living, gone = RunLog(database, "server"), RunLog(database, "server")
    await living.accept(a_run(run_id="1"))
    await gone.accept(a_run(run_id="2", accepted_at=time.time() - 600))
    await gone.aclose()
    state, detail, suggestion = (await found(Settings(database_url=database)))["cluster: runs"]
    await living.aclose()
    assert state == "missing"
    assert detail == "2 open, by 1 process; 1 of processes that are gone, for 10 minutes"
    assert suggestion


async def test_leases_of_the_engine_that_nobody_took_up_are_told(database: SecretStr) -> None:
    rows(database, "CREATE TABLE public.runs (status text, lease_expires_at timestamptz)")
    try:
        rows(
            database,
            "INSERT INTO public.runs VALUES ('running', now() - interval '2 hours'),"
            " ('running', now()), ('pending', NULL), ('success', NULL)",
        )
        state, detail, _ = (await found(Settings(database_url=database)))["cluster: leases"]
    finally:
        rows(database, "DROP TABLE public.runs")
    assert (state, detail) == ("missing", "2 runs under way, 1 waiting, 1 of a server that is gone")


async def test_clocks_that_differ_are_told(
    database: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_LARGEST_DIFFERENCE", -1.0)
    state, detail, suggestion = (await found(Settings(database_url=database)))[
        "cluster: clock of postgres"
    ]
    assert state == "missing"
    assert detail.endswith("this machine's")
    assert "NTP" in suggestion


@pytest.mark.parametrize("seconds", [5.0, -5.0])
def test_a_clock_says_who_is_behind(seconds: float) -> None:
    found = doctor._clock("clock", seconds)
    assert (found["name"], found["state"]) == ("cluster: clock", "missing")
    assert found["detail"] == f"5.00 s {'behind' if seconds > 0 else 'ahead of'} this machine's"


async def test_services_that_are_away_are_named_and_no_password_is_shown() -> None:
    port = free_port()
    settings = Settings(
        database_url=SecretStr(f"postgresql://tanlu:secret-word@127.0.0.1:{port}/x"),
        tanlu_redis_url=url_of(port),
    )
    checks = await found(settings)
    for name in ("postgres", "runs", "redis"):
        assert checks[f"cluster: {name}"][0] == "broken"
    assert "secret-word" not in str(checks)


async def test_a_service_that_does_not_answer_is_given_up_in_time(
    database: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "CLUSTER_SECONDS", 0.0)
    checks = await found(Settings(database_url=database))
    assert checks["cluster: postgres"][:2] == ("broken", "no answer within 0 s")

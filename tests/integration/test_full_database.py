"""A Postgres that takes no more writes: the run ends in one line, without the password."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.core.errors import StoreFailed
from agent.runs import postgres as connections
from agent.runs.run_log import AcceptedRun
from agent.runs.threads import Threads, open_threads, run_config
from agent.settings import Settings
from tests.support import probe_graph
from tests.support.postgres import PASSWORD, PostgresServer, cut_off, postgres_fixture, rows
from tests.support.probe_graph import CALLS_PER_RUN, build
from tests.support.probe_service import Probe, probe_service

__all__ = ["postgres_fixture"]
_FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


class Refusing:
    """A database that stops taking writes, and takes them again."""

    def __init__(self, database: SecretStr, how: str) -> None:
        self.database, self._how = database, how
        self._name = database.get_secret_value().rpartition("/")[2]

    def begin(self) -> None:
        if self._how != "read-only":
            rows(self.database, _FULL.format(table=self._how))
            return
        rows(self.database, f"ALTER DATABASE {self._name} SET default_transaction_read_only = on")
        cut_off(self.database)

    def end(self) -> None:
        if self._how != "read-only":
            rows(self.database, f"DROP TRIGGER full_disk ON {self._how}; DROP FUNCTION full_disk()")
            return
        address = self.database.get_secret_value().removesuffix(self._name)
        rows(SecretStr(f"{address}postgres"), f"ALTER DATABASE {self._name} RESET ALL")
        cut_off(self.database)


@pytest.fixture
async def threads(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Threads]:
    monkeypatch.setattr(connections, "_PAUSES", (0.0, 0.05))
    address = postgres.new_database()
    monkeypatch.setenv("DATABASE_URL", address)
    monkeypatch.setattr(probe_graph, "_calls", [])
    async with open_threads(Settings(database_url=SecretStr(address))) as opened:
        yield opened
        for calls in probe_graph._calls:
            await calls._reply_cache.aclose()  # type: ignore[union-attr]


async def works(graph: Any, run: AcceptedRun, given: Any) -> Any:
    return await graph.ainvoke(given, run_config(run), durability="sync")


@pytest.mark.parametrize("how", ["replies", "checkpoints", "read-only"])
async def test_a_database_that_takes_no_writes_ends_the_run_and_nothing_more_is_paid_for(
    how: str, threads: Threads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = build().compile(checkpointer=threads.saver)
    run = AcceptedRun("00000000-0000-4000-8000-000000000001", "thread", "probe", None)
    address: Any = threads.reply_cache._database
    refusing = Refusing(address._url, how)
    with probe_service() as (probe, url):
        monkeypatch.setenv("PROBE_URL", url)
        probe.held = {f"turn/work-{number}" for number in range(3)}
        working = asyncio.create_task(works(graph, run, {"messages": [("user", "turn")]}))
        await asyncio.to_thread(waits_for_all, probe)
        await asyncio.to_thread(refusing.begin)
        probe.held = set()
        with pytest.raises(StoreFailed, match=r"^DATABASE_URL: ") as caught:
            await working
        told = str(caught.value)
        assert "127.0.0.1" in told
        assert not any(word in told for word in ("\n", PASSWORD, "pw%40tests"))
        before = sum(probe.arrived.values())
        with pytest.raises(StoreFailed):
            await works(graph, run, None)
        assert "turn/answer" not in probe.arrived
        if how in ("replies", "read-only"):
            assert sum(probe.arrived.values()) == before == 4
        await asyncio.to_thread(refusing.end)
        values = await works(graph, run, None)
    assert values["messages"][-1].content == f"{CALLS_PER_RUN} calls"
    assert {name for name, count in probe.arrived.items() if count > 1} <= {
        f"turn/work-{number}" for number in range(3)
    }


def waits_for_all(probe: Probe) -> None:
    probe.wait_until(lambda: sum(probe.arrived.values()) == 4, what="the branches")

"""`langgraph dev` over a database: one at a time, wherever it is started."""

import asyncio
from pathlib import Path

import pytest
from langgraph_sdk import get_client
from pydantic import SecretStr

from tests.support.dev_server import REPOSITORY, DevServer
from tests.support.postgres import database_fixture, postgres_fixture, rows
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import probe_service
from tests.support.recovery_lab import answered, question, until

__all__ = ["database_fixture", "postgres_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]


def files_of_threads(folder: Path) -> list[Path]:
    return list(folder.rglob("threads.sqlite"))


async def test_after_kill_9_a_server_elsewhere_ends_the_run_and_knows_its_thread(
    tmp_path: Path, database: SecretStr
) -> None:
    with probe_service() as (probe, url):
        environment = {
            "PROBE_URL": url,
            "PYTHONPATH": str(REPOSITORY),
            "DATABASE_URL": database.get_secret_value(),
        }
        graphs = {"graphs": {"probe": "tests.support.probe_graph:graph"}}
        one, two = (DevServer(tmp_path / n, env=environment, config=graphs) for n in ("1", "2"))
        try:
            probe.held = {"turn/work-1"}
            await asyncio.to_thread(one.start)
            async with get_client(url=one.url) as client:
                thread = (await client.threads.create())["thread_id"]
                await client.runs.create(thread, "probe", input=question("turn"))
                await asyncio.to_thread(probe.wait_for, "turn/work-2-again")
                await until(lambda: rows(database, "SELECT count(*) FROM replies") == [(5,)])
            refused = DevServer(tmp_path / "3", env=environment, config=graphs)
            with pytest.raises(RuntimeError, match=r"another server uses this database.*aegra"):
                await asyncio.to_thread(refused.start)
            one.kill()
            probe.held = set()
            await asyncio.to_thread(two.start)
            async with get_client(url=two.url) as client:
                state = await answered(client, thread)
                assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
                await client.runs.wait(thread, "probe", input=question("follow-up"))
                messages = (await client.threads.get_state(thread))["values"]["messages"]
        finally:
            one.kill()
            two.stop()
    assert len([m for m in messages if m["type"] == "human"]) == 2
    assert probe.arrived.pop("turn/work-1") == 2
    assert set(probe.arrived.values()) == {1}
    assert "PostgresThreads" in two.output()
    for trouble in ("BlockingError", "Traceback", "[error"):
        assert trouble not in one.output() + two.output()
    assert files_of_threads(tmp_path) == []

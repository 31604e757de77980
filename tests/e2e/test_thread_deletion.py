"""Deleting takes the thread that was named, whole and at once, and no other, for all who delete.

Each test runs on SQLite and on Postgres; a probe graph stands in for the assistants.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.postgres import PostgresServer, cut_off, let_in, postgres_fixture, rows
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe, probe_service
from tests.support.recovery_lab import question, until
from tests.support.two_owners import ALICE, BOB, KEYS

__all__ = ["postgres_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]

_TABLES = ("checkpoints", "writes", "checkpoint_writes", "checkpoint_blobs", "runs")


@dataclass
class House:
    """A server of two owners, what its graph calls, and where its memory is."""

    server: DevServer
    probe: Probe
    database: SecretStr | None

    @property
    def pickle(self) -> Path:
        return self.server.folder / ".langgraph_api" / ".langgraph_ops.pckl"

    def listed(self) -> bytes:
        """The lists that the server has written itself, if it has yet."""
        return self.pickle.read_bytes() if self.pickle.exists() else b""

    def rows_of(self, thread_id: str) -> dict[str, int]:
        """The rows that a thread has in each table that has any."""
        found = {}
        for table in _TABLES:
            if count := self._count(table, thread_id):
                found[table] = count
        return found

    def _count(self, table: str, thread_id: str) -> int:
        query = f"SELECT count(*) FROM {table} WHERE thread_id = '{thread_id}'"
        if self.database is not None:
            exists = f"SELECT 1 FROM pg_tables WHERE schemaname='tanlu' AND tablename='{table}'"
            return int(rows(self.database, query)[0][0]) if rows(self.database, exists) else 0
        total = 0
        for file in ("threads.sqlite", "runs.sqlite"):
            path = self.server.folder / "threads" / file
            with closing(sqlite3.connect(path, timeout=10)) as db:
                exists = f"SELECT 1 FROM sqlite_master WHERE name = '{table}'"
                if db.execute(exists).fetchone():
                    total += int(db.execute(query).fetchone()[0])
        return total


@pytest.fixture(scope="module", params=["files", "postgres"])
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    database: SecretStr | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        database = SecretStr(server.new_database())
    with probe_service() as (probe, url):
        environment = {"PROBE_URL": url, "PYTHONPATH": str(REPOSITORY), **KEYS}
        if database is not None:
            environment["DATABASE_URL"] = database.get_secret_value()
        graphs = {"graphs": {"probe": "tests.support.probe_graph:graph"}}
        folder = tmp_path_factory.mktemp("deletion")
        with dev_server(folder, env=environment, config=graphs, jobs=24, hurried=True) as started:
            yield House(started, probe, database)


def client_of(house: House, key: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None)
    headers = {"x-api-key": key}
    url = house.server.url
    return httpx.AsyncClient(
        base_url=url, headers=headers, trust_env=False, timeout=60, limits=limits
    )


@pytest.fixture
async def alice(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(house, ALICE) as client:
        yield client


@pytest.fixture
async def bob(house: House) -> AsyncIterator[httpx.AsyncClient]:
    house.probe.held = set()
    async with client_of(house, BOB) as client:
        yield client


async def new_thread(client: httpx.AsyncClient) -> str:
    return str((await client.post("/threads", json={})).raise_for_status().json()["thread_id"])


def ask(words: str) -> dict[str, Any]:
    return {"assistant_id": "probe", "input": question(words)}


async def answered_thread(client: httpx.AsyncClient, words: str) -> str:
    thread = await new_thread(client)
    (await client.post(f"/threads/{thread}/runs/wait", json=ask(words))).raise_for_status()
    return thread


async def begun_thread(client: httpx.AsyncClient, words: str) -> tuple[str, str]:
    thread = await new_thread(client)
    run = (await client.post(f"/threads/{thread}/runs", json=ask(words))).raise_for_status()
    return thread, str(run.json()["run_id"])


async def delete_all(client: httpx.AsyncClient, threads: Sequence[str]) -> list[int]:
    replies = await asyncio.gather(*(client.delete(f"/threads/{t}") for t in threads))
    return [reply.status_code for reply in replies]


async def statuses(client: httpx.AsyncClient, threads: Sequence[str]) -> set[int]:
    """What reading each of the threads, and its state, answers."""
    paths = [f"/threads/{thread}{what}" for thread in threads for what in ("", "/state")]
    return {(await client.get(path)).status_code for path in paths}


async def listed(client: httpx.AsyncClient) -> set[str]:
    found = await client.post("/threads/search", json={"limit": 1000})
    return {thread["thread_id"] for thread in found.raise_for_status().json()}


async def test_deleting_one_s_own_threads_at_once_takes_all_of_them_and_none_of_another_s(
    house: House, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    for _ in range(3):
        hers, his = [], []
        for _ in range(15):
            his.append(await new_thread(bob))
            hers.append(await new_thread(alice))
        assert set(await delete_all(bob, his)) == {204}
        assert {(await alice.get(f"/threads/{t}")).status_code for t in hers} == {200}
        assert {(await bob.get(f"/threads/{t}")).status_code for t in his} == {404}
        assert not await listed(bob) & set(his)


async def test_stateless_streams_all_end_and_leave_and_take_nothing(
    house: House, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    before = await listed(bob)

    async def stream(number: int) -> str:
        asked = {**ask(f"streamed-{number}"), "stream_mode": "values"}
        return (await bob.post("/runs/stream", json=asked)).raise_for_status().text

    async with asyncio.timeout(90):
        streams = [asyncio.create_task(stream(number)) for number in range(24)]
        hers = [await new_thread(alice) for _ in range(25)]
        heard = await asyncio.gather(*streams)
    assert all(f"{CALLS_PER_RUN} calls" in text for text in heard)
    assert {(await alice.get(f"/threads/{t}")).status_code for t in hers} == {200}
    assert await listed(bob) == before


async def test_stateless_runs_leave_another_s_running_run_alone(
    house: House, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    waiting = [f"waited-{number}" for number in range(16)]
    house.probe.held = {"victim/work-1", *(f"{words}/answer" for words in waiting)}
    runs = [asyncio.create_task(bob.post("/runs/wait", json=ask(words))) for words in waiting]
    await asyncio.to_thread(house.probe.wait_for, "waited-15/work-2-again")
    # Hers is the last in the server's list, and his are deleted in front of it, all at once.
    thread, run = await begun_thread(alice, "victim")
    await asyncio.to_thread(house.probe.wait_for, "victim/work-1")
    house.probe.held = {"victim/work-1"}
    assert {reply.status_code for reply in await asyncio.gather(*runs)} == {200}
    house.probe.held = set()
    ended = await alice.get(f"/threads/{thread}/runs/{run}/join")
    assert ended.json()["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"


async def test_answered_threads_deleted_at_once_can_nowhere_be_read(
    house: House, bob: httpx.AsyncClient
) -> None:
    words = [f"private-{number}" for number in range(12)]
    threads = await asyncio.gather(*(answered_thread(bob, each) for each in words))
    assert set(await delete_all(bob, threads)) == {204}
    assert await statuses(bob, threads) == {404}
    assert not await listed(bob) & set(threads)
    assert [house.rows_of(thread) for thread in threads] == [{}] * 12


async def test_of_two_deletions_of_a_thread_one_finds_it(
    house: House, bob: httpx.AsyncClient
) -> None:
    threads = [await answered_thread(bob, "twice"), await new_thread(bob), await new_thread(bob)]
    for thread in threads:
        assert sorted(await delete_all(bob, [thread, thread])) == [204, 404]
    assert (await bob.delete(f"/threads/{uuid4()}")).status_code == 404


async def test_pruning_takes_the_named_threads_alone(
    house: House, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    his, hers = [], []
    for _ in range(8):
        his.append(await new_thread(bob))
        hers.append(await new_thread(alice))
    halves = [{"thread_ids": his[:4]}, {"thread_ids": his[4:]}]
    replies = await asyncio.gather(*(bob.post("/threads/prune", json=half) for half in halves))
    assert [reply.json()["pruned_count"] for reply in replies] == [4, 4]
    assert {(await alice.get(f"/threads/{t}")).status_code for t in hers} == {200}
    assert {(await bob.get(f"/threads/{t}")).status_code for t in his} == {404}


async def test_what_a_deleted_thread_was_doing_ends_with_it(
    house: House, bob: httpx.AsyncClient
) -> None:
    house.probe.held = {"deleted/work-1"}
    thread, run = await begun_thread(bob, "deleted")
    await bob.post(
        f"/threads/{thread}/runs", json={**ask("never"), "multitask_strategy": "enqueue"}
    )
    await asyncio.to_thread(house.probe.wait_for, "deleted/work-2-again")
    assert (await bob.delete(f"/threads/{thread}")).status_code == 204
    assert house.rows_of(thread) == {}
    house.probe.held = set()
    # Its worker is free for others, and nothing of the thread was worked on any more.
    await answered_thread(bob, "afterwards")
    assert house.rows_of(thread) == {}
    assert {"deleted/answer", "never/plan"}.isdisjoint(house.probe.arrived)
    assert (await bob.get(f"/threads/{thread}/runs/{run}")).status_code == 404
    again = await bob.post("/threads", json={"thread_id": thread})
    assert again.status_code == 200
    assert (await bob.get(f"/threads/{thread}/state")).json()["values"] == {}


async def test_after_kill_9_a_deleted_thread_stays_deleted(
    house: House, alice: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    house.probe.held = {"doomed-running/work-1"}
    left = await answered_thread(alice, "left-alone")
    gone = await answered_thread(bob, "doomed-words")
    running, _ = await begun_thread(bob, "doomed-running")
    await asyncio.to_thread(house.probe.wait_for, "doomed-running/work-2-again")
    expected = (b"left-alone", b"doomed-words", b"doomed-running")
    # All three threads are in the lists that the server writes itself.
    await until(lambda: all(words in house.listed() for words in expected))
    assert await delete_all(bob, [gone, running]) == [204, 204]
    house.server.kill()
    assert (house.rows_of(gone), house.rows_of(running)) == ({}, {})
    await asyncio.to_thread(house.server.start)
    house.probe.held = set()
    written = house.pickle.read_bytes()
    assert b"left-alone" in written
    assert b"doomed" not in written
    assert await statuses(bob, [gone, running]) == {404}
    assert not await listed(bob) & {gone, running}
    assert await statuses(alice, [left]) == {200}
    assert (house.rows_of(gone), house.rows_of(running)) == ({}, {})


def test_the_log_of_all_that_has_no_traceback(house: House) -> None:
    for trouble in ("Traceback", "BlockingError", "[error"):
        assert trouble not in house.server.output()


async def test_what_cannot_be_deleted_now_is_not_reported_as_deleted(
    house: House, bob: httpx.AsyncClient
) -> None:
    """A stream whose thread cannot be cleared away ends all the same."""
    if house.database is None:
        pytest.skip("needs a memory that goes away")
    house.probe.held = {"stranded/answer"}
    thread = await answered_thread(bob, "stays")
    asked = {**ask("stranded"), "stream_mode": "values"}
    stream = asyncio.create_task(bob.post("/runs/stream", json=asked))
    await asyncio.to_thread(house.probe.wait_for, "stranded/answer")
    cut_off(house.database, for_good=True)
    try:
        house.probe.held = set()
        assert (await bob.delete(f"/threads/{thread}")).status_code >= 500
        assert "event: error" in (await stream).text
    finally:
        let_in(house.database)
    assert await statuses(bob, [thread]) == {200}
    assert (await bob.delete(f"/threads/{thread}")).status_code == 204

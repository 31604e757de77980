"""Whose a run is, in the run log and a thread's steps; and how long its client waits for that."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from langgraph_sdk import get_client

from agent.engines.langgraph.recovery import RunWatch
from agent.runs.engine import MARK, OWNER
from agent.runs.run_log import RunLog
from agent.runs.sql import Place
from agent.runs.threads import open_saver
from tests.integration.test_memory_threads import counting_graph
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture
from tests.support.run_fixtures import a_run
from tests.support.served import serve_in_thread

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


async def test_a_run_is_taken_up_with_its_asker(where: Place) -> None:
    dying = RunLog(where)
    await dying.accept(a_run(asker="alice"))
    await dying.accept(ended := a_run(asker="bob"))
    await dying.finish(ended.run_id)
    await dying.aclose()
    living = RunLog(where)
    (run,) = await living.unfinished()
    assert run.asker == "alice"
    assert await living.lately_ended() == [(ended.thread_id, "agent", "bob")]
    await living.aclose()


async def test_a_run_log_of_before_there_were_keys_is_gone_on_with(tmp_path: Path) -> None:
    old = RunLog(tmp_path)
    await old.accept(run := a_run())
    await old.aclose()
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        db.execute("ALTER TABLE runs DROP COLUMN asker")
        db.commit()
    run_log = RunLog(tmp_path)
    (found,) = await run_log.unfinished()
    assert (found.run_id, found.asker) == (run.run_id, "")
    await run_log.accept(a_run(asker="alice"))
    assert [r.asker for r in await run_log.working()] == ["alice"]
    await run_log.aclose()


async def test_a_thread_s_steps_tell_whose_keys_they_were_made_with(where: Place) -> None:
    async with open_saver(where) as saver:
        graph = counting_graph().compile(checkpointer=saver)
        for thread, metadata in (("t", {OWNER: "alice"}), ("u", {}), ("other", {OWNER: "bob"})):
            config: Any = {"configurable": {"thread_id": thread}, "metadata": metadata}
            await graph.ainvoke({"steps": []}, config, durability="sync")
        assert await saver.askers("t") == {"alice"}
        assert await saver.askers("u") == {""}
        assert await saver.askers("nobody's") == set()


@asynccontextmanager
async def watching(folder: Path, url: str = "http://127.0.0.1:1") -> AsyncIterator[RunWatch]:
    run_log = RunLog(folder, "server")
    async with get_client(url=url) as client:
        yield RunWatch(run_log, client)
    await run_log.aclose()


async def test_a_client_does_not_wait_for_a_disk_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agent.engines.langgraph.recovery._HOLD_SECONDS", 0.05)
    async with watching(tmp_path) as watch:
        with stuck(watch._run_log, monkeypatch):
            await asyncio.wait_for(watch.accepted(a_run(run_id="run-1")), 60)
            await asyncio.wait_for(watch.ended("run-1", "success"), 60)
    assert "run=run-1 is not in the run log: no answer in 0.05 s" in caplog.text
    assert "run=run-1: its end is not in the run log: no answer in 0.05 s" in caplog.text


@contextlib.contextmanager
def stuck(run_log: RunLog, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    async def never(*_: Any) -> Any:
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(run_log, "accept", never)
        patched.setattr(run_log, "finish", never)
        yield


class Listing:
    """A server that knows nothing of our run but lists others of its thread."""

    def __init__(self, *runs: dict[str, Any]) -> None:
        self.runs, self.created = list(runs), list[dict[str, Any]]()
        self.threads: list[dict[str, Any]] = []
        self.asked, self.lets_know = threading.Event(), threading.Event()
        self.lets_know.set()
        self.app = web.Application()
        self.app.add_routes([
            web.get("/threads/{thread}/runs", self._list),
            web.get("/threads/{thread}/state", self._state),
            web.post("/threads", self._thread),
            web.post("/threads/{thread}/runs", self._create),
        ])  # fmt: skip

    async def _list(self, _: web.Request) -> web.Response:
        return web.json_response(self.runs)

    async def _state(self, _: web.Request) -> web.Response:
        return web.json_response({"values": {}, "next": [], "tasks": [], "metadata": {}})

    async def _thread(self, request: web.Request) -> web.Response:
        self.asked.set()
        await asyncio.to_thread(self.lets_know.wait)
        self.threads.append(await request.json())
        return web.json_response(self.threads[-1])

    async def _create(self, request: web.Request) -> web.Response:
        self.created.append(await request.json())
        return web.json_response({"run_id": "begun"})


async def taken_up(folder: Path, server: Listing, run_id: str) -> list[str]:
    """The ids our run log has for the run, after a start beside that server."""
    dying = RunLog(folder, "server")
    await dying.accept(a_run(run_id=run_id, asker="alice"))
    await dying.aclose()
    with serve_in_thread(server.app) as running:
        async with watching(folder, running.url) as watch:
            await watch.recover()
            return [run.run_id for run in await watch._run_log.working()]


async def test_a_run_that_its_client_goes_on_with_is_not_begun_beside_it(tmp_path: Path) -> None:
    again = {"run_id": "again", "status": "running", "metadata": {MARK: "first"}}
    server = Listing(again)
    assert await taken_up(tmp_path, server, "first") == ["again"]
    assert server.created == []


@pytest.mark.parametrize(
    "other",
    [
        {"run_id": "o", "status": "success", "metadata": {MARK: "first"}},
        {"run_id": "o", "status": "running", "metadata": {}},
    ],
)
async def test_beside_other_runs_it_is_begun_as_its_owner_s_and_waits_its_turn(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    server = Listing(other)
    assert await taken_up(tmp_path, server, "first") == ["begun"]
    ((made,), (created,)) = server.threads, server.created
    assert made["metadata"] == {OWNER: "alice", "graph_id": "agent"}
    assert created["metadata"] == {OWNER: "alice", MARK: "first"}
    assert created["multitask_strategy"] == "enqueue"


async def test_a_server_waits_with_its_first_request_for_the_threads_of_the_dead_one(
    tmp_path: Path,
) -> None:
    dying, run = RunLog(tmp_path, "server"), a_run()
    await dying.accept(run)
    await dying.aclose()
    server = Listing()
    server.lets_know.clear()
    with serve_in_thread(server.app) as running:
        async with watching(tmp_path, running.url) as watch:
            recovering = asyncio.create_task(watch.recover())
            waiting = asyncio.create_task(watch.knows_threads())
            await asyncio.to_thread(server.asked.wait, 60)
            assert not waiting.done()
            server.lets_know.set()
            await waiting
            assert [made["thread_id"] for made in server.threads] == [run.thread_id]
            await recovering


async def test_a_server_that_cannot_ask_itself_begins_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.engines.langgraph.recovery._HOLD_SECONDS", 0.05)
    async with watching(tmp_path) as watch:
        await asyncio.wait_for(watch.knows_threads(), 60)

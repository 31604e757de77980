"""Threads and their runs, in files and in Postgres, without any process but this one."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from agent.core.errors import ConfigurationError
from agent.runs import threads as run_threads
from agent.runs.run_log import AcceptedRun
from agent.runs.sql import Place
from agent.runs.sqlite_saver import ThreadSaver
from agent.runs.threads import Threads, open_saver, open_threads, run_config
from agent.settings import Settings
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


class Counted(TypedDict):
    steps: Annotated[list[str], lambda old, new: [*old, *new]]


def counting_graph() -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(Counted)
    builder.add_node("first", lambda _: {"steps": ["first"]})
    builder.add_node("second", lambda _: {"steps": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder


def settings_for(where: Place) -> Settings:
    return (
        Settings(tanlu_data_dir=where) if isinstance(where, Path) else Settings(database_url=where)
    )


@pytest.fixture
async def threads(where: Place) -> AsyncIterator[Threads]:
    async with open_threads(settings_for(where)) as opened:
        yield opened


async def test_a_thread_survives_its_process(where: Place) -> None:
    run = a_run(input={"steps": []})
    async with open_saver(where) as saver:
        graph = counting_graph().compile(checkpointer=saver)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
    async with open_saver(where) as saver:
        state = await counting_graph().compile(checkpointer=saver).aget_state(run_config(run))
    assert state.values == {"steps": ["first", "second"]}


async def test_the_same_run_goes_on_where_it_stopped(threads: Threads) -> None:
    run = a_run(input={"steps": []})
    halfway = counting_graph().compile(checkpointer=threads.saver, interrupt_after=["first"])
    await halfway.ainvoke(run.input, run_config(run), durability="sync")
    graph = counting_graph().compile(checkpointer=threads.saver)
    result = await graph.ainvoke(run.input, run_config(run), durability="sync")
    assert result["steps"] == ["first", "second"]
    again = await graph.ainvoke(run.input, run_config(run), durability="sync")
    assert again["steps"] == ["first", "second"]


async def test_interrupted_runs_are_continued_and_closed(where: Place) -> None:
    settings = settings_for(where)
    run = a_run(input={"steps": []})
    async with open_threads(settings) as dying:
        await dying.runs.accept(run)
    heard: list[str] = []
    async with open_threads(settings) as threads:
        graph = counting_graph().compile(checkpointer=threads.saver)
        await run_threads.continue_interrupted(
            threads, lambda _: graph, lambda _, status: heard.append(status)
        )
        assert heard == ["continuing", "success"]
        assert await threads.runs.working() == []
        assert (await graph.aget_state(run_config(run))).values["steps"] == ["first", "second"]


async def test_a_continued_run_that_fails_does_not_stop_the_others(where: Place) -> None:
    settings = settings_for(where)
    async with open_threads(settings) as dying:
        await dying.runs.accept(a_run(assistant="broken", input={"steps": []}))
        await dying.runs.accept(a_run(input={"steps": []}))

    def fails(_: Counted) -> Counted:
        raise ConfigurationError("GEMINI_API_KEY", "is not set")

    heard: list[str] = []
    async with open_threads(settings) as threads:
        broken = StateGraph(Counted)
        broken.add_node("fails", fails)
        broken.add_edge(START, "fails")
        graphs: dict[str, Any] = {
            "broken": broken.compile(checkpointer=threads.saver),
            "agent": counting_graph().compile(checkpointer=threads.saver),
        }
        await run_threads.continue_interrupted(
            threads, graphs.__getitem__, lambda _, status: heard.append(status)
        )
    assert heard == ["continuing", "error", "continuing", "success"]


async def test_rollback_removes_one_run_and_leaves_the_earlier_one(threads: Threads) -> None:
    graph = counting_graph().compile(checkpointer=threads.saver)
    first = a_run(input={"steps": []})
    second = a_run(thread_id=first.thread_id, input={"steps": []})
    await graph.ainvoke(first.input, run_config(first))
    await graph.ainvoke(second.input, run_config(second))
    await threads.saver.adelete_for_runs([second.run_id])
    state = await graph.aget_state(run_config(first))
    assert state.values["steps"] == ["first", "second"]
    assert state.metadata is not None
    assert state.metadata["run_id"] == first.run_id


@pytest.mark.parametrize("how", ["thread", "run", "prune"])
async def test_what_a_cancelled_run_still_writes_does_not_outlive_its_deletion(
    threads: Threads, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    begun, may_end, saver = threading.Event(), threading.Event(), threads.saver
    pack = saver.serde.dumps_typed

    def slow(value: Any) -> tuple[str, bytes]:
        begun.set()
        may_end.wait(10)
        return pack(value)

    monkeypatch.setattr(saver.serde, "dumps_typed", slow)
    where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"steps": ["first"]}}
    metadata: Any = {"run_id": "r", "source": "input", "step": 0}
    writing = asyncio.create_task(saver.aput(where, checkpoint, metadata, {"steps": "1"}))
    await asyncio.to_thread(begun.wait, 10)
    writing.cancel()
    delete = {
        "thread": lambda: saver.adelete_thread("t"),
        "run": lambda: saver.adelete_for_runs(["r"]),
        "prune": lambda: saver.aprune(["t"], strategy="delete_all"),
    }[how]
    deleting = asyncio.create_task(delete())
    await asyncio.wait({deleting}, timeout=0.3)
    may_end.set()
    await deleting
    assert await saver.aget_tuple(where) is None


async def test_pruning_keeps_the_last_checkpoint_of_each_thread(threads: Threads) -> None:
    graph = counting_graph().compile(checkpointer=threads.saver)
    run, other = a_run(input={"steps": []}), a_run(input={"steps": []})
    for each in (run, other):
        await graph.ainvoke(each.input, run_config(each))
    await threads.saver.aprune([run.thread_id])
    history = [state async for state in graph.aget_state_history(run_config(run))]
    assert [state.values["steps"] for state in history] == [["first", "second"]]
    untouched = [state async for state in graph.aget_state_history(run_config(other))]
    assert len(untouched) > 1
    await threads.saver.aprune([run.thread_id], strategy="delete_all")
    assert (await graph.aget_state(run_config(run))).values == {}


Threaded = Callable[..., Awaitable[AcceptedRun]]


@pytest.fixture(name="turn")
def turn_fixture(threads: Threads) -> Threaded:
    """Runs one turn of the counting graph on a thread; a further run of it if there is one."""

    async def turn(before: AcceptedRun | None = None, **compiled: Any) -> AcceptedRun:
        run = a_run(input={"steps": []}, **({"thread_id": before.thread_id} if before else {}))
        graph = counting_graph().compile(checkpointer=threads.saver, **compiled)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
        return run

    return turn


async def history_of(threads: Threads, run: AcceptedRun) -> list[Any]:
    graph = counting_graph().compile(checkpointer=threads.saver)
    config: Any = {"configurable": {"thread_id": run.thread_id}}
    return [state async for state in graph.aget_state_history(config)]


async def test_a_thread_keeps_its_last_checkpoint_only_and_goes_on_from_it(
    threads: Threads, turn: Threaded
) -> None:
    first = await turn()
    assert len(await history_of(threads, first)) > 1
    await run_threads.shorten(first.thread_id, first.run_id, threads.saver)
    (state,) = await history_of(threads, first)
    assert (state.values["steps"], state.next, state.parent_config) == (
        ["first", "second"], (), None,
    )  # fmt: skip
    await turn(first)
    last, *_ = await history_of(threads, first)
    assert last.values["steps"] == ["first", "second"] * 2


async def test_nothing_is_taken_from_a_thread_that_waits(threads: Threads, turn: Threaded) -> None:
    first = await turn()
    waiting = await turn(first, interrupt_before=["second"])
    config = run_config(waiting)
    saved = await threads.saver.aget_tuple(config)
    assert saved is not None
    await threads.saver.aput_writes(saved.config, [(INTERRUPT, "which one?")], "task")
    before = await history_of(threads, waiting)
    await run_threads.shorten(waiting.thread_id, waiting.run_id, threads.saver)
    assert await history_of(threads, waiting) == before


async def test_what_a_later_run_wrote_meanwhile_stays(threads: Threads, turn: Threaded) -> None:
    first = await turn()
    later = await turn(first, interrupt_before=["second"])
    of_later = len([s for s in await history_of(threads, later)
                    if s.metadata["run_id"] == later.run_id])  # fmt: skip
    await run_threads.shorten(first.thread_id, first.run_id, threads.saver)
    assert len(await history_of(threads, later)) == of_later + 1
    graph = counting_graph().compile(checkpointer=threads.saver)
    values = await graph.ainvoke(None, run_config(later), durability="sync")
    assert values["steps"] == ["first", "second"] * 2


async def test_with_its_history_a_thread_keeps_each_turn_and_the_step_before_its_answer(
    threads: Threads, turn: Threaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_KEEP_HISTORY", "1")
    run = None
    for _ in range(3):
        run = await turn(run)
        await run_threads.shorten(run.thread_id, run.run_id, threads.saver)
    assert run is not None
    found = [(len(state.values["steps"]), state.next) for state in await history_of(threads, run)]
    before = ("second",)
    assert found == [(6, ()), (5, before), (4, ()), (3, before), (2, ()), (1, before)]


async def test_an_answer_can_be_written_anew_from_the_step_before_it(
    threads: Threads, turn: Threaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_KEEP_HISTORY", "1")
    first = await turn()
    await run_threads.shorten(first.thread_id, first.run_id, threads.saver)
    _, before = await history_of(threads, first)
    again = a_run(thread_id=first.thread_id)
    graph = counting_graph().compile(checkpointer=threads.saver)
    fork: Any = {**run_config(again), "configurable": before.config["configurable"]}
    await graph.ainvoke(None, fork, durability="sync")
    await run_threads.shorten(first.thread_id, again.run_id, threads.saver)
    last, *_ = await history_of(threads, first)
    assert (last.values["steps"], last.metadata["run_id"]) == (["first", "second"], again.run_id)


async def test_a_shortened_thread_outlives_the_run_that_made_its_last_checkpoint(
    threads: Threads, turn: Threaded
) -> None:
    first = await turn()
    second = await turn(first)
    await run_threads.shorten(second.thread_id, second.run_id, threads.saver)
    await threads.saver.adelete_for_runs([second.run_id])
    (state,) = await history_of(threads, second)
    assert state.values["steps"] == ["first", "second"] * 2


async def test_shortening_is_all_or_nothing_and_can_be_repeated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trigger = "CREATE TRIGGER full BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'x'); END"
    async with open_threads(settings_for(tmp_path)) as threads:
        run = a_run(input={"steps": []})
        graph = counting_graph().compile(checkpointer=threads.saver)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
        whole = await history_of(threads, run)
        assert isinstance(threads.saver, ThreadSaver)
        await threads.saver.conn.execute(trigger)
        with pytest.raises(sqlite3.IntegrityError):
            await threads.saver.shorten(run.thread_id, run.run_id)
        assert await history_of(threads, run) == whole
        await threads.saver.conn.execute("DROP TRIGGER full")
        for _ in range(2):
            await threads.saver.shorten(run.thread_id, run.run_id)
            assert len(await history_of(threads, run)) == 1


async def test_pages_that_a_turn_needed_are_given_back(tmp_path: Path) -> None:
    text = "王府井" * 100_000
    async with open_threads(settings_for(tmp_path)) as threads:
        run = a_run(input={"steps": [text]})
        graph = counting_graph().compile(checkpointer=threads.saver)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
        await run_threads.shorten(run.thread_id, run.run_id, threads.saver)
    state, size = len(text.encode()), (tmp_path / "threads.sqlite").stat().st_size
    assert state < size < 1.5 * state


async def test_stored_bytes_never_run_code(where: Place, tmp_path: Path) -> None:
    made = tmp_path / "made-by-a-forged-row"
    forged = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(made)))))
    async with open_saver(where) as saver:
        saver.serde.loads_typed(("msgpack", forged))
    assert not made.exists()

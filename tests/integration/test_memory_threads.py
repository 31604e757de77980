"""Threads and their runs, in files and in Postgres, without any process but this one."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import ormsgpack
import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from agent.core.errors import ConfigurationError
from agent.runs import threads as run_threads
from agent.runs.sql import Place
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


async def test_stored_bytes_never_run_code(where: Place, tmp_path: Path) -> None:
    made = tmp_path / "made-by-a-forged-row"
    forged = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(made)))))
    async with open_saver(where) as saver:
        saver.serde.loads_typed(("msgpack", forged))
    assert not made.exists()

"""Threads on SQLite, without any process but this one."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import ormsgpack
import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from agent import checkpointer
from agent.checkpointer import Threads, open_saver, open_threads, run_config
from agent.errors import ConfigurationError
from agent.journal import connect
from agent.settings import Settings
from tests.support.run_fixtures import a_run, whole_folder


class Counted(TypedDict):
    steps: Annotated[list[str], lambda old, new: [*old, *new]]


def counting_graph() -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(Counted)
    builder.add_node("first", lambda _: {"steps": ["first"]})
    builder.add_node("second", lambda _: {"steps": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    return builder


@pytest.fixture
async def threads(tmp_path: Path) -> AsyncIterator[Threads]:
    async with open_threads(Settings(tanlu_data_dir=tmp_path / "new" / "folder")) as opened:
        yield opened


async def test_a_thread_survives_its_process(tmp_path: Path) -> None:
    run = a_run(input={"steps": []})
    async with open_saver(tmp_path) as saver:
        graph = counting_graph().compile(checkpointer=saver)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
    async with open_saver(tmp_path) as saver:
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


async def test_interrupted_runs_are_continued_and_closed(tmp_path: Path) -> None:
    settings = Settings(tanlu_data_dir=tmp_path)
    run = a_run(input={"steps": []})
    async with open_threads(settings) as dying:
        await dying.runs.accept(run)
    heard: list[str] = []
    async with open_threads(settings) as threads:
        graph = counting_graph().compile(checkpointer=threads.saver)
        await checkpointer.continue_interrupted(
            threads, lambda _: graph, lambda _, status: heard.append(status)
        )
        assert heard == ["continuing", "success"]
        assert await threads.runs.working() == []
        assert (await graph.aget_state(run_config(run))).values["steps"] == ["first", "second"]


async def test_a_continued_run_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    settings = Settings(tanlu_data_dir=tmp_path)
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
        await checkpointer.continue_interrupted(
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


async def test_a_folder_that_cannot_be_made_names_its_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    settings = Settings(tanlu_data_dir=tmp_path / "file" / "below")
    with pytest.raises(ConfigurationError, match="TANLU_DATA_DIR") as caught:
        async with open_threads(settings):
            pass
    assert "\n" not in str(caught.value)


async def test_a_file_that_is_no_database_names_its_variable(tmp_path: Path) -> None:
    (tmp_path / "threads.sqlite").write_text("this is certainly not an SQLite file" * 50)
    with pytest.raises(ConfigurationError, match="TANLU_DATA_DIR"):
        async with open_saver(tmp_path):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="looks at open files as Linux shows them")
def test_a_file_that_is_no_database_is_not_left_open(tmp_path: Path) -> None:
    path = tmp_path / "threads.sqlite"
    path.write_text("this is certainly not an SQLite file" * 50)
    # The error is kept: its traceback would keep an unclosed connection alive.
    with pytest.raises(ConfigurationError) as kept:
        connect(path)
    still_open = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert path not in [link.resolve() for link in still_open]
    assert str(path) in str(kept.value)


async def test_the_server_s_threads_ignore_mistakes_in_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path / "threads"))
    monkeypatch.setenv("AMAP_MCP_COMMAND", "not json")
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    async with checkpointer.make():
        assert (tmp_path / "threads" / "threads.sqlite").exists()


async def test_on_the_platform_its_own_threads_are_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LANGGRAPH_RUNTIME_EDITION", "postgres")
    with pytest.raises(ConfigurationError, match="LANGGRAPH_CHECKPOINTER"):
        async with checkpointer.make():
            pass
    assert whole_folder(tmp_path) == b""


async def test_services_are_closed_after_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    closed: list[str] = []

    async def close() -> None:
        closed.append("services")

    assert not checkpointer.close_after_runs(close)
    async with checkpointer.make():
        assert checkpointer.close_after_runs(close)
        assert closed == []
    assert closed == ["services"]


async def test_stored_bytes_never_run_code(tmp_path: Path) -> None:
    made = tmp_path / "made-by-a-forged-row"
    forged = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(made)))))
    async with open_saver(tmp_path) as saver:
        saver.serde.loads_typed(("msgpack", forged))
    assert not made.exists()

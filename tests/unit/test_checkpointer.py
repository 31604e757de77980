"""Threads, journal and outbox on SQLite, without any process but this one."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import ormsgpack
import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from agent import checkpointer
from agent.checkpointer import Threads, open_saver, open_threads, run_config
from agent.errors import ConfigurationError
from agent.journal import KEEP_SECONDS, SqliteJournal
from agent.outbox import MAX_ATTEMPTS, AcceptedRun, RunOutbox
from agent.redaction import hide
from agent.settings import Settings


def a_run(**changes: Any) -> AcceptedRun:
    given: dict[str, Any] = {
        "run_id": str(uuid4()),
        "thread_id": str(uuid4()),
        "assistant": "agent",
        "input": {"messages": [{"role": "user", "content": "王府井附近有什么"}]},
    }
    return AcceptedRun(**{**given, **changes})


def whole_folder(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


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


async def test_a_reply_is_found_again_only_in_its_own_turn(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path)
    await journal.save("turn-1", "key", "答复")
    assert await journal.load("turn-1", "key") == "答复"
    assert await journal.load("turn-2", "key") is None
    await journal.forget("turn-1")
    assert await journal.load("turn-1", "key") is None
    await journal.aclose()


async def test_replies_older_than_seven_days_are_gone_when_the_journal_opens(
    tmp_path: Path,
) -> None:
    now = 1_000_000.0
    old = SqliteJournal(tmp_path, clock=lambda: now - KEEP_SECONDS - 1)
    await old.save("turn", "old", "x")
    await old.aclose()
    journal = SqliteJournal(tmp_path, clock=lambda: now)
    assert await journal.load("turn", "old") is None
    await journal.aclose()


async def test_the_journal_serves_several_event_loops_at_once(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path)

    def other_loop(name: str) -> None:
        async def work() -> None:
            await asyncio.gather(*(journal.save(name, str(n), name) for n in range(20)))
            assert await journal.load(name, "19") == name

        asyncio.run(work())

    workers = [threading.Thread(target=other_loop, args=(f"loop-{n}",)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        await asyncio.to_thread(worker.join)
    assert await journal.load("loop-3", "0") == "loop-3"
    await journal.aclose()
    await journal.aclose()


async def test_a_broken_disk_costs_the_journal_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = SqliteJournal(tmp_path)
    await journal.save("turn", "key", "x")
    await journal._file.run(lambda db: db.execute("DROP TABLE replies"))
    await journal.save("turn", "key", "y")
    assert await journal.load("turn", "key") is None
    assert "journal" in caplog.text
    await journal.aclose()


async def test_an_accepted_run_is_open_until_it_is_finished(tmp_path: Path) -> None:
    runs = RunOutbox(tmp_path)
    run = a_run(context={"max_research_loops": 1})
    await runs.accept(run)
    (open_run,) = await runs.working()
    assert (open_run.input, open_run.context) == (run.input, run.context)
    await runs.finish(run.run_id)
    assert await runs.working() == []
    await runs.aclose()


async def test_a_run_whose_process_lives_is_not_offered(tmp_path: Path) -> None:
    alive, other = RunOutbox(tmp_path), RunOutbox(tmp_path)
    await alive.accept(a_run())
    assert await other.unfinished() == []
    await alive.aclose()
    assert len(await other.unfinished()) == 1
    await other.aclose()


async def test_a_run_left_behind_is_taken_by_one_process_only(tmp_path: Path) -> None:
    gone, one, two = (RunOutbox(tmp_path) for _ in range(3))
    await gone.accept(a_run())
    await gone.aclose()
    (seen,) = await one.unfinished()
    assert await two.unfinished() == [seen]
    taken = await one.take(seen)
    assert taken is not None
    assert taken.attempts == 1
    assert await two.take(seen) is None
    assert await two.unfinished() == []
    await one.aclose()
    await two.aclose()


async def test_a_run_is_given_up_after_three_attempts(tmp_path: Path) -> None:
    run = a_run()
    first = RunOutbox(tmp_path)
    await first.accept(run)
    await first.aclose()
    for attempt in range(MAX_ATTEMPTS):
        process = RunOutbox(tmp_path)
        taken = await process.take((await process.unfinished())[0])
        assert taken is not None
        assert taken.attempts == attempt + 1
        await process.aclose()
    last = RunOutbox(tmp_path)
    assert await last.take((await last.unfinished())[0]) is None
    assert await last.unfinished() == []
    await last.aclose()


async def test_the_command_line_leaves_the_runs_of_a_server_alone(tmp_path: Path) -> None:
    server, cli = RunOutbox(tmp_path, "server /srv"), RunOutbox(tmp_path, "cli")
    await server.accept(a_run())
    await server.aclose()
    assert await cli.unfinished() == []
    await cli.aclose()


async def test_a_renamed_run_keeps_its_earlier_ids(tmp_path: Path) -> None:
    runs = RunOutbox(tmp_path)
    run = a_run()
    await runs.accept(run)
    renamed = await runs.rename((await runs.working())[0], "new-id")
    assert renamed.run_ids == (run.run_id, "new-id")
    assert (await runs.working())[0].run_ids == renamed.run_ids
    await runs.aclose()


async def test_no_key_reaches_the_outbox(tmp_path: Path) -> None:
    hide("CANARY-outbox-1234")
    runs = RunOutbox(tmp_path)
    await runs.accept(
        a_run(
            input={"messages": "my key is CANARY-outbox-1234"},
            context={"api_key": "sk-another-one", "max_run_tokens": 5000},
        )
    )
    (stored,) = await runs.working()
    assert stored.context == {"max_run_tokens": 5000}
    await runs.aclose()
    everything = whole_folder(tmp_path)
    assert b"CANARY" not in everything
    assert b"sk-another-one" not in everything


async def test_what_was_asked_is_not_kept_after_the_end(tmp_path: Path) -> None:
    runs = RunOutbox(tmp_path)
    run = a_run(input={"messages": "something private"})
    await runs.accept(run)
    await runs.finish(run.run_id, "error")
    rows = await runs._file.run(
        lambda db: db.execute("SELECT input, context, status FROM runs").fetchall()
    )
    assert rows == [("null", "{}", "error")]
    await runs.aclose()


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

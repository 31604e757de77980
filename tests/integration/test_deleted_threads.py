"""What is written down of deleted threads, and what a server that was killed reads after it."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from langgraph_runtime_inmem import inmem_stream  # type: ignore[import-untyped]
from langgraph_runtime_inmem.database import GLOBAL_STORE  # type: ignore[import-untyped]

from agent.core.errors import ConfigurationError
from agent.engines.langgraph import thread_deletion
from agent.engines.langgraph.dev_server import DeletedThreads
from agent.runs.run_log import RunLog
from agent.runs.sql import Place
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture, written_down
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


async def test_nothing_is_known_any_more_of_what_a_deleted_thread_was_asked(where: Place) -> None:
    run_log = RunLog(where, "server")
    ended, working, other = a_run(), a_run(), a_run()
    gone = ended.thread_id
    await run_log.accept(ended)
    await run_log.finish(ended.run_id)
    await run_log.accept(a_run(thread_id=gone, run_id=working.run_id))
    await run_log.accept(other)
    await run_log.forget(gone)
    (left,) = await run_log.working()
    assert await run_log.ends({ended.run_id}) == {}
    await run_log.aclose()
    assert left.run_id == other.run_id
    assert gone.encode() not in written_down(where) or isinstance(where, Path)


@pytest.fixture(name="lists")
def lists_fixture(tmp_path: Path) -> Iterator[Any]:
    """The server's lists, as it has read them from a file in this folder."""
    before, filename = dict(GLOBAL_STORE), GLOBAL_STORE.filename
    GLOBAL_STORE.filename = str(tmp_path / "lists.pckl")
    for name in ("threads", "runs", "crons"):
        GLOBAL_STORE[name] = []
    yield GLOBAL_STORE
    GLOBAL_STORE.update(before)
    GLOBAL_STORE.filename = filename


def add(lists: Any, thread_id: UUID, words: str, *, at: float) -> None:
    """A thread, a run of it that is to begin in an hour, and a cron, all made at this time."""
    made, later = (datetime.fromtimestamp(at + seconds, UTC) for seconds in (0, 3600))
    row = {"thread_id": thread_id, "created_at": made, "updated_at": made, "words": words}
    lists["threads"].append({**row, "updated_at": later})
    lists["runs"].append({**row, "created_at": later})
    lists["crons"].append({**row, "thread_id": str(thread_id)})


def words_in(lists: Any) -> set[tuple[str, ...]]:
    names = ("threads", "runs", "crons")
    return {tuple(row["words"] for row in lists[name]) for name in names}


def test_a_killed_server_does_not_bring_back_what_was_deleted(tmp_path: Path, lists: Any) -> None:
    deleted, gone = DeletedThreads(tmp_path), uuid4()
    add(lists, gone, "gone", at=time.time() - 5)
    add(lists, uuid4(), "kept", at=time.time() - 5)
    lists.sync()
    deleted.add(str(gone))
    DeletedThreads(tmp_path).drop()
    assert words_in(lists) == {("kept",)}
    assert b"gone" not in Path(lists.filename).read_bytes()
    assert deleted.read() == {}


def test_a_thread_made_anew_under_the_same_id_stays(tmp_path: Path, lists: Any) -> None:
    deleted, again = DeletedThreads(tmp_path), uuid4()
    add(lists, again, "before", at=time.time() - 5)
    deleted.add(str(again))
    add(lists, again, "after", at=time.time() + 1)
    deleted.drop()
    assert words_in(lists) == {("after",)}


def test_a_line_cut_off_by_kill_9_is_none(tmp_path: Path) -> None:
    deleted = DeletedThreads(tmp_path)
    deleted.add("whole")
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text("utf-8") + "cut-o", "utf-8")
    deleted.add("next")
    assert list(deleted.read()) == ["whole", "next"]


def test_only_the_last_deletions_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.engines.langgraph.dev_server._MAX_BYTES", 0)
    deleted = DeletedThreads(tmp_path)
    with monkeypatch.context() as long_ago:
        long_ago.setattr(time, "time", lambda: 1.0)
        deleted.add("old")
    deleted.add("new")
    deleted.add("newest")
    assert list(deleted.read()) == ["new", "newest"]


def test_what_a_deleted_thread_streamed_cannot_be_listened_to_again(lists: Any) -> None:
    """On an open server nobody asks whether there is such a thread."""
    streams, gone, run = inmem_stream.get_stream_manager(), uuid4(), uuid4()
    message = inmem_stream.Message(topic=b"stream", data=b"answer", id=b"2")
    streams.message_stores[gone][run].append(message)
    assert list(streams.restore_messages(run, gone, "1")) == [message]
    thread_deletion._remove(lists, gone)
    assert list(streams.restore_messages(run, gone, "1")) == []


async def nothing(thread_id: str) -> None:
    """Stands for what else a deletion removes."""


@pytest.mark.parametrize("changed", ["version", "function", "class"])
def test_a_server_that_deletes_in_another_way_is_not_started(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, log = thread_deletion.ops, DeletedThreads(tmp_path)
    if changed == "version":
        monkeypatch.setattr("agent.engines.langgraph.dev_server.version", lambda _: "0.37.0")
    else:
        monkeypatch.setattr(server.Threads, "delete", staticmethod(nothing))
    if changed == "class":
        monkeypatch.delattr(server.Runs, "cancel")
    with pytest.raises(ConfigurationError, match=r"^langgraph-runtime-inmem: Version 0\.3"):
        thread_deletion.install(log, nothing)

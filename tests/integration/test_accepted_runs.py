"""The run log of `langgraph dev`: what its own functions insert and end, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from starlette.authentication import SimpleUser
from starlette.exceptions import HTTPException

from agent.core.errors import ConfigurationError
from agent.runs.run_log import AcceptedRun
from agent.runs.threads import open_saver, serve_from
from tests.support.rows import by_examples

with pytest.MonkeyPatch.context() as environment:
    # As `langgraph dev` sets them; the server's modules read them when they are imported.
    environment.setenv("REDIS_URI", "fake")
    environment.setenv("DATABASE_URI", ":memory:")
    environment.setenv("MIGRATIONS_PATH", "__inmem")
    from langgraph_api.utils import with_user  # type: ignore[import-untyped]
    from langgraph_runtime_inmem import ops  # type: ignore[import-untyped]

    from agent.engines.langgraph import accepted_runs
    from agent.engines.langgraph.accepted_runs import watched_runs

ASSISTANT, THREAD = uuid4(), uuid4()
FORGED = {"langgraph_auth_user_id": "alice", "langgraph_auth_user": {"identity": "alice"}}
"""A continued run is nobody's request: the server would not put the caller's own in their place."""


class Heard:
    """Stands in for the watch: remembers what it is told."""

    def __init__(self) -> None:
        self.runs: list[AcceptedRun] = []
        self.ends: list[tuple[str, str]] = []
        self.looks = 0

    async def accepted(self, run: AcceptedRun) -> None:
        self.runs.append(run)

    async def ended(self, run_id: str, status: str) -> None:
        self.ends.append((run_id, status))

    def look(self) -> None:
        self.looks += 1


@pytest.fixture(name="watch")
def watch_fixture() -> Iterator[Heard]:
    heard = Heard()
    with watched_runs(heard):  # type: ignore[arg-type]
        yield heard


@pytest.fixture(name="server")
def server_fixture() -> Any:
    """The lists of a server that has one assistant and one thread."""
    now = datetime.now(UTC)
    assistant = {
        "assistant_id": ASSISTANT, "graph_id": "agent", "config": {}, "context": {},
        "metadata": {"created_by": "system"},
    }  # fmt: skip
    thread = {
        "thread_id": THREAD, "status": "idle", "metadata": {}, "config": {},
        "created_at": now, "updated_at": now,
    }  # fmt: skip
    store = {"assistants": [assistant], "threads": [thread], "runs": []}
    return SimpleNamespace(store=store)


async def put(server: Any, kwargs: dict[str, Any], **changes: Any) -> list[Any]:
    """The runs that the server's own function returns, as `create_valid_run` calls it."""
    options: dict[str, Any] = {
        "metadata": None, "status": "pending", "user_id": None, "thread_id": THREAD,
        "run_id": uuid4(), "multitask_strategy": "enqueue", "prevent_insert_if_inflight": False,
        "after_seconds": 0, "if_not_exists": "reject",
    }  # fmt: skip
    request = {"config": {"configurable": {}}, "context": {}, **kwargs}
    runs = await ops.Runs.put(server, ASSISTANT, request, **{**options, **changes})
    return [run async for run in runs]


async def test_an_inserted_run_is_written_down_with_what_it_needs(
    server: Any, watch: Heard
) -> None:
    kwargs = {
        "input": {"messages": "王府井"},
        "context": {"max_research_loops": 1},
        "stream_mode": ["values"],
        "resumable": False,
        "webhook": None,
    }
    (run,) = await put(server, kwargs, metadata={"source": "test"})
    assert watch.runs == [
        AcceptedRun(
            str(run["run_id"]),
            str(THREAD),
            str(ASSISTANT),
            {"messages": "王府井"},
            {"max_research_loops": 1},
            {"metadata": {"source": "test"}, "stream_mode": ["values"]},
        )
    ]


@pytest.mark.parametrize("refusal", ["busy", "no thread", "no assistant"])
async def test_a_refused_run_is_not_written_down(server: Any, watch: Heard, refusal: str) -> None:
    if refusal == "busy":
        server.store["runs"] = [{"run_id": uuid4(), "thread_id": THREAD, "status": "running"}]
    elif refusal == "no thread":
        server.store["threads"].clear()
    else:
        server.store["assistants"].clear()
    await put(server, {"input": "q"}, prevent_insert_if_inflight=True)
    assert watch.runs == []


async def test_an_answer_to_a_pause_by_the_event_protocol_is_written_down(
    server: Any, watch: Heard
) -> None:
    """Its stream modes are the protocol's own: who continues the run could not ask for them."""
    configurable = {"__event_streaming_v2": True, "thread_id": "t", "max_research_loops": 3}
    kwargs = {
        "command": {"resume": {"i": {"cancel": True}}},
        "config": {"configurable": configurable},
        "context": configurable,
        "stream_mode": ["tools", "lifecycle"],
        "resumable": True,
    }
    await put(server, kwargs)
    (run,) = watch.runs
    assert (run.input, run.context) == (None, {"max_research_loops": 3})
    assert run.options == {"command": {"resume": {"i": {"cancel": True}}}}


@pytest.mark.parametrize("where", ["context", "configurable"])
async def test_nobody_is_somebody_else_once_a_run_is_continued(
    server: Any, watch: Heard, where: str
) -> None:
    names = {**FORGED, "max_research_loops": 1, "checkpoint_id": "c"}
    await put(server, {"config": {"configurable": names}, "context": names})
    (run,) = watch.runs
    assert "alice" not in str(run)
    assert run.context == {"max_research_loops": 1}
    assert run.options == {"checkpoint": {"checkpoint_id": "c"}}


async def test_a_run_is_written_down_with_whose_key_it_came(server: Any, watch: Heard) -> None:
    async with with_user(SimpleUser("alice")):
        await put(server, {"input": "q"})
    assert [run.asker for run in watch.runs] == ["alice"]


@pytest.mark.parametrize("kind", ["stateless", "continued", "cron"])
async def test_what_others_begin_again_or_nobody_could_read_is_not_written_down(
    server: Any, watch: Heard, kind: str
) -> None:
    configurable = {"cron_id": str(uuid4())} if kind == "cron" else {}
    metadata = {"tanlu_run": "run-0"} if kind == "continued" else {}
    kwargs = {"temporary": kind == "stateless", "config": {"configurable": configurable}}
    assert len(await put(server, kwargs, metadata=metadata)) == 1
    assert watch.runs == []


@by_examples
async def test_the_end_of_a_run_is_written_down(
    server: Any, watch: Heard, status: str, following: list[str], end: str
) -> None:
    (run,) = await put(server, {"input": "q"})
    checkpoint = {"next": following, "values": {}, "tasks": []}
    await ops.Threads.set_joint_status(
        server, THREAD, run["run_id"], status, "agent", checkpoint=checkpoint
    )
    assert watch.ends == [(str(run["run_id"]), end)]
    assert server.store["runs"][0]["status"] == status


@pytest.fixture(name="shortened")
def shortened_fixture(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Stands in for the saver: remembers what it is to shorten."""
    heard: list[tuple[str, str]] = []

    async def shorten(thread_id: str, run_id: str) -> None:
        heard.append((thread_id, run_id))

    monkeypatch.setattr("agent.engines.langgraph.accepted_runs.shorten", shorten)
    return heard


@by_examples
async def test_a_thread_is_shortened_when_its_turn_has_ended_and_nothing_waits(
    server: Any,
    watch: Heard,
    shortened: list[tuple[str, str]],
    status: str,
    following: list[str],
    others: int,
    is_shortened: bool,
) -> None:
    (run,) = await put(server, {"input": "q"})
    run["status"] = "running"
    for _ in range(others):
        await put(server, {"input": "another"})
    checkpoint = {"next": following, "values": {}, "tasks": []}
    await ops.Threads.set_joint_status(
        server, THREAD, run["run_id"], status, "agent", checkpoint=checkpoint
    )
    assert shortened == ([(str(THREAD), str(run["run_id"]))] if is_shortened else [])


async def test_a_run_from_a_checkpoint_that_is_gone_is_refused_in_words(
    server: Any, watch: Heard, tmp_path: Path
) -> None:
    """The server would begin it with an empty thread: the conversation would be gone."""
    configurable = {"checkpoint_id": str(uuid4())}
    async with open_saver(tmp_path) as saver:
        serve_from(saver)
        try:
            with pytest.raises(HTTPException, match="TANLU_KEEP_HISTORY=1") as refused:
                await put(server, {"input": "q", "config": {"configurable": configurable}})
        finally:
            serve_from(None)
    assert refused.value.status_code == 409
    assert (watch.runs, server.store["runs"]) == ([], [])


@pytest.fixture(name="patient")
def patient_fixture(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that looks by itself once an hour, at the lists of the test's server."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        yield server

    async def increment(run_id: UUID) -> int:
        return 1

    server.retry_counter = SimpleNamespace(increment=increment)
    monkeypatch.setattr(ops, "connect", connect)
    monkeypatch.setattr(accepted_runs, "_LOOK_SECONDS", 3600.0)


async def taken(*, wait: bool = True) -> list[UUID]:
    """Return what the server's queue takes, within five seconds."""
    async with asyncio.timeout(5):
        return [run["run_id"] async for run, _ in ops.Runs.next(wait=wait, limit=9)]


@pytest.mark.usefixtures("watch", "patient")
async def test_a_question_begins_when_it_is_asked_not_when_the_queue_looks_again(
    server: Any,
) -> None:
    waiting = asyncio.create_task(taken())
    await asyncio.sleep(0)
    (run,) = await put(server, {"input": "q"})
    assert await waiting == [run["run_id"]]


@pytest.mark.usefixtures("watch", "patient")
async def test_a_question_does_not_begin_before_its_client_can_listen(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepted_runs, "_HEAD_START", 3600.0)
    waiting = asyncio.create_task(taken())
    await asyncio.sleep(0)
    await put(server, {"input": "q"})
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    waiting.cancel()
    assert not done


@pytest.mark.usefixtures("watch", "patient")
async def test_a_question_that_came_while_the_queue_was_busy_is_taken_next(server: Any) -> None:
    assert await taken(wait=False) == []
    (run,) = await put(server, {"input": "q"})
    assert await taken() == [run["run_id"]]


@pytest.mark.usefixtures("watch", "patient")
async def test_the_next_question_of_a_thread_begins_when_the_one_before_has_ended(
    server: Any,
) -> None:
    (first,) = await put(server, {"input": "q"})
    assert await taken() == [first["run_id"]]
    (second, *_) = await put(server, {"input": "another"})
    assert await taken() == []
    waiting = asyncio.create_task(taken())
    await asyncio.sleep(0)
    first["status"] = "success"
    await ops.Threads.set_joint_status(
        server, THREAD, first["run_id"], "success", "agent", checkpoint=None
    )
    assert await waiting == [second["run_id"]]


@pytest.mark.usefixtures("watch", "patient")
async def test_a_question_from_another_loop_wakes_the_queue_too(server: Any) -> None:
    waiting = asyncio.create_task(taken())
    await asyncio.sleep(0)
    (run,) = await asyncio.to_thread(asyncio.run, put(server, {"input": "q"}))
    assert await waiting == [run["run_id"]]


@pytest.mark.usefixtures("watch", "patient")
async def test_the_queue_looks_by_itself_for_what_nobody_tells_of(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = await put(server, {"input": "q"})
    assert await taken() == [run["run_id"]]
    run["status"] = "pending"
    monkeypatch.setattr(accepted_runs, "_LOOK_SECONDS", 0.01)
    assert await taken() == [run["run_id"]]


async def test_a_cancelled_run_makes_the_watch_look(server: Any, watch: Heard) -> None:
    (run,) = await put(server, {"input": "q"})
    await ops.Runs.cancel(server, [run["run_id"]], thread_id=THREAD)
    assert watch.looks == 1


def test_the_server_s_functions_are_its_own_again_afterwards() -> None:
    def functions() -> tuple[Any, ...]:
        return ops.Runs.put, ops.Runs.next, ops.Threads.set_joint_status, ops.Runs.cancel

    before = functions()
    with watched_runs(Heard()):  # type: ignore[arg-type]
        assert set(functions()).isdisjoint(before)
    assert functions() == before


def test_a_server_that_inserts_runs_in_another_way_is_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def changed(conn: Any, assistant_id: UUID) -> None:
        """Stands for what a later version does."""

    monkeypatch.setattr(ops.Runs, "put", staticmethod(changed))
    with pytest.raises(ConfigurationError, match="inserts, takes and ends runs in another way"):
        watched_runs(Heard()).__enter__()  # type: ignore[arg-type]

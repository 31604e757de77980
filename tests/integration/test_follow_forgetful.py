"""A server that loses runs, never ends or begins them, or never answers: no question hangs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.batch.jobs import Finished, JobAttempt
from agent.batch.questions import Question
from agent.batch.remote import RemoteAssistant, RemoteWorker
from agent.client.connection import connected
from agent.client.follow import FollowLimits
from agent.core.errors import AgentError
from tests.support.forgetful_server import Fate, ForgetfulServer, forgetful

THREAD = "0c7a4f5e-6f0e-5c7e-8a53-2f8f5f4a9a01"
JOB = JobAttempt(Question("1", "who?", 1), 0, THREAD, "run", "message")
LIMITS = {
    "quiet": 0.05,
    "reply": 5.0,
    "recovery": 0.001,
    "pauses": (0.001, 0.01),
    "cancel": 0.05,
}
SHORT = {"run": 0.2, "margin": 0.1}

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def worker_of(server: ForgetfulServer, **limits: float) -> AsyncIterator[RemoteWorker]:
    async with connected(server.url) as client:
        target = RemoteAssistant(
            {"assistant_id": "a-1", "graph_id": "agent"}, {}, server.url, False
        )
        yield RemoteWorker(client, target, FollowLimits(**{**LIMITS, **limits}))  # type: ignore[arg-type]


async def asked(server: ForgetfulServer, **limits: float) -> Finished:
    async with worker_of(server, **limits) as worker:
        return await worker.work(JOB)


async def test_a_run_that_the_server_lost_is_begun_again_on_the_same_thread() -> None:
    with forgetful("lost", "done") as server:
        finished = await asked(server)
    assert finished.error is None
    assert finished.values["messages"][-1]["content"] == "found"
    first, second = server.created
    assert first["input"] == second["input"]
    assert first["input"]["messages"][0]["id"] == "message"
    # The server's own recovery, should it come late, takes the second for the first.
    assert second["metadata"] == {"tanlu_run": "run-1"}
    assert server.threads == {THREAD}


@pytest.mark.parametrize("fate", ["lost", "unfinished"])
async def test_a_server_that_loses_every_run_fails_the_question(fate: Fate) -> None:
    with forgetful(fate) as server:
        finished = await asked(server)
    assert "lost the run, or left it unfinished, 3 times" in str(finished.error)
    assert len(server.created) == 3


async def test_a_run_that_never_ends_is_stopped_and_fails_with_a_reason() -> None:
    with forgetful("stuck") as server:
        finished = await asked(server, **SHORT)
    assert "to its end within 0 s" in str(finished.error)
    assert "--set max_run_seconds" in str(finished.error)
    assert server.cancelled == ["run-1"]
    assert len(server.created) == 1


async def test_a_run_that_is_never_begun_fails_with_a_reason() -> None:
    with forgetful("queued") as server:
        finished = await asked(server, **SHORT)
    assert "began no run of ours" in str(finished.error)
    assert server.cancelled == ["run-1"]


async def test_a_request_that_is_never_answered_is_made_again() -> None:
    with forgetful("done") as server:
        server.silent = 2
        finished = await asked(server, reply=0.1)
    assert finished.error is None
    assert len(server.created) == 1


async def test_a_server_that_answers_nothing_ends_the_batch() -> None:
    with forgetful("done") as server:
        server.silent = 1_000_000
        with pytest.raises(AgentError, match="did not answer in time"):
            await asked(server, reply=0.05, away=0.2)


async def test_a_server_that_takes_nothing_ends_the_batch_and_fails_no_question() -> None:
    with forgetful("done") as server:
        server.refused = True
        with pytest.raises(AgentError, match="not now"):
            await asked(server, **SHORT)

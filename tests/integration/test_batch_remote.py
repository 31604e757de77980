"""A question on a server that is busy, away, restarted, or failing."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from agent.batch import remote
from agent.batch.jobs import JobAttempt
from agent.batch.questions import Question
from agent.batch.remote import RemoteAssistant, RemoteWorker
from agent.client.follow import FollowLimits
from agent.core.errors import AgentError, ConfigurationError
from tests.support.batch_lab import values_of

THREAD = "0c7a4f5e-6f0e-5c7e-8a53-2f8f5f4a9a01"
JOB = JobAttempt(Question("1", "who?", 1, format_requirement="a name"), 0, THREAD, "run", "message")
TARGET = RemoteAssistant({"assistant_id": "a-1", "graph_id": "agent"}, {}, "http://server", True)


@dataclass
class Server:
    """One thread of a LangGraph server; `refuse` answers the next requests instead."""

    refuse: list[int | httpx.TransportError] = field(default_factory=list)
    status: str | None = None
    """Of the last run; None: there is none."""
    values: dict[str, Any] = field(default_factory=dict)
    next: list[str] = field(default_factory=list)
    error: dict[str, str] | None = None
    recovers: bool = False
    """Whether it takes an interrupted run up by itself while it is looked at."""
    cuts: int = 0
    """Streams that break off."""
    asked: list[str] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path = re.sub(THREAD, "T", request.url.path)
        self.asked.append(f"{request.method} {path}")
        if path.endswith("/stream") and self.cuts:
            self.cuts -= 1
            raise httpx.RemoteProtocolError("the server went away")
        if self.refuse:
            refusal = self.refuse.pop(0)
            if isinstance(refusal, httpx.TransportError):
                raise refusal
            return httpx.Response(refusal, json={"detail": "not now"})
        reply = self._reply(request.method, path, request.content)
        if path.endswith("/stream"):
            return httpx.Response(200, text=reply, headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json=reply)

    def _reply(self, method: str, path: str, body: bytes) -> Any:
        match method, path:
            case "POST", "/threads/T/runs":
                self.created.append(json.loads(body))
                self.status = "pending"
                return self._run()
            case "GET", "/threads/T/runs":
                if self.recovers and self.next and len(self.asked) > 3:
                    self.status = "running"
                return [self._run()] if self.status else []
            case "GET", "/threads/T/runs/r-1/stream":
                return self._join()
            case "GET", "/threads/T/state":
                tasks = [{"error": "NothingFound('gone')"}] if self.status == "error" else []
                return {
                    "values": self.values, "next": self.next, "tasks": tasks, "interrupts": [],
                    "metadata": {"run_id": "r-0"} if self.values else {},
                }  # fmt: skip
        return {"thread_id": THREAD}

    def _run(self) -> dict[str, Any]:
        return {"run_id": "r-1", "status": self.status}

    def _join(self) -> str:
        if self.error:
            self.status = "error"
            return f"event: error\ndata: {json.dumps(self.error)}\n\n"
        self.status, self.values, self.next = "success", values_of("found"), []
        return "event: end\ndata: null\n\n"


@pytest.fixture
def server() -> Server:
    return Server()


@asynccontextmanager
async def worker_of(server: Server, **limits: float) -> AsyncIterator[RemoteWorker]:
    transport = httpx.MockTransport(server)
    follow = FollowLimits(recovery=0.001, pauses=(0.001, 0.002), **limits)
    async with httpx.AsyncClient(base_url="http://server", transport=transport) as http:
        yield RemoteWorker(LangGraphClient(http), TARGET, follow)


@pytest.fixture
async def worker(server: Server) -> AsyncIterator[RemoteWorker]:
    async with worker_of(server) as opened:
        yield opened


async def test_a_question_becomes_a_run_that_writes_its_steps(
    worker: RemoteWorker, server: Server
) -> None:
    finished = await worker.work(JOB)
    assert finished.error is None
    assert finished.values["messages"][-1]["content"] == "found"
    (created,) = server.created
    assert created["input"]["messages"] == [{"role": "user", "content": "who?", "id": "message"}]
    assert created["input"]["format_requirement"] == "a name"
    assert created["durability"] == "sync"
    assert created["multitask_strategy"] == "reject"


@pytest.mark.parametrize("status", ["pending", "running"])
async def test_a_run_that_is_under_way_is_joined(
    worker: RemoteWorker, server: Server, status: str
) -> None:
    server.status = status
    finished = await worker.work(JOB)
    assert finished.values["messages"][-1]["content"] == "found"
    assert server.created == []


async def test_a_run_that_ended_meanwhile_is_not_begun_again(
    worker: RemoteWorker, server: Server
) -> None:
    server.status, server.values = "success", values_of("found")
    assert (await worker.work(JOB)).error is None
    assert server.created == []


async def test_a_busy_or_absent_server_is_waited_for(worker: RemoteWorker, server: Server) -> None:
    server.refuse = [429, 503, httpx.ConnectError("refused"), 500, httpx.ReadTimeout("slow"), 409]
    assert (await worker.work(JOB)).error is None
    assert len(server.created) == 1


async def test_a_join_that_is_cut_is_looked_at_anew(worker: RemoteWorker, server: Server) -> None:
    server.status, server.cuts = "running", 2
    finished = await worker.work(JOB)
    assert finished.error is None
    assert server.asked.count("GET /threads/T/runs/r-1/stream") == 3
    assert server.created == []


async def test_what_a_restarted_server_takes_up_itself_is_left_to_it(
    worker: RemoteWorker, server: Server
) -> None:
    server.values, server.next, server.recovers = {"messages": []}, ["web_research"], True
    finished = await worker.work(JOB)
    assert finished.values["messages"][-1]["content"] == "found"
    assert server.created == []


async def test_what_nobody_takes_up_goes_on_from_its_last_step(
    worker: RemoteWorker, server: Server
) -> None:
    server.values, server.next = {"turn": {"id": "t"}}, ["web_research"]
    await worker.work(JOB)
    (created,) = server.created
    assert created.get("input") is None
    # The server's own recovery, should it come late, takes this for its run and adds none.
    assert created["metadata"] == {"tanlu_run": "r-0"}


async def test_a_failed_run_says_why(worker: RemoteWorker, server: Server) -> None:
    server.error = {"error": "NothingFound", "message": "every source failed"}
    finished = await worker.work(JOB)
    assert str(finished.error) == "every source failed"
    again = await worker.work(JOB)
    assert again.error is not None
    assert len(server.created) == 1


async def test_a_wrong_setting_of_the_server_ends_the_batch(
    worker: RemoteWorker, server: Server
) -> None:
    server.error = {"error": "ConfigurationError", "message": "GEMINI_API_KEY: is not set"}
    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
        await worker.work(JOB)


async def test_a_key_that_is_refused_ends_the_batch(worker: RemoteWorker, server: Server) -> None:
    server.refuse = [401]
    with pytest.raises(ConfigurationError, match="TANLU_API_KEY"):
        await worker.work(JOB)


async def test_a_server_that_stays_away_ends_the_batch(server: Server) -> None:
    server.refuse = [httpx.ConnectError("refused") for _ in range(1000)]
    async with worker_of(server, away=0.01) as worker:
        with pytest.raises(AgentError, match="cannot be reached"):
            await worker.work(JOB)


async def test_a_busy_server_is_not_an_absent_one(server: Server) -> None:
    server.refuse = [429] * 150
    async with worker_of(server, away=0.1) as worker:
        assert (await worker.work(JOB)).error is None


async def test_a_thread_that_a_restart_forgot_is_made_known_again(
    worker: RemoteWorker, server: Server
) -> None:
    server.refuse = [404, 404]
    assert (await worker.work(JOB)).error is None
    assert len(server.created) == 1


async def test_what_is_no_assistant_server_is_told_so(worker: RemoteWorker, server: Server) -> None:
    server.refuse = [404] * 100
    with pytest.raises(AgentError, match="not an assistant server"):
        await worker.work(JOB)


async def test_threads_are_removed_a_while_after_their_rows_were_written(
    worker: RemoteWorker, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.forget(JOB, None)
    assert server.asked == []
    monkeypatch.setattr(remote, "_KEEP_SECONDS", -1.0)
    await worker.forget(JOB, None)
    assert server.asked == ["DELETE /threads/T"] * 2
    server.refuse = [httpx.ConnectError("refused")]
    await worker.forget(JOB, None)


async def test_at_the_end_of_a_batch_no_thread_of_it_is_left(
    worker: RemoteWorker, server: Server
) -> None:
    for _ in range(3):
        await worker.forget(JOB, None)
    await worker.forget_rest()
    assert server.asked == ["DELETE /threads/T"] * 3
    server.refuse = [httpx.ConnectError("refused")] * 9
    await worker.forget(JOB, None)
    await worker.forget_rest()

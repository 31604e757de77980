"""A server that loses runs, never ends or begins them, or never answers: no question hangs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import pytest
from aiohttp import web

from agent.batch.jobs import Finished, JobAttempt
from agent.batch.questions import Question
from agent.batch.remote import RemoteAssistant, RemoteWorker
from agent.client.connection import connected
from agent.client.follow import FollowLimits
from agent.core.errors import AgentError
from tests.support.batch_lab import values_of
from tests.support.served import serve_in_thread

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


Fate = Literal["done", "lost", "stuck", "queued", "unfinished"]
"""lost: gone when it is streamed, which is never answered. unfinished: ends with steps left."""


class ForgetfulServer:
    """One thread; the runs begun on it meet `fates` in turn, the last of them for ever."""

    def __init__(self, *fates: Fate) -> None:
        self.fates = list(fates)
        self.created: list[dict[str, Any]] = []
        self.threads: set[str] = set()
        self.cancelled: list[str] = []
        self.silent = 0
        """Requests from now on that are never answered."""
        self.refused = False
        """Whether everything is answered with 429."""
        self.url = ""
        self._runs: list[dict[str, Any]] = []
        self._values: dict[str, Any] = {}
        self._left: list[str] = []
        self.app = web.Application(middlewares=[self._moods])
        thread = "/threads/{thread}"
        self.app.add_routes([
            web.post("/threads", self._thread),
            web.get(f"{thread}/state", self._state),
            web.get(f"{thread}/runs", self._list),
            web.post(f"{thread}/runs", self._create),
            web.get(f"{thread}/runs/{{run}}/stream", self._stream),
            web.post(f"{thread}/runs/{{run}}/cancel", self._cancel),
        ])  # fmt: skip

    @web.middleware
    async def _moods(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.refused:
            return web.json_response({"detail": "not now"}, status=429)
        if self.silent:
            self.silent -= 1
            await asyncio.Event().wait()
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _thread(self, request: web.Request) -> web.Response:
        thread_id = (await request.json())["thread_id"]
        self.threads.add(thread_id)
        return web.json_response({"thread_id": thread_id})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response(self._runs[::-1])

    async def _state(self, request: web.Request) -> web.Response:
        metadata = {"run_id": "first"} if self._values else {}
        state = {"values": self._values, "next": self._left, "tasks": [], "interrupts": []}
        return web.json_response({**state, "metadata": metadata})

    async def _create(self, request: web.Request) -> web.Response:
        self.created.append(await request.json())
        fate = self.fates.pop(0) if len(self.fates) > 1 else self.fates[0]
        status = "pending" if fate == "queued" else "running"
        run = {"run_id": f"run-{len(self.created)}", "status": status, "fate": fate}
        self._runs.append(run)
        return web.json_response(run)

    async def _stream(self, request: web.Request) -> web.Response:
        run = next(run for run in self._runs if run["run_id"] == request.match_info["run"])
        match run["fate"]:
            case "lost":
                self._runs.remove(run)
                await asyncio.Event().wait()
            case "stuck" | "queued":
                await asyncio.Event().wait()
            case "unfinished":
                self._values, self._left = {"turn": {"id": "t"}}, ["web_research"]
            case "done":
                self._values, self._left = values_of("found"), []
        run["status"] = "success"
        return web.Response(text="event: end\ndata: null\n\n", content_type="text/event-stream")

    async def _cancel(self, request: web.Request) -> web.Response:
        self.cancelled.append(request.match_info["run"])
        return web.json_response({})


@contextmanager
def forgetful(*fates: Fate) -> Iterator[ForgetfulServer]:
    server = ForgetfulServer(*fates)
    with serve_in_thread(server.app) as running:
        server.url = running.url
        yield server


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

"""Following one run: its events, lost streams, restarts, continuations, stops."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from agent.client.follow import FollowedRun, FollowLimits, RunFollower, RunListener, RunOrder
from agent.client.run_result import pause_of
from agent.core.errors import AgentError, ConfigurationError
from tests.support.batch_lab import values_of

THREAD = "0c7a4f5e-6f0e-5c7e-8a53-2f8f5f4a9a01"
ASSISTANT = {"assistant_id": "a-1", "graph_id": "agent"}
QUESTION = {"messages": [{"role": "user", "content": "who?"}]}
HANG, CUT = "hang", "cut"

Part = tuple[str, Any]


@dataclass
class Script:
    """What a run's stream says, in one attempt after the other, and the state it leaves."""

    streams: list[list[Part | str]]
    status: str = "success"
    values: Mapping[str, Any] = field(default_factory=lambda: values_of("found"))
    marked: str = ""
    next: list[str] = field(default_factory=list)
    interrupts: list[Any] = field(default_factory=list)


class Server:
    """One thread of a LangGraph server; every run that is begun plays the next script."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.runs: dict[str, tuple[Script, str]] = {}
        self.state: dict[str, Any] = {
            "values": {}, "next": [], "tasks": [], "interrupts": [], "metadata": {},
        }  # fmt: skip
        self.created: list[dict[str, Any]] = []
        self.cancelled: list[str] = []
        self.heard_from: list[str] = []
        self.create_waits: asyncio.Event | None = None
        self.creating = asyncio.Event()
        self.hanging = asyncio.Event()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(f"/threads/{THREAD}")
        match request.method, path.split("/")[1:]:
            case "POST", ["runs"]:
                return await self._create(json.loads(request.content))
            case "GET", ["runs"]:
                listed = [self._run(run_id) for run_id in reversed(self.runs)]
                return httpx.Response(200, json=listed)
            case "GET", ["runs", run_id, "stream"]:
                return self._stream(run_id, request.headers["last-event-id"])
            case "POST", ["runs", run_id, "cancel"]:
                self.cancelled.append(run_id)
                return httpx.Response(200, json={})
            case "GET", ["state"]:
                return httpx.Response(200, json=self.state)
        return httpx.Response(200, json={"thread_id": THREAD})

    async def _create(self, body: dict[str, Any]) -> httpx.Response:
        self.creating.set()
        if self.create_waits is not None:
            await self.create_waits.wait()
        self.created.append(body)
        return httpx.Response(200, json=self.begin((body.get("metadata") or {}).get("tanlu_run")))

    def begin(self, marked: str | None = None, status: str = "running") -> dict[str, Any]:
        """Begin a run as a client or the server's own recovery does."""
        script, run_id = self.scripts.pop(0), f"r-{len(self.runs) + 1}"
        script.marked = marked or ""
        self.runs[run_id] = script, status
        return self._run(run_id)

    def forget(self, run_id: str) -> None:
        """Lose a run, as a server does that was killed."""
        self.runs[run_id] = self.runs[run_id][0], "forgotten"

    def _run(self, run_id: str) -> dict[str, Any]:
        script, status = self.runs[run_id]
        marked = {"tanlu_run": script.marked} if script.marked else {}
        return {"run_id": run_id, "status": status, "metadata": marked}

    def end(self, run_id: str) -> None:
        """Leave the run's state and status."""
        script, _ = self.runs[run_id]
        self.runs[run_id] = script, script.status
        metadata = {"run_id": run_id} | ({"tanlu_run": script.marked} if script.marked else {})
        if script.status in ("success", "interrupted"):
            self.state.update(values=dict(script.values), next=script.next,
                              interrupts=script.interrupts, metadata=metadata)  # fmt: skip

    def _stream(self, run_id: str, last_event_id: str) -> httpx.Response:
        self.heard_from.append(last_event_id)
        script, status = self.runs[run_id]
        if status == "forgotten":
            return httpx.Response(404, json={"detail": "unknown"})
        parts = script.streams.pop(0) if script.streams else []

        async def body() -> AsyncIterator[bytes]:
            for number, part in enumerate(parts):
                if part == HANG:
                    self.end(run_id)
                    self.hanging.set()
                    await asyncio.Event().wait()
                if part == CUT:
                    raise httpx.RemoteProtocolError("the server went away")
                event, data = part
                text = f"id: {number}\nevent: {event}\ndata: {json.dumps(data)}\n\n"
                yield text.encode()
            self.end(run_id)
            yield b"event: end\ndata: null\n\n"

        return httpx.Response(200, content=body(), headers={"content-type": "text/event-stream"})


class Heard(RunListener):
    """Keep what a run told."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.events: list[str] = []
        self.text = ""

    async def accepted(self, run_id: str) -> None:
        self.runs.append(run_id)

    async def event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event["type"])

    async def token(self, text: str) -> None:
        self.text += text


@asynccontextmanager
async def following(
    server: Server, listener: RunListener | None = None, *, quiet: float = 5, **request: Any
) -> AsyncIterator[RunFollower]:
    limits = FollowLimits(recovery=0.001, pauses=(0.001, 0.002), away=30, quiet=quiet)
    transport = httpx.MockTransport(server)
    async with httpx.AsyncClient(base_url="http://server", transport=transport) as http:
        wanted = {"input": QUESTION, "stream_mode": ("custom", "messages-tuple", "values")}
        run = RunOrder(ASSISTANT, THREAD, **{**wanted, **request})
        yield RunFollower(
            LangGraphClient(http), run, server="http://server", limits=limits, listener=listener
        )


async def followed(server: Server, listener: RunListener | None = None, **how: Any) -> FollowedRun:
    async with following(server, listener, **how) as follower:
        await follower.begin()
        return await follower.follow()


def answer_in(run: FollowedRun) -> str:
    assert run.error is None
    return str(run.values["messages"][-1]["content"])


async def test_events_and_pieces_of_the_answer_are_heard_as_they_come() -> None:
    piece = [{"type": "AIMessageChunk", "content": "fou"}, {}]
    other = [{"type": "human", "content": "who?"}, {}]
    parts: list[Part | str] = [
        ("metadata", {"run_id": "r-1"}),
        ("custom", {"type": "search_started"}),
        ("messages", other),
        ("messages", piece),
    ]
    heard = Heard()
    assert answer_in(await followed(Server(Script([parts])), heard)) == "found"
    assert (heard.runs, heard.events, heard.text) == (["r-1"], ["search_started"], "fou")


async def test_a_stream_that_is_lost_goes_on_where_it_broke_off() -> None:
    one, two = ("custom", {"type": "one"}), ("custom", {"type": "two"})
    server, heard = Server(Script([[one, CUT], [two]])), Heard()
    assert answer_in(await followed(server, heard)) == "found"
    assert heard.events == ["one", "two"]
    assert server.heard_from == ["-1", "0"]
    assert len(server.created) == 1


async def test_a_run_that_a_restarted_server_continues_under_a_new_id_is_followed_on() -> None:
    server = Server(
        Script([[("custom", {"type": "one"})]]), Script([[("custom", {"type": "two"})]])
    )

    class Restarting(Heard):
        async def event(self, event: Mapping[str, Any]) -> None:
            await super().event(event)
            if event["type"] == "one":
                server.forget("r-1")
                server.begin("r-1")
                raise httpx.RemoteProtocolError("the server went away")

    heard = Restarting()
    run = await followed(server, heard)
    assert answer_in(run) == "found"
    assert (run.run_id, heard.runs, heard.events) == ("r-2", ["r-1", "r-2"], ["one", "two"])
    assert len(server.created) == 1


async def test_the_end_of_a_run_is_learnt_though_its_stream_falls_silent() -> None:
    server = Server(Script([[("custom", {"type": "one"}), HANG]]))
    async with asyncio.timeout(30):
        run = await followed(server, quiet=0.05)
    assert server.hanging.is_set()
    assert answer_in(run) == "found"


async def test_a_lost_question_is_asked_again_and_not_answered_by_the_turn_before() -> None:
    server = Server(Script([[CUT]]), Script([[]], values=values_of("second")))
    server.state.update(values=values_of("first"), metadata={"run_id": "r-0"})

    class Forgotten(Heard):
        async def accepted(self, run_id: str) -> None:
            await super().accepted(run_id)
            if run_id == "r-1":
                server.forget(run_id)

    assert answer_in(await followed(server, Forgotten())) == "second"
    first, second = server.created
    assert first["input"] == second["input"] == QUESTION
    assert first.get("metadata") is None
    assert second["metadata"] == {"tanlu_run": "r-1"}
    assert (first["multitask_strategy"], second["multitask_strategy"]) == ("enqueue", "reject")


async def test_another_s_next_question_on_the_thread_does_not_change_the_answer() -> None:
    values = ("values", values_of("mine"))
    server = Server(Script([[values]], values=values_of("mine")), Script([[]]))
    async with following(server) as follower:
        await follower.begin()
        server.begin()
        end = server.end

        def end_both(run_id: str) -> None:
            end(run_id)
            server.state.update(values=values_of("theirs"), metadata={"run_id": "r-2"})

        server.end = end_both  # type: ignore[method-assign]
        run = await follower.follow()
    assert answer_in(run) == "mine"


async def test_a_run_that_waits_for_a_person_is_a_pause_and_goes_on_with_the_reply() -> None:
    shown = {"queries": [{"query": "who"}]}
    server = Server(Script([[]], status="interrupted", next=["review_plan"],
                           interrupts=[{"value": shown}]), Script([[]]))  # fmt: skip
    paused = await followed(server)
    pause = pause_of(paused.values)
    assert pause is not None
    assert pause.review == shown
    resumed = await followed(server, input=None, resume={"cancel": True})
    assert answer_in(resumed) == "found"
    assert server.created[1]["command"] == {"resume": {"cancel": True}}


async def test_a_run_that_somebody_stops_is_not_begun_again() -> None:
    server = Server(Script([[]], status="interrupted", next=["web_research"]))
    run = await followed(server)
    assert run.error is not None
    assert run.error.code == "run_stopped"
    assert len(server.created) == 1


@pytest.mark.parametrize(
    ("failure", "kind", "code"),
    [
        ({"error": "NothingFound", "message": "every source failed"}, AgentError, "failed"),
        ({"error": "StoreFailed", "message": "TANLU_DATA_DIR: full"}, AgentError, "store_failed"),
        (
            {"error": "ConfigurationError", "message": "GEMINI_API_KEY is not set."},
            ConfigurationError,
            "configuration",
        ),
    ],
)
async def test_a_failed_run_has_a_typed_error(
    failure: dict[str, str], kind: type[AgentError], code: str
) -> None:
    server = Server(Script([[("error", failure)]], status="error"))
    run = await followed(server)
    assert type(run.error) is kind
    assert (run.error.code, run.error.message) == (code, failure["message"])


async def test_what_is_under_way_on_a_thread_is_rejoined() -> None:
    server = Server(Script([[("custom", {"type": "one"})]]))
    server.begin()
    heard = Heard()
    async with following(server, heard, input=None) as follower:
        assert await follower.rejoin()
        run = await follower.follow()
    assert (answer_in(run), heard.events, server.created) == ("found", ["one"], [])


async def test_a_follower_that_is_cancelled_stops_the_run_even_while_it_is_begun() -> None:
    server = Server(Script([[HANG]]))
    server.create_waits = asyncio.Event()
    async with following(server) as follower:
        beginning = asyncio.create_task(follower.begin())
        await server.creating.wait()
        beginning.cancel()
        server.create_waits.set()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        await follower.cancel()
    assert server.cancelled == ["r-1"]

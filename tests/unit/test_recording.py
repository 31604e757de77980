"""The middleware that writes accepted runs down, without the server and its tables."""

import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.engines.langgraph.recording import RecordRuns
from agent.runs.run_log import AcceptedRun


class Heard:
    """Stands in for the watch: remembers what it is told."""

    def __init__(self) -> None:
        self.runs: list[AcceptedRun] = []
        self.answers: list[AcceptedRun] = []
        self.looks = 0

    async def accepted(self, run: AcceptedRun) -> None:
        self.runs.append(run)

    async def answered(self, run: AcceptedRun) -> None:
        self.answers.append(run)

    def look(self) -> None:
        self.looks += 1


class Api:
    """A server behind the middleware; its replies look like LangGraph's."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.status = 200
        self.watch = Heard()
        self.app = Starlette(
            routes=[
                Route("/threads/{thread}/runs", self._runs, methods=["POST"]),
                Route("/threads/{thread}/runs/{how}", self._runs, methods=["POST"]),
                Route("/threads/{thread}/commands", self._commands, methods=["POST"]),
                Route("/threads/{thread}/runs/{run}/cancel", self._plain, methods=["POST"]),
                Route("/runs/wait", self._plain, methods=["POST"]),
                Route("/threads/search", self._plain, methods=["POST"]),
            ],
            middleware=[Middleware(RecordRuns)],
        )
        self.app.state.watch = self.watch

    async def _runs(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        assert int(request.headers["content-length"]) == len(self.bodies[-1])
        where = {"Content-Location": f"/threads/{request.path_params['thread']}/runs/run-1"}
        return JSONResponse({}, self.status, headers=where)

    async def _commands(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        return JSONResponse({"type": "success", "id": 1, "result": {"run_id": "run-2"}})

    async def _plain(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        return JSONResponse({})

    async def post(self, path: str, body: Any) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post(path, content=content)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.mark.parametrize("how", ["", "/stream", "/wait"])
async def test_an_accepted_run_is_written_down_with_what_it_needs(api: Api, how: str) -> None:
    body = {
        "assistant_id": "agent",
        "input": {"messages": "王府井"},
        "context": {"max_research_loops": 1},
        "metadata": {"source": "test"},
        "stream_mode": "values",
    }
    reply = await api.post(f"/threads/t-1/runs{how}", body)
    assert reply.status_code == 200
    assert api.watch.runs == [
        AcceptedRun(
            "run-1",
            "t-1",
            "agent",
            {"messages": "王府井"},
            {"max_research_loops": 1},
            {"metadata": {"source": "test"}, "stream_mode": "values"},
        )
    ]
    assert api.watch.looks == 1


async def test_a_refused_run_is_not_written_down(api: Api) -> None:
    api.status = 422
    assert (await api.post("/threads/t/runs", {"assistant_id": "none"})).status_code == 422
    assert api.watch.runs == []


async def test_a_protocol_v2_run_is_written_down(api: Api) -> None:
    params = {
        "assistant_id": "agent",
        "input": {"messages": "q"},
        "config": {"configurable": {"max_research_loops": 3, "thread_id": "t", "__internal": 1}},
    }
    reply = await api.post(
        "/threads/t/commands", {"id": 1, "method": "run.start", "params": params}
    )
    assert reply.json()["result"]["run_id"] == "run-2"
    (run,) = api.watch.runs
    assert (run.run_id, run.input) == ("run-2", {"messages": "q"})
    assert run.context == {"max_research_loops": 3}


FORGED = {"langgraph_auth_user_id": "alice", "langgraph_auth_user": {"identity": "alice"}}
"""A continued run is nobody's request: the server would not put the caller's own in their place."""


@pytest.mark.parametrize("where", ["context", "configurable", "checkpoint"])
async def test_nobody_is_somebody_else_once_a_run_is_continued(api: Api, where: str) -> None:
    body: dict[str, Any] = {"assistant_id": "agent", "input": {"messages": "q"}}
    said = {**FORGED, "max_research_loops": 1, "checkpoint_id": "c"}
    body |= {"config": {where: said}} if where == "configurable" else {where: said}
    await api.post("/threads/t/runs", body)
    (run,) = api.watch.runs
    assert "alice" not in str(run)
    if where == "checkpoint":
        assert run.options == {"checkpoint": {"checkpoint_id": "c"}}
    else:
        assert run.context == {"max_research_loops": 1}


@pytest.mark.parametrize("method", ["run.start", "input.respond"])
async def test_of_a_command_only_what_the_server_uses_is_written_down(
    api: Api, method: str
) -> None:
    """The rest was not checked, and would be used when the run is continued."""
    params = {
        "assistant_id": "agent",
        "interrupt_id": "i",
        "response": "yes",
        "metadata": {"title": "q"},
        "config": {"configurable": {"max_research_loops": 1}},
        "context": {**FORGED, "api_key": "CANARY"},
        "webhook": "http://10.0.0.1/",
        "checkpoint": FORGED,
        "checkpoint_id": "CANARY",
        "command": {"goto": "CANARY"},
        "interrupt_before": ["CANARY"],
    }
    await api.post("/threads/t/commands", {"id": 1, "method": method, "params": params})
    (run,) = [*api.watch.runs, *api.watch.answers]
    answered = {"command": {"resume": {"i": "yes"}}} if method == "input.respond" else {}
    assert run.options == {"metadata": {"title": "q"}, **answered}
    assert run.context == {"max_research_loops": 1}


async def test_other_commands_pass_unchanged(api: Api) -> None:
    await api.post("/threads/t/commands", {"id": 1, "method": "agent.getTree", "params": {}})
    assert api.watch.runs == api.watch.answers == []


@pytest.mark.parametrize("many", [False, True])
async def test_an_answer_to_a_pause_by_protocol_v2_is_written_down(api: Api, many: bool) -> None:
    one = {"interrupt_id": "i", "namespace": [], "response": {"cancel": True}}
    params = {"responses": [one, "odd"]} if many else one
    await api.post("/threads/t/commands", {"id": 1, "method": "input.respond", "params": params})
    (run,) = api.watch.answers
    assert (run.thread_id, run.input) == ("t", None)
    assert run.options == {"command": {"resume": {"i": {"cancel": True}}}}


async def test_a_continued_run_is_not_written_down_twice(api: Api) -> None:
    await api.post("/threads/t/runs", {"assistant_id": "agent", "metadata": {"tanlu_run": "run-0"}})
    assert api.watch.runs == []


@pytest.mark.parametrize(
    "body",
    [b"{not json", b"[]", b"", b'{"metadata": 5}', b'{"config": []}', b"[" * 50_000,
     b'{"input":' * 20_000],
)  # fmt: skip
async def test_a_body_that_is_no_request_is_the_server_s_to_refuse(api: Api, body: bytes) -> None:
    api.status = 422
    assert (await api.post("/threads/t/runs", body)).status_code == 422
    assert api.watch.runs == []


async def test_a_cancel_makes_the_watch_look(api: Api) -> None:
    await api.post("/threads/t/runs/run-1/cancel", b"")
    assert api.watch.looks == 1
    await api.post("/threads/search", b"{}")
    assert api.watch.looks == 1


async def test_without_a_watch_requests_pass_untouched(api: Api) -> None:
    api.app.state.watch = None
    await api.post("/threads/t/runs", {"assistant_id": "agent", "durability": "exit"})
    assert json.loads(api.bodies[0])["durability"] == "exit"


HALVES = {
    rb"half \ud83d of it": rb"half \ufffd of it",
    rb"\uDE00\ud83d": rb"\ufffd\ufffd",
    rb"whole \ud83d\uDE00 \u4e00\n": rb"whole \ud83d\uDE00 \u4e00\n",
    rb"no escape \\ud83d": rb"no escape \\ud83d",
}


@pytest.mark.parametrize("path", ["/threads/t/runs/wait", "/threads/t/commands", "/runs/wait"])
@pytest.mark.parametrize("text", HALVES)
async def test_half_a_character_in_a_request_is_replaced_before_the_server_reads_it(
    api: Api, path: str, text: bytes
) -> None:
    await api.post(path, b'{"input": {"messages": "' + text + b'"}}')
    assert api.bodies == [b'{"input": {"messages": "' + HALVES[text] + b'"}}']

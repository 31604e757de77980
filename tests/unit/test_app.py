"""The server's own part, without the server: logs, health, recording."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.app import ScrubbingFormatter, announce, app, scrub_logs
from agent.outbox import AcceptedRun
from agent.recording import RecordRuns
from agent.redaction import hide
from agent.security.guard import Guard


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


async def health() -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.get("/healthz")


async def test_health_tells_the_mode() -> None:
    assert (await health()).json() == {"ok": True, "mode": "offline"}


async def test_health_names_a_bad_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMAP_MCP_COMMAND", "npx something")
    reply = await health()
    assert reply.status_code == 503
    assert "AMAP_MCP_COMMAND" in reply.json()["reason"]


def test_a_bad_setting_is_announced_and_does_not_raise(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TANLU_MODE", "online")
    announce()
    assert "TANLU_MODE=online" in caplog.text
    assert "GEMINI_API_KEY" in caplog.text


def test_offline_is_announced_with_what_was_looked_for(caplog: pytest.LogCaptureFixture) -> None:
    announce()
    assert "sample data" in caplog.text
    assert "GEMINI_API_KEY" in caplog.text


@pytest.fixture
def root_writer() -> Iterator[logging.Handler]:
    writer = logging.StreamHandler()
    level = logging.getLogger("httpx").level
    logging.getLogger().addHandler(writer)
    yield writer
    logging.getLogger().removeHandler(writer)
    logging.getLogger("httpx").setLevel(level)
    for other in logging.getLogger().handlers:
        if isinstance(other.formatter, ScrubbingFormatter):
            other.setFormatter(other.formatter._inner)


@pytest.mark.parametrize(
    ("exception", "kept"),
    [
        ("Traceback …\nasyncio.exceptions.CancelledError", False),
        ("Traceback …\nsqlite3.OperationalError: database is locked", True),
    ],
)
def test_a_run_that_the_server_s_end_stops_is_told_without_a_traceback(
    exception: str, kept: bool, root_writer: logging.Handler, caplog: pytest.LogCaptureFixture
) -> None:
    scrub_logs()
    told = {"event": "RETRYING", "exception": exception}
    logging.getLogger("langgraph_api.worker").warning(told)
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert ("exception" in record.msg, record.msg["event"]) == (kept, "RETRYING")


def test_no_key_leaves_through_the_server_s_log(root_writer: logging.Handler) -> None:
    hide("CANARY-server-log-1")
    scrub_logs()
    scrub_logs()
    assert isinstance(root_writer.formatter, ScrubbingFormatter)
    assert not isinstance(root_writer.formatter._inner, ScrubbingFormatter)
    try:
        raise ValueError("failed with CANARY-server-log-1")
    except ValueError as error:
        record = logging.LogRecord(
            "agent", logging.ERROR, __file__, 1, "GET %s", ("/x?key=CANARY-server-log-1",),
            (type(error), error, error.__traceback__),
        )  # fmt: skip
    text = root_writer.format(record)
    assert "CANARY" not in text
    assert "ValueError" in text
    assert logging.getLogger("httpx").level == logging.WARNING


async def test_the_guard_stands_before_everything_and_closes_on_keys_it_cannot_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    order: list[Any] = [middleware.cls for middleware in app.user_middleware]
    assert order == [Guard, RecordRuns]
    monkeypatch.setenv("TANLU_API_KEYS", "anna:too-short-3141")
    announce()
    reply = await health()
    assert reply.status_code == 503
    for told in (caplog.text, reply.json()["reason"]):
        assert "TANLU_API_KEYS: entry 1: the key must have 16" in told
        assert "3141" not in told


@pytest.mark.parametrize(
    ("keys", "hosts", "told"),
    [
        ("", "", "open, to this machine only"),
        ("", "tanlu.example", "open to everybody who reaches it"),
        ("anna:anna-0123456789abcdef", "*", "asks for a key; owners with one: 1"),
    ],
)
def test_whom_the_server_answers_is_announced(
    keys: str, hosts: str, told: str, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("TANLU_API_KEYS", keys)
    monkeypatch.setenv("TANLU_ALLOWED_HOSTS", hosts)
    caplog.set_level(logging.INFO)
    announce()
    assert told in caplog.text
    assert "anna" not in caplog.text

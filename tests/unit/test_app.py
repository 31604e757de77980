"""The server's own part, without the server: logs, health, what stands before it."""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth
from langgraph_sdk.errors import NotFoundError
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.schemas import SchemaGenerator

from agent.core.redaction import hide
from agent.engines.langgraph.app import app, prune, prune_regularly
from agent.server.application import ScrubbingFormatter, announce, scrub_logs
from agent.server.auth.guard import RequestGuard
from agent.server.auth.thread_states import CheckedStates
from agent.server.http import ReplaceHalfCharacters


async def health() -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.get("/healthz")


async def test_health_tells_the_mode() -> None:
    assert (await health()).json() == {"ok": True, "mode": "offline"}


@pytest.mark.parametrize("route", [r for r in app.routes if isinstance(r, Route)], ids=str)
def test_what_a_route_says_of_itself_can_be_read_for_the_schema(route: Route) -> None:
    # LangGraph's server reads docstrings as YAML; those of Python 3.13 are not indented any more.
    def said() -> None: ...

    said.__doc__ = inspect.getdoc(route.endpoint)
    SchemaGenerator({}).parse_docstring(said)


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
    caplog.set_level("INFO")
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
    scrub_logs(["langgraph_api.worker"])
    told = {"event": "RETRYING", "exception": exception}
    logging.getLogger("langgraph_api.worker").warning(told)
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert ("exception" in record.msg, record.msg["event"]) == (kept, "RETRYING")


def test_an_error_of_ours_is_told_in_its_own_line(
    root_writer: logging.Handler, caplog: pytest.LogCaptureFixture
) -> None:
    scrub_logs(["langgraph_api.worker"])
    line = "agent.core.errors.StoreFailed: TANLU_DATA_DIR: the disk is full"
    told = {"event": "failed", "exception": f"Traceback …\n{line}\nDuring task with name 'x'"}
    logging.getLogger("langgraph_api.worker").error(told)
    assert [record.msg for record in caplog.records] == [{"event": "failed", "exception": line}]


def test_a_cron_beyond_its_owner_s_limits_is_told_in_one_line(
    root_writer: logging.Handler, caplog: pytest.LogCaptureFixture
) -> None:
    scrub_logs(["langgraph_api.cron_scheduler"])
    try:
        try:
            raise Auth.exceptions.HTTPException(429, "4 questions a minute")
        except Auth.exceptions.HTTPException as refusal:
            raise HTTPException(refusal.status_code, refusal.detail) from refusal
    except HTTPException:
        told = {"event": "Error scheduling cron run", "exception": traceback.format_exc()}
    logging.getLogger("langgraph_api.cron_scheduler").error(told)
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert record.msg["exception"] == (
        "starlette.exceptions.HTTPException: 429: 4 questions a minute"
    )


def test_no_key_leaves_through_the_server_s_log(root_writer: logging.Handler) -> None:
    hide("CANARY-server-log-1")
    scrub_logs(["langgraph_api.worker"])
    scrub_logs(["langgraph_api.worker"])
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
    assert order == [RequestGuard, ReplaceHalfCharacters, CheckedStates]
    monkeypatch.setenv("TANLU_API_KEYS", "anna:too-short-3141")
    announce()
    reply = await health()
    assert reply.status_code == 503
    for told in (caplog.text, reply.json()["reason"]):
        assert "TANLU_API_KEYS: Entry 1: the key must have 16" in told
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


class OldThreads:
    """Stands in for the archive and for the server's client: remembers who deleted what."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.uncited: list[int] = []
        """For how many days each time what nothing cites is kept."""
        self.threads = self

    async def older_than(self, days: int, now: datetime) -> list[str]:
        return ["known", "forgotten", "at-work"] if days == 30 else []

    async def is_worked_on(self, thread_id: str) -> bool:
        return thread_id == "at-work"

    async def forget_uncited(self, days: int, now: datetime) -> None:
        self.uncited.append(days)

    async def delete(self, thread_id: str) -> None:
        if thread_id == "forgotten" and "asked:forgotten" not in self.deleted:
            self.deleted.append("asked:forgotten")
            request = httpx.Request("DELETE", "http://test")
            raise NotFoundError("gone", response=httpx.Response(404, request=request), body=None)
        self.deleted.append(thread_id)


async def test_old_threads_are_deleted_also_those_that_the_server_forgot() -> None:
    threads: Any = OldThreads()
    await prune(threads, threads, 30)
    assert threads.deleted == ["known", "asked:forgotten", "forgotten"]
    assert threads.uncited == [30]


@pytest.mark.parametrize(("days", "count"), [("", 0), ("30", 3)])
async def test_threads_are_kept_unless_the_operator_says_for_how_long(
    monkeypatch: pytest.MonkeyPatch, days: str, count: int
) -> None:
    monkeypatch.setenv("TANLU_KEEP_DAYS", days)

    async def wait(seconds: float) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", wait)
    threads: Any = OldThreads()
    with pytest.raises(asyncio.CancelledError):
        await prune_regularly(threads, threads)
    assert len(threads.deleted) == count

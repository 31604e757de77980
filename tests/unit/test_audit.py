"""The audit log: who did what, a line each, without content."""

import json
import logging
import multiprocessing
import os
import stat
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import Auth
from starlette.types import Message

from agent.batch.disk import append_line
from agent.core.redaction import hide
from agent.engines.langgraph.app import LangGraphServer
from agent.runs import engine
from agent.server.auth import audit as audit_module
from agent.server.auth import authorization
from agent.server.auth.api_keys import access
from agent.server.auth.audit import AuditLog, audit, auditing_deletions

KEY = "alice-key-0123456789"
THREAD = "018f3c1e-7d20-7000-8000-000000000001"


@pytest.fixture(name="path", autouse=True)
def path_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "audit.jsonl"
    monkeypatch.setenv("TANLU_AUDIT_LOG", str(path))
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY}")
    monkeypatch.setattr(engine, "_engine", LangGraphServer())
    access.cache_clear()
    audit_module._audit_log.cache_clear()
    yield path
    access.cache_clear()
    audit_module._audit_log.cache_clear()


def text(path: Path) -> str:
    return path.read_text("utf-8")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(path).splitlines()]


async def begin(value: dict[str, Any], who: str = "alice") -> None:
    user: Any = type("User", (), {"identity": who})()
    context = Auth.types.AuthContext([], user, "threads", "create_run")
    await authorization.create_run(context, value)


async def test_a_run_that_is_let_in_and_one_that_is_refused_have_a_line_each(path: Path) -> None:
    secret = "what nobody should read here"
    await begin({"run_id": THREAD, "kwargs": {"input": {"messages": secret}}})
    with pytest.raises(Auth.exceptions.HTTPException):
        await begin({"kwargs": {"input": {"messages": secret}, "webhook": "http://10.0.0.1/"}})
    with pytest.raises(Auth.exceptions.HTTPException):
        await begin({"kwargs": {}}, who="?")
    accepted, refused, stranger = rows(path)
    assert accepted.pop("at").endswith("+00:00")
    assert accepted == {
        "event": "run", "outcome": "accepted", "owner": "alice", "run": THREAD,
    }  # fmt: skip
    assert (refused["outcome"], refused["status"]) == ("refused", 422)
    assert (stranger["owner"], stranger["status"]) == ("?", 401)
    assert secret not in text(path)


@pytest.mark.parametrize(
    ("method", "target", "status", "outcome"),
    [
        ("DELETE", f"/threads/{THREAD}", 204, "accepted"),
        ("DELETE", f"//threads/{THREAD}/", 404, "refused"),
        ("DELETE", f"/threads/{THREAD}/runs/{THREAD}", 204, "accepted"),
        ("POST", "/threads/prune", 200, "accepted"),
    ],
)
async def test_a_deletion_is_written_down_with_its_outcome(
    path: Path, method: str, target: str, status: int, outcome: str
) -> None:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    headers = [(b"x-api-key", KEY.encode())]
    scope = {"type": "http", "method": method, "path": target, "headers": headers}
    sent = auditing_deletions(scope, send)
    await sent({"type": "http.response.start", "status": status, "headers": []})
    await sent({"type": "http.response.body", "body": b""})
    (row,) = rows(path)
    assert (row["event"], row["outcome"], row["owner"]) == ("deletion", outcome, "alice")
    assert row.get("thread", THREAD) == THREAD
    assert len(messages) == 2
    assert KEY not in text(path)


async def test_reading_a_thread_is_not_written_down() -> None:
    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "GET", "path": f"/threads/{THREAD}", "headers": []}
    assert auditing_deletions(scope, send) is send


async def test_keys_are_hidden_and_long_names_cut(path: Path) -> None:
    hide("CANARY-in-a-name")
    await audit("run", "refused", "alice", assistant="CANARY-in-a-name" + "x" * 500)
    assert "CANARY" not in text(path)
    assert len(text(path)) < 300


def test_only_its_user_reads_the_file(path: Path) -> None:
    AuditLog(path).append({"event": "export"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_a_crash_cut_short_stays_alone(path: Path) -> None:
    path.write_text('{"event": "ru')
    AuditLog(path).append({"event": "export"})
    cut, whole = text(path).splitlines()
    assert cut == '{"event": "ru'
    assert json.loads(whole)["event"] == "export"


def test_after_the_file_was_moved_away_there_is_a_new_one(path: Path) -> None:
    log = AuditLog(path)
    log.append({"event": "export"})
    path.rename(path.with_suffix(".1"))
    log.append({"event": "deletion"})
    assert [row["event"] for row in rows(path)] == ["deletion"]


def _append_many(path: Path, name: str, begin: Barrier) -> None:
    log = AuditLog(path)
    begin.wait(timeout=60)
    for number in range(25):
        log.append({"name": name, "number": number})


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_that_share_the_file_do_not_mix_their_lines(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    begin = context.Barrier(2)
    processes = [context.Process(target=_append_many, args=(path, n, begin)) for n in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert sorted((row["name"], row["number"]) for row in rows(path)) == [
        (name, number) for name in "ab" for number in range(25)
    ]


async def test_a_file_that_cannot_be_written_is_told_and_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TANLU_AUDIT_LOG", str(tmp_path))
    with caplog.at_level(logging.ERROR):
        await begin({"kwargs": {}})
    assert "TANLU_AUDIT_LOG cannot be written: Is a directory" in caplog.text


def test_a_line_that_cannot_be_synced_is_cut_off_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"whole\n")
    monkeypatch.setattr(os, "fsync", full)
    with path.open("ab", buffering=0) as file, pytest.raises(OSError, match="No space"):
        append_line(file, b"half\n")  # type: ignore[arg-type]
    assert path.read_bytes() == b"whole\n"

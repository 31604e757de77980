"""The calls of a run as a person reads them, and who gets to see them."""

import json
import logging
from contextvars import copy_context
from pathlib import Path

import pytest

from agent.batch.disk import TraceFolder
from agent.cli.environment import NO_RUN, RUN_ID
from agent.cli.record import RunRecord, readable_call
from agent.core.errors import AgentError, InputError
from agent.core.redaction import hide
from agent.core.telemetry import Exchange, tell_listeners

SECRET = "secret-0123456789"
REPLY = json.dumps(
    {
        "message": {"data": {"tool_calls": [{"name": "maps_geo", "args": {"address": "王府井"}}]}},
        "text": "我查地图",
    },
    ensure_ascii=False,
)
CALL = Exchange(
    "model:google",
    {"model": "m-1", "messages": [["system", "你是助手"], ["human", f"key {SECRET}"]]},
    REPLY,
    seconds=1.25,
)


def test_a_call_of_a_model_reads_as_prompt_reply_and_tool_calls_without_a_key() -> None:
    hide(SECRET)
    text = readable_call(CALL)
    parts = ("model:google · 1.25 s", "[system]\n你是助手", "[human]\nkey [hidden]",
             "[reply]\n我查地图", "[tool_calls]\n", "maps_geo")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert SECRET not in text


def test_a_call_that_failed_says_why() -> None:
    text = readable_call(Exchange("amap", {"tool": "maps_geo"}, problem="no answer within 5 s"))
    assert '[request]\n{"tool": "maps_geo"}' in text
    assert "[problem]\nno answer within 5 s" in text


def test_no_prompt_gets_into_a_log_that_was_not_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        tell_listeners(CALL)
        with RunRecord(None).listening(log_file=False):
            tell_listeners(CALL)
    assert caplog.records == []


def test_a_trace_holds_the_run_s_own_calls_only(tmp_path: Path) -> None:
    kept = RunRecord(TraceFolder(tmp_path / "traces"))

    def calls() -> None:
        RUN_ID.set(NO_RUN)
        tell_listeners(Exchange("of another run", {}))
        RUN_ID.set("run-1")
        tell_listeners(CALL)

    with kept.listening(log_file=False):
        copy_context().run(calls)
    path = kept.fail("thread-1", AgentError("no answer"))
    assert path is not None
    trace = json.loads(path.read_text("utf-8"))
    assert [call["provider"] for call in trace["calls"]] == ["model:google"]
    assert (trace["thread_id"], trace["error"]) == ("thread-1", "no answer")


def test_a_folder_for_traces_that_cannot_be_used_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--trace-dir"):
        TraceFolder(tmp_path / "file")

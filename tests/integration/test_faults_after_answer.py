"""What comes after an answer, or beside it, and breaks: the answer stays as it was written."""

import inspect
import logging
from typing import Any

import pytest

from agent.assistants.common import claims, draft, writer
from agent.core import telemetry
from agent.mcp.amap.prefetch import AmapPrefetch
from agent.mcp.records import MapRecords
from agent.models import client, validation
from agent.sample.model.request import ModelReply
from agent.search import google
from agent.search.web import WebSearch
from agent.texts import say
from tests.integration.faults import moody
from tests.support.lab import EN, ZH, answer_of, laboratory, told

pytestmark = pytest.mark.node


class Broken(Exception):
    """Nobody meant this one."""


def breaks(*_arguments: Any, **_options: Any) -> Any:
    raise Broken


async def breaks_later(*_arguments: Any, **_options: Any) -> Any:
    raise Broken


async def answer_with(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, question: str = ZH
) -> tuple[str, dict[str, Any]]:
    async with laboratory() as lab:
        is_async = inspect.iscoroutinefunction(getattr(owner, name))
        monkeypatch.setattr(owner, name, breaks_later if is_async else breaks)
        state = await lab.ask(question)
    return str(answer_of(state).text), told(state)


@pytest.mark.parametrize(
    "step",
    [
        (claims, "statements"),
        (claims, "corrected"),
        (claims, "renumbered"),
        (draft, "evidence_of"),
    ],
    ids=lambda step: step[1],
)
@pytest.mark.parametrize("question", [ZH, EN])
async def test_a_check_that_breaks_leaves_the_answer_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    step: tuple[Any, str],
    question: str,
) -> None:
    with caplog.at_level(logging.ERROR):
        text, kept = await answer_with(monkeypatch, *step, question)
    assert say("answer.not_checked", "zh" if question == ZH else "en") in text
    assert kept["sources"]
    assert kept["checks"]["claims"]["total"] == 0
    assert any(record.exc_info and record.exc_info[0] is Broken for record in caplog.records)


@pytest.mark.parametrize(
    "name",
    ["attribution", "reader_note", "undated_gap", "references", "places_as_shown", "readable",
     "forecasts_of", "feature_collection", "carried", "progress_of", "_metadata", "resolved"],
)  # fmt: skip
async def test_what_comes_after_the_text_and_breaks_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with caplog.at_level(logging.ERROR):
        text, kept = await answer_with(monkeypatch, draft if name == "resolved" else writer, name)
    assert text.startswith("> 示例模式")
    assert len(text) > 200
    assert kept["sources"]
    assert any(record.exc_info and record.exc_info[0] is Broken for record in caplog.records)


async def test_whoever_listens_and_breaks_misses_an_event_only() -> None:
    async with laboratory() as lab:
        with telemetry.listening(breaks):
            state = await lab.ask(EN)
    assert told(state)["checks"]["cited"] > 0


@pytest.mark.parametrize(
    "calculation",
    ["1/3=0.33333333333333333333333333333333", "1000000000 / 3 = 333333333.33333333333333333333"],
)
async def test_a_result_of_thirty_digits_costs_no_answer(calculation: str) -> None:
    async with laboratory() as lab:
        moody(lab).say("answer", ModelReply(text=f"Each gets a share: {calculation}."), None)
        state = await lab.ask(EN)
    assert calculation in str(answer_of(state).text)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(WebSearch, "_by"), (google, "ground"), (AmapPrefetch, "_plan"), (AmapPrefetch, "more"),
     (MapRecords, "add_place"), (client, "parse_reply"), (validation, "find_object")],
)  # fmt: skip
async def test_reading_a_reply_that_breaks_is_that_reply_s_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, owner: Any, name: str
) -> None:
    with caplog.at_level(logging.ERROR):
        text, kept = await answer_with(monkeypatch, owner, name)
    assert len(text) > 100
    assert kept["gaps"] or name == "more"
    assert any(record.exc_info and record.exc_info[0] is Broken for record in caplog.records)

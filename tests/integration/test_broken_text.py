"""Every service's every text is broken: each assistant answers, and what it leaves is valid."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.assistants.common.tool_results import code_text
from agent.client.run_result import RunName, outcome_of
from agent.core.errors import AgentError
from agent.core.strings import valid_json
from agent.export.pdf import pdf_document
from agent.graph import build_graph
from agent.reading.office import read_docx
from agent.runs.reply_cache import ReplyCache
from agent.runs.sql import Place
from agent.runs.threads import open_saver
from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.services.loopback import Service
from agent.sandbox.programs import CodeResult
from agent.server.exports import EXPORTS
from agent.server.mcp_tools import tool_result
from tests.integration.team_lab import team_laboratory
from tests.support.deep_lab import deep_laboratory
from tests.support.lab import EN, ZH, Lab, laboratory
from tests.support.plan_lab import plan_process, running_world
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture
from tests.support.standin import BROKEN

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


class BrokenModel:
    """Says what another does, in broken text; also where it is streamed."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    def respond(self, turn: ModelTurn) -> ModelReply:
        answer = self._inner.respond(turn)
        return replace(answer, text=f"{answer.text}{BROKEN}") if answer.text else answer


def break_all(*services: Service) -> None:
    """From now on every reply of theirs is broken."""
    for service in services:
        service.fail("broken_text", times=None)


def assert_valid(state: dict[str, Any]) -> None:
    """There is an answer; it and all that can be made of it can be kept, sent and shown."""
    message = state["messages"][-1]
    for value in (str(message.text), message.additional_kwargs, state.get("geojson")):
        json.dumps(value, ensure_ascii=False).encode()
        assert valid_json(value) == value
    outcome = outcome_of(state, RunName("agent", "t", "r"), 1.0)
    assert len(outcome.answer) > 30
    for name, made in EXPORTS.items():
        if name.startswith("outing.") or name.endswith(".pdf"):
            continue  # none of these answers has a planned day; the PDF is made below
        if name.startswith("places.") and not outcome.places:
            with pytest.raises(AgentError, match=r".") as caught:
                made.write(outcome.finished())
            assert caught.value.code == "nothing_to_draw"
            continue
        if name.startswith("sources.") and not outcome.sources:
            with pytest.raises(AgentError, match=r".") as caught:
                made.write(outcome.finished())
            assert caught.value.code == "no_sources"
            continue
        text = made.write(outcome.finished())
        if isinstance(text, bytes):
            assert list(read_docx(io.BytesIO(text)))
            continue
        text.encode()
        assert valid_json(text) == text
    assert pdf_document(outcome.finished()).startswith(b"%PDF")
    tool_result(outcome).model_dump_json().encode()


@asynccontextmanager
async def agent_in(where: Place) -> AsyncIterator[Lab]:
    """A laboratory of the sample that keeps its replies and threads in a place."""
    reply_cache = ReplyCache(where)
    async with (
        laboratory(reply_cache=reply_cache, tanlu_mode="offline") as lab,  # type: ignore[arg-type]
        open_saver(where) as saver,
    ):
        graph = build_graph(lambda: lab.services).compile(checkpointer=saver)
        yield Lab(lab.services, graph)
    await reply_cache.aclose()


@pytest.mark.node
async def test_agent_answers_twice_on_a_thread_where_everything_it_reads_is_broken(
    where: Place,
) -> None:
    async with agent_in(where) as lab:
        assert lab.services.sample
        break_all(*lab.services.sample.services.values())
        lab.gemini.llm = BrokenModel(lab.gemini.llm)
        first = await lab.ask(f"{ZH}\ud83d\x00")
        again = await lab.ask(f"{BROKEN}那附近呢？")
    assert_valid(first)
    assert_valid(again)


@pytest.mark.node
async def test_the_name_of_a_place_cut_in_an_emoji_costs_nothing(tmp_path: Path) -> None:
    async with agent_in(tmp_path) as lab:
        break_all(lab.amap)
        state = await lab.ask(ZH)
    assert_valid(state)
    assert state["places"]
    assert all(place["name"].endswith("\ufffd31m") for place in state["places"])


async def test_deep_research_reports_from_broken_pages(tmp_path: Path) -> None:
    async with deep_laboratory(reply_cache=tmp_path) as lab:
        break_all(lab.tavily, lab.gemini)
        lab.gemini.llm = BrokenModel(lab.llm)
        assert_valid(await lab.ask())
        assert_valid(await lab.ask("\ud83d那成本呢？"))


async def test_team_answer_answers_from_broken_results(tmp_path: Path) -> None:
    async with team_laboratory(reply_cache=tmp_path) as lab:
        break_all(lab.serper, lab.bocha, lab.gemini)
        lab.gemini.llm = BrokenModel(lab.llm)
        assert_valid(await lab.ask())
        assert_valid(await lab.ask("\ud83d那座桥有多长？"))


async def test_plan_execute_writes_a_dossier_from_broken_sources(tmp_path: Path) -> None:
    with running_world() as world:
        async with plan_process(world, reply_cache=tmp_path) as lab:
            break_all(*(service for name, service in world.services.items() if name != "site"))
            world.gemini.llm = BrokenModel(world.llm)
            assert_valid(await lab.ask())
            assert_valid(await lab.ask("\ud83d那成本呢？"))


@pytest.mark.node
async def test_a_thread_with_broken_messages_of_others_can_be_gone_on_with() -> None:
    async with laboratory(tanlu_mode="offline") as lab:
        given = [("user", f"钠{BROKEN}"), ("ai", f"电池{BROKEN}"), ("user", f"{EN}{BROKEN}")]
        assert_valid(await lab.ask(given))


def test_what_a_program_prints_steers_no_screen() -> None:
    result = CodeResult(f"42\x1b[31m{BROKEN}", "", False, 0.1)
    assert code_text(result, "en") == "42[31m\ufffd31m"
    assert code_text(replace(result, output="\x00"), "en") != ""

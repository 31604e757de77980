"""The bundled questions through the real graph: what is right, what stays open, and how."""

import asyncio
import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent.assistants.team_answer.graph import build_graph
from agent.assistants.team_answer.state import TeamConfiguration
from agent.batch.scoring import is_correct
from agent.services import build_services
from agent.settings import read_settings

pytestmark = pytest.mark.node
AT_ONCE = 8
Answered = list[tuple[dict[str, Any], dict[str, Any]]]


def questions() -> list[dict[str, Any]]:
    file = resources.files("agent.sample") / "data" / "questions.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """Every question with the state it ended in, all asked of one deployment."""
    return asyncio.run(_ask_all(tmp_path_factory.mktemp("sample")))


async def _ask_all(folder: Path) -> Answered:
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    graph = build_graph(lambda: services).compile()
    free = asyncio.Semaphore(AT_ONCE)

    async def ask(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        given: Any = {"messages": [HumanMessage(row["question"])]}
        if form := row.get("format_requirement"):
            given["format_requirement"] = form
        async with free:
            return row, await graph.ainvoke(given, context=TeamConfiguration())

    try:
        return list(await asyncio.gather(*map(ask, questions())))
    finally:
        await services.aclose()


def kinds_of(state: dict[str, Any]) -> Counter[str]:
    return Counter(found["kind"] for found in state["evidence_pool"])


def answerable(pairs: Answered) -> Answered:
    return [pair for pair in pairs if pair[0].get("answerable", True)]


def test_there_are_questions_of_the_three_shapes_it_can_answer_in_both_languages() -> None:
    rows = questions()
    assert len(rows) >= 25
    assert len({row["id"] for row in rows}) == len({row["question"] for row in rows}) == len(rows)
    assert {row["lang"] for row in rows} == {"zh", "en"}
    assert {row["level"] for row in rows} == {"lookup", "place", "arithmetic"}
    assert sum(row.get("answerable") is False for row in rows) == 5
    assert all(bool(row["answer"]) == row.get("answerable", True) for row in rows)


def test_every_answer_is_right(answered: Answered) -> None:
    pairs = answerable(answered)
    wrong = [
        (row["question"], row["answer"], state["final_answer"])
        for row, state in pairs
        if not is_correct(state["final_answer"], row["answer"], "answered")
    ]
    assert wrong == []


def test_what_the_sample_does_not_tell_is_not_answered(answered: Answered) -> None:
    asked = [pair for pair in answered if not pair[0].get("answerable", True)]
    assert {
        row["question"]: state["final_answer"] for row, state in asked if state["final_answer"]
    } == {}
    assert not any(state["verified"] for _, state in asked)


def test_answers_come_through_the_tools_of_their_shape(answered: Answered) -> None:
    for row, state in answerable(answered):
        kind = {"lookup": "search", "place": "map", "arithmetic": "code"}[row["level"]]
        assert kinds_of(state)[kind], row["question"]
        assert state["answer_evidence"], row["question"]


def test_a_claim_is_checked_and_soon_ends(answered: Answered) -> None:
    for row, state in answered:
        turns = state["transcript"]
        assert [turn["speaker"] for turn in turns] == ["researcher", "verifier"]
        assert state["usage"]["model_calls"] <= 8, row["question"]
        assert state["ended"] == "terminated", row["question"]

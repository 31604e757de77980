"""Questions that mostly need a language model, through the real graph of the sample."""

import asyncio
import json
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
SHAPES = {"lookup", "place", "compare", "arithmetic", "date", "hop"}
FILE = Path(__file__).parents[2] / "evals" / "team_questions" / "second_set.jsonl"
Answered = list[tuple[dict[str, Any], str]]


def questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """Every question with its answer, "" where there is none; all asked of one deployment."""
    return asyncio.run(_ask_all(tmp_path_factory.mktemp("second")))


async def _ask_all(folder: Path) -> Answered:
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    graph = build_graph(lambda: services).compile()
    free = asyncio.Semaphore(AT_ONCE)

    async def ask(row: dict[str, Any]) -> tuple[dict[str, Any], str]:
        given: Any = {"messages": [HumanMessage(row["question"])]}
        if form := row.get("format_requirement"):
            given["format_requirement"] = form
        async with free:
            state = await graph.ainvoke(given, context=TeamConfiguration())
        return row, state["final_answer"]

    try:
        return list(await asyncio.gather(*map(ask, questions())))
    finally:
        await services.aclose()


def test_the_second_set_has_every_shape_in_both_languages() -> None:
    rows = questions()
    assert len({row["id"] for row in rows}) == len({row["question"] for row in rows}) == 15
    asked = {(row["level"], row["lang"]) for row in rows}
    assert asked == {(shape, lang) for shape in SHAPES for lang in ("zh", "en")}
    assert sum(row.get("answerable") is False for row in rows) == 3
    assert all(bool(row["answer"]) == row.get("answerable", True) for row in rows)


def test_what_needs_a_language_model_is_left_open_and_never_guessed(answered: Answered) -> None:
    wrong = [
        (row["question"], row["answer"], answer)
        for row, answer in answered
        if answer and not is_correct(answer, row["answer"], "answered")
    ]
    assert wrong == []

"""The recorded replies of the bundled questions: each fits its task's schema, and its own request.

A change of a schema, or of a bundled question, shows here at once.
"""

import functools
import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agent.assistants.common.forms import ReflectionOnDay, SearchQueryList
from agent.assistants.deep_research.plan import TopicPlan
from agent.assistants.plan_execute.plan import Plan
from agent.assistants.plan_execute.search_info import Rewritten
from agent.assistants.team_answer.analyze import Analyzed
from agent.assistants.team_answer.synthesize import Settled
from agent.evidence.claims.judging import Ruling, Rulings
from agent.sample.model.recorded import REPORTS, Recording, is_recorded, recorded_reply, recordings
from agent.sample.model.reply import SampleModel
from agent.sample.model.request import ModelTurn
from agent.texts import table
from tests.unit.offline_turns import ask

ROOT = Path(__file__).parents[2]
SCHEMAS: dict[str, type[BaseModel]] = {
    "generate_query": SearchQueryList,
    "reflection": ReflectionOnDay,
    "deep_plan": TopicPlan,
    "plan_tasks": Plan,
    "rewrite_headings": Rewritten,
    "team_analyze": Analyzed,
    "team_synthesize": Settled,
}
ROWS = [row for rows in recordings().values() for row in rows]
MOST_BYTES = 300_000


@functools.cache
def known_fields(model: type[BaseModel]) -> frozenset[str]:
    """The names that a schema has at any depth."""
    schema = model.model_json_schema()
    parts = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for part in parts for name in part.get("properties", {}))


def unknown_fields(value: Any, names: frozenset[str]) -> list[str]:
    """The names in a reply that its task's schema lacks."""
    if isinstance(value, list):
        return [name for each in value for name in unknown_fields(each, names)]
    if not isinstance(value, dict):
        return []
    inner = [name for each in value.values() for name in unknown_fields(each, names)]
    return [name for name in value if name not in names] + inner


@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{n}-{row.task}-{row.question[:12]}" for n, row in enumerate(ROWS)]
)
def test_a_recorded_reply_is_one_that_its_task_can_take(row: Recording) -> None:
    (kind,) = {"text", "json", "calls", "rulings"} & set(row.reply)
    if kind == "json":
        model = SCHEMAS[row.task]
        model.model_validate(row.reply["json"])
        assert unknown_fields(row.reply["json"], known_fields(model)) == []
    if kind == "rulings":
        for _, verdict, *calc in row.reply["rulings"]:
            Ruling.model_validate({"id": "1", "v": verdict, "calc": "".join(calc)})
            assert verdict in ("s", "o", "c")
            assert bool(calc) == (verdict == "c")


def bundled_questions() -> set[str]:
    """What the README, the page, its buttons, the examples and the bundled batches ask."""
    found = set(table("examples", "zh").values()) | set(table("examples", "en").values())
    sample = resources.files("agent.sample") / "data" / "questions.jsonl"
    batches = [sample.read_text("utf-8"), (ROOT / "examples/questions.jsonl").read_text("utf-8")]
    found |= {json.loads(line)["question"] for text in batches for line in text.splitlines()}
    for name in ("README.md", "README.zh.md", "docs/sample_questions.md"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        asked = [re.findall(r'"([^"]+)"', line) for line in lines if "tanlu ask" in line]
        found |= {words[0] for words in asked if words and "…" not in words[0]}
    found |= {q for row in recordings()["reflection"] for q in row.reply["json"]["next_questions"]}
    texts = [file.read_text("utf-8") for file in (ROOT / "examples").glob("*/*.[mp]*")]
    quoted = {text for each in texts for text in re.findall(r'"([^"\n]{5,80})"', each)}
    found |= {text for text in quoted if re.search("[一-鿿]|[?]$", text)}
    return found


FOLLOW_UP = "那附近有停车场吗"


def test_every_bundled_question_has_a_recorded_answer() -> None:
    questions = bundled_questions()
    assert len(questions) >= 50
    # A follow-up is answered as the question that it stands for.
    assert FOLLOW_UP in questions
    assert [q for q in sorted(questions - {FOLLOW_UP}) if not is_recorded(q)] == []
    (row,) = [row for row in recordings()["generate_query"] if row.question == FOLLOW_UP]
    assert is_recorded(row.reply["json"]["question"])


def test_recorded_answers_are_judged_as_well() -> None:
    judged = {row.question for row in recordings()["claim_check"]}
    answered = {row.question for task in REPORTS - {"team_verifier"} for row in recordings()[task]}
    assert answered <= judged


def test_the_recordings_weigh_little() -> None:
    folder = resources.files("agent.sample") / "data" / "recordings"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) <= MOST_BYTES


ROUTE = "从王府井到故宫怎么走？"
WALK = "[^a0-0] 步行：王府井 → 故宫 · 1.7 km · 23 分钟"


def route(**more: str) -> ModelTurn:
    return ask("answer", question=ROUTE, routes=WALK, **more)


def test_a_reply_cites_under_the_ids_of_the_request() -> None:
    answer = recorded_reply(route())
    assert answer
    assert "[^a0-0]" in (answer.text or "")


def test_a_reply_whose_source_the_request_does_not_show_is_not_given() -> None:
    assert recorded_reply(ask("answer", question=ROUTE)) is None


def test_another_question_another_language_and_an_added_wish_have_no_recording() -> None:
    assert recorded_reply(ask("answer", question="从王府井到天坛怎么走？", routes=WALK)) is None
    assert recorded_reply(ask("answer", "en", question=ROUTE, routes=WALK)) is None
    turn = route()
    wish = ModelTurn(turn.system, f"{turn.user}\n<wishes>\n- 坐地铁\n</wishes>")
    assert recorded_reply(wish) is None


def test_a_follow_up_is_recognised_only_after_the_question_it_follows() -> None:
    after = "user: 王府井附近适合遛娃的好去处\nassistant: 有。"
    assert recorded_reply(ask("generate_query", question=FOLLOW_UP, conversation=after))
    other = "user: 三里屯的咖啡馆\nassistant: 有。"
    assert recorded_reply(ask("generate_query", question=FOLLOW_UP, conversation=other)) is None


def test_a_day_is_counted_from_the_day_of_the_request() -> None:
    weather = "[^a0-0] 北京市 2026-11-21 周六，晴/多云，2–13 °C"
    answer = recorded_reply(ask("answer", question="北京明天天气怎么样？", weather=weather))
    assert answer
    assert "2026-11-21" in (answer.text or "")


def test_what_nobody_judged_gets_no_ruling() -> None:
    passages = "1.1 步行 王府井 → 故宫 · 1.7 km · 23 分钟"
    statements = "1 走过去就行：步行 1.7 km，大约 23 分钟 [1]。\n2 故宫免费 [1]。"
    values = {"question": ROUTE, "passages": passages, "statements": statements}
    turn = replace(ask("claim_check", **values), schema=Rulings.model_json_schema())
    told = SampleModel().respond(turn).json
    (ruling,) = Rulings.model_validate(told).rulings
    assert (ruling.id, ruling.v, ruling.p) == ("1", "s", ["1.1"])

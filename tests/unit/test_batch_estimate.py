"""What the rest of a batch takes, before its first call."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agent.assistants.registry import ASSISTANTS
from agent.batch.answers import Row
from agent.batch.estimate import (
    QuestionEstimate,
    batch_configuration,
    estimate_table,
    estimated,
    hours,
    left_of,
    read_rows,
)
from agent.batch.questions import Question
from agent.cli import main

DAY = date(2026, 11, 23)


def row(id: str, status: str = "answered", *, config: str = "c", **usage: Any) -> Row:
    value: Any = {
        "id": id, "question": "q", "answer": "a", "status": status, "error": None, "sources": [],
        "usage": usage, "models": {}, "seconds": 30.0, "config": config, "attempt": 0,
    }  # fmt: skip
    return value


def by_plan(assistant: str, *, free: bool = False, **context: Any) -> QuestionEstimate:
    configuration = batch_configuration(assistant, context)
    return estimated(assistant, configuration, [], DAY, free=free)


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_every_assistant_has_an_estimate_within_the_limits_of_its_runs(assistant: str) -> None:
    one, limits = by_plan(assistant), batch_configuration(assistant, {})
    for low, high in (one.searches, one.model_calls, one.input_tokens, one.output_tokens):
        assert 0 < low <= high
    assert one.searches[1] <= limits.max_searches
    assert one.model_calls[1] <= limits.max_model_calls
    assert one.seconds[1] <= limits.max_run_seconds
    assert one.cost_usd is not None
    assert 0 < one.cost_usd[0] < one.cost_usd[1]


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_sample_services_cost_nothing(assistant: str) -> None:
    assert by_plan(assistant, free=True).cost_usd == (0.0, 0.0)


def test_a_model_without_a_price_makes_no_cost() -> None:
    model = "openai:of-our-own"
    roles = ("answer_model", "research_model", "reflection_model", "query_generator_model")
    assert by_plan("agent", **dict.fromkeys(roles, model)).cost_usd is None


def test_more_queries_and_rounds_cost_more() -> None:
    few = by_plan("agent", number_of_initial_queries=1, max_research_loops=1)
    many = by_plan("agent", number_of_initial_queries=5, max_research_loops=4)
    assert few.cost_usd
    assert many.cost_usd
    assert many.cost_usd[1] > 2 * few.cost_usd[1]
    assert many.searches[1] > few.searches[1]


def test_rows_of_the_batch_itself_decide_once_there_are_five() -> None:
    rows = [row(str(n), searches=4, model_calls=6, input_tokens=100 * n, output_tokens=10,
                cost_usd=0.02) for n in range(5)]  # fmt: skip
    failed = [row("failed", "failed", searches=900)]
    configuration = batch_configuration("agent", {})
    assert estimated("agent", configuration, rows[:4] + failed, DAY, free=False).rows == 0
    one = estimated("agent", configuration, rows + failed, DAY, free=False)
    assert one.rows == 5
    assert one.input_tokens == (200, 200)
    assert one.searches == (4, 4)
    assert one.cost_usd == pytest.approx((0.02, 0.02))
    assert one.seconds == (30, 30)


def test_a_row_without_a_price_leaves_the_cost_open() -> None:
    rows = [row(str(n), cost_usd=None if n == 3 else 0.1) for n in range(6)]
    assert (
        estimated("agent", batch_configuration("agent", {}), rows, DAY, free=False).cost_usd is None
    )


def test_hours_are_the_questions_own_or_the_pace_of_model_calls() -> None:
    one = QuestionEstimate((1, 1), (10, 20), (1, 1), (1, 1), None, seconds=(36, 72))
    assert hours(one, 1000, at_once=10, calls_a_minute=0) == (1.0, 2.0)
    paced = hours(one, 1000, at_once=10, calls_a_minute=60)
    assert paced == pytest.approx((10_000 / 3600, 20_000 / 3600))
    assert hours(one, 1, at_once=10, calls_a_minute=0) == (0.01, 0.02)


def test_what_is_left_is_what_a_start_would_ask(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [row("1"), row("2", "failed"), row("3", "paused"), row("1", config="other")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut')
    rows = read_rows(path, "c")
    questions = [Question(str(n), "q", n, needs_file=n == 5) for n in range(1, 6)]
    assert [q.id for q in left_of(questions, rows, retry_failed=False)] == ["3", "4"]
    assert [q.id for q in left_of(questions, rows, retry_failed=True)] == ["2", "3", "4"]
    assert read_rows(tmp_path / "none.jsonl", "c") == {}


def test_the_command_prints_it_asks_nothing_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMINI_API_KEY", "no-key-at-all-0123456789")
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "when?"}\n' * 1)
    assert main(["batch", "q.jsonl", "-o", "a.jsonl", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "questions left" in printed
    assert "$" in printed
    assert sorted(p.name for p in tmp_path.iterdir()) == ["q.jsonl"]


def test_the_table_has_one_figure_where_both_ends_are_the_same() -> None:
    one = QuestionEstimate((2, 2), (3, 6), (1, 1), (1, 1), (0.5, 0.5), seconds=(36, 36), rows=9)
    columns = [list(column.cells) for column in estimate_table(one, 100, (1.0, 1.0)).columns]
    shown = dict(zip(*columns, strict=True))
    assert shown["searches"] == "200"
    assert shown["model calls"] == "300 to 600"
    assert shown["cost, list prices"] == "$50.00"
    assert shown["by"] == "mean of 9 rows"

"""Questions in traditional characters are read by the rules as in simplified ones."""

from typing import Any

import pytest

from agent.evidence.intent import map_task_by_rules, needs_origin, needs_place
from tests.support.rows import rows

ROWS = rows("traditional_questions")


def lacks(question: str) -> str | None:
    """What the person has to say first."""
    if needs_place(question):
        return "place"
    return "origin" if needs_origin(question) else None


@pytest.mark.parametrize("row", ROWS, ids=[row["from"] for row in ROWS])
def test_a_question_in_traditional_characters_is_read_like_its_twin(row: dict[str, Any]) -> None:
    task = map_task_by_rules(row["question"])
    assert task == map_task_by_rules(row["twin"])
    assert lacks(row["question"]) == lacks(row["twin"]) == row["needs"]
    if row["task"] is not None:
        assert task is not None
        assert {**task, **row["task"]} == task

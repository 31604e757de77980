"""Days as they were asked for in conversations: each row plans one and changes it, turn by turn."""

from typing import Any

import pytest

from agent.evidence.types import Place
from agent.texts import say
from tests.support.rows import rows
from tests.unit.planned_days import Days, spot, stops, told


@pytest.mark.parametrize("row", rows("planned_days"), ids=lambda row: row["note"])
def test_a_day_is_as_it_was_asked_for_and_what_is_not_is_told(row: dict[str, Any]) -> None:
    known = {name: _place(at, name, fields) for at, (name, fields) in enumerate(_fields(row), 1)}
    days = Days(row["language"])
    days.on_map = [known[name] for name in row.get("on_map", [])]
    own = say("outing.own_choice", row["language"])
    for turn in row["turns"]:
        found = [known[name] for name in turn.get("found", [])]
        day = days.ask(
            turn["words"],
            found,
            kinds=turn.get("kinds", []),
            chosen=turn.get("chosen", []),
            **turn["reply"],
        )
        begins = {stop["name"]: stop["begins"] for stop in day["stops"]}
        text = told(day, row["language"])
        assert [name for name in stops(day) if name != own] == turn["stops"], text
        assert {**begins, **turn.get("begins", {})} == begins
        assert turn.get("link", day["url"]) == day["url"]
        for key, values in turn.get("told", []):
            assert say(f"outing.{key}", row["language"], **values) in text
        assert not [words for words in turn.get("shown", []) if words not in text], text
        assert not [words for words in turn.get("not_told", []) if words in text]


def _fields(row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(row["places"].items())


def _place(at: int, name: str, fields: dict[str, Any]) -> Place:
    """A place by its kind and what else a row tells of it; `at` is where it lies on the street."""
    return spot(fields.pop("at", at), name, fields.pop("kind"), **fields)

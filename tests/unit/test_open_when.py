"""When somebody wants to be somewhere, in the words that they said it with."""

from typing import get_args

import pytest

from agent.evidence.constraints import check, valid_constraints
from agent.evidence.types import Place
from agent.texts import Language
from tests.unit.test_evidence_mentions import place


@pytest.mark.parametrize("language", get_args(Language))
def test_who_asks_for_a_time_before_nine_reads_nine_and_no_other_clock(language: Language) -> None:
    """A café was "open 08:30": the model's own time for "before 9"."""
    cafe = Place(**{**place("甲"), "open_time": "周一至周日 07:30-22:00"})
    [verdict] = check(cafe, {"open_at": "<09:00"}, language)
    assert verdict["verdict"] == "satisfied"
    assert "09:00" in verdict["text"]
    assert not {"<", "08:59"} & {*verdict["text"].split(), verdict["text"][:1]}
    [at_nine] = check(cafe, {"open_at": "09:00"}, language)
    assert at_nine["text"] != verdict["text"]


def test_days_in_a_row_are_told_by_their_ends() -> None:
    cafe = Place(**{**place("甲"), "open_time": "周一至周日 07:30-22:00"})
    texts = [
        verdict["text"]
        for days in ([1, 2, 3, 4, 5], [6], [*range(1, 8)])
        for verdict in check(cafe, {"open_at": "<09:00", "open_on": days}, "en")
    ]
    assert texts == [
        "open Mon–Fri before 09:00", "open Sat before 09:00", "open daily before 09:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "kept"),
    [("<09:00", "<09:00"), ("< 9:00", "<09:00"), ("09:00", "09:00"), ("<soon", ""), ("<", "")],
)
def test_a_time_before_which_it_is_to_be_is_kept_as_such(written: str, kept: str) -> None:
    assert valid_constraints({"open_at": written}).get("open_at", "") == kept


@pytest.mark.parametrize(
    ("hours", "verdict", "told"),
    [
        ("周一至周日 10:00-23:30", "satisfied", "until 23:00"),
        ("周一至周日 10:00-22:30", "violated", "before 23:00"),
        ("周一至周日 21:00-23:30", "violated", "20:00"),
    ],
)
def test_a_time_of_one_search_leaves_till_when_the_question_wants_to_stay(
    hours: str, verdict: str, told: str
) -> None:
    """A search's own hour took the place of "open until eleven": no card told it."""
    bar = Place(**{**place("甲"), "open_time": hours, "demands": {"open_at": "20:00"}})
    [own] = check(bar, {"open_until": "23:00"}, "en")
    assert own["verdict"] == verdict
    assert told in own["text"]

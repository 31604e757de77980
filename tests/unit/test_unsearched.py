"""What may be answered without a search, by signs that every language has."""

from typing import Any

import pytest

from agent.evidence.unsearched import (
    asks,
    courtesy_of,
    may_be_courtesy,
    may_be_sum,
    needs_word,
    tells_no_fact,
)
from tests.support.rows import by_examples, rows

ROWS = rows("unsearched")


@pytest.mark.parametrize("row", ROWS, ids=[row["question"][:20] for row in ROWS])
def test_thanks_and_greetings_are_known_and_facts_are_none(row: dict[str, Any]) -> None:
    assert tells_no_fact(row["question"], row["reply"]) is row["courtesy"]


@pytest.mark.parametrize("row", ROWS, ids=[row["question"][:20] for row in ROWS])
def test_a_reader_is_told_where_nothing_was_looked_up_for_a_fact(row: dict[str, Any]) -> None:
    assert needs_word(row["question"], row["reply"]) is row["told"]


def test_a_long_reply_and_an_empty_one_are_no_courtesy() -> None:
    assert not tells_no_fact("Thanks!", "")
    assert not tells_no_fact("Thanks!", "Gladly. " * 40)


@pytest.mark.parametrize("text", ["why?", "为什么？", "لماذا؟", "ինչու՞"])
def test_a_question_mark_of_any_script_asks(text: str) -> None:
    assert asks(text)
    assert not may_be_courtesy(text)


def test_a_sum_has_two_numbers_and_dates_are_none() -> None:
    assert may_be_sum("17% of 2,340 yuan?")
    assert not may_be_sum("How many people live in Beijing?")
    assert not may_be_sum("What happened on 4 May 1919 and on 1 October 1949?")


@by_examples
def test_of_a_reply_to_thanks_what_tells_no_figure_is_kept(
    question: str, reply: str, kept: str
) -> None:
    assert courtesy_of(question, reply) == kept

"""GAIA's rule, its interval and its table per level."""

import random
from typing import Any

import pytest

from agent.batch.questions import Question
from agent.batch.scoring import Tally, interval, is_correct, summary, wrong
from tests.support.rows import by_examples
from tests.unit.batch_samples import row


@by_examples
def test_a_right_answer_in_another_writing_is_correct(answer: str, expected: str) -> None:
    assert is_correct(answer, expected, "answered")


@by_examples
def test_a_wrong_answer_is_not(answer: str, expected: str) -> None:
    assert not is_correct(answer, expected, "answered")


@pytest.mark.parametrize("status", ["failed", "no_answer", "skipped", "paused"])
def test_a_right_text_counts_only_as_an_answer(status: Any) -> None:
    assert not is_correct("17", "17", status)


def test_where_there_is_no_answer_only_an_honest_none_is_correct() -> None:
    assert is_correct("", "", "no_answer")
    assert is_correct("none was found", " ", "no_answer")
    assert not is_correct("", "", "answered")
    assert not is_correct("", "", "failed")


def test_case_space_and_punctuation_never_decide() -> None:
    chance = random.Random(8)
    words = ["Paris", "red panda", "熊猫", "Ångström", "x-ray", "No 7b"]
    for _ in range(300):
        expected = " ".join(chance.choices(words, k=chance.randint(1, 4)))
        noisy = "".join(
            f"{chance.choice(['', ' ', '.', '“', '!'])}{chance.choice([sign, sign.upper()])}"
            for sign in expected
        )
        assert is_correct(noisy, expected, "answered")
        assert not is_correct(f"{noisy}x", expected, "answered")


def test_a_number_is_correct_in_every_writing_and_its_neighbour_is_not() -> None:
    chance = random.Random(9)
    for _ in range(300):
        cents = chance.randint(0, 10**9)
        for text in (f"{cents / 100:.2f}", f"{cents / 100:,.2f}", f"$ {cents / 100:.2f}"):
            for expected in (f"{cents / 100:,.2f}", f"{cents / 100:.2f}"):
                assert is_correct(text, expected, "answered")
                assert not is_correct(f"{(cents + 1) / 100:.2f}", expected, "answered")


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [(50, 100, 0.4038, 0.5962), (8, 10, 0.4902, 0.9433), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1)],
)
def test_wilsons_interval(correct: int, total: int, low: float, high: float) -> None:
    assert interval(correct, total) == pytest.approx((low, high), abs=5e-5)


def test_without_a_trial_anything_is_possible() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert Tally(0, 0).accuracy == 0.0


def test_the_interval_holds_the_share_and_narrows_with_more_trials() -> None:
    for total in (1, 3, 10, 1000):
        for correct in range(0, total + 1, max(1, total // 7)):
            low, high = interval(correct, total)
            assert 0 <= low <= correct / total <= high <= 1
            wider = interval(correct * 10, total * 10)
            assert wider[1] - wider[0] < high - low


QUESTIONS = [
    Question("1", "one", 1, expected="17", level="2"),
    Question("2", "two", 2, expected="Paris", level="2"),
    Question("3", "three", 3, expected="x", level="10"),
    Question("4", "four", 4, expected="", level="1"),
    Question("5", "five", 5, expected="", level="1"),
    Question("6", "six", 6, expected="x"),
    Question("7", "seven", 7, expected="x", level="3", needs_file=True),
    Question("8", "eight", 8, expected="x", level="3"),
    Question("9", "nine", 9, expected="x", level="3"),
    Question("10", "ten", 10, level="3"),
]
ROWS = [
    row("1", answer="", status="failed"),
    row("1", answer="17"),
    row("2", answer="Rome"),
    row("3", answer="", status="failed"),
    row("4", answer="", status="no_answer"),
    row("5", answer="something"),
    row("6", answer="x"),
    row("7", answer="", status="skipped"),
    row("8", answer="", status="paused"),
    row("10", answer="unknown"),
    row("other", answer="x"),
]


def test_the_summary_counts_each_question_once_by_its_last_row() -> None:
    found = summary(ROWS, QUESTIONS)
    assert found.overall == Tally(3, 6)
    assert found.answered == Tally(2, 4)
    assert found.unanswerable == Tally(1, 2)
    assert found.not_scored == 3
    assert found.levels == {"1": Tally(1, 2), "2": Tally(1, 2), "10": Tally(0, 1), "-": Tally(1, 1)}
    assert list(found.levels) == ["1", "2", "10", "-"]


def test_questions_without_levels_have_no_table() -> None:
    assert summary([row("6", answer="x")], QUESTIONS).levels == {}
    assert summary([], []).overall == Tally(0, 0)


def test_wrong_answers_are_listed_with_what_was_expected() -> None:
    assert [one["id"] for one in wrong(ROWS, QUESTIONS)] == ["2", "3", "5"]
    assert wrong(ROWS, QUESTIONS)[0] == {
        "id": "2",
        "question": "two",
        "expected": "Paris",
        "answer": "Rome",
        "status": "answered",
    }


def test_questions_may_come_from_a_generator() -> None:
    assert summary(iter(ROWS), iter(QUESTIONS)).overall == Tally(3, 6)
    assert len(wrong(iter(ROWS), iter(QUESTIONS))) == 3

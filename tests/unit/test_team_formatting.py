"""The rules that put a team's answer into its form."""

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.assistants.team_answer.answer_form import (
    as_written,
    formatted,
    presentable,
    same_answer,
    shows_capitals,
    unmet,
)
from agent.assistants.team_answer.format_answer import is_extract
from agent.assistants.team_answer.verified import refutation
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.statements import statements
from agent.evidence.notation import LINKED
from tests.support.rows import by_examples


@by_examples
def test_a_bare_number_loses_its_groups_and_an_integral_one_its_decimals(
    answer: str, expected: str
) -> None:
    assert formatted(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "3.75", "1949-10-01", "3:2", "12:30:05", "1.2.3", "v3.11.4", "007", "1/2", "50%", "1e6",
        "about 1,234 km", "$1,234.50", "2026年11月21日", "39.9042° n", "a-b_c", "《红楼梦》",
        "1949–1976", "10:00-18:30", "gb/t 7714-2015",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_number_or_a_list_stays_whole(answer: str) -> None:
    assert formatted(answer) == answer


@by_examples
def test_separators_are_ascii_with_one_space_but_never_inside_digit_groups(
    answer: str, expected: str
) -> None:
    assert formatted(answer) == expected


@by_examples
def test_only_quotes_around_the_whole_answer_go(answer: str, expected: str) -> None:
    assert formatted(answer) == expected


@by_examples
def test_capitals_are_kept_where_the_requirement_shows_some(requirement: str) -> None:
    assert shows_capitals(requirement)
    assert formatted("Tim Cook", requirement) == "Tim Cook"


@pytest.mark.parametrize(
    "requirement", ["", "a year", "An integer", "Two decimals. Digits only.", "一个人名"]
)
def test_a_capital_that_only_begins_a_sentence_is_no_example(requirement: str) -> None:
    assert not shows_capitals(requirement)
    assert formatted("Tim Cook", requirement) == "tim cook"


def test_digit_groups_and_decimals_are_kept_where_the_requirement_shows_them() -> None:
    assert formatted("1,234", "带千分位，如 5,678") == "1,234"
    assert formatted("3.00", "保留两位小数") == "3.00"
    assert formatted("3.00", "like 2.5") == "3.00"
    assert formatted("3.00", "an integer") == "3"


def test_people_read_the_answer_with_its_capitals() -> None:
    assert presentable("“Tim Cook，Jony Ive”") == "Tim Cook, Jony Ive"


@by_examples
def test_people_read_separators_and_capitals_that_a_comparison_leaves_out(
    answer: str, requirement: str, read: str, compared: str
) -> None:
    assert (presentable(answer, requirement), formatted(answer, requirement)) == (read, compared)


@pytest.mark.parametrize(
    ("answer", "text", "written"),
    [
        ("22503 km²", "The difference is 22,503 km².", "22,503 km²"),
        ("2503", "The difference is 22,503 km².", "2503"),
        ("1987", "It opened in 1987 for 1,987,000 dollars.", "1987"),
        ("22503", "22503 of 1,200", "22503"),
    ],
)
def test_an_answer_has_the_separators_that_its_explanation_has(
    answer: str, text: str, written: str
) -> None:
    assert as_written(answer, text) == written


def test_applying_the_rules_again_changes_nothing() -> None:
    letters = "0123456789,，;；. .-\"'“”「」aBÀÉİ北京:/\t\n\u0301\u212a"
    chance = random.Random(4)
    for _ in range(2_000):
        text = "".join(chance.choice(letters) for _ in range(chance.randint(0, 14)))
        for requirement in ("", "形如：Alibaba", "如 1,234", "如 0.25"):
            once = formatted(text, requirement)
            assert formatted(once, requirement) == once, (text, requirement)


def test_digits_and_words_survive_the_rules() -> None:
    chance = random.Random(5)
    for _ in range(2_000):
        text = "".join(chance.choice("0123456789,.，a北 ") for _ in range(chance.randint(1, 14)))
        kept = [letter for letter in text if letter in "123456789a北"]
        assert [letter for letter in formatted(text) if letter in "123456789a北"] == kept, text


@pytest.mark.parametrize(
    ("answer", "raw", "faithful"),
    [
        ("1987年", "通车年份是1987年", True),
        ("1987-09-01", "1987年9月1日", True),
        ("1986年", "通车年份是1987年", False),
        ("12", "1234", False),
        ("", "1987", False),
        ("Tim Cook", "The CEO is Tim Cook.", True),
        ("Steve Jobs", "The CEO is Tim Cook.", False),
        ("x" * 100, "x", False),
    ],
)
def test_another_form_is_kept_and_another_answer_is_not(
    answer: str, raw: str, faithful: bool
) -> None:
    assert is_extract(answer, raw) is faithful


@by_examples
def test_numbers_and_their_units_are_brought_into_one_form(
    answer: str, requirement: str, form: str
) -> None:
    assert presentable(answer, requirement) == form


@pytest.mark.parametrize(
    ("answer", "requirement", "missed"),
    [
        ("2023-10-02", "YYYY-MM-DD", False),
        ("2 October 2023", "YYYY-MM-DD", True),
        ("1987年", "", False),
        ("It was a very long sentence that says much more than was asked of it", "", True),
    ],
)
def test_rules_see_where_a_form_is_not_met(answer: str, requirement: str, missed: bool) -> None:
    assert unmet(answer, requirement) is missed


@by_examples
def test_two_answers_are_the_same_by_their_figures_or_words(
    one: str, other: str, same: bool
) -> None:
    assert same_answer(one, other) is same


def test_decimals_are_rounded_however_long_the_number_is() -> None:
    whole = "1234567890" * 4
    assert formatted(f"{whole}.125", "two decimals") == f"{whole}.13"
    assert formatted("0.000000001", "9 decimals") == "0.000000001"


@by_examples
def test_a_denial_is_refuted_by_the_statement_that_it_rests_on_alone(
    answer: str, text: str, fails: int, outcome: dict[str, Any], refuted: bool
) -> None:
    stated = statements(text, LINKED)
    outcomes = [Outcome("supported")] * len(stated)
    outcomes[fails] = Outcome(**outcome)
    claims = cast(Any, SimpleNamespace(statements=stated, outcomes=outcomes))
    assert bool(refutation(answer, (), claims, "zh", denies=True)) is refuted


@pytest.mark.parametrize(
    ("answer", "unproved", "goes_back"),
    [("1,520 m", "1,520 m", True), ("1,520 m", "2019", False), ("Bridge", "2019", False)],
)
def test_an_answer_whose_figure_stands_nowhere_goes_back_but_is_not_called_refuted(
    answer: str, unproved: str, goes_back: bool
) -> None:
    stated = statements("The Bridge of 2019 is 1,520 m long[1](https://a.example).", LINKED)
    outcomes = [Outcome("unchecked", unproved=(unproved,))]
    claims = cast(Any, SimpleNamespace(statements=stated, outcomes=outcomes))
    assert bool(refutation(answer, (), claims, "en", unproved=True)) is goes_back
    assert refutation(answer, (), claims, "en") == ""

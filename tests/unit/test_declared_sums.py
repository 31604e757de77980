"""Which sums a writer declares, and which of them hold."""

import pytest

from agent.evidence.declared_sums import declared_sums, unclosed
from agent.evidence.number_forms import NumberForm
from tests.support.rows import by_examples

GERMAN = NumberForm(".", ",")


@by_examples
def test_a_declared_sum_is_read_however_it_is_written(text: str, line: str, told: str) -> None:
    [one] = declared_sums(f"It is {text} in all.")
    assert (one.line, one.told, one.is_right) == (line, told, True)


@pytest.mark.parametrize(
    "text",
    ["[=]", "[=60–90 €]", "[=2 × 40]", "[a = 2]", "[=rooms: 2 × 40 = 80 €", "[=2 ×\n40 = 80]",
     "[=2 × [a] 40 = 80]"],
)  # fmt: skip
def test_a_total_s_sign_and_an_open_one_declare_nothing(text: str) -> None:
    assert [*declared_sums(text)] == []


@pytest.mark.parametrize(
    "text", ["[=rooms: 2 × 40 = 90 €]", "[=rooms: many = 80 €]", "[=2 × 40 = 80 € of 100 €]"]
)
def test_a_formula_that_does_not_give_its_value_is_not_right(text: str) -> None:
    assert [one.is_right for one in declared_sums(text)] == [False]


def test_what_its_writer_cites_for_its_numbers_is_told_apart_from_the_line() -> None:
    text = "[=all: 20.1 [1](https://a.example/x) × 600 [^w0-2] = 12,060 € [2]]"
    [one] = declared_sums(text)
    assert one.line == "all: 20.1 × 600 = 12,060 €"
    assert one.cited == ["[1](https://a.example/x)", "[^w0-2]", "[2]"]
    assert one.end == len(text)


def test_numbers_that_are_neither_known_nor_called_assumed_are_named() -> None:
    [one] = declared_sums("[=cost: 0.25 × ~600 × 36 = 5,400]")
    assert [str(term) for term in one.unknown(lambda term: term == 36)] == ["0.25"]


def test_numbers_of_the_reader_s_form_are_read() -> None:
    [one] = declared_sums("[=Strom: 2.000 × 0,372 = 744 €]", GERMAN)
    assert one.is_right


def test_a_sign_that_nothing_closes_is_taken_away() -> None:
    text = "It is [=rooms: 2 × 40 = 80 €\nand [=2 × 3 = 6], [=2 × ["
    assert unclosed(text) == [(6, 8, ""), (text.rindex("[="), text.rindex("[=") + 2, "")]


def test_a_chinese_unit_stands_without_a_blank_and_a_dollar_s_sign_before() -> None:
    text = "[=多付: 2 × 4.45 = 8.9 万元] [=占比: 89 ÷ 125 × 100 = 71 %] [=x: 2 × 4 = 8 €]"
    text += " [=y: 2 × 4 = 8 $]"
    assert [one.told for one in declared_sums(text)] == ["8.9万元", "71%", "8 €", "$8"]

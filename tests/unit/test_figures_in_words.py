"""Figures mean the same whatever way they are said; a text of any kind is read in linear time."""

import json
from itertools import pairwise

import pytest
from evals.figures.__main__ import load, stands

from agent.evidence.figures import figures
from agent.evidence.numerals import chinese_number, english_number
from tests.support.rows import by_examples


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['sentence']} | {row['source']}") for row in load()]
)
def test_a_figure_is_the_source_s_exactly_where_a_person_says_so(row: dict[str, object]) -> None:
    assert stands(str(row["sentence"]), str(row["source"])) is row["same"], json.dumps(row)


@by_examples
def test_numerals_that_are_part_of_a_name_or_a_word_are_no_figures(text: str) -> None:
    assert [figure for figure in figures(text) if figure.telling] == []


@by_examples
def test_a_figure_says_where_it_stands_in_the_text_as_it_was_written(text: str) -> None:
    for figure in figures(text):
        assert text[figure.start : figure.end] == figure.text
        assert figure.text.strip() == figure.text


@by_examples
def test_a_chinese_numeral_has_its_value(written: str, value: int) -> None:
    assert chinese_number(written) == value


def test_words_that_are_no_numeral_have_no_value() -> None:
    assert chinese_number("三三百") is None
    assert english_number("nineteen eighty") is None
    assert english_number("forty cats") is None


@by_examples
def test_as_many_figures_are_read_of_a_text_as_it_is_long(unit: str) -> None:
    """Each character belongs to at most one figure, so the work grows as the text does."""
    text = unit * 2000
    spans = [(figure.start, figure.end) for figure in figures(text)]
    assert spans == sorted(spans)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))

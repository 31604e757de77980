"""Figures are found in a source whatever way they are written."""

from decimal import Decimal

import pytest

from agent.evidence.figures import Figure, figures, same
from tests.support.rows import by_examples


def telling_figures(text: str) -> list[Figure]:
    return [figure for figure in figures(text) if figure.telling]


def missing_in(sentence: str, texts: list[str]) -> list[str]:
    known = [figure for text in texts for figure in figures(text)]
    return [f.text for f in telling_figures(sentence) if not any(same(f, one) for one in known)]


@by_examples
def test_a_figure_written_differently_is_found(sentence: str, source: str) -> None:
    assert missing_in(sentence, ["something else 77", source]) == []


@by_examples
def test_a_figure_that_no_source_has_is_told(
    sentence: str, source: str, missing: list[str]
) -> None:
    assert missing_in(sentence, [source]) == missing


@by_examples
def test_counts_names_links_and_code_are_no_figures(sentence: str) -> None:
    assert telling_figures(sentence) == []


def test_one_digit_behind_a_comma_is_its_tenth() -> None:
    found = [figures(text)[0].value for text in ("★4,5, 150 Yuan", "Bewertung 4,5", "рейтинг 4,5")]
    assert found == [Decimal("4.5")] * 3
    assert [figure.value for figure in figures("rooms 4,5,6")] == [4, 5, 6]


@pytest.mark.parametrize("text", ["2.8", "2,8", "| 2,8 |", "nach 2,8 Jahren", "2,0", "3/4"])
def test_a_part_of_one_states_a_fact_whatever_sign_it_is_written_with(text: str) -> None:
    assert [figure.telling for figure in figures(text)] == [True]


@by_examples
def test_a_time_with_a_point_is_one_where_a_word_or_a_range_of_such_says_so(
    text: str, clocks: list[int | None]
) -> None:
    assert [figure.clock for figure in figures(text)] == clocks

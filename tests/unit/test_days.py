"""Days that a question names in words or figures."""

import pytest

from agent.evidence.days import date_beside, days_named, valid_day, weekdays_in
from agent.evidence.figures import figures
from tests.support.rows import by_examples


@by_examples
def test_days_of_a_question_in_words_and_figures_of_any_form(
    question: str, days: list[str]
) -> None:
    """30 November 2026 is a Monday."""
    assert days_named(question, "2026-11-30") == days


@by_examples
def test_the_date_of_a_day_that_a_model_read_gives_way_to_the_weekday_beside_it(
    written: str, meant: str
) -> None:
    """A model wrote Monday's date for Saturday."""
    assert valid_day(written) == meant


@pytest.mark.parametrize("value", ["Saturday", "2026-13-01", "28.11.", 20261128, None, ""])
def test_what_is_no_date_is_no_day(value: object) -> None:
    assert valid_day(value) == ""


@by_examples
def test_the_weekday_beside_a_date_is_known_in_each_language_whose_dates_are_read(
    text: str, number: int | None
) -> None:
    dates = [figure for figure in figures(text) if figure.date]
    beside = [at for begin, end, at in weekdays_in(text) if date_beside(text, begin, end, dates)]
    assert beside == [number] * (number is not None)

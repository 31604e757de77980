"""Days that a question names in words or figures."""

import pytest

from agent.evidence.days import date_beside, days_named, valid_day, weekdays_in
from agent.evidence.figures import figures


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Saturday 12 and Sunday 13 December 2026", ["2026-12-12", "2026-12-13"]),
        ("12. Dezember 2026", ["2026-12-12"]),
        ("le 12 décembre", ["2026-12-12"]),
        ("2026年12月12日和13日", ["2026-12-12", "2026-12-13"]),
        ("12月12日周六", ["2026-12-12"]),
        ("1月3日的天气", ["2027-01-03"]),
        ("28号去", ["2026-12-28"]),
        ("30号去", ["2026-11-30"]),
        ("周三或者12月5日", ["2026-12-02", "2026-12-05"]),
        ("Regnet es am Samstag in Bonn?", ["2026-12-05"]),
        ("Sábado ou domingo?", ["2026-12-05", "2026-12-06"]),
    ],
)
def test_days_of_a_question_in_words_and_figures_of_any_form(
    question: str, days: list[str]
) -> None:
    """30 November 2026 is a Monday."""
    assert days_named(question, "2026-11-30") == days


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-12-05", "2026-12-05"),
        ("Saturday 2026-12-05", "2026-12-05"),
        ("Saturday, 2026-12-07", "2026-12-05"),
        ("2026-12-04 (Saturday)", "2026-12-05"),
        ("周六 2026-12-07", "2026-12-05"),
        ("sábado 2026-12-05", "2026-12-05"),
        ("Sunday 2026-12-05", "2026-12-06"),
    ],
)
def test_the_date_of_a_day_that_a_model_read_gives_way_to_the_weekday_beside_it(
    written: str, meant: str
) -> None:
    """A model wrote Monday's date for Saturday."""
    assert valid_day(written) == meant


@pytest.mark.parametrize("value", ["Saturday", "2026-13-01", "28.11.", 20261128, None, ""])
def test_what_is_no_date_is_no_day(value: object) -> None:
    assert valid_day(value) == ""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Dienstag, dem 1. Dezember 2025", 2),
        ("am Dienstag, den 1. Dezember 2025", 2),
        ("mardi 1er décembre 2025", 2),
        ("martes 1 de diciembre de 2025", 2),
        ("sabato 6 dicembre 2025", 6),
        ("terça-feira, 1 de dezembro de 2025", 2),
        ("dinsdag 1 december 2025", 2),
        ("вторник, 1 декабря 2025", 2),
        ("в среду, 3 декабря 2025", None),
        ("2025年12月1日火曜日", 2),
        ("2025年12月1日（星期二）", 2),
        ("Tuesday the 1st of December 2025", 2),
        ("Tuesday or 1 December 2025", None),
        ("Montagabend, 1. Dezember 2025", None),
    ],
)
def test_the_weekday_beside_a_date_is_known_in_each_language_whose_dates_are_read(
    text: str, number: int | None
) -> None:
    dates = [figure for figure in figures(text) if figure.date]
    beside = [at for begin, end, at in weekdays_in(text) if date_beside(text, begin, end, dates)]
    assert beside == [number] * (number is not None)

"""Days that a question names in words or figures."""

import pytest

from agent.evidence.days import date_beside, day_meant, days_named, weekdays_in
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
    ("question", "read", "meant"),
    [
        ("what about Saturday?", "2026-12-07", "2026-12-05"),
        ("那周六呢", "2025-12-06", "2026-12-05"),
        ("12 December instead", "2026-12-15", "2026-12-12"),
        ("not on Saturday, the day after", "2026-12-06", "2026-12-06"),
        ("this weekend", "2026-12-08", "2026-12-05"),
        ("this weekend", "2026-12-06", "2026-12-06"),
        ("from Friday to Sunday, our second day", "2026-12-05", "2026-12-05"),
        ("the Saturday after next", "2026-12-19", "2026-12-19"),
        ("I am here now. A day for Christmas Eve?", "2026-12-24", "2026-12-24"),
        ("a day in Turku", "2026-12-02", "2026-12-02"),
        ("what about Saturday?", "", ""),
    ],
)
def test_the_day_that_a_model_read_is_held_against_the_days_that_are_named(
    question: str, read: str, meant: str
) -> None:
    assert day_meant(read, question, "2026-11-30") == meant


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

"""Days that a question names in words or figures."""

import pytest

from agent.evidence.days import days_named


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
    ],
)
def test_days_of_a_question_in_words_and_figures_of_any_form(
    question: str, days: list[str]
) -> None:
    """30 November 2026 is a Monday."""
    assert days_named(question, "2026-11-30") == days

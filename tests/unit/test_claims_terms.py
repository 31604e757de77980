"""Days and working days are counted as the calendar has them."""

import pytest

from agent.evidence.formulas import value_of


@pytest.mark.parametrize(
    ("formula", "days"),
    [
        ("workdays(2026-12-01,2026-12-15)", 10),
        ("workdays(2026-12-04,2026-12-06)", 0),
        ("workdays(2026-12-05,2026-12-07)", 1),
        ("days(2026-12-01,2026-12-15)/7", 2),
    ],
)
def test_days_and_working_days_between_two_days_are_counted(formula: str, days: int) -> None:
    assert value_of(formula) == days

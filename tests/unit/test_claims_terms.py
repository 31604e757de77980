"""The result of a shown sum, and working days, are worked out and not only believed."""

import pytest

from agent.evidence.claims.formulas import value_of
from tests.unit.test_claims_proof import evidence, judge

TERMS = evidence(
    w0_0="Site test, 6 November 2026. To be repeated within thirty days.",
    w1_0="The exhibition opens on 1 February 2027. Treatment takes six weeks.",
)


PRICES = evidence(w0_0="甲 600 元；乙 320 元；一晚 150 元；年租 1,234,500 元。")


@pytest.mark.parametrize(
    ("text", "calc", "right"),
    [
        ("乙省下 600 − 320 = 260 元。", "600-320", ("260 元", "280 元")),
        ("4 × 150 = 500 yuan, all in.", "4*150", ("500 yuan", "600 yuan")),
        ("两年：2 × 1,234,500 = 2,496,000 元", "2*1234500", ("2,496,000 元", "2,469,000 元")),
        ("600 ÷ 320 ≈ 2.9", "600/320", ("2.9", "1.9")),
    ],
)
def test_a_shown_sum_that_is_wrong_is_written_right(
    text: str, calc: str, right: tuple[str, str]
) -> None:
    _, outcome = judge(text, PRICES, v="c", p=["1.1"], calc=calc)
    assert outcome.right == text.replace(*right)


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

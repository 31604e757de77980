"""The days that texts name, as a model is told them."""

import pytest

from agent.assistants.common.days_told import days_told
from tests.support.rows import by_examples

NOW = "2026-11-29"


@by_examples
def test_each_day_is_told_with_its_weekday_and_how_far_it_is(text: str, named: str) -> None:
    assert days_told([text], NOW) == "; named: ".join(filter(None, ("2026-11-29 Sun", named)))


def test_of_many_days_the_nearest_are_told_in_their_order() -> None:
    days = [f"{day} {month} 2027" for month in ("March", "January") for day in range(1, 31)]
    told = days_told(days, NOW)
    assert told.count("(in") == 40
    assert told.index("2027-01-01") < told.index("2027-03-10")
    assert "2027-03-11" not in told


def test_of_a_list_of_days_that_are_over_the_last_ones_are_told() -> None:
    rows = [f"delivery {n}: 2026-{n % 9 + 1:02}-{n % 27 + 1:02}" for n in range(60)]
    told = days_told([*rows, "received by 2026-12-02"], NOW)
    assert told.count("past") == 10
    assert "2026-12-02 Wed" in told


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("通报日期：2024年3月10日", "2024-03-10 Sun (past, 994 days ago), "
                                    "2024-08-03 Sat (past, 848 days ago)"),
        ("2023年和2024年的通报", ""),
        ("2024年和2026年的通报", "2026-08-03 Mon (past, 118 days ago), or 2027-08-03 Tue"),
    ],
)  # fmt: skip
def test_a_far_day_is_in_the_year_that_the_documents_name(other: str, named: str) -> None:
    told = days_told(["8月3日发生了什么？", other], NOW)
    assert told == "; named: ".join(filter(None, ("2026-11-29 Sun", named)))

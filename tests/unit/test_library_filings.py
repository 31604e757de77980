"""Which company a query means, and which values of its filings are told."""

from typing import Any

import pytest

from agent.search.sec_edgar import Registrants, read_registrants, search_words
from agent.search.sec_facts import as_text, read_figures, still_reported
from tests.support.rows import by_examples

LISTED = {
    "0": {"cik_str": 1045810, "ticker": "NVDA", "title": "NVIDIA CORP"},
    "1": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."},
    "2": {"cik_str": 1318605, "ticker": "TSLA", "title": "Tesla, Inc."},
    "3": {"cik_str": 1403161, "ticker": "V", "title": "VISA INC."},
    "4": {"cik_str": 27419, "ticker": "TGT", "title": "TARGET CORP"},
    "5": {"cik_str": 1577552, "ticker": "BABA", "title": "Alibaba Group Holding Ltd"},
    "6": {"cik_str": 1577526, "ticker": "AI", "title": "C3.ai, Inc."},
    "7": {"cik_str": 1067983, "ticker": "BRK-B", "title": "BERKSHIRE HATHAWAY INC"},
    "8": {"cik_str": 1418121, "ticker": "APLE", "title": "Apple Hospitality REIT, Inc."},
    "9": {"cik_str": "12", "ticker": "BAD", "title": "Text for a number"},
    "10": None,
    "11": {"cik_str": 4904, "ticker": "AEP", "title": "AMERICAN ELECTRIC POWER CO INC /NY/"},
}


@pytest.fixture(scope="module")
def registrants() -> Registrants:
    return read_registrants(LISTED)


@by_examples
def test_a_query_means_the_company_it_names(
    registrants: Registrants, query: str, ticker: str | None
) -> None:
    found = registrants.find(query)
    assert (found.ticker if found else None) == ticker


def test_rows_of_another_shape_are_left_out(registrants: Registrants) -> None:
    assert len(registrants) == 10
    assert registrants.find("$BAD") is None


@by_examples
def test_few_telling_words_are_left_to_search_by(
    registrants: Registrants, query: str, words: list[str]
) -> None:
    assert search_words(query, registrants.find(query)) == words


def value(end: str, val: float, **changes: Any) -> dict[str, Any]:
    year = int(end[:4])
    given = {
        "start": f"{year}-01-01", "end": end, "val": val, "fy": year, "fp": "FY", "form": "10-K",
        "accn": f"0000000001-{year - 1999}-000001", "filed": f"{year + 1}-02-01",
    }  # fmt: skip
    return {**given, **changes}


def told(*values: Any, unit: str = "USD") -> list[tuple[str, str]]:
    figures = read_figures("Revenues", {"units": {unit: list(values)}}, 1)
    return [(figure["value"], figure["period"]) for figure in figures]


def test_a_value_repeated_by_the_next_years_filing_keeps_its_own_year() -> None:
    repeated = value("2024-12-31", 10, fy=2025, filed="2026-02-01", accn="0000000001-26-000001")
    assert told(value("2024-12-31", 10), repeated, value("2025-12-31", 12)) == [
        ("12", "FY2025 to 2025-12-31, 10-K"),
        ("10", "FY2024 to 2024-12-31, 10-K"),
    ]


def test_a_restated_value_is_the_one_last_filed() -> None:
    restated = value("2024-12-31", 9, fy=2025, filed="2026-02-01", accn="0000000001-26-000001")
    [(found, period)] = told(restated, value("2024-12-31", 10))
    assert (found, period) == ("9", "FY2024 to 2024-12-31, 10-K")


def test_an_earlier_year_that_only_a_later_filing_tells_is_not_given_its_year() -> None:
    before = value("2024-12-31", 8, fy=2025, filed="2026-02-01", accn="0000000001-26-000001")
    assert told(value("2025-12-31", 12), before)[1] == ("8", "year to 2024-12-31, 10-K")


def test_a_quarter_is_told_where_it_is_newer_than_the_year_and_a_half_year_is_not() -> None:
    quarter = value(
        "2025-09-30", 4, start="2025-07-01", form="10-Q", fp="Q3", accn="0000000001-25-000009"
    )
    nine_months = {**quarter, "start": "2025-01-01", "val": 11}
    assert told(value("2024-12-31", 10), nine_months, quarter)[0] == (
        "4",
        "2025Q3 to 2025-09-30, 10-Q",
    )
    assert len(told(quarter, value("2025-12-31", 12))) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"val": None}, {"val": True}, {"val": "7"}, {"end": None}, {"end": "2025"}, {"fy": None},
        {"accn": 3}, {"start": "x"}, {"form": "8-K", "start": "2025-12-01"}, {"filed": ""},
    ],
)  # fmt: skip
def test_a_value_that_lacks_something_is_no_figure(broken: dict[str, Any]) -> None:
    assert told({**value("2025-12-31", 1), **broken}) == []
    assert read_figures("Revenues", {"units": [broken]}, 1) == []


def test_what_is_counted_on_a_day_has_no_start() -> None:
    day = value("2025-12-31", 5)
    del day["start"]
    assert told(day) == [("5", "FY2025 to 2025-12-31, 10-K")]


def test_a_concept_that_the_company_gave_up_is_left_out() -> None:
    old = read_figures("Revenues", {"units": {"USD": [value("2018-12-31", 1)]}}, 1)
    new = read_figures("Sales", {"units": {"USD": [value("2025-12-31", 2)]}}, 1)
    assert [figure["name"] for figure in still_reported([old, [], new])] == ["Sales"]
    assert as_text(new) == "Sales: 2 USD (FY2025 to 2025-12-31, 10-K)"

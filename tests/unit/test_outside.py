"""JSON and numbers that somebody else wrote."""

import json

import pytest

from agent.core.calls import retry_after_seconds
from agent.core.outside import DEEPEST, finite, parse_json, parse_json_at
from agent.mcp.amap.records import number_or_none, whole_or_none


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [DEEPEST + 1, 900, 5_000, 200_000])
@pytest.mark.parametrize("form", ["{}", '{{"query": {}}}', '[1, {{"a": {}}}]'])
def test_json_nested_too_deeply_is_a_value_error(levels: int, form: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(form.format(nested(levels)))
    with pytest.raises(json.JSONDecodeError, match="nested too deeply"):
        parse_json_at(form.format(nested(levels)))


def test_json_that_never_closes_its_brackets_is_a_value_error() -> None:
    for text in ('{"query": ' + "[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(ValueError, match=r"deeply|Expecting"):
            parse_json(text)


def test_json_nested_as_deeply_as_allowed_is_read() -> None:
    assert parse_json(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    assert parse_json("3") == 3


def test_numbers_of_json_are_finite_or_none() -> None:
    assert parse_json("[NaN, Infinity, -Infinity, 1e999, -1e999, 1e-999]") == [None] * 5 + [0.0]


def test_a_whole_number_that_no_store_takes_keeps_its_digits_as_text() -> None:
    digits = "9" * 5_000
    largest, smallest = 2**63 - 1, -(2**63) + 1
    assert parse_json(f"[{digits}, -{digits}]") == [digits, f"-{digits}"]
    assert parse_json(f"[{largest}, {smallest}, {2**63}]") == [largest, smallest, str(2**63)]


@pytest.mark.parametrize(
    "value", ["", "x", "1e999", "nan", "-inf", float("nan"), float("inf"), 10**400, True, None, [1]]
)
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert finite(value) is None
    assert number_or_none(value) is None
    assert whole_or_none(value) is None


def test_a_whole_number_of_the_map_is_one_that_can_be_kept() -> None:
    assert [whole_or_none(value) for value in ("1e30", 10**12, "-12.4")] == [None, None, -12]


def test_a_number_and_its_text_are_the_same() -> None:
    assert [finite(value) for value in (3, 3.0, "3", " 3e0 ", "9" * 308)] == [3.0] * 4 + [1e308]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), (7, 7.0), ("-3", None), ("Wed, 21 Oct 2015 07:28:00 GMT", None),
     ("1e999", None), ("nan", None), (10**400, None), (True, None), ("", None), ("soon", None),
     ("Wed, 21 Oct 99999 07:28:00 GMT", None), ({}, None)],
)  # fmt: skip
def test_a_wait_is_in_seconds_or_until_a_date(value: object, seconds: float | None) -> None:
    assert retry_after_seconds(value) == seconds

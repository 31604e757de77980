"""Rows are checked in one test: all of them, each failure by its row, and nothing else changes."""

import asyncio
from typing import Any

import pytest

from tests.support.one_test import with_all_rows

seen = list[Any]()


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, pytest.param(2, id="the second"), 3, 4])
def of_rows(number: int) -> None:
    seen.append(number)
    if number == 4:
        pytest.skip("four")
    assert number % 2 == 1 or number > 2


@pytest.mark.parametrize(("a", "b"), [(1, 2), (3, 4)], ids=["low", "high"])
@pytest.mark.parametrize("c", "xy")
async def of_tables(a: int, b: int, c: str) -> None:
    seen.append((a, b, c))
    if c == "y":
        pytest.fail(f"{a}{b}")


def checked(test: Any) -> Any:
    seen.clear()
    found = with_all_rows(test)
    assert found
    return found


def test_a_row_that_fails_is_named_and_those_behind_it_are_checked_too() -> None:
    test = checked(of_rows)
    assert [mark.name for mark in test.pytestmark] == ["slow"]
    with pytest.raises(AssertionError) as failed:
        test()
    assert seen == [1, 2, 3, 4]
    assert failed.value.__notes__ == ["row: the second"]


def test_every_row_of_one_table_meets_every_row_of_another() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 4 rows") as failed:
        asyncio.run(checked(of_tables)())
    assert sorted(seen) == [(1, 2, "x"), (1, 2, "y"), (3, 4, "x"), (3, 4, "y")]
    told = [(str(error), error.__notes__) for error in failed.value.exceptions]
    assert told == [("12", ["row: 'y' · low"]), ("34", ["row: 'y' · high"])]


def test_a_test_is_skipped_where_all_rows_are() -> None:
    @pytest.mark.parametrize("n", [1, 2])
    def skipping(n: int) -> None:
        pytest.skip(str(n))

    with pytest.raises(pytest.skip.Exception):
        checked(skipping)()


def test_what_takes_a_fixture_or_has_marks_of_a_row_stays_a_test_for_each() -> None:
    def plain(n: int) -> None: ...

    def with_a_folder(n: int, tmp_path: object) -> None: ...

    rows = pytest.mark.parametrize("n", [1, 2])
    marked = pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.slow)])
    to_a_fixture = pytest.mark.parametrize("n", [1, 2], indirect=True)
    one_row = pytest.mark.parametrize("n", [1])
    tests = [rows(with_a_folder), pytest.mark.usefixtures("whole_back_off")(rows(plain))]
    for test in (
        *tests,
        *(mark(lambda n: None) for mark in (marked, to_a_fixture, one_row)),
        plain,
    ):
        assert with_all_rows(test) is None

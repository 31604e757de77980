"""Rows of a plain function are checked in one test, all of them, and each failure names its row.

Most examples take a fraction of a millisecond; a test of its own takes some ten, as every worker
collects it and what became of it is reported. A test that takes anything beside its rows, a fixture
say, still is one for each of them.
"""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

import pytest

_KEPT_APART = {"usefixtures", "hypothesis"}


class Row(NamedTuple):
    """The arguments that one row gives, and what it is called."""

    label: str
    given: Mapping[str, Any]


def with_all_rows(test: Any) -> "Callable[..., Any] | None":
    """Return the test that checks every row of this one; None where each needs one of its own."""
    marks = list(getattr(test, "pytestmark", ()))
    tables = [mark for mark in marks if mark.name == "parametrize"]
    if not tables or not inspect.isfunction(test) or hasattr(test, "__wrapped__"):
        return None
    if hasattr(test, "hypothesis") or any(mark.name in _KEPT_APART for mark in marks):
        return None
    columns = [_rows(mark) for mark in tables]
    if not all(columns):
        return None
    rows = [_joined(found) for found in itertools.product(*(c for c in columns if c))]
    if len(rows) < 2 or {*inspect.signature(test).parameters} != {*rows[0].given}:
        return None
    checked = _checking(test, rows)
    vars(checked)["pytestmark"] = [mark for mark in marks if mark.name != "parametrize"]
    return checked


def _rows(mark: pytest.Mark) -> list[Row] | None:
    """Return a table's rows; None where a row has marks of its own, or is handed to a fixture."""
    if len(mark.args) != 2 or set(mark.kwargs) - {"ids"} or not isinstance(mark.args[1], Sized):
        return None
    told, values = mark.args
    names = [n.strip() for n in told.split(",")] if isinstance(told, str) else list(told)
    alone = isinstance(told, str) and len(names) == 1
    ids = mark.kwargs.get("ids")
    named = None if ids is None or callable(ids) else list(ids)
    found = list[Row]()
    for number, value in enumerate(values):
        row, label = value, None
        if isinstance(value, type(pytest.param())):
            if value.marks:
                return None
            row, label = value.values, value.id
        elif alone:
            row = (value,)
        if named is not None:
            label = named[number]
        label = label or ", ".join(map(repr, row))[:200]
        found.append(Row(label, dict(zip(names, row, strict=True))))
    return found


def _joined(rows: tuple[Row, ...]) -> Row:
    given = {name: value for row in rows for name, value in row.given.items()}
    return Row(" · ".join(row.label for row in rows), given)


class _Failures:
    """What went wrong in which row, raised at the end."""

    def __init__(self, count: int) -> None:
        self._count, self._skipped = count, list[BaseException]()
        self._failed = list[Exception]()

    def of(self, row: Row) -> "_Failures":
        self._row = row
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, pytest.skip.Exception):
            self._skipped.append(error)
            return True
        if isinstance(error, pytest.fail.Exception):
            error = AssertionError(str(error)).with_traceback(error.__traceback__)
        if not isinstance(error, Exception):
            return False
        error.add_note(f"row: {self._row.label}")
        self._failed.append(error)
        return True

    def tell(self) -> None:
        if len(self._failed) == 1:
            raise self._failed[0]
        if self._failed:
            raise ExceptionGroup(f"{len(self._failed)} of {self._count} rows", self._failed)
        if len(self._skipped) == self._count:
            raise self._skipped[0]


def _checking(test: Callable[..., Any], rows: list[Row]) -> Callable[[], Any]:
    def each() -> Iterator[tuple[_Failures, Mapping[str, Any]]]:
        failures = _Failures(len(rows))
        for row in rows:
            yield failures.of(row), row.given
        failures.tell()

    def checked() -> None:
        for failures, given in each():
            with failures:
                test(**given)

    async def checked_async() -> None:
        for failures, given in each():
            with failures:
                await test(**given)

    whole = checked_async if inspect.iscoroutinefunction(test) else checked
    functools.update_wrapper(whole, test, updated=())
    del vars(whole)["__wrapped__"]
    return whole


def collected(collector: Any, name: str, test: Any) -> Iterator[pytest.Function]:
    """Yield the one test of a module's function, if its rows may be checked in one."""
    if name.startswith("test_") and isinstance(collector, pytest.Module):
        checked = with_all_rows(test)
        if checked:
            yield pytest.Function.from_parent(collector, name=name, callobj=checked)

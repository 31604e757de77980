"""Data of tests: rows of JSONL, each with its label or kind, and tables of TOML."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])
FOLDER = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of `name.jsonl`."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def by_examples(test: Test) -> Test:
    """Run a test with each of its examples: the rows `of` it in `examples/`, beside its module.

    A row has the test's arguments, and a `note` where there is something to say of it.
    """
    folder = "/".join(test.__module__.split(".")[1:])
    own = [row for row in rows(f"examples/{folder}") if row.pop("of") == test.__name__]
    names = [name for name in own[0] if name != "note"]
    mark = pytest.mark.parametrize(names, [[row[name] for name in names] for row in own])
    return cast(Test, mark(test))


def tables(name: str) -> dict[str, Any]:
    """Return the tables of `name.toml`."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))

"""Data of tests: rows of JSONL, each with its label or kind, and tables of TOML."""

import json
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of `name.jsonl`."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def tables(name: str) -> dict[str, Any]:
    """Return the tables of `name.toml`."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))

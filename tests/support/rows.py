"""Labelled examples of rules: rows of JSONL, each with its label and where it comes from."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of `name.jsonl`."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]

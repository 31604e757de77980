"""What ANSWERS may look like: the rows themselves, GAIA's submission, or id and answer."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from agent.batch.rows import Row

Format = Literal["rows", "gaia", "minimal"]


def rows_path(answers: Path, format: Format) -> Path:
    """The rows file: ANSWERS itself, or ANSWERS + ".rows.jsonl" beside it."""
    return answers if format == "rows" else answers.with_name(answers.name + ".rows.jsonl")


def write_answers(
    answers: Path,
    rows: Iterable[Row],
    format: Format,
    trace_of: Callable[[Row], str] | None = None,
) -> int:
    """Writes ANSWERS atomically from rows of one configuration; how many lines. Blocking.

    `rows` writes nothing (the rows file is ANSWERS). Paused rows are left out. `trace_of`
    gives GAIA's reasoning_trace.
    """
    raise NotImplementedError


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]]) -> int:
    """JSON lines, written atomically; how many. Blocking."""
    raise NotImplementedError

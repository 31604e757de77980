"""What ANSWERS may look like: the rows themselves, GAIA's submission, or id and answer."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agent.batch.disk import replace_file
from agent.batch.rows import Row
from agent.errors import AgentError

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
    if format == "rows":
        return 0
    kept = (row for row in rows if row["status"] != "paused")
    if format == "minimal":
        return write_lines(answers, ({"id": row["id"], "answer": row["answer"]} for row in kept))
    return write_lines(answers, (_gaia(row, trace_of) for row in kept))


def _gaia(row: Row, trace_of: Callable[[Row], str] | None) -> dict[str, str]:
    return {
        "task_id": row["id"],
        "model_answer": row["answer"],
        "reasoning_trace": trace_of(row) if trace_of is not None else "",
    }


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]]) -> int:
    """JSON lines, written atomically; how many. Blocking. AgentError if they cannot be."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for one in objects:
            count += 1
            yield f"{json.dumps(one, ensure_ascii=False, default=str)}\n".encode(errors="replace")

    try:
        replace_file(path, lines())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"{path} cannot be written: {reason}"
        raise AgentError(problem, code="answers_unwritable") from error
    return count

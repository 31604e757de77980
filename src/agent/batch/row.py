"""One row of the file of answers, and how it is written on a line."""

import json
from typing import Any, Literal, NotRequired, cast, get_args

from typing_extensions import TypedDict

Status = Literal["answered", "no_answer", "failed", "skipped", "paused"]


class RowSource(TypedDict):
    number: int
    title: str
    url: str


class Row(TypedDict):
    """One answered (or not answered) question; `config` says under which configuration."""

    id: str
    question: str
    answer: str
    status: Status
    error: str | None
    sources: list[RowSource]
    usage: dict[str, Any]
    """agent.evidence.types.Usage; `cost_usd` is what counts towards a file's cost."""
    models: dict[str, str]
    seconds: float
    config: str
    attempt: int
    """How many rows of this (id, config) came before, from 0."""
    earlier_cost_usd: NotRequired[float]
    """US dollars that attempts before this row had cost."""


_KINDS: dict[str, tuple[type, ...]] = {
    "question": (str,),
    "answer": (str,),
    "error": (str, type(None)),
    "sources": (list,),
    "usage": (dict,),
    "models": (dict,),
    "seconds": (float, int),
    "attempt": (int,),
    "earlier_cost_usd": (float, int),
}


def parsed(line: bytes) -> Row | None:
    """None for what is no row; a field that a foreign hand left out or broke is empty."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("status") not in get_args(Status):
        return None
    if not all(isinstance(found.get(name), str) for name in ("id", "config")):
        return None
    for name, kinds in _KINDS.items():
        if name not in found or not isinstance(found[name], kinds):
            found[name] = None if name == "error" else kinds[0]()
    if not found["earlier_cost_usd"]:
        del found["earlier_cost_usd"]
    return cast(Row, found)


def line_of(row: Row) -> bytes:
    """With its newline; half characters, which UTF-8 cannot hold, become question marks."""
    ordered = {"id": row["id"], **row}
    text = json.dumps(ordered, ensure_ascii=False, default=str)
    return f"{text}\n".encode(errors="replace")


def cost_of(row: Row) -> float:
    """Of this attempt alone, US dollars."""
    cost = row["usage"].get("cost_usd")
    return float(cost) if isinstance(cost, int | float) and cost > 0 else 0.0

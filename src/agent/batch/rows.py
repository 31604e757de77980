"""The file of answers: one JSON row a line, appended durably, by one batch at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NotRequired, Self

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
    """What attempts that `compact` removed had cost."""


@dataclass(frozen=True)
class Entry:
    """What is kept in memory of the last row of one (id, config)."""

    status: Status
    attempts: int
    """Rows so far: the number of the next attempt."""
    offset: int
    length: int


def config_key(assistant: str, context: Mapping[str, Any]) -> str:
    """A short stable hash of all that changes an answer."""
    raise NotImplementedError


class RowFile:
    """Append-only JSON lines; by (id, config) the last row wins.

    `async with await RowFile.open(path) as file:` holds the lock until the end. Raises
    InputError("ANSWERS", …) if another batch writes the file or it cannot be written.
    """

    path: Path
    broken: int
    """Lines that are not rows; they are left alone, and dropped by `compact`."""
    repaired: bool
    """A last line cut short by a crash was removed (or its newline added)."""
    cost_usd: float
    """Of every row in the file, each attempt, each configuration."""

    @classmethod
    async def open(cls, path: Path) -> Self:
        raise NotImplementedError

    def entry(self, id: str, config: str) -> Entry | None:
        raise NotImplementedError

    async def append(self, row: Row) -> None:
        """Returns when the row is on disk (flushed and synced)."""
        raise NotImplementedError

    async def rows(self, config: str | None = None) -> list[Row]:
        """The last row of each (id, config), in the file's order; read from disk."""
        raise NotImplementedError

    async def compact(self, order: Sequence[str] = ()) -> None:
        """Rewrites the file atomically: each (id, config) once, ids of `order` first."""
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

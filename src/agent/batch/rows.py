"""The file of answers: one JSON row a line, appended durably, by one batch at a time."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from agent.batch.row import Row, RowSource, Status
from agent.batch.store import Entry, Store

__all__ = ["Entry", "Row", "RowFile", "RowSource", "Status", "config_key"]

_T = TypeVar("_T")


def config_key(assistant: str, context: Mapping[str, Any]) -> str:
    """A short stable hash of all that changes an answer; the order of `context` does not."""
    told = json.dumps([assistant, context], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


class RowFile:
    """Append-only JSON lines; by (id, config) the last row wins.

    `async with await RowFile.open(path) as file:` holds the lock until the end. Only places
    in the file are kept in memory. Every access to the disk runs on one thread, in turn.
    """

    def __init__(self, store: Store, thread: ThreadPoolExecutor) -> None:
        self._store, self._thread = store, thread
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """InputError("ANSWERS", …) if another batch has it, or it is no file of rows."""
        store = Store(path)
        self = cls(store, ThreadPoolExecutor(1, thread_name_prefix="rows"))
        try:
            await self._run(store.open)
        except BaseException:
            await self.close()
            raise
        return self

    @property
    def path(self) -> Path:
        """Absolute, links followed."""
        return self._store.path

    @property
    def broken(self) -> int:
        """Lines that are no rows; they are left alone, and dropped by `compact`."""
        return self._store.index.broken

    @property
    def repaired(self) -> bool:
        """The last line had been cut short: it was removed, or got its newline."""
        return self._store.repaired

    @property
    def cost_usd(self) -> float:
        """Of all that is in the file: each attempt, each configuration."""
        return self._store.index.cost_usd

    def entry(self, id: str, config: str) -> Entry | None:
        """What the file holds about this question under this configuration."""
        return self._store.index.entries.get((id, config))

    async def append(self, row: Row) -> None:
        """Returns when the row is on disk, flushed and synced; AgentError if it cannot be."""
        await self._run(lambda: self._store.append(row))

    async def rows(self, config: str | None = None, order: Sequence[str] = ()) -> list[Row]:
        """The last row of each (id, config): ids of `order` first, then as first written."""
        return await self._run(lambda: list(self._store.kept(order, config)))

    async def compact(self, order: Sequence[str] = ()) -> None:
        """Rewrites the file atomically: each (id, config) once, ids of `order` first."""
        await self._run(lambda: self._store.compact(order))

    async def close(self) -> None:
        """Gives the lock back; may be called twice."""
        if not self._closed:
            self._closed = True
            closing = asyncio.wrap_future(self._thread.submit(self._store.close))
            self._thread.shutdown(wait=False)
            # Shielded: cancelled while it waits its turn it would never be done.
            await asyncio.shield(closing)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

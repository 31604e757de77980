"""Keep threads in an SQLite file: LangGraph's own tables and bytes."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.runs.engine import OWNER
from agent.runs.sql import (
    BUSY_SECONDS,
    SqliteFile,
    ThreadSize,
    connect_sqlite,
    failures_of,
    give_back,
)

T = TypeVar("T")
THREADS_FILE = "threads.sqlite"

_GIVING_SECONDS = 5.0
"""Runs that end together need the pages of each other: giving each back would cost them time."""
_OF_RUN = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
# From the newest on: what a row says of its run lies behind its whole state.
_LAST_OF_RUN = (
    "SELECT checkpoint_id FROM checkpoints"  # noqa: S608
    f" WHERE thread_id = ? AND checkpoint_ns = '' AND {_OF_RUN} = ?"
    " ORDER BY checkpoint_id DESC LIMIT 1"
)
_WAITS = "SELECT 1 FROM writes WHERE thread_id = ? AND checkpoint_id = ? AND channel = ?"
_TURN_ENDS = (
    "SELECT id FROM (SELECT max(checkpoint_id) AS id FROM checkpoints"  # noqa: S608
    f" WHERE thread_id = :thread AND checkpoint_ns = '' GROUP BY {_OF_RUN})"
)
_ENDS_AND_PARENTS = (
    f"{_TURN_ENDS} UNION SELECT parent_checkpoint_id FROM checkpoints WHERE thread_id = :thread"  # noqa: S608
    f" AND parent_checkpoint_id IS NOT NULL AND checkpoint_id IN ({_TURN_ENDS})"
)
_WITHOUT_PARENT = (
    "UPDATE checkpoints SET parent_checkpoint_id = NULL"
    " WHERE thread_id = :thread AND parent_checkpoint_id IS NOT NULL AND parent_checkpoint_id"
    " NOT IN (SELECT checkpoint_id FROM checkpoints WHERE thread_id = :thread)"
)
_OVERVIEW = (
    "SELECT thread_id, max(checkpoint_id) AS last, count(*), sum(length(checkpoint))"
    " FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id ORDER BY last DESC"
)
_NOT_THE_BASE = (
    " AND NOT (parent_checkpoint_id IS NULL"
    " AND json_extract(CAST(metadata AS TEXT), '$.source') = 'loop')"
)
"""What a shortened thread rests on stays, whichever run made it: nothing would be left."""


class ThreadSaver(AsyncSqliteSaver):
    """Extend AsyncSqliteSaver: undo a run, shorten a thread's history.

    What every step of a run needs goes to the file in one hop to a thread: the parent takes three
    to five under one lock, so that a busy event loop makes all runs wait for each other.
    """

    def __init__(
        self, connection: aiosqlite.Connection, file: SqliteFile, *, serde: SerializerProtocol
    ) -> None:
        super().__init__(connection, serde=serde)
        self._file = file
        self._blocking: SqliteSaver | None = None
        self._next_giving = 0.0

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a config, or the last one of its thread."""
        return await self._in_one_hop(lambda saver: saver.get_tuple(config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; its config."""
        return await self._in_one_hop(
            lambda saver: saver.put(config, checkpoint, metadata, new_versions)
        )

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what one task of a step wrote."""
        await self._in_one_hop(lambda saver: saver.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread; through the same connection, so that runs do not wait for its lock."""
        await self._in_one_hop(lambda saver: saver.delete_thread(thread_id))

    async def give_back(self) -> None:
        """Shrink the file by what was deleted."""
        await self._file.run(give_back)

    async def _in_one_hop(self, work: Callable[[SqliteSaver], T]) -> T:
        def with_saver(connection: sqlite3.Connection) -> T:
            if self._blocking is None:
                self._blocking = SqliteSaver(connection, serde=self.serde)
            return work(self._blocking)

        return await self._file.run(with_saver)

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Remove every checkpoint these runs wrote (a client's `rollback`)."""
        await self.setup()
        async with self._own_connection():
            for run_id in run_ids:
                await self._delete(f"{_OF_RUN} = ?{_NOT_THE_BASE}", (str(run_id),))

    async def askers(self, thread_id: str) -> set[str]:
        """Return whose keys a thread's steps were made with; "" for steps without one."""
        query = (
            "SELECT DISTINCT coalesce(json_extract(CAST(metadata AS TEXT), ?), '')"
            " FROM checkpoints WHERE thread_id = ?"
        )
        values = (f"$.{OWNER}", thread_id)
        rows = await self._file.run(lambda db: db.execute(query, values).fetchall())
        return {str(asker) for (asker,) in rows}

    async def overview(self) -> list[ThreadSize]:
        """Return what each thread takes, the one worked on last first."""
        rows = await self._file.run(lambda db: db.execute(_OVERVIEW).fetchall())
        return [ThreadSize(*row) for row in rows]

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Leave each thread its last checkpoint (`keep_latest`) or nothing (`delete_all`)."""
        await self.setup()
        keep = (
            " AND checkpoint_id < (SELECT max(c.checkpoint_id) FROM checkpoints AS c"
            " WHERE c.thread_id = checkpoints.thread_id"
            " AND c.checkpoint_ns = checkpoints.checkpoint_ns)"
        )
        async with self._own_connection():
            for thread_id in thread_ids:
                condition = "thread_id = ?" + ("" if strategy == "delete_all" else keep)
                await self._delete(condition, (str(thread_id),))

    async def shorten(self, thread_id: str, run_id: str, *, keep_history: bool = False) -> None:
        """Leave a thread the last checkpoint of a run that has ended; nothing where it waits.

        What a later run has written stays. `keep_history` leaves that of each run, with the one
        before it, from which its answer was written.
        """
        names = {"thread": thread_id}

        def work(db: sqlite3.Connection) -> None:
            (last,) = db.execute(_LAST_OF_RUN, (thread_id, run_id)).fetchone() or (None,)
            if last is None or db.execute(_WAITS, (thread_id, last, INTERRUPT)).fetchone():
                return
            kept = f" AND checkpoint_id NOT IN ({_ENDS_AND_PARENTS})" if keep_history else ""
            chosen = f"thread_id = :thread AND checkpoint_id < :last{kept}"
            found = db.execute(f"SELECT checkpoint_id FROM checkpoints WHERE {chosen}",  # noqa: S608
                               {**names, "last": last}).fetchall()  # fmt: skip
            for table in ("writes", "checkpoints"):
                db.executemany(f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id = ?",  # noqa: S608
                               [(thread_id, gone) for (gone,) in found])  # fmt: skip
            db.execute(_WITHOUT_PARENT, names)
            db.commit()
            if time.monotonic() >= self._next_giving:
                give_back(db)
                self._next_giving = time.monotonic() + _GIVING_SECONDS

        await self._file.run(work)

    @asynccontextmanager
    async def _own_connection(self) -> AsyncIterator[None]:
        """Yield the parent's connection, in one transaction. Raises StoreFailed.

        What a cancelled run is still writing goes through the other one, and comes first.
        """
        await self._file.run(lambda db: None)
        with failures_of(self._file.path):
            async with self.lock:
                try:
                    yield
                    await self.conn.commit()
                except BaseException:
                    await self.conn.rollback()
                    raise

    async def _delete(self, condition: str, values: tuple[str, ...]) -> None:
        chosen = (
            f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE {condition}"  # noqa: S608
        )
        key = "(thread_id, checkpoint_ns, checkpoint_id)"
        await self.conn.execute(f"DELETE FROM writes WHERE {key} IN ({chosen})", values)  # noqa: S608
        await self.conn.execute(f"DELETE FROM checkpoints WHERE {condition}", values)  # noqa: S608


@asynccontextmanager
async def open_folder(folder: Path, serde: SerializerProtocol) -> AsyncIterator[ThreadSaver]:
    path = folder / THREADS_FILE
    await asyncio.to_thread(lambda: connect_sqlite(path).close())
    file = SqliteFile(path, lambda opened: None)
    async with aiosqlite.connect(path, timeout=BUSY_SECONDS) as connection:
        saver = ThreadSaver(connection, file, serde=serde)
        try:
            with failures_of(path):
                await connection.execute("PRAGMA synchronous=NORMAL")
                await saver.setup()
            yield saver
            await saver.give_back()
        finally:
            await file.aclose()

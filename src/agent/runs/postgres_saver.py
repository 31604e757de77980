"""Keep LangGraph's checkpoints in the database, from threads: no event loop waits for it."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT
from pydantic import SecretStr

from agent.core.errors import ConfigurationError
from agent.runs.engine import OWNER
from agent.runs.postgres import NAME, PostgresConnection, PostgresSession, setting_up, storable
from agent.runs.sql import ThreadSize

try:
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.base import BasePostgresSaver
except ImportError:
    raise ConfigurationError(NAME, 'needs the extra: pip install "tanlu[postgres]"') from None

T = TypeVar("T")
log = logging.getLogger(__name__)
_CONNECTIONS = 4

_BY_RUN = "CREATE INDEX IF NOT EXISTS checkpoints_by_run ON checkpoints ((metadata ->> 'run_id'))"
_NOT_THE_BASE = " AND NOT (c.parent_checkpoint_id IS NULL AND c.metadata ->> 'source' = 'loop')"
"""What a shortened thread rests on stays, whichever run made it: nothing would be left."""
_FORGET_RUNS = (
    "DELETE FROM checkpoint_writes AS w USING checkpoints AS c"  # noqa: S608
    f" WHERE c.metadata ->> 'run_id' = ANY(%(runs)s){_NOT_THE_BASE} AND w.thread_id = c.thread_id"
    " AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id",
    "WITH gone AS (DELETE FROM checkpoints AS c WHERE c.metadata ->> 'run_id' = ANY(%(runs)s)"  # noqa: S608
    f"{_NOT_THE_BASE} RETURNING thread_id) SELECT DISTINCT thread_id FROM gone",
)
_ASKERS = "SELECT DISTINCT coalesce(metadata ->> %s, '') FROM checkpoints WHERE thread_id = %s"
_UNUSED_VALUES = (
    "DELETE FROM checkpoint_blobs AS b WHERE b.thread_id = ANY(%s) AND NOT EXISTS ("
    "SELECT 1 FROM checkpoints AS c WHERE c.thread_id = b.thread_id"
    " AND c.checkpoint_ns = b.checkpoint_ns"
    " AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version)"
)

_LAST_OF_RUN = (
    "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %(thread)s"
    " AND checkpoint_ns = '' AND metadata ->> 'run_id' = %(run)s"
)
_WAITS = (
    "SELECT 1 FROM checkpoint_writes WHERE thread_id = %(thread)s"
    " AND checkpoint_id = %(last)s AND channel = %(waits)s"
)
_TURN_ENDS = (
    "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %(thread)s"
    " AND checkpoint_ns = '' GROUP BY metadata ->> 'run_id'"
)
_ENDS_AND_PARENTS = (
    f"{_TURN_ENDS} UNION SELECT parent_checkpoint_id FROM checkpoints WHERE thread_id = %(thread)s"  # noqa: S608
    f" AND parent_checkpoint_id IS NOT NULL AND checkpoint_id IN ({_TURN_ENDS})"
)
OVERVIEW = (
    "SELECT c.thread_id, max(c.checkpoint_id) AS last, count(*), sum(pg_column_size(c.checkpoint))"
    " + coalesce((SELECT sum(length(b.blob)) FROM checkpoint_blobs AS b"
    " WHERE b.thread_id = c.thread_id), 0) FROM checkpoints AS c WHERE c.checkpoint_ns = ''"
    " GROUP BY c.thread_id ORDER BY last DESC"
)
_EARLIER = "thread_id = %(thread)s AND checkpoint_id = ANY(%(gone)s)"
_WITHOUT_PARENT = (
    "UPDATE checkpoints SET parent_checkpoint_id = NULL"
    " WHERE thread_id = %(thread)s AND parent_checkpoint_id = ANY(%(gone)s)"
)


class PostgresThreads(BasePostgresSaver):
    """Keep LangGraph's own tables and bytes; each of a few threads has a connection of its own.

    Asynchronous psycopg would bind the saver to one event loop and does not run on Windows' usual
    one. A lost connection is opened again; what a step writes may be written twice without harm.
    """

    def __init__(self, url: SecretStr, *, serde: SerializerProtocol) -> None:
        super().__init__(serde=serde)
        self._url = url
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="postgres-threads")
        self._jobs: set[futures.Future[Any]] = set()
        """What is being done or waits to be, also for those who were cancelled meanwhile."""
        self._mine = threading.local()
        self._sessions: list[PostgresSession] = []
        self._works = False

    async def connect(self) -> None:
        """Connect now, not at the first use. Raises ConfigurationError."""
        await self._run(lambda connection: None)

    def _opened(self, connection: PostgresConnection) -> None:
        if not self._works:
            with setting_up(connection):
                PostgresSaver(connection).setup()
                connection.execute(_BY_RUN)
            self._works = True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a config, or the last one of its thread."""
        return await self._saved(lambda saver: saver.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the newest first."""
        for checkpoint in await self._saved(
            lambda saver: list(saver.list(config, filter=filter, before=before, limit=limit))
        ):
            yield checkpoint

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; its config."""
        stored = _storable(checkpoint)
        return await self._saved(lambda saver: saver.put(config, stored, metadata, new_versions))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what one task of a step wrote."""
        await self._saved(lambda saver: saver.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread."""
        await self._saved(lambda saver: saver.delete_thread(thread_id), last=True)

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Remove every checkpoint these runs wrote (a client's `rollback`)."""
        runs = {"runs": [str(run_id) for run_id in run_ids]}

        def work(connection: PostgresConnection) -> None:
            with connection.transaction():
                connection.execute(_FORGET_RUNS[0], runs)
                threads = [thread for (thread,) in connection.execute(_FORGET_RUNS[1], runs)]
                connection.execute(_UNUSED_VALUES, (threads,))

        await self._run(work, last=True)

    async def askers(self, thread_id: str) -> set[str]:
        """Return whose keys a thread's steps were made with; "" for steps without one."""
        values = (OWNER, thread_id)
        rows = await self._run(lambda connection: connection.execute(_ASKERS, values).fetchall())
        return {str(asker) for (asker,) in rows}

    async def overview(self) -> list[ThreadSize]:
        """Return what each thread takes, the one worked on last first."""
        rows = await self._run(lambda connection: connection.execute(OVERVIEW).fetchall())
        return [ThreadSize(*row) for row in rows]

    async def give_back(self) -> None:
        """Do nothing: the database uses what was deleted again by itself."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Leave each thread its last checkpoint (`keep_latest`) or nothing (`delete_all`)."""
        how = "delete" if strategy == "delete_all" else strategy
        await self._saved(lambda saver: saver.prune(list(thread_ids), strategy=how), last=True)

    async def shorten(self, thread_id: str, run_id: str, *, keep_history: bool = False) -> None:
        """Leave a thread the last checkpoint of a run that has ended; nothing where it waits.

        What a later run has written stays. `keep_history` leaves that of each run, with the one
        before it, from which its answer was written.
        """
        await self._run(
            lambda connection: shorten_in(connection, thread_id, run_id, keep_history=keep_history)
        )

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the history of channels that are stored as differences."""
        return await self._saved(
            lambda saver: saver.get_delta_channel_history(config=config, channels=channels)
        )

    async def aclose(self) -> None:
        """Close every connection, after what is being written."""
        await asyncio.to_thread(self._threads.shutdown, wait=True)
        for session in self._sessions:
            session.close()

    async def _saved(self, work: Callable[[PostgresSaver], T], *, last: bool = False) -> T:
        return await self._run(
            lambda connection: work(PostgresSaver(cast(Any, connection), serde=self.serde)),
            last=last,
        )

    async def _run(self, work: Callable[[PostgresConnection], T], *, last: bool = False) -> T:
        """Do the work with a thread's connection; `last` after all that was begun before.

        So nothing that a cancelled run is still writing comes after its deletion. No two wait for
        each other: the threads take what was begun earlier first.
        """
        begun = list(self._jobs) if last else []

        def work_in_turn(connection: PostgresConnection) -> T:
            futures.wait(begun)
            return work(connection)

        job = self._threads.submit(self._do, work_in_turn)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return await asyncio.wrap_future(job)

    def _do(self, work: Callable[[PostgresConnection], T]) -> T:
        session: PostgresSession | None = getattr(self._mine, "session", None)
        if session is None:
            session = self._mine.session = PostgresSession(self._url, self._opened)
            session.was_open = self._works
            self._sessions.append(session)
        return session.run(work)


def shorten_in(
    connection: PostgresConnection, thread_id: str, run_id: str, *, keep_history: bool = False
) -> None:
    """Do what `PostgresThreads.shorten` does, where the connection finds the checkpoints."""
    values: dict[str, Any] = {"thread": thread_id, "run": run_id, "waits": INTERRUPT}
    kept = f" AND checkpoint_id NOT IN ({_ENDS_AND_PARENTS})" if keep_history else ""
    with connection.transaction():
        (values["last"],) = connection.execute(_LAST_OF_RUN, values).fetchone() or (None,)
        if values["last"] is None or connection.execute(_WAITS, values).fetchone():
            return
        earlier = (
            "SELECT checkpoint_id FROM checkpoints"  # noqa: S608
            f" WHERE thread_id = %(thread)s AND checkpoint_id < %(last)s{kept}"
        )
        rows = connection.execute(earlier, values).fetchall()
        gone = {**values, "gone": [checkpoint for (checkpoint,) in rows]}
        connection.execute(f"DELETE FROM checkpoint_writes WHERE {_EARLIER}", gone)  # noqa: S608
        connection.execute(f"DELETE FROM checkpoints WHERE {_EARLIER}", gone)  # noqa: S608
        connection.execute(_WITHOUT_PARENT, gone)
        connection.execute(_UNUSED_VALUES, ([thread_id],))


@asynccontextmanager
async def open_postgres_threads(
    url: SecretStr, serde: SerializerProtocol, *, may_wait: bool
) -> AsyncIterator[PostgresThreads]:
    """Open a database's threads; tables are made once it is there. Raises ConfigurationError.

    `may_wait`: a database that cannot be used is logged, and is an error of each use until it can.
    """
    saver = PostgresThreads(url, serde=serde)
    try:
        try:
            await saver.connect()
        except ConfigurationError as error:
            if not may_wait:
                raise
            log.error("every run will fail until this is corrected: %s", error)
        yield saver
    finally:
        await saver.aclose()


def _storable(checkpoint: Checkpoint) -> Checkpoint:
    """Store texts that are a channel's whole value as JSON, the others packed."""
    values = {name: storable(value) for name, value in checkpoint["channel_values"].items()}
    return {**checkpoint, "channel_values": values}

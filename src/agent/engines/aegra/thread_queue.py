"""See to it that a thread has one run at a time, over all instances, in the order they were asked.

Aegra stores a run's `multitask_strategy` and begins the run at once. Here a run waits for the
earlier ones of its thread, and for the thread's advisory lock, which Postgres drops with the
process. The lock keeps two runs apart whose order is told too late, and two processes that hold
one run.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from aegra_api.core.database import db_manager
from pydantic import SecretStr

from agent.core.errors import ConfigurationError
from agent.engines.aegra.checkpoints import again
from agent.runs.engine import EVERYBODY, OWNER, ThreadBusy
from agent.runs.postgres import NAME, SCHEMA, error_line, parameters_of
from agent.runs.postgres_saver import shorten_in
from agent.runs.threads import NOT_KEPT
from agent.settings import RetentionSettings

log = logging.getLogger(__name__)

MOST_WAITING = 3
"""Runs that may wait on one thread; each takes a place of a worker."""
_LOOK_SECONDS = 0.15
_ALONE_SECONDS = 5.0
_START = "(start)"
"""No thread's id: of the lock of an instance that starts."""
_ACTIVE = (
    "SELECT count(*) AS active FROM runs WHERE thread_id = %s AND status IN ('pending', 'running')"
)
_EARLIER = (
    "SELECT 1 FROM runs AS r JOIN runs AS mine ON mine.run_id = %s AND r.thread_id = mine.thread_id"
    " WHERE r.status IN ('pending', 'running')"
    " AND (r.created_at, r.run_id) < (mine.created_at, mine.run_id) LIMIT 1"
)
_HAS_CHECKPOINT = "SELECT 1 FROM checkpoints WHERE thread_id = %s AND checkpoint_id = %s"
_OWNED = (
    f"UPDATE thread SET metadata_json = metadata_json || jsonb_build_object('{OWNER}', user_id)"  # noqa: S608
    f" WHERE thread_id = %s AND user_id <> '{EVERYBODY}' AND NOT metadata_json ? '{OWNER}'"
    " RETURNING 1"
)
_OUR_SCHEMA_FIRST = (
    "SELECT current_user = %s AND position('$user' IN current_setting('search_path')) > 0"
)
_SEE_PUBLIC = "SET search_path TO public"
_ALWAYS = f"""DO $$ BEGIN
    EXECUTE format('ALTER ROLE %I IN DATABASE %I {_SEE_PUBLIC}', current_user, current_database());
END $$"""
_KEY = "hashtextextended('tanlu thread ' || %s, 0)"
_LOCK, _UNLOCK = f"SELECT pg_try_advisory_lock({_KEY})", f"SELECT pg_advisory_unlock({_KEY})"


async def refuse_if_busy(thread_id: str, strategy: str) -> None:
    """Raise ThreadBusy where a thread takes no further run now."""
    if db_manager.lg_pool is None:
        return
    async with db_manager.lg_pool.connection() as connection:
        row: Any = await (await connection.execute(_ACTIVE, (thread_id,))).fetchone()
    active: int = row["active"]
    if active and strategy == "reject":
        raise ThreadBusy("A run is under way on this thread.")
    if active and strategy in ("interrupt", "rollback"):
        raise ThreadBusy("A run is under way on this thread: cancel it first, or ask to enqueue.")
    if active > MOST_WAITING:
        raise ThreadBusy(f"{MOST_WAITING} runs wait on this thread already: ask again later.")


async def refuse_without_checkpoint(thread_id: str, checkpoint_id: str) -> None:
    """Raise ThreadBusy where a run is to begin from a checkpoint that is not kept any more.

    It would begin with an empty thread, and the conversation would be gone.
    """
    if db_manager.lg_pool is None:
        return
    async with db_manager.lg_pool.connection() as connection:
        cursor = await connection.execute(_HAS_CHECKPOINT, (thread_id, checkpoint_id))
        if await cursor.fetchone() is None:
            raise ThreadBusy(NOT_KEPT)


async def shorten(thread_id: str, run_id: str) -> None:
    """Leave a thread its last checkpoint, after a run that ended and waits for nobody.

    A failure is logged: the next run's end makes up for it, as it does for a killed process.
    """
    try:
        await asyncio.to_thread(_shorten, thread_id, run_id)
    except psycopg.Error as error:
        log.warning("the earlier checkpoints of thread=%s stay: %s", thread_id, error_line(error))


def _shorten(thread_id: str, run_id: str) -> None:
    keep = RetentionSettings().tanlu_keep_history
    parameters = parameters_of(SecretStr(os.environ["DATABASE_URL"]))
    with psycopg.connect(**parameters, autocommit=True) as connection:
        row = connection.execute(_ACTIVE.encode(), (thread_id,)).fetchone()
        # One that waits may begin from an earlier checkpoint; its own end shortens the thread.
        if row == (1,):
            shorten_in(connection, thread_id, run_id, keep_history=keep)


class ThreadLocks:
    """Hold the locks of the threads on which this process works, all by one connection."""

    def __init__(self) -> None:
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._opening = asyncio.Lock()
        self._claimed: set[str] = set()
        """Threads that this process works on or tries for: a connection gets its own lock twice."""
        self._locked: set[str] = set()

    @asynccontextmanager
    async def turn(self, thread_id: str, run_id: str) -> AsyncIterator[None]:
        """Wait for the run's turn on its thread, and keep the thread until the context ends."""
        while True:
            if await self._taken(thread_id, run_id):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        try:
            # A thread that was made with its first run has no owner yet.
            await again(lambda: self._owned(thread_id))
            yield
        finally:
            await asyncio.shield(self._give_back(thread_id))

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Keep the other instances from what has this name until the context ends."""
        await self._lock(name, _ALONE_SECONDS)
        try:
            yield
        finally:
            await asyncio.shield(self._give_back(name))

    async def start_alone(self) -> None:
        """Wait until no other instance starts: two would create the tables at once, and fail.

        It asks again and again: a statement that waits in the database would be waited for by the
        CREATE INDEX CONCURRENTLY of the one that starts.
        """
        await self._lock(_START, _LOOK_SECONDS)

    async def started(self) -> None:
        """Give back what `start_alone` took: the next instance may start."""
        await self._give_back(_START)

    async def aclose(self) -> None:
        """Close the connection; every lock falls with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _lock(self, name: str, pause: float) -> None:
        """Get the lock of a name, looking again after each pause (seconds)."""
        while True:
            if await self._locks(name):
                break
            await asyncio.sleep(pause)

    async def _owned(self, thread_id: str) -> None:
        try:
            await _one(await self._open(), _OWNED, thread_id)
        except psycopg.OperationalError:
            await self.aclose()
            raise

    async def _taken(self, thread_id: str, run_id: str) -> bool:
        if thread_id in self._claimed:
            return False
        self._claimed.add(thread_id)
        taken = False
        try:
            taken = await self._locks(thread_id) and not await self._is_later(run_id)
        except psycopg.OperationalError as error:
            # The run waits as long as its database is away; nothing of it could be kept meanwhile.
            log.warning("the thread's lock cannot be taken now: %s", error)
            await self.aclose()
        finally:
            if not taken:
                await asyncio.shield(self._give_back(thread_id))
        return taken

    async def _locks(self, thread_id: str) -> bool:
        connection = await self._open()
        if locked := await _one(connection, _LOCK, thread_id):
            self._locked.add(thread_id)
        return locked

    async def _is_later(self, run_id: str) -> bool:
        """Return whether an earlier run of the thread has not ended."""
        return await _one(await self._open(), _EARLIER, run_id)

    async def _give_back(self, thread_id: str) -> None:
        if thread_id in self._locked and self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                await _one(self._connection, _UNLOCK, thread_id)
        self._locked.discard(thread_id)
        self._claimed.discard(thread_id)

    async def _open(self) -> psycopg.AsyncConnection[Any]:
        async with self._opening:
            if self._connection is None or self._connection.closed:
                url = SecretStr(os.environ["DATABASE_URL"])
                opened = await psycopg.AsyncConnection.connect(
                    **parameters_of(url), autocommit=True, prepare_threshold=None
                )
                await _see_public(opened)
                for thread_id in self._locked:
                    await _one(opened, _LOCK, thread_id)
                self._connection = opened
            return self._connection


async def _see_public(connection: psycopg.AsyncConnection[Any]) -> None:
    """Keep a role that is called as our schema from finding tables there before Aegra's.

    Postgres looks into a schema of the role's name first. The first instance creates its tables in
    `public`, our schema comes after that, and the next instance would begin with empty tables.
    """
    if not await _one(connection, _OUR_SCHEMA_FIRST, SCHEMA):
        return
    try:
        await connection.execute(_ALWAYS.encode())
        await connection.execute(_SEE_PUBLIC.encode())
    except psycopg.Error:
        raise ConfigurationError(
            NAME, f"names a role called {SCHEMA}, as our tables' schema: use another role"
        ) from None


async def _one(connection: psycopg.AsyncConnection[Any], sql: str, value: str) -> bool:
    """Return the truth of a statement's only value; False for no row."""
    row = await (await connection.execute(sql.encode(), (value,))).fetchone()
    return bool(row and row[0])


LOCKS = ThreadLocks()
"""Of this process: Aegra executes the file of the graphs once for each of them."""

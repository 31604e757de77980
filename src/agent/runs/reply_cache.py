"""Keep the replies that a turn has paid for.

By default an SQLite file with one connection in one thread, in WAL with `synchronous=NORMAL`: what
is committed survives a killed process; a power cut can lose the last commits but never damages the
file. With a DATABASE_URL the same tables are in Postgres (`agent.runs.postgres`).
"""

import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from agent.core.errors import ConfigurationError, ProviderError, StoreFailed
from agent.runs.sql import KEEP_SECONDS, Place, SqlTables, T, open_database

log = logging.getLogger(__name__)

AFTER_RUN: ContextVar[list[Callable[[], Awaitable[None]]] | None] = ContextVar(
    "after_run", default=None
)
"""What is to be done once the last step of a run is saved; None where nobody would do it."""
_OPEN_TURNS = 10_000

_SAVE = (
    "INSERT INTO replies VALUES (?, ?, ?, ?)"
    " ON CONFLICT (turn_id, key) DO UPDATE SET reply = excluded.reply, at = excluded.at"
)
_TRIAL = ""
"""No call's key: of the row that is written and removed to see whether one can be."""
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS replies (
    turn_id TEXT NOT NULL, key TEXT NOT NULL, reply TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (turn_id, key)
)""",
    "CREATE INDEX IF NOT EXISTS replies_at ON replies (at)",
)


class ReplyCache:
    """Keep a turn's replies until it ends, at most seven days (`calls.ReplyStore`).

    A store that fails raises StoreFailed: what cannot be kept must not be paid for. A reply that
    came too late for that stays here, and is saved before this process pays for anything else.
    """

    def __init__(self, where: Place, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._database = open_database(where, self._prepare)
        self._known: dict[str, set[str]] = {}
        self._tried: dict[str, bool] = {}
        self._unsaved: dict[tuple[str, str], str] = {}

    def _prepare(self, tables: SqlTables) -> None:
        for statement in _SCHEMA:
            tables.execute(statement)
        tables.execute("DELETE FROM replies WHERE at < ?", (self._clock() - KEEP_SECONDS,))

    async def load(self, turn_id: str, key: str) -> str | None:
        """Return the reply a turn has paid for, or None; one process at a time has a turn."""
        if (unsaved := self._unsaved.get((turn_id, key))) is not None:
            return unsaved
        # Where machines share it, a turn may come back after another one worked on it.
        if not self._database.shared:
            keys = self._known.get(turn_id)
            if keys is None:
                keys = await self._open(turn_id)
            if key not in keys:
                return None
        row = await self._try(
            lambda db: db.execute(
                "SELECT reply FROM replies WHERE turn_id = ? AND key = ?", (turn_id, key)
            ).fetchone()
        )
        return row[0] if row else None

    async def save(self, turn_id: str, key: str, reply: str) -> None:
        """Keep a reply until the turn ends; one that no table takes is not kept."""
        row = (turn_id, key, reply, self._clock())
        try:
            await self._try(lambda db: db.execute(_SAVE, row))
        except StoreFailed:
            self._unsaved[turn_id, key] = reply
            raise
        except (ValueError, OverflowError) as error:
            # The error's own text would show the reply.
            log.warning("a paid reply cannot be kept: %s", type(error).__name__)
            return
        if (keys := self._known.get(turn_id)) is not None:
            keys.add(key)

    async def ready(self, turn_id: str) -> None:
        """Save what could not be saved before; try to write once in a turn, even if all was."""
        unsaved = list(self._unsaved.items())
        if turn_id in self._tried and not unsaved:
            return

        def work(db: SqlTables) -> None:
            for (turn, key), reply in [*unsaved, ((turn_id, _TRIAL), "")]:
                db.execute(_SAVE, (turn, key, reply, self._clock()))
            db.execute("DELETE FROM replies WHERE turn_id = ? AND key = ?", (turn_id, _TRIAL))

        await self._try(work)
        for (turn, key), _ in unsaved:
            self._unsaved.pop((turn, key), None)
            self._known.get(turn, set()).add(key)
        _remember(self._tried, turn_id, True)

    async def close_turn(self, turn_id: str) -> None:
        """Forget a turn, once its last step is saved where the engine tells when that is."""
        if (after_run := AFTER_RUN.get()) is not None:
            after_run.append(lambda: self.forget(turn_id))
        else:
            await self.forget(turn_id)

    async def forget(self, turn_id: str) -> None:
        """Forget a turn that has ended: its replies are in its answer, and may stay for a while."""
        self._known.pop(turn_id, None)
        self._tried.pop(turn_id, None)
        for name in [name for name in list(self._unsaved) if name[0] == turn_id]:
            self._unsaved.pop(name, None)
        try:
            await self._try(
                lambda db: db.execute("DELETE FROM replies WHERE turn_id = ?", (turn_id,))
            )
        except StoreFailed as error:
            log.warning("the replies of a turn that has ended are not removed: %s", error)

    async def _open(self, turn_id: str) -> set[str]:
        """Read what the tables know of a turn, once: most turns are new to them."""
        rows = await self._try(
            lambda db: db.execute(
                "SELECT key FROM replies WHERE turn_id = ?", (turn_id,)
            ).fetchall()
        )
        if rows is None:
            return set()
        return _remember(self._known, turn_id, {key for (key,) in rows})

    async def aclose(self) -> None:
        await self._database.aclose()

    async def _try(self, work: Callable[[SqlTables], T]) -> T | None:
        try:
            return await self._database.run(work)
        except ConfigurationError as error:
            # A node would make a gap of it and go on.
            raise StoreFailed(error.name, error.problem) from None
        except (sqlite3.Error, ProviderError) as error:
            log.warning("the reply cache does not work: %s", error)
            return None


def _remember(turns: dict[str, T], turn_id: str, value: T) -> T:
    """Return what is known of a turn; the oldest turns are forgotten."""
    while len(turns) >= _OPEN_TURNS:
        turns.pop(next(iter(turns)), None)
    return turns.setdefault(turn_id, value)

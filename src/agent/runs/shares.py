"""Keep the pages of shared answers: each is written once, and found by an address nobody can guess.

A page stands beside the threads, in the same file or database, and goes with its thread, at its
end date, or when its owner withdraws it. It holds one answer as it was, never its thread.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable
from typing import NamedTuple

from agent.core.errors import InputError
from agent.core.strings import valid_text
from agent.runs.sql import Place, SqlTables, open_database

MOST = 50
"""Answers of one thread that may be shared at once."""
_TOKEN_BYTES = 24
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS shares (
    token TEXT PRIMARY KEY, thread_id TEXT NOT NULL, message_id TEXT NOT NULL,
    page TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, ends DOUBLE PRECISION NOT NULL,
    UNIQUE (thread_id, message_id)
)""",
)


class SharedAnswer(NamedTuple):
    """Tell of a shared answer; `ends` in seconds since 1970."""

    token: str
    message_id: str
    ends: float


class Shares:
    """Keep pages by their addresses; raises StoreFailed where they cannot be kept."""

    def __init__(self, where: Place | None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._database = open_database(where, self._prepare)

    def _prepare(self, tables: SqlTables) -> None:
        if isinstance(tables, sqlite3.Connection):
            # What is deleted is overwritten: a file's free pages would go on showing it.
            tables.execute("PRAGMA secure_delete=ON")
        for statement in _SCHEMA:
            tables.execute(statement)

    async def put(self, thread_id: str, message_id: str, page: str, *, days: int) -> SharedAnswer:
        """Keep an answer's page for so many days; an answer that is shared keeps its address.

        Raises InputError where the thread has too many.
        """
        now, token = self._clock(), secrets.token_urlsafe(_TOKEN_BYTES)
        ends = now + days * 86_400
        row = (token, thread_id, message_id, valid_text(page), now, ends)

        def work(db: SqlTables) -> SharedAnswer:
            _drop_ended(db, now)
            others = [share for share in _of(db, thread_id) if share.message_id != message_id]
            if len(others) >= MOST:
                raise InputError(
                    "message", f"is one too many: {MOST} answers of the thread are shared already"
                )
            db.execute(
                "INSERT INTO shares VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (thread_id, message_id) DO UPDATE SET"
                " page = excluded.page, at = excluded.at, ends = excluded.ends",
                row,
            )
            return next(s for s in _of(db, thread_id) if s.message_id == message_id)

        return await self._database.run(work)

    async def of(self, thread_id: str) -> list[SharedAnswer]:
        """Return what of a thread is shared, the newest last."""

        def work(db: SqlTables) -> list[SharedAnswer]:
            _drop_ended(db, self._clock())
            return _of(db, thread_id)

        return await self._database.run(work)

    async def page(self, token: str) -> str | None:
        """Return a page by its address; None where there is none, or not any more."""

        def work(db: SqlTables) -> str | None:
            _drop_ended(db, self._clock())
            found = db.execute("SELECT page FROM shares WHERE token = ?", (token,)).fetchone()
            return str(found[0]) if found else None

        return await self._database.run(work)

    async def withdraw(self, thread_id: str, message_id: str | None = None) -> int:
        """Withdraw one answer, or all of a thread; return how many there were."""
        where, values = "thread_id = ?", [thread_id]
        if message_id is not None:
            where, values = f"{where} AND message_id = ?", [thread_id, message_id]

        def work(db: SqlTables) -> int:
            return db.execute(f"DELETE FROM shares WHERE {where}", values).rowcount  # noqa: S608

        return await self._database.run(work)

    async def forget(self, thread_id: str) -> None:
        """Forget a thread that is deleted."""
        await self.withdraw(thread_id)

    async def aclose(self) -> None:
        await self._database.aclose()


def _drop_ended(db: SqlTables, now: float) -> None:
    db.execute("DELETE FROM shares WHERE ends < ?", (now,))


def _of(db: SqlTables, thread_id: str) -> list[SharedAnswer]:
    rows = "SELECT token, message_id, ends FROM shares WHERE thread_id = ? ORDER BY at"
    return [SharedAnswer(*row) for row in db.execute(rows, (thread_id,))]

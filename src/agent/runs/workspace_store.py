"""Keep what a thread's runs have read: each page, place, paper and document once, under one id.

It stands beside the reply cache, in the same file or database, and outside of checkpoints: what a
run has gathered is megabytes, and a checkpoint is written at every step. Each thing is a row of its
own, written at once, so that a killed process has lost none that it paid for.
"""

import hashlib
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from agent.core.errors import ConfigurationError, ProviderError, StoreFailed
from agent.core.strings import valid_text
from agent.runs.sql import KEEP_SECONDS, Place, SqliteFile, SqlTables, erase, open_database

T = TypeVar("T")
KEPT_TURNS = 3
"""Turns of a thread whose things are kept: as many as a conversation remembers."""
_TRIES = 64
_ALONE = "turn "
"""Begins what stands for the thread of a turn without one."""
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS workspace (
    thread TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL,
    turn TEXT NOT NULL, cited_in TEXT NOT NULL, size BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL, item TEXT NOT NULL,
    PRIMARY KEY (thread, owner, id), UNIQUE (thread, owner, key)
)""",
    "CREATE INDEX IF NOT EXISTS workspace_at ON workspace (at)",
)
_INSERT = "INSERT INTO workspace VALUES (?, ?, ?, ?, ?, '', 0, ?, '') ON CONFLICT DO NOTHING"
_UPDATE = (
    "UPDATE workspace SET item = ?, size = ?, turn = ?, at = ?"
    " WHERE thread = ? AND owner = ? AND id = ?"
)
_CITED = (
    "UPDATE workspace SET cited_in = ?, turn = ?, at = ? WHERE thread = ? AND owner = ? AND id = ?"
)
_SEEN = "UPDATE workspace SET turn = ?, at = ? WHERE thread = ? AND owner = ? AND id = ?"


@dataclass(frozen=True)
class Room:
    """Name whose workspace it is: of one owner's turn on a thread."""

    thread: str
    owner: str
    turn: str


def room_of_turn(owner: str, turn: str, thread: str | None) -> Room:
    """Return the room of a turn; one without a thread has its own, which ends with it."""
    return Room(thread or _alone(turn), owner, turn)


def _alone(turn: str) -> str:
    return f"{_ALONE}{turn}"


class Thing(NamedTuple):
    """Hold what is to be kept: `key` is the same for what is the same thing."""

    letter: str
    """What its id begins with."""
    key: str
    item: str
    """JSON."""
    brief: str
    """The same without its text, for a turn that has no room left for that."""


class KeptRow(NamedTuple):
    """Tell of what is kept; a row of a larger size has taken the place of a smaller one."""

    id: str
    key: str
    size: int
    turn: str
    cited_in: str


class WorkspaceStore:
    """Keep things by threads; a failure is StoreFailed, as what cannot be kept is paid for again.

    Without a place nothing is written: they live as long as the process.
    """

    def __init__(self, where: Place | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._database = open_database(where, self._prepare)
        self._alone = set[str]()
        """Rooms of turns without a thread that this process has put something in."""

    def _prepare(self, tables: SqlTables) -> None:
        if isinstance(tables, sqlite3.Connection):
            # What is deleted is overwritten: a file's free pages would go on showing it.
            tables.execute("PRAGMA secure_delete=ON")
        for statement in _SCHEMA:
            tables.execute(statement)
        old = (f"{_ALONE}%", self._clock() - KEEP_SECONDS)
        tables.execute("DELETE FROM workspace WHERE thread LIKE ? AND at < ?", old)

    async def keep(self, room: Room, things: Sequence[Thing], *, most: int) -> list[str]:
        """Keep each thing under an id of its own, the longer one of two that are the same.

        Return the ids in order. Of what a turn has read at most so many bytes are kept.
        """
        if room.thread.startswith(_ALONE):
            self._alone.add(room.thread)
        clean = [Thing(*map(valid_text, thing)) for thing in things]

        def work(db: SqlTables) -> list[str]:
            self._drop_old_turns(db, room)
            now = self._clock()
            # Each a little later than the one before: they are listed in this order.
            times = (now + n / 1e6 for n in range(len(clean)))
            return [self._put(db, room, *each, most) for each in zip(clean, times, strict=True)]

        return await self._do(work) if clean else []

    def _put(self, db: SqlTables, room: Room, thing: Thing, now: float, most: int) -> str:
        own = (room.thread, room.owner)
        select = "SELECT id, size FROM workspace WHERE thread = ? AND owner = ? AND key = ?"
        attempts = iter(range(_TRIES))
        while (known := db.execute(select, (*own, thing.key)).fetchone()) is None:
            name = _id(room, thing, next(attempts))
            # Its text comes with the update below, as far as there is room.
            db.execute(_INSERT, (*own, name, thing.key, room.turn, now))
        name, before = known
        fits = self._used(db, room, name) + len(thing.item.encode()) <= most
        item = thing.item if fits else thing.brief
        if (size := len(item.encode())) > before:
            db.execute(_UPDATE, (item, size, room.turn, now, *own, name))
        else:
            db.execute(_SEEN, (room.turn, now, *own, name))
        return str(name)

    def _used(self, db: SqlTables, room: Room, but: str) -> int:
        """Return the bytes of a turn's things, without those of one."""
        row = db.execute(
            "SELECT COALESCE(SUM(size), 0) FROM workspace"
            " WHERE thread = ? AND owner = ? AND turn = ? AND id <> ?",
            (room.thread, room.owner, room.turn, but),
        ).fetchone()
        return int(row[0])

    def _drop_old_turns(self, db: SqlTables, room: Room) -> None:
        """Remove what only turns before the last ones had found."""
        own = (room.thread, room.owner)
        turns = db.execute(
            "SELECT turn FROM workspace WHERE thread = ? AND owner = ? AND turn <> ?"
            " GROUP BY turn ORDER BY MAX(at) DESC",
            (*own, room.turn),
        ).fetchall()
        for (turn,) in turns[KEPT_TURNS:]:
            query = "DELETE FROM workspace WHERE thread = ? AND owner = ? AND turn = ?"
            db.execute(query, (*own, turn))

    async def rows(self, room: Room) -> list[KeptRow]:
        """Return what is kept for a thread's owner, in the order in which it came last."""

        def work(db: SqlTables) -> list[KeptRow]:
            found = db.execute(
                "SELECT id, key, size, turn, cited_in FROM workspace WHERE thread = ? AND owner = ?"
                " ORDER BY at, id",
                (room.thread, room.owner),
            )
            return [KeptRow(*row) for row in found.fetchall()]

        return await self._do(work)

    async def items(self, room: Room, ids: Collection[str]) -> dict[str, str]:
        """Return the JSON of things by their ids."""

        def work(db: SqlTables) -> dict[str, str]:
            query = "SELECT item FROM workspace WHERE thread = ? AND owner = ? AND id = ?"
            found = {
                name: db.execute(query, (room.thread, room.owner, name)).fetchone() for name in ids
            }
            return {name: row[0] for name, row in found.items() if row is not None}

        return await self._do(work) if ids else {}

    async def cite(self, room: Room, ids: Iterable[str]) -> None:
        """Note what the turn's answer cites."""
        names = list(dict.fromkeys(ids))

        def work(db: SqlTables) -> None:
            for name in names:
                values = (room.turn, room.turn, self._clock(), room.thread, room.owner, name)
                db.execute(_CITED, values)

        await self._do(work)

    async def forget(self, thread_id: str) -> None:
        """Remove all of a thread, whoever asked on it."""

        def work(db: SqlTables) -> int:
            return db.execute("DELETE FROM workspace WHERE thread = ?", (thread_id,)).rowcount

        if await self._do(work) and isinstance(self._database, SqliteFile):
            await self._database.run(erase)

    async def close_turn(self, turn_id: str) -> None:
        """Forget a turn without a thread, which nobody will come back to."""
        if (name := _alone(turn_id)) in self._alone:
            await self.forget(name)
            self._alone.discard(name)

    async def forget_unused(self, until: float, threads: Collection[str]) -> None:
        """Remove what nobody has read since then, but that of these threads."""

        def work(db: SqlTables) -> list[str]:
            rows = db.execute(
                "SELECT thread FROM workspace GROUP BY thread HAVING MAX(at) < ?", (until,)
            )
            return [name for (name,) in rows.fetchall()]

        for thread in set(await self._do(work)) - set(threads):
            await self.forget(thread)

    async def aclose(self) -> None:
        await self._database.aclose()

    async def _do(self, work: Callable[[SqlTables], T]) -> T:
        try:
            return await self._database.run(work)
        except ConfigurationError as error:
            # A node would make a gap of it and go on.
            raise StoreFailed(error.name, error.problem) from None
        except ProviderError as error:
            raise StoreFailed("DATABASE_URL", error.message) from None


def _id(room: Room, thing: Thing, attempt: int) -> str:
    """Return `w482-17`: nobody who does not know the thread's id can tell which comes next.

    A model that invents one cites nothing, then, and a page cannot name another one's.
    """
    seed = f"{room.thread}\n{room.owner}\n{thing.key}\n{attempt}"
    number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()[:8])
    return f"{thing.letter}{100 + number % 900}-{10 + number // 900 % 90}"

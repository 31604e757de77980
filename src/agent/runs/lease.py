"""Tell who works on a run, and whether that process still lives."""

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.core.private_files import private_database
from agent.runs.sql import Database, Place, SqlTables, open_database

_LOCK = "((classid::bigint << 32) | objid::bigint)"
_HELD = (
    f"SELECT {_LOCK} FROM pg_locks"  # noqa: S608
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SERVER = 0x7365727665
"""The advisory lock of the one server of a database; like `_SET_UP` a number of ours."""
_OTHER_SERVER = f"{_HELD} AND {_LOCK} = ? AND pid <> pg_backend_pid() LIMIT 1"
_GONE_SECONDS = 5.0
"""A database has noticed well within this time that a process of its machine was killed."""
_LOOK_SECONDS = 0.25
_AWAY_SECONDS = 5.0
log = logging.getLogger(__name__)

_claims: dict[Path, sqlite3.Connection] = {}
_JOURNAL = "-journal"
_OWNER = re.compile(rf"\d+-[0-9a-f]{{12}}({_JOURNAL})?")
"""A file of `FileOwner`, or what SQLite keeps beside it and leaves there at kill -9."""


class Owner(Protocol):
    """Show this process to others. All methods block and run in the run log's thread."""

    @property
    def id(self) -> str: ...

    def open(self, tables: SqlTables) -> None:
        """Be alive for others, from now until the process ends; called for each connection."""
        ...

    def dead(self, tables: SqlTables, owners: Iterable[str]) -> set[str]:
        """Return those whose process is gone."""
        ...

    def close(self) -> None:
        """Be dead for others."""
        ...


def owner_in(where: Place) -> Owner:
    """Return an owner beside the tables of this place."""
    return FileOwner(where / "owners") if isinstance(where, Path) else LockOwner()


def claim(folder: Path) -> bool:
    """Take an exclusive lock on the folder for the life of this process; return False if held.

    It is the lock of a file there, as `FileOwner`'s; a folder that cannot be locked is let be.
    """
    path = folder.resolve() / "tanlu-server.lock"
    if path in _claims:
        return True
    with contextlib.ExitStack() as undo:
        try:
            private_database(path)
            lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            undo.callback(lock.close)
            lock.execute("BEGIN EXCLUSIVE")
        except (OSError, sqlite3.Error) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                return False
            log.warning("whether another server uses %s cannot be told: %s", folder, error)
            return True
        undo.pop_all()
    _claims[path] = lock
    return True


class SeveralServers(AgentError):
    """A server that starts beside another one on its database."""


@asynccontextmanager
async def only_server(where: Place) -> AsyncIterator[None]:
    """Be the only server of a database until the context ends; raise SeveralServers if one lives.

    The database drops the lock with the process, so that a restart is never in its own way. One
    that cannot be asked now is asked as soon as it can be; then the answer is only logged.
    """
    if isinstance(where, Path):
        yield
        return
    lock = ServerLock(where)
    later: asyncio.Task[None] | None = None
    try:
        try:
            await lock.take()
        except (ConfigurationError, StoreFailed):
            # Whoever opens the threads says so.
            later = asyncio.create_task(lock.take_later(), name="server's lock")
        yield
    finally:
        if later is not None:
            later.cancel()
            await asyncio.gather(later, return_exceptions=True)
        await lock.aclose()


class ServerLock:
    """Show by a lock of the database that a server uses it."""

    def __init__(self, where: Place) -> None:
        self._database: Database = open_database(where, self._opened, stays=True)
        self._taken = False

    def _opened(self, tables: SqlTables) -> None:
        """Look and take: connections are set up one at a time, so nobody does so meanwhile."""
        if not self._taken and tables.execute(_OTHER_SERVER, (_SERVER,)).fetchone():
            raise SeveralServers(
                "another server uses this database: several need the engine Aegra"
                ' (pip install "tanlu[aegra]", docs/deployment.md); else stop that one'
            )
        # Shared: a new connection has it while the database still believes in the lost one.
        tables.execute("SELECT pg_advisory_lock_shared(?)", (_SERVER,))
        self._taken = True

    async def take(self) -> None:
        """Take the lock; raise SeveralServers if another process keeps it."""
        until = time.monotonic() + _GONE_SECONDS
        while True:
            try:
                await self._database.run(lambda tables: None)
                return
            except SeveralServers:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_LOOK_SECONDS)

    async def take_later(self) -> None:
        """Take the lock once the database is there; log what keeps it from us."""
        while True:
            try:
                await self.take()
                return
            except SeveralServers as error:
                log.error("%s", error)
                return
            except (ConfigurationError, StoreFailed):
                await asyncio.sleep(_AWAY_SECONDS)

    async def aclose(self) -> None:
        await self._database.aclose()


def _new_id() -> str:
    return f"{os.getpid()}-{uuid4().hex[:12]}"


def _lock_of(owner: str) -> int:
    """Return the number of an owner's advisory lock."""
    digest = hashlib.blake2b(f"tanlu owner {owner}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class FileOwner:
    """Hold an open transaction on a file of its own.

    SQLite's file lock works alike on every system and ends with the process, also at kill -9.
    """

    def __init__(self, folder: Path) -> None:
        self.id = _new_id()
        self._folder = folder
        self._lock: sqlite3.Connection | None = None

    def open(self, tables: SqlTables) -> None:
        if self._lock is not None:
            return
        private_database(self._folder / self.id)
        lock = sqlite3.connect(
            self._folder / self.id, isolation_level=None, check_same_thread=False
        )
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            lock.close()
            raise
        self._lock = lock
        self._clean()

    def dead(self, tables: SqlTables, owners: Iterable[str]) -> set[str]:
        return {owner for owner in owners if self._is_dead(owner)}

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            (self._folder / self.id).unlink(missing_ok=True)

    def _is_dead(self, owner: str) -> bool:
        path = self._folder / owner
        if owner == self.id or not path.exists():
            return owner != self.id
        with contextlib.closing(
            # Another process may be asking the same; that takes milliseconds, a life does not.
            sqlite3.connect(path, timeout=0.25, isolation_level=None, check_same_thread=False)
        ) as lock:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error:
                return False
        return True

    def _clean(self) -> None:
        """Remove the files of dead processes; a fresh one may not have its lock yet."""
        for path in self._folder.iterdir():
            # What cannot be removed is no reason to work without recovery.
            with contextlib.suppress(OSError, sqlite3.Error):
                if _OWNER.fullmatch(path.name) and time.time() - path.stat().st_mtime > 60:
                    self._clean_one(path)

    def _clean_one(self, path: Path) -> None:
        owner = path.with_name(path.name.removesuffix(_JOURNAL))
        if path == owner:
            if self._is_dead(path.name):
                path.unlink(missing_ok=True)
        elif not owner.exists():
            # Whoever looks at a dead owner's file has SQLite remove the journal beside it.
            path.unlink(missing_ok=True)


class LockOwner:
    """Hold an advisory lock by a connection to the database.

    The database drops it when the connection ends: at once when the process is killed, within a
    minute when its machine is gone.
    """

    def __init__(self) -> None:
        self.id = _new_id()

    def open(self, tables: SqlTables) -> None:
        # Shared: a new connection has it while the database still believes in the lost one.
        tables.execute("SELECT pg_advisory_lock_shared(?)", (_lock_of(self.id),))

    def dead(self, tables: SqlTables, owners: Iterable[str]) -> set[str]:
        # Looking takes no lock, so that nobody who looks is mistaken for the owner.
        alive = {number for (number,) in tables.execute(_HELD)}
        return {owner for owner in owners if owner != self.id and _lock_of(owner) not in alive}

    def close(self) -> None:
        """Do nothing: the lock ends with the connection."""

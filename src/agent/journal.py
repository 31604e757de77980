"""Tables of this installation, and the journal of paid replies in them.

By default an SQLite file with one connection in one thread, in WAL with `synchronous=NORMAL`: what
is committed survives a killed process; a power cut can lose the last commits but never damages the
file. With a DATABASE_URL the same tables are in Postgres (`agent.postgres`).
"""

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import SecretStr

from agent.errors import ConfigurationError, ProviderError, StoreFailed
from agent.private_files import private_data, private_database

T = TypeVar("T")
log = logging.getLogger(__name__)

KEEP_SECONDS = 7 * 86_400
BUSY_SECONDS = 10.0
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
Place = Path | SecretStr
"""A folder for SQLite files, or the address of a Postgres database."""


class Rows(Protocol):
    """What a statement found."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Any:
        """A sequence for each column; its first element is the column's name."""
        ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Tables(Protocol):
    """A connection to a file or a database: the SQL both understand, `?` for each value."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows: ...


class Ledger(Protocol):
    """Tables in one place."""

    @property
    def shared(self) -> bool:
        """Whether other machines use them, too."""
        ...

    async def run(self, work: Callable[[Tables], T]) -> T:
        """Do `work`, whose statements must bear being repeated, in the ledger's own thread."""
        ...

    async def aclose(self) -> None: ...


def open_ledger(where: Place, opened: Callable[[Tables], None], *, stays: bool = False) -> Ledger:
    """The tables of a place; connects at the first use, and then calls `opened`.

    `stays`: the connection holds a lock, so that one that is lost is opened again at once.
    """
    if isinstance(where, Path):
        return SqliteFile(where / "runs.sqlite", opened)
    from agent.postgres.ledger import PostgresLedger

    return PostgresLedger(where, opened, stays=stays)


def connect(path: Path) -> sqlite3.Connection:
    """An open file in WAL mode, its folder created; blocks. Raises ConfigurationError."""
    try:
        private_database(path)
        private_data(path.parent)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        with _closed_on_failure(connection):
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError("TANLU_DATA_DIR", f"{path} cannot be used: {reason}") from None
    return connection


@contextlib.contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextlib.contextmanager
def failures_of(path: Path) -> Iterator[None]:
    """Raise StoreFailed where the file or its disk fails, not where a value is refused."""
    try:
        yield
    except sqlite3.Error as error:
        if type(error) not in (sqlite3.OperationalError, sqlite3.DatabaseError):
            raise
        raise StoreFailed("TANLU_DATA_DIR", f"{path} cannot be used: {error}") from None


def _use_wal(connection: sqlite3.Connection) -> None:
    """Two processes that open a new file at once: the loser is refused without waiting."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


class SqliteFile:
    """A file that any event loop may use; opened at the first use, one transaction per `run`."""

    shared = False

    def __init__(self, path: Path, opened: Callable[[sqlite3.Connection], None]) -> None:
        self.path = path
        self._opened = opened
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"sqlite-{path.stem}")
        self._connection: sqlite3.Connection | None = None

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in the file's thread and commit; a cancelled caller does not undo it.

        Raises StoreFailed, also where another process has the file locked for too long, and
        ConfigurationError where it cannot be opened.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with failures_of(self.path):
            if self._connection is None:
                connection = connect(self.path)
                with _closed_on_failure(connection):
                    self._opened(connection)
                    connection.commit()
                self._connection = connection
            with self._connection:
                return work(self._connection)

    async def aclose(self) -> None:
        """Close for good; harmless when it was never opened or is closed already."""
        with contextlib.suppress(RuntimeError):
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=True)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class ReplyJournal:
    """`calls.Journal`: a turn's replies until it ends, at most seven days.

    A store that fails raises StoreFailed: what cannot be kept must not be paid for. A reply that
    came too late for that stays here, and is saved before this process pays for anything else.
    """

    def __init__(self, where: Place, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._ledger = open_ledger(where, self._prepare)
        self._known: dict[str, set[str]] = {}
        self._tried: dict[str, bool] = {}
        self._unsaved: dict[tuple[str, str], str] = {}

    def _prepare(self, tables: Tables) -> None:
        for statement in _SCHEMA:
            tables.execute(statement)
        tables.execute("DELETE FROM replies WHERE at < ?", (self._clock() - KEEP_SECONDS,))

    async def load(self, turn_id: str, key: str) -> str | None:
        """The reply this turn has paid for, or None; a turn belongs to one process at a time."""
        if (unsaved := self._unsaved.get((turn_id, key))) is not None:
            return unsaved
        # Where machines share it, a turn may come back after another one worked on it.
        if not self._ledger.shared:
            known = self._known.get(turn_id)
            if known is None:
                known = await self._open(turn_id)
            if key not in known:
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
        if (known := self._known.get(turn_id)) is not None:
            known.add(key)

    async def ready(self, turn_id: str) -> None:
        """Save what could not be saved before; try to write once in a turn, even if all was."""
        unsaved = list(self._unsaved.items())
        if turn_id in self._tried and not unsaved:
            return

        def work(db: Tables) -> None:
            for (turn, key), reply in [*unsaved, ((turn_id, _TRIAL), "")]:
                db.execute(_SAVE, (turn, key, reply, self._clock()))
            db.execute("DELETE FROM replies WHERE turn_id = ? AND key = ?", (turn_id, _TRIAL))

        await self._try(work)
        for (turn, key), _ in unsaved:
            self._unsaved.pop((turn, key), None)
            self._known.get(turn, set()).add(key)
        _remember(self._tried, turn_id, True)

    async def forget(self, turn_id: str) -> None:
        """The turn has ended: its replies are in its answer, and may as well stay for a while."""
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
        """What the ledger knows of a turn, asked once: most turns are new to it."""
        rows = await self._try(
            lambda db: db.execute(
                "SELECT key FROM replies WHERE turn_id = ?", (turn_id,)
            ).fetchall()
        )
        if rows is None:
            return set()
        return _remember(self._known, turn_id, {key for (key,) in rows})

    async def aclose(self) -> None:
        await self._ledger.aclose()

    async def _try(self, work: Callable[[Tables], T]) -> T | None:
        try:
            return await self._ledger.run(work)
        except ConfigurationError as error:
            # A node would make a gap of it and go on.
            raise StoreFailed(error.name, error.problem) from None
        except (sqlite3.Error, ProviderError) as error:
            log.warning("the journal of paid replies does not work: %s", error)
            return None


def _remember(turns: dict[str, T], turn_id: str, value: T) -> T:
    """Return what is known of a turn; the oldest turns are forgotten."""
    while len(turns) >= _OPEN_TURNS:
        turns.pop(next(iter(turns)), None)
    return turns.setdefault(turn_id, value)


class SqliteJournal(ReplyJournal):
    """The journal in a folder's `runs.sqlite`."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__(folder, clock)

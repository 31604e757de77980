"""Keep our tables in one place: an SQLite file, or a Postgres database.

By default an SQLite file with one connection in one thread, in WAL with `synchronous=NORMAL`: what
is committed survives a killed process; a power cut can lose the last commits but never damages the
file. With a DATABASE_URL the same tables are in Postgres (`agent.runs.postgres`).
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import SecretStr

from agent.core.errors import ConfigurationError, StoreFailed
from agent.core.private_files import private_data, private_database

T = TypeVar("T")


KEEP_SECONDS = 7 * 86_400


BUSY_SECONDS = 10.0


Place = Path | SecretStr
"""A folder for SQLite files, or the address of a Postgres database."""


class ThreadSize(NamedTuple):
    """Tell what a thread takes in a saver."""

    thread_id: str
    last: str
    """The id of its last checkpoint, which tells the time."""
    checkpoints: int
    bytes: int


class Rows(Protocol):
    """Hold the result of a statement."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Any:
        """Return a sequence for each column; its first element is the column's name."""
        ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class SqlTables(Protocol):
    """Connect to a file or a database: the SQL both understand, `?` for each value."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows: ...


class Database(Protocol):
    """Keep tables in one place."""

    @property
    def shared(self) -> bool:
        """Return whether other machines use them, too."""
        ...

    async def run(self, work: Callable[[SqlTables], T]) -> T:
        """Do `work`, whose statements must bear being repeated, in the database's own thread."""
        ...

    async def aclose(self) -> None: ...


_MEMORY = Path(":memory:")


def open_database(
    where: Place | None, opened: Callable[[SqlTables], None], *, stays: bool = False
) -> Database:
    """Return the tables of a place; connects at the first use, and then calls `opened`.

    `stays`: the connection holds a lock, so that one that is lost is opened again at once. Without
    a place they are in memory, and end with it.
    """
    if where is None or isinstance(where, Path):
        return SqliteFile(where / "runs.sqlite" if where else _MEMORY, opened)
    from agent.runs.postgres import PostgresDatabase

    return PostgresDatabase(where, opened, stays=stays)


def connect_sqlite(path: Path) -> sqlite3.Connection:
    """Open a file in WAL mode, its folder created; blocks. Raises ConfigurationError."""
    if path == _MEMORY:
        return sqlite3.connect(":memory:", check_same_thread=False)
    try:
        private_database(path)
        private_data(path.parent)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        with contextlib.ExitStack() as failing:
            failing.callback(connection.close)
            if not path.stat().st_size:
                # Heeded before a new file's first table only, and it would wait for a writer:
                # what is deleted can be given back then.
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            failing.pop_all()
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError("TANLU_DATA_DIR", f"cannot be used, {path}: {reason}") from None
    return connection


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
    """Switch to WAL; of two processes that do so, the loser is refused without waiting."""
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


_FREE_PAGES = 64
"""Left in a file for what is written next; the rest of its free pages is given back."""


def give_back(connection: sqlite3.Connection) -> None:
    """Shrink a file by its free pages, between two transactions; old files keep their size."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if free > _FREE_PAGES:
        with contextlib.suppress(sqlite3.OperationalError):
            # `execute` would do one page of them.
            connection.executescript(f"PRAGMA incremental_vacuum({free - _FREE_PAGES})")


def erase(connection: sqlite3.Connection) -> None:
    """Leave nothing on the disk of what was deleted, as far as nobody else reads the file."""
    give_back(connection)
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class SqliteFile:
    """Serve a file to any event loop; opened at the first use, one transaction per `run`."""

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
                connection = connect_sqlite(self.path)
                with contextlib.ExitStack() as failing:
                    failing.callback(connection.close)
                    self._opened(connection)
                    connection.commit()
                    failing.pop_all()
                self._connection = connection
            with self._connection:
                return work(self._connection)

    async def aclose(self) -> None:
        """Close for good; harmless when it was never opened or is closed already."""
        with contextlib.suppress(RuntimeError):
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=True)

    def __del__(self) -> None:
        # Python 3.13 warns of a connection that nobody closed, as none is closed in a kill.
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

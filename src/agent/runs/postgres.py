"""Keep our tables in Postgres (`tanlu[postgres]`, DATABASE_URL). Everything here blocks."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic import SecretStr

from agent.core.errors import AgentError, ConfigurationError, ProviderError, StoreFailed
from agent.core.redaction import hide

NAME = "DATABASE_URL"
try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise ConfigurationError(NAME, 'needs the extra: pip install "tanlu[postgres]"') from None

T = TypeVar("T")
PostgresConnection = psycopg.Connection[Any]
log = logging.getLogger(__name__)

SCHEMA = "tanlu"
"""Ours alone, so that no table of another program in the same database is touched."""
_NO_ADDRESS = (
    "is no address of the form postgresql://user:password@host:5432/database; in a password,"
    " @ : / ? # % and a blank are written as %40 %3A %2F %3F %23 %25 %20"
)

_SET_UP = 0x74616E6C75
_SET_UP_SECONDS = 60.0
_PAUSES = (0.0, 0.3, 1.0, 3.0)
"""Before each new attempt on a lost connection; a restart of the database takes seconds."""

_PARAMETERS: dict[str, Any] = {
    "application_name": "tanlu",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def parameters_of(url: SecretStr) -> dict[str, Any]:
    """Return what the address says, with our defaults. Raises ConfigurationError, no passwords.

    An address that was not escaped is refused here: the library's own message would show part of
    the password as a host or a port.
    """
    try:
        parameters = conninfo_to_dict(url.get_secret_value().strip())
    except psycopg.Error:
        raise ConfigurationError(NAME, _NO_ADDRESS) from None
    hide(str(parameters.get("password") or ""))
    ports = str(parameters.get("port") or "").replace(",", "")
    places = f"{parameters.get('host') or ''}{parameters.get('dbname') or ''}"
    if "@" in places or not (ports.isdigit() or not ports):
        raise ConfigurationError(NAME, _NO_ADDRESS)
    return {**_PARAMETERS, **parameters}


def database_name(url: SecretStr) -> str:
    """Name the database and its server, without user and password."""
    parameters = parameters_of(url)
    host = parameters.get("host") or parameters.get("hostaddr") or "this machine"
    port = f":{parameters['port']}" if parameters.get("port") else ""
    name = parameters.get("dbname") or parameters.get("user") or "(default)"
    return f"database {name} on {host}{port}"


def connect_postgres(url: SecretStr) -> PostgresConnection:
    """Open a connection that commits each statement. Raises psycopg.Error, ConfigurationError."""
    connection = psycopg.connect(**parameters_of(url), autocommit=True, prepare_threshold=0)
    with contextlib.ExitStack() as failing:
        failing.callback(connection.close)
        connection.execute(f"SET search_path TO {SCHEMA}")
        # The other end notices within a minute that our machine is gone, not only our process.
        for name, value in (("idle", 30), ("interval", 10), ("count", 3)):
            with contextlib.suppress(psycopg.Error):
                connection.execute(f"SET tcp_keepalives_{name} TO {value}")
        failing.pop_all()
    return connection


@contextlib.contextmanager
def setting_up(connection: PostgresConnection) -> Iterator[None]:
    """Be the only process that creates tables; our schema exists inside.

    It asks again and again instead of waiting in the database: a statement that waits there would
    in turn be waited for by the CREATE INDEX CONCURRENTLY of the process that is setting up.
    """
    until = time.monotonic() + _SET_UP_SECONDS
    while not _one(connection, "SELECT pg_try_advisory_lock(%s)", _SET_UP):
        if time.monotonic() > until:
            raise ConfigurationError(NAME, "Another process has been creating the tables too long")
        time.sleep(0.05)
    try:
        if _one(connection, "SELECT to_regnamespace(%s)", SCHEMA) is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        yield
    finally:
        with contextlib.suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s)", (_SET_UP,))


def _one(connection: PostgresConnection, query: str, value: Any) -> Any:
    row = connection.execute(query, (value,)).fetchone()
    return row[0] if row else None


class PostgresSession:
    """Connect at the first use, and anew when the connection is lost; for one thread at a time."""

    def __init__(self, url: SecretStr, opened: Callable[[PostgresConnection], None]) -> None:
        self._url, self._opened = url, opened
        self._connection: PostgresConnection | None = None
        self.was_open = False

    def run(self, work: Callable[[PostgresConnection], T]) -> T:
        """Do `work`, which may be begun again after a loss, so it must bear being repeated.

        Raises ConfigurationError where it never worked, StoreFailed after that, ProviderError for a
        value that the database refuses; all in one line.
        """
        lost: psycopg.Error | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                return work(self._connected())
            except psycopg.Error as error:
                if not self.was_open:
                    raise ConfigurationError(NAME, f"cannot be used: {error_line(error)}") from None
                if isinstance(error, psycopg.DataError):
                    raise ProviderError("postgres", f"{NAME}: {error_line(error)}") from None
                if not self._is_lost(error):
                    raise StoreFailed(
                        NAME, f"{database_name(self._url)}: {error_line(error)}"
                    ) from None
                log.info("the connection to the database was lost: %s", error_line(error))
                self._connection, lost = None, error
        reason = error_line(lost) if lost else ""
        raise StoreFailed(NAME, f"the {database_name(self._url)} is gone: {reason}") from None

    def _is_lost(self, error: psycopg.Error) -> bool:
        """Return whether the connection is, not only what was asked of it refused."""
        if self._connection is not None and not self._connection.closed:
            return False
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)

    def _connected(self) -> PostgresConnection:
        if self._connection is None:
            connection = connect_postgres(self._url)
            with contextlib.ExitStack() as failing:
                failing.callback(connection.close)
                self._opened(connection)
                failing.pop_all()
            self._connection, self.was_open = connection, True
        return self._connection

    def close(self) -> None:
        """End the connection; its locks are gone at the return, not when the server notices."""
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.execute("SELECT pg_advisory_unlock_all()")
            self._connection.close()
            self._connection = None


def error_line(error: Exception) -> str:
    """Return what the database or the library said, shortened."""
    words = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
    return (words or type(error).__name__)[:300]


_BEAT_SECONDS = 5.0


def storable(value: Any) -> Any:
    """Return a text without what Postgres cannot keep: the character 0 and halves of characters."""
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Statements:
    """Offer a connection as `sqlite3.Connection` is one: `?` stands for a value."""

    def __init__(self, connection: "PostgresConnection") -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        return self._connection.execute(sql.replace("?", "%s"), [storable(v) for v in parameters])


class PostgresDatabase:
    """Serve a database as `SqliteFile` serves a file. Several processes and machines share it."""

    shared = True

    def __init__(
        self, url: SecretStr, opened: Callable[[Statements], None], *, stays: bool = False
    ) -> None:
        """Open a lost connection again at once where it `stays`, because it holds a lock."""
        self._url, self._opened, self._stays = url, opened, stays
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="postgres-database")
        self._session: PostgresSession | None = None
        self._closed = threading.Event()
        self._beating: threading.Thread | None = None

    async def run(self, work: Callable[[Statements], T]) -> T:
        """Do `work` in the database's thread; each statement is committed by itself.

        Raises what `Session.run` raises.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Callable[[Statements], T]) -> T:
        if self._session is None:
            self._session = PostgresSession(self._url, self._prepare)
        return self._session.run(lambda connection: work(Statements(connection)))

    def _prepare(self, connection: "PostgresConnection") -> None:

        with setting_up(connection):
            self._opened(Statements(connection))
        if self._stays and self._beating is None:
            self._beating = threading.Thread(target=self._beat, name="postgres-beat", daemon=True)
            self._beating.start()

    def _beat(self) -> None:
        while not self._closed.wait(_BEAT_SECONDS):
            with contextlib.suppress(AgentError, RuntimeError):
                self._thread.submit(self._do, lambda rows: rows.execute("SELECT 1")).result()

    async def aclose(self) -> None:
        """Close for good; harmless when it was never opened or is closed already."""
        self._closed.set()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._thread.shutdown(wait=True)
        if self._beating is not None:
            self._beating.join()
        if self._session is not None:
            self._session.close()

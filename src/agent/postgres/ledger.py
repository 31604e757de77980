"""Tables of ours in the database: one connection in one thread, for `journal` and `outbox`."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from agent.errors import AgentError

if TYPE_CHECKING:
    from agent.postgres.connection import Connection, Session

T = TypeVar("T")
_BEAT_SECONDS = 5.0


def storable(value: Any) -> Any:
    """A text without what Postgres cannot keep: the character 0 and halves of characters."""
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Statements:
    """A connection as `sqlite3.Connection` is one: `?` stands for a value."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        return self._connection.execute(sql.replace("?", "%s"), [storable(v) for v in parameters])


class PostgresLedger:
    """What `SqliteFile` is for a file. Several processes and machines share it."""

    shared = True

    def __init__(
        self, url: SecretStr, opened: Callable[[Statements], None], *, stays: bool = False
    ) -> None:
        """`stays`: a lost connection is opened again at once, because it holds a lock."""
        self._url, self._opened, self._stays = url, opened, stays
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="postgres-ledger")
        self._session: Session | None = None
        self._closed = threading.Event()
        self._beating: threading.Thread | None = None

    async def run(self, work: Callable[[Statements], T]) -> T:
        """Do `work` in the ledger's thread; each statement is committed by itself.

        Raises what `Session.run` raises.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Callable[[Statements], T]) -> T:
        if self._session is None:
            from agent.postgres.connection import Session

            self._session = Session(self._url, self._prepare)
        return self._session.run(lambda connection: work(Statements(connection)))

    def _prepare(self, connection: "Connection") -> None:
        from agent.postgres.connection import setting_up

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

"""Threads on SQLite in TANLU_DATA_DIR (`threads.sqlite`, `runs.sqlite`), or in Postgres.

`make` serves `langgraph dev` (langgraph.json, `checkpointer.path`), `open_threads` the command
line. Several processes may share the folder, several machines the database (DATABASE_URL). Why, and
what happens on the platform: docs/decisions/0004-threads-on-sqlite.md and 0011.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from pydantic import SecretStr

from agent.errors import AgentError, ConfigurationError, StoreFailed
from agent.journal import Place, ReplyJournal
from agent.loaded_runs import DeletedThreads, settle_ended
from agent.outbox import AcceptedRun, End, RunOutbox
from agent.owners import claim
from agent.private_files import private_tree
from agent.redaction import hide
from agent.settings import Settings
from agent.sqlite_threads import ThreadSaver, open_folder

if TYPE_CHECKING:
    from agent.postgres.saver import PostgresThreads

Saver: TypeAlias = "ThreadSaver | PostgresThreads"
Opened = contextlib.AbstractAsyncContextManager[Saver]
log = logging.getLogger(__name__)

_SERVERS_FILES = Path(".langgraph_api")
"""Where `langgraph dev` keeps its lists of threads and runs, below the folder it is started in."""
_after_runs: list[Callable[[], Awaitable[None]]] = []
_forget: list[Callable[[str], Awaitable[None]]] = []
_made: "Saver | None" = None


@asynccontextmanager
async def open_saver(where: Place, *, may_wait: bool = False) -> AsyncIterator[Saver]:
    """The threads of a folder or a database, created when missing. Raises ConfigurationError.

    `may_wait`: a database that cannot be used is an error of each use, not of opening it.
    """
    # Only LangGraph's and LangChain's own types are built from stored bytes, never others.
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    if isinstance(where, Path):
        opened: Opened = open_folder(where, serde)
    else:
        opened = await asyncio.to_thread(_in_database, where, serde, may_wait)
    async with opened as saver:
        yield saver


def _in_database(url: SecretStr, serde: SerializerProtocol, may_wait: bool) -> Opened:
    from agent.postgres.saver import open_database

    return open_database(url, serde, may_wait=may_wait)


def data_folder() -> Path:
    """TANLU_DATA_DIR alone: a mistake in another setting must not stop a server."""
    if named := os.environ.get("TANLU_DATA_DIR"):
        return Path(named)
    folder: Path = Settings.model_fields["tanlu_data_dir"].get_default(call_default_factory=True)
    return folder


def memory_place() -> Place:
    """DATABASE_URL, else TANLU_DATA_DIR; as there, whatever else is configured."""
    if url := os.environ.get("DATABASE_URL"):
        hide(url)
        return SecretStr(url)
    return data_folder()


def on_platform() -> bool:
    """Whether LangGraph's own platform runs this process; it keeps threads and runs itself."""
    return os.environ.get("LANGGRAPH_RUNTIME_EDITION", "inmem") != "inmem"


@asynccontextmanager
async def make() -> AsyncIterator[Saver]:
    """What langgraph.json names as `checkpointer.path`; refuses to replace the platform's own."""
    global _made
    if on_platform():
        raise ConfigurationError(
            "LANGGRAPH_CHECKPOINTER",
            "must be set to nothing here, so that the platform keeps the threads itself",
        )
    await asyncio.to_thread(_own_files)
    await asyncio.to_thread(_correct_deletion)
    async with open_saver(memory_place(), may_wait=True) as saver:
        _made = saver
        await _settle_ended()
        try:
            yield saver
        finally:
            _made = None
            await _close_registered()


def _own_files() -> None:
    """Let nobody else read the server's files, nor another server that lives use them.

    It writes them anew every ten seconds, from its own thread, with the modes of the umask; no
    file that a user names is written here. It has read them by now, but begun none of the runs in
    them: those of the other server would be begun, and paid, a second time.
    """
    os.umask(0o077)
    if not _SERVERS_FILES.is_dir():
        return
    private_tree(_SERVERS_FILES)
    if not claim(_SERVERS_FILES):
        raise AgentError(
            "another server is running in this folder: stop that one, or start this one in a "
            "folder of its own"
        )


def _correct_deletion() -> None:
    """Have threads deleted in our way, also those that were deleted shortly before a kill."""
    if find_spec("langgraph_runtime_inmem") is None:
        return
    from agent.thread_deletion import install

    deleted = DeletedThreads(_SERVERS_FILES)
    install(deleted, _forget_thread)
    deleted.drop()


async def _forget_thread(thread_id: str) -> None:
    for forget in _forget:
        await forget(thread_id)


@contextlib.contextmanager
def forgetting(forget: Callable[[str], Awaitable[None]]) -> Iterator[None]:
    """Have `forget(thread_id)` called in each deletion, before it is reported."""
    _forget.append(forget)
    try:
        yield
    finally:
        _forget.remove(forget)


async def _settle_ended() -> None:
    try:
        await settle_ended(memory_place())
    except (AgentError, StoreFailed, sqlite3.Error) as error:
        log.warning("runs that ended shortly before a kill may be begun again: %s", error)


def close_after_runs(close: Callable[[], Awaitable[None]]) -> bool:
    """Have `close` called once the server has ended its runs; False where `make` is not in use.

    The server closes its checkpointer after its workers, but our lifespan before them: a service
    closed there would be missing to runs that are only then cancelled.
    """
    if _made is not None:
        _after_runs.append(close)
    return _made is not None


async def askers_of(thread_id: str) -> set[str]:
    """Whose keys the steps of a thread were made with, "" for none; empty where it has none.

    A server that was killed, or another one of the same database, has the steps of threads that
    its own list does not show.
    """
    return await _made.askers(thread_id) if _made is not None else set()


async def _close_registered() -> None:
    while _after_runs:
        close = _after_runs.pop()
        try:
            await close()
        except Exception:
            log.exception("closing after the last run failed")


@dataclass(frozen=True)
class Threads:
    """What the command line keeps between its runs."""

    saver: Saver
    runs: RunOutbox
    journal: ReplyJournal


@asynccontextmanager
async def open_threads(settings: Settings) -> AsyncIterator[Threads]:
    """Threads, outbox and journal of the command line; closes them at the end."""
    where = settings.memory
    async with contextlib.AsyncExitStack() as stack:
        saver = await stack.enter_async_context(open_saver(where))
        runs, journal = RunOutbox(where, "cli"), ReplyJournal(where)
        stack.push_async_callback(runs.aclose)
        stack.push_async_callback(journal.aclose)
        yield Threads(saver, runs, journal)


def run_config(run: AcceptedRun) -> RunnableConfig:
    """The config of a run, first time and again.

    With the same run id LangGraph goes on from the run's last checkpoint, if it has one, and
    begins with the input otherwise; so a caller need not know which.
    """
    return RunnableConfig(
        configurable={"thread_id": run.thread_id},
        metadata={"run_id": run.run_id},
        run_id=UUID(run.run_id),
    )


async def continue_interrupted(
    threads: Threads,
    graph_of: Callable[[str], Pregel[Any, Any, Any, Any]],
    tell: Callable[[AcceptedRun, End | Literal["continuing"]], None],
) -> None:
    """Bring the local runs of dead processes to their end, one after the other.

    `graph_of(assistant)` is a graph compiled with `threads.saver`; `tell(run, status)` hears
    "continuing" and how each ended.
    """
    for run in await threads.runs.unfinished():
        if run.url is None and (mine := await threads.runs.take(run)):
            tell(mine, "continuing")
            tell(mine, await _to_the_end(threads, mine, graph_of(mine.assistant)))


async def _to_the_end(threads: Threads, run: AcceptedRun, graph: Pregel[Any, Any, Any, Any]) -> End:
    status: End = "error"
    try:
        result = await graph.ainvoke(
            run.graph_input, run_config(run), context=run.context or None, durability="sync"
        )
        status = "interrupted" if "__interrupt__" in result else "success"
    except (AgentError, StoreFailed) as error:
        log.warning("run=%s failed: %s", run.run_id, error)
    except Exception:
        log.exception("run=%s failed", run.run_id)
    await threads.runs.finish(run.run_id, status)
    return status

"""Open threads, run log and reply cache of a process: in TANLU_DATA_DIR, or in Postgres.

`open_threads` serves the command line. Several processes may share the folder, several machines
the database (DATABASE_URL). Why: docs/decisions/0004-threads-on-sqlite.md and 0011.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from pydantic import SecretStr

from agent.core.errors import AgentError, StoreFailed
from agent.core.redaction import hide
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import AcceptedRun, End, RunLog
from agent.runs.shares import Shares
from agent.runs.sql import Place
from agent.runs.sqlite_saver import ThreadSaver, open_folder
from agent.runs.workspace_store import WorkspaceStore
from agent.settings import RetentionSettings, Settings

if TYPE_CHECKING:
    from agent.runs.postgres_saver import PostgresThreads


log = logging.getLogger(__name__)

Saver: TypeAlias = "ThreadSaver | PostgresThreads"


Opened = contextlib.AbstractAsyncContextManager[Saver]


NOT_KEPT = (
    "This thread does not keep that checkpoint any more: ask without one, or have earlier ones"
    " kept from now on with TANLU_KEEP_HISTORY=1."
)
_SHORTEN_SECONDS = 5.0
"""Who waits for the end of a run waits for this, too."""
_of_server: "Saver | None" = None


@asynccontextmanager
async def open_saver(where: Place, *, may_wait: bool = False) -> AsyncIterator[Saver]:
    """Open the threads of a folder or a database, created when missing. Raises ConfigurationError.

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


def serve_from(saver: "Saver | None") -> None:
    """Name the saver of the server in this process; None once it is closed."""
    global _of_server
    _of_server = saver


def is_serving_threads() -> bool:
    """Return whether a server of this process has its threads in a saver of ours."""
    return _of_server is not None


def server_saver() -> "Saver | None":
    """Return the saver of the server in this process, where it is one of ours."""
    return _of_server


async def shorten(thread_id: str, run_id: str, saver: "Saver | None" = None) -> None:
    """Leave a thread its last checkpoint, after a run that ended and waits for nobody.

    A failure is logged: the next run's end makes up for it, as it does for a killed process.
    """
    if (saver := saver or _of_server) is None:
        return
    try:
        keep = RetentionSettings().tanlu_keep_history
        async with asyncio.timeout(_SHORTEN_SECONDS):
            await saver.shorten(thread_id, run_id, keep_history=keep)
    except (AgentError, StoreFailed, sqlite3.Error, ValueError, TimeoutError) as error:
        reason = str(error) or f"not done in {_SHORTEN_SECONDS:g} s"
        log.warning("the earlier checkpoints of thread=%s stay: %s", thread_id, reason)


async def has_checkpoint(thread_id: str, position: Mapping[str, Any]) -> bool:
    """Return whether the server's saver has the checkpoint that a run is to begin from."""
    config = RunnableConfig(configurable={"thread_id": thread_id, **position})
    return _of_server is None or await _of_server.aget_tuple(config) is not None


async def askers_of(thread_id: str) -> set[str]:
    """Return whose keys the steps of a thread were made with, "" for none; empty if it has none.

    A server that was killed, or another one of the same database, has the steps of threads that
    its own list does not show.
    """
    return await _of_server.askers(thread_id) if _of_server is not None else set()


def _in_database(url: SecretStr, serde: SerializerProtocol, may_wait: bool) -> Opened:
    from agent.runs.postgres_saver import open_postgres_threads

    return open_postgres_threads(url, serde, may_wait=may_wait)


def data_folder() -> Path:
    """Read TANLU_DATA_DIR alone: a mistake in another setting must not stop a server."""
    if named := os.environ.get("TANLU_DATA_DIR"):
        return Path(named)
    folder: Path = Settings.model_fields["tanlu_data_dir"].get_default(call_default_factory=True)
    return folder


def memory_place() -> Place:
    """Return DATABASE_URL, else TANLU_DATA_DIR, whatever else is configured."""
    if url := os.environ.get("DATABASE_URL"):
        hide(url)
        return SecretStr(url)
    return data_folder()


@dataclass(frozen=True)
class Threads:
    """Hold what the command line keeps between its runs."""

    saver: Saver
    runs: RunLog
    reply_cache: ReplyCache
    workspace: WorkspaceStore
    shares: Shares


@asynccontextmanager
async def open_threads(settings: Settings) -> AsyncIterator[Threads]:
    """Open threads, run log and reply cache of the command line; close them at the end."""
    where = settings.memory
    async with contextlib.AsyncExitStack() as stack:
        saver = await stack.enter_async_context(open_saver(where))
        runs, reply_cache = RunLog(where, "cli"), ReplyCache(where)
        workspace, shares = WorkspaceStore(where), Shares(where)
        stack.push_async_callback(runs.aclose)
        stack.push_async_callback(reply_cache.aclose)
        stack.push_async_callback(workspace.aclose)
        stack.push_async_callback(shares.aclose)
        yield Threads(saver, runs, reply_cache, workspace, shares)


async def last_run(settings: Settings) -> AcceptedRun | None:
    """Return the run that the command line accepted last; None where there is none."""
    runs = RunLog(settings.memory, "cli")
    try:
        return await runs.latest()
    finally:
        await runs.aclose()


def run_config(run: AcceptedRun) -> RunnableConfig:
    """Return the config of a run, first time and again.

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
    on_status: Callable[[AcceptedRun, End | Literal["continuing"]], None],
) -> None:
    """Bring the local runs of dead processes to their end, one after the other.

    `graph_of(assistant)` is a graph compiled with `threads.saver`; `on_status(run, status)` hears
    "continuing" and how each ended.
    """
    for run in await threads.runs.unfinished():
        if run.url is None and (mine := await threads.runs.take(run)):
            on_status(mine, "continuing")
            on_status(mine, await _to_the_end(threads, mine, graph_of(mine.assistant)))


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
    if status == "success":
        await shorten(run.thread_id, run.run_id, threads.saver)
    return status

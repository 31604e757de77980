"""Make the checkpointer of `langgraph dev` (langgraph.json, `checkpointer.path`).

What happens on the platform: docs/decisions/0004-threads-on-sqlite.md.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.core.private_files import private_tree
from agent.engines.langgraph.dev_server import DeletedThreads, settle_ended
from agent.runs.lease import claim, only_server
from agent.runs.threads import Saver, is_serving_threads, memory_place, open_saver, serve_from

log = logging.getLogger(__name__)

_SERVERS_FILES = Path(".langgraph_api")
"""Where `langgraph dev` keeps its lists of threads and runs, below the folder it is started in."""
_after_runs: list[Callable[[], Awaitable[None]]] = []
_forget: list[Callable[[str], Awaitable[None]]] = []


def on_platform() -> bool:
    """Return whether LangGraph's own platform runs this process; it keeps threads itself."""
    return os.environ.get("LANGGRAPH_RUNTIME_EDITION", "inmem") != "inmem"


@asynccontextmanager
async def make() -> AsyncIterator[Saver]:
    """Yield the server's saver; raise ConfigurationError where the platform has its own."""
    if on_platform():
        raise ConfigurationError(
            "LANGGRAPH_CHECKPOINTER",
            "must be set to nothing here, so that the platform keeps the threads itself",
        )
    await asyncio.to_thread(own_files)
    await asyncio.to_thread(_correct_deletion)
    where = memory_place()
    async with only_server(where), open_saver(where, may_wait=True) as saver:
        serve_from(saver)
        await _settle_ended()
        try:
            yield saver
        finally:
            serve_from(None)
            await _close_registered()


def own_files() -> None:
    """Let nobody else read the server's files, nor another server that lives use them.

    Raises AgentError where one does.

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
            "Another server is running in this folder: stop that one, or start this one in a "
            "folder of its own."
        )


def _correct_deletion() -> None:
    """Have threads deleted in our way, also those that were deleted shortly before a kill."""
    if find_spec("langgraph_runtime_inmem") is None:
        return
    from agent.engines.langgraph.thread_deletion import install

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
    if is_serving_threads():
        _after_runs.append(close)
    return is_serving_threads()


async def _close_registered() -> None:
    while _after_runs:
        close = _after_runs.pop()
        try:
            await close()
        except Exception:
            log.exception("closing after the last run failed")

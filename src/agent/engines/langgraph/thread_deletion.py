"""Delete threads in `langgraph dev`, for all who delete: its API, its workers, pruning.

The server's own `Threads.delete` looks up a thread's place in the list, waits for the checkpointer
and then removes what is at that place, by then perhaps another thread. `install` replaces it. Only
a process that runs the server may import this module: docs/decisions/0015-deletion-of-threads.md.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from langgraph_runtime_inmem import (  # type: ignore[import-untyped]
    inmem_stream,
    ops,
    queue,
)
from starlette.exceptions import HTTPException

from agent.engines.langgraph.dev_server import DeletedThreads, check_runtime

_REPLACED = "bf1279d47db1ee61"
"""Digest of the sources of `_functions()`: what is replaced, and what the replacement relies on."""
_ROUNDS = 3
_STOP_SECONDS = 10.0
_ACTIVE = ("pending", "running")


def install(deleted: DeletedThreads, forget: Callable[[str], Awaitable[None]]) -> None:
    """Make `ThreadDeletion` the server's `Threads.delete`; raise ConfigurationError if it changed.

    `forget(thread_id)` removes what else is stored of a thread; its error is one of the deletion.
    """
    if not isinstance(ops.Threads.delete, ThreadDeletion):
        check_runtime(_functions, _REPLACED, "deletes threads")
    ops.Threads.delete = staticmethod(ThreadDeletion(deleted, forget))


def _functions() -> tuple[Any, ...]:
    return (
        ops.Threads.delete,
        ops.Threads._get_with_filters,
        ops.Runs.cancel,
        ops._delete_checkpoints_for_thread,
        queue.queue,
        inmem_stream.StreamManager,
    )


class ThreadDeletion:
    """Delete everything stored first, then the thread, without a suspension."""

    def __init__(self, deleted: DeletedThreads, forget: Callable[[str], Awaitable[None]]) -> None:
        self._deleted, self._forget = deleted, forget
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def __call__(
        self, conn: Any, thread_id: UUID | str, ctx: Any = None
    ) -> AsyncIterator[UUID]:
        """Delete a thread with its runs, crons and checkpoints; 404 where the caller has none."""
        thread_id = UUID(str(thread_id))
        try:
            return await self._delete(conn, thread_id, ctx)
        except Exception:
            # Who listens to a run without a thread waits until it is gone or has ended.
            for run in _runs(conn, thread_id):
                if _works_on(run):
                    run["status"] = "error"
            raise

    async def _delete(self, conn: Any, thread_id: UUID, ctx: Any) -> AsyncIterator[UUID]:
        filters = await ops.Threads.handle_event(ctx, "delete", {"thread_id": thread_id})
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        for _ in range(_ROUNDS):
            await _exists(conn, thread_id, filters)
            await _end_runs(conn, thread_id, ctx)
            async with lock:
                # Who deleted it at the same time may have been first.
                await _exists(conn, thread_id, filters)
                if not _workers(conn, thread_id):
                    await self._remove_stored(conn, thread_id)
                # A run may have been asked for meanwhile.
                if not _workers(conn, thread_id):
                    _remove(conn.store, thread_id)
                    return _only(thread_id)
        raise HTTPException(409, f"Thread {thread_id} has runs that do not end.")

    async def _remove_stored(self, conn: Any, thread_id: UUID) -> None:
        await self._forget(str(thread_id))
        await ops._delete_checkpoints_for_thread(thread_id, conn)
        await asyncio.to_thread(self._deleted.add, str(thread_id))


async def _exists(conn: Any, thread_id: UUID, filters: Any) -> None:
    if await ops.Threads._get_with_filters(conn, thread_id, filters) is None:
        raise HTTPException(404, f"Thread with ID {thread_id} not found.")


async def _end_runs(conn: Any, thread_id: UUID, ctx: Any) -> None:
    """Cancel the thread's runs and wait for their workers, which would go on writing to it.

    A run without a thread is over when its own worker deletes the thread that was made for it.
    """
    runs = [run for run in _runs(conn, thread_id) if not _works_on(run)]
    active = [run["run_id"] for run in runs if run["status"] in _ACTIVE]
    if active:
        await ops.Runs.cancel(conn, active, thread_id=thread_id, ctx=ctx)
    if workers := _workers(conn, thread_id):
        await asyncio.wait(workers, timeout=_STOP_SECONDS)


def _runs(conn: Any, thread_id: UUID) -> list[Any]:
    return [run for run in conn.store["runs"] if run["thread_id"] == thread_id]


def _works_on(run: Any, task: Any = None) -> bool:
    """Tell whether a task, by default the present one, is a run's worker; its name says so."""
    task = task or asyncio.current_task()
    return isinstance(task, asyncio.Task) and task.get_name().startswith(f"run-{run['run_id']}-")


def _workers(conn: Any, thread_id: UUID) -> set[asyncio.Task[Any]]:
    """Return the workers on a thread's runs, but for the present task."""
    runs, others = _runs(conn, thread_id), queue.WORKERS - {asyncio.current_task()}
    return {task for task in others if any(_works_on(run, task) for run in runs)}


def _remove(store: Any, thread_id: UUID) -> None:
    """Take a thread out of the server's lists; what it remembers of its streams goes as well."""
    store["threads"][:] = [t for t in store["threads"] if t["thread_id"] != thread_id]
    store["runs"] = [run for run in store["runs"] if run["thread_id"] != thread_id]
    store["crons"] = [c for c in store["crons"] if str(c.get("thread_id")) != str(thread_id)]
    inmem_stream.get_stream_manager().message_stores.pop(thread_id, None)


async def _only(thread_id: UUID) -> AsyncIterator[UUID]:
    yield thread_id

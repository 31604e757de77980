"""Write every run that `langgraph dev` inserts into the run log, and its end; begin it at once.

The server has one place where it inserts a run (`Runs.put`) and one where it ends one
(`Threads.set_joint_status`), for its API, the event protocol, its own loopback client and stateless
runs alike; `recorded` stands around both, so a run is in the log before its client hears of it, and
a refused one never is. The server's queue (`Runs.next`) looks for runs twice a second, and takes
those that were there the time before; here it is told of each. Only a process that runs the server
may import this module. Why no authorization hook does this, and why the queue is woken:
docs/decisions/0017-the-run-log-where-runs-are-inserted.md.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from inspect import signature
from typing import Any

from langgraph_api.utils import get_auth_ctx  # type: ignore[import-untyped]
from langgraph_runtime_inmem import ops  # type: ignore[import-untyped]
from starlette.exceptions import HTTPException

from agent.engines.langgraph.dev_server import check_runtime
from agent.engines.langgraph.recovery import RunWatch
from agent.runs.engine import MARK
from agent.runs.run_log import AcceptedRun, End
from agent.runs.threads import NOT_KEPT, has_checkpoint, shorten

_WRAPPED = "7751c372fc092e87"
"""Digest of the sources of `_functions()`."""
_EVENT_PROTOCOL = "__event_streaming_v2"
"""Set by the server on runs of the event protocol, whose stream modes its REST routes refuse."""
_POSITION = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")
_INTERNAL = ("thread_id", "run_id", *_POSITION)
_SERVERS_OWN = ("__", "langgraph_")
"""How names begin that the server sets, as the caller's: for a continued run nobody would."""
_LOOK_SECONDS = 0.5
"""The server's own pause before it looks for runs again: one may also become due by itself."""
_HEAD_START = 0.1
"""Seconds for a client to listen to what it began: nobody else hears why a run fails at once."""


class Arrival:
    """Let the queue wait for a run that may begin; any loop and thread may tell it of one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = float("-inf")

    async def wait(self, seconds: float) -> None:
        """Return when a run is due that has come since the last time, or nothing for `seconds`."""
        self._loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()
        await asyncio.sleep(max(0.0, self._due - time.monotonic()))

    def tell(self, seconds: float = 0.0) -> None:
        """Wake whoever waits, for a run that is due in so many seconds."""
        self._due = max(self._due, time.monotonic() + seconds)
        if self._loop is None:
            self._event.set()
        else:
            self._loop.call_soon_threadsafe(self._event.set)

    def awaited_by(self, take: Any) -> Any:
        """Return the queue's function `take`, which waits here where it would pause."""

        async def take_at_once(wait: bool, limit: int = 1) -> AsyncIterator[Any]:
            if wait:
                await self.wait(_LOOK_SECONDS)
            async for run in take(wait=False, limit=limit):
                yield run

        return take_at_once


@contextmanager
def watched_runs(watch: RunWatch) -> Iterator[None]:
    """Tell `watch` of each run that is inserted and of each that ends, and the queue of both.

    Raises ConfigurationError if the server does this in another way than this module expects.
    """
    check_runtime(_functions, _WRAPPED, "inserts, takes and ends runs")
    put, take, end, cancel = _functions()
    arrival, of_end = Arrival(), signature(end)

    async def put_and_record(
        conn: Any, assistant_id: Any, kwargs: Any, **options: Any
    ) -> AsyncIterator[Any]:
        await _refuse_without_checkpoint(kwargs, options.get("thread_id"))
        # The new run, if it was inserted, and those that the thread had before.
        runs = [run async for run in await put(conn, assistant_id, kwargs, **options)]
        inserted = bool(runs) and runs[0]["run_id"] == options["run_id"]
        if inserted and (row := accepted_run(runs[0], kwargs, options["metadata"] or {})):
            await watch.accepted(row)
        arrival.tell(_HEAD_START)
        return _each(runs)

    async def record_end(*arguments: Any, **options: Any) -> None:
        await _close(watch, of_end.bind(*arguments, **options).arguments)
        await end(*arguments, **options)
        arrival.tell()

    async def cancel_and_look(*arguments: Any, **options: Any) -> None:
        await cancel(*arguments, **options)
        watch.look()

    _replace(put_and_record, arrival.awaited_by(take), record_end, cancel_and_look)
    try:
        yield
    finally:
        _replace(put, take, end, cancel)


async def _close(watch: RunWatch, call: Mapping[str, Any]) -> None:
    """Tell `watch` how a run ended, and shorten its thread where nothing goes on from there."""
    checkpoint = call.get("checkpoint")
    paused = bool(checkpoint and checkpoint["next"])
    await watch.ended(str(call["run_id"]), end_by_status(call["run_status"], paused=paused))
    if call["run_status"] == "success" and not paused and not _others_wait(call):
        await shorten(str(call["thread_id"]), str(call["run_id"]))


async def _refuse_without_checkpoint(kwargs: Mapping[str, Any], thread_id: Any) -> None:
    """Raise HTTPException where a run is to begin from a checkpoint that is not kept any more.

    The server would begin with an empty thread, and the conversation would be gone.
    """
    position = _position((kwargs.get("config") or {}).get("configurable") or {})
    if "checkpoint_id" not in position or thread_id is None:
        return
    if not await has_checkpoint(str(thread_id), position):
        raise HTTPException(409, NOT_KEPT)


def _position(configurable: Mapping[str, Any]) -> dict[str, Any]:
    return {name: configurable[name] for name in _POSITION if configurable.get(name)}


def _others_wait(call: Mapping[str, Any]) -> bool:
    """Return whether further runs of the thread wait: one may begin from an earlier checkpoint."""
    thread_id, run_id = str(call["thread_id"]), str(call["run_id"])
    return any(
        str(run["thread_id"]) == thread_id and str(run["run_id"]) != run_id
        for run in call["conn"].store["runs"]
        if run["status"] == "pending"
    )


def accepted_run(
    run: Mapping[str, Any], kwargs: Mapping[str, Any], metadata: Mapping[str, Any]
) -> AcceptedRun | None:
    """Return the log's row of an inserted run, made of what it was asked with.

    None for runs that nobody could read after a kill (stateless ones) and for those that are begun
    again by others: by the cron, which the server's file still has as due, or by whoever says with
    MARK which run it goes on with.
    """
    configurable = (kwargs.get("config") or {}).get("configurable") or {}
    if kwargs.get("temporary") or MARK in metadata or "cron_id" in configurable:
        return None
    context = {
        name: value
        for name, value in (kwargs.get("context") or {}).items()
        if name not in _INTERNAL and not name.startswith(_SERVERS_OWN)
    }
    caller = get_auth_ctx()
    return AcceptedRun(
        str(run["run_id"]),
        str(run["thread_id"]),
        str(run["assistant_id"]),
        kwargs.get("input"),
        context,
        _options(kwargs, configurable, metadata),
        asker=caller.user.identity if caller else "",
    )


def _options(
    kwargs: Mapping[str, Any], configurable: Mapping[str, Any], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the further arguments of `runs.create` with which the run can be begun again."""
    options = {
        name: kwargs.get(name) for name in ("command", "interrupt_before", "interrupt_after")
    }
    options["metadata"] = dict(metadata)
    options["checkpoint"] = _position(configurable)
    if not configurable.get(_EVENT_PROTOCOL):
        options["stream_mode"] = kwargs.get("stream_mode")
        options["stream_subgraphs"] = kwargs.get("subgraphs")
        options["stream_resumable"] = kwargs.get("resumable")
    return {name: value for name, value in options.items() if value}


def end_by_status(run_status: str, *, paused: bool) -> End:
    """Return the end in the log for the status that the server gives a run."""
    if run_status in ("error", "timeout"):
        return "error"
    if run_status == "rollback":
        return "cancelled"
    return "interrupted" if paused else "success"


def _functions() -> tuple[Any, Any, Any, Any]:
    return ops.Runs.put, ops.Runs.next, ops.Threads.set_joint_status, ops.Runs.cancel


def _replace(put: Any, take: Any, end: Any, cancel: Any) -> None:
    ops.Runs.put, ops.Runs.cancel = staticmethod(put), staticmethod(cancel)
    ops.Runs.next = staticmethod(take)
    ops.Threads.set_joint_status = staticmethod(end)


async def _each(runs: list[Any]) -> AsyncIterator[Any]:
    for run in runs:
        yield run

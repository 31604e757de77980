"""Bring what a server accepted to its end, also after kill -9.

`langgraph dev` writes its threads and runs to disk every ten seconds; what came after that is
unknown to it when it is killed. `accepted_runs` tells `RunWatch` of every run and of its end; at
the start the watch continues the runs of a server that died. Several servers at a time have an
engine of their own (`agent.engines.aegra`).
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError
from langgraph_sdk.schema import Run

from agent.core.errors import AgentError, StoreFailed
from agent.runs.engine import MARK, OF_THREAD, OWNER
from agent.runs.run_log import AcceptedRun, End, RunLog

log = logging.getLogger(__name__)

HEARD = ("stream_mode", "stream_subgraphs", "stream_resumable")
"""Of a request: what those who listen to its run are told, and to its continuation as well."""
_POLL_SECONDS = 5.0
_LONGEST_PAUSE = 60.0
_SETTLE_SECONDS = 0.2
_HOLD_SECONDS = 5.0
"""A client's reply waits so long at most for each of the two things that write its run down."""
_LISTED = 20
_ACTIVE = ("pending", "running")


class RunWatch:
    """Keep the run log of one server true; `client` is a loopback client of that server."""

    def __init__(self, run_log: RunLog, client: LangGraphClient) -> None:
        self._run_log = run_log
        self._client = client
        self._look = asyncio.Event()
        self._knows_threads = asyncio.Event()

    async def knows_threads(self) -> None:
        """Return once no thread that a dead server left is unknown, or after five seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HOLD_SECONDS):
                await self._knows_threads.wait()

    async def accepted(self, run: AcceptedRun) -> None:
        """Write a run down; a full disk costs its recovery, not the run."""
        with self._logged(f"run={run.run_id} is not in the run log"):
            async with asyncio.timeout(_HOLD_SECONDS):
                await self._run_log.accept(run)
        self._look.set()

    async def ended(self, run_id: str, status: End) -> None:
        """Close a run's row; a full disk costs that, not the run."""
        with self._logged(f"run={run_id}: its end is not in the run log"):
            async with asyncio.timeout(_HOLD_SECONDS):
                await self._run_log.finish(run_id, status)

    @contextlib.contextmanager
    def _logged(self, loss: str) -> Iterator[None]:
        """Log errors of our tables while a client waits for its reply; they are not its fault."""
        try:
            yield
        except (sqlite3.Error, httpx.HTTPError, RuntimeError, ValueError, TimeoutError) as error:
            log.error("%s: %s", loss, str(error) or f"no answer in {_HOLD_SECONDS:g} s")

    def look(self) -> None:
        """Have the watch look soon, as something may have ended."""
        self._look.set()

    async def run(self) -> None:
        """Continue what a dead server left, then follow the runs until cancelled."""
        recovered, pause = False, _POLL_SECONDS
        while True:
            try:
                if not recovered:
                    await self.recover()
                    recovered = True
                await self._look_once()
                pause = _POLL_SECONDS
            except (httpx.HTTPError, sqlite3.Error, AgentError, StoreFailed) as error:
                log.warning("the run log could not be brought up to date: %s", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _look_once(self) -> None:
        working = await self._run_log.working()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS if working else None):
                await self._look.wait()
                await asyncio.sleep(_SETTLE_SECONDS)
        self._look.clear()
        await self.close_ended()

    async def close_ended(self) -> None:
        """Close the rows of runs that ended unseen: cancelled while they waited, or deleted."""
        working = await self._run_log.working()
        threads = {run.thread_id for run in working}
        if not threads:
            return
        rows = await self._client.threads.search(
            ids=sorted(threads), limit=len(threads), select=["thread_id", "status"]
        )
        status = {row["thread_id"]: row["status"] for row in rows}
        for run in working:
            now = status.get(run.thread_id)
            if now != "busy" and not await self._at_work(run):
                await self._run_log.finish(run.run_id, _END_OF_THREAD.get(now or "", "cancelled"))

    async def _at_work(self, run: AcceptedRun) -> bool:
        """Return whether the server works on a run or will; its thread alone does not tell.

        A thread counts as at rest as soon as one of its waiting runs is cancelled.
        """
        try:
            row = await self._client.runs.get(run.thread_id, run.run_id)
        except NotFoundError:
            return False
        return row["status"] in _ACTIVE

    async def recover(self) -> None:
        """Bring what a dead server of this folder had accepted to its end."""
        unfinished = await self._run_log.unfinished()
        for thread_id, graph, asker in await self._run_log.lately_ended():
            with contextlib.suppress(APIStatusError):
                await self._make_known(thread_id, graph, asker)
        for run in unfinished:
            with contextlib.suppress(APIStatusError):
                await self._make_known(run.thread_id, run.assistant, run.asker, run.options)
        self._knows_threads.set()
        for run in unfinished:
            mine = await self._run_log.take(run)
            if mine is None:
                continue
            try:
                await self._continue(mine)
            except APIStatusError as error:
                log.warning("run=%s cannot be continued: %s", run.run_id, error)
                await self._run_log.finish(run.run_id, "failed")
            except httpx.HTTPError as error:
                log.warning("run=%s is not continued now: %s", run.run_id, error)

    async def _continue(self, run: AcceptedRun) -> None:
        if await self._server_knows(run) or await self._goes_on(run):
            return
        state = await self._client.threads.get_state(run.thread_id)
        begun = _belongs(state.get("metadata") or {}, run)
        if begun and (ended := _ended(state)):
            await self._run_log.finish(run.run_id, ended)
            return
        created = await self._begin(run, begun=begun)
        await self._run_log.rename(run, created["run_id"])
        log.info("run=%s continued as %s", run.run_id, created["run_id"])

    async def _begin(self, run: AcceptedRun, *, begun: bool) -> Run:
        options = dict(run.options)
        metadata = options.pop("metadata", None) or {}
        return await self._client.runs.create(
            run.thread_id,
            run.assistant,
            input=None if begun else run.input,
            context=run.context or None,
            metadata={**metadata, **_owned(run.asker), MARK: run.run_ids[0]},
            multitask_strategy="enqueue",
            durability="sync",
            **{name: options[name] for name in options if name in HEARD or not begun},
        )

    async def _goes_on(self, run: AcceptedRun) -> bool:
        """Return whether somebody else, as a client that lost it, goes on with the run already."""
        try:
            others = await self._client.runs.list(run.thread_id, limit=_LISTED)
        except NotFoundError:
            return False
        for other in others:
            marked = (other.get("metadata") or {}).get(MARK)
            if other["status"] in _ACTIVE and marked in run.run_ids:
                await self._run_log.rename(run, other["run_id"])
                log.info("run=%s goes on as %s", run.run_id, other["run_id"])
                return True
        return False

    async def _make_known(
        self, thread_id: str, assistant: str, asker: str, options: Mapping[str, Any] | None = None
    ) -> None:
        """Make a thread that the server forgot anew; its checkpoints were never lost.

        `options` are those of a run on it, which may name it.
        """
        try:
            UUID(assistant)
        except ValueError:
            graph = assistant
        else:
            graph = (await self._client.assistants.get(assistant))["graph_id"]
        await self._client.threads.create(
            thread_id=thread_id, if_exists="do_nothing", graph_id=graph,
            metadata={**_named(options or {}), **_owned(asker)},
        )  # fmt: skip

    async def _server_knows(self, run: AcceptedRun) -> bool:
        """Return whether the server itself remembers the run; then it also continues it."""
        try:
            row = await self._client.runs.get(run.thread_id, run.run_id)
        except NotFoundError:
            return False
        log.info("run=%s is known to the server: %s", run.run_id, row["status"])
        return True


_END_OF_THREAD: dict[str, End] = {
    "idle": "success",
    "error": "error",
    "interrupted": "interrupted",
}


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's metadata says of its whole thread."""
    metadata = options.get("metadata") or {}
    return {name: metadata[name] for name in OF_THREAD if name in metadata}


def _owned(asker: str) -> dict[str, str]:
    """Return the metadata of what the asker makes."""
    return {OWNER: asker} if asker else {}


def _belongs(metadata: Mapping[str, Any], run: AcceptedRun) -> bool:
    """Return whether the thread's last checkpoint is this run's."""
    return metadata.get("run_id") in run.run_ids or metadata.get(MARK) == run.run_ids[0]


def _ended(state: Mapping[str, Any]) -> End | None:
    """Return the end, or None; a task whose writes await their checkpoint is not in `next`."""
    if state.get("interrupts"):
        return "interrupted"
    return None if state.get("tasks") or state.get("next") else "success"

"""Ask in this process: the graph on the stored threads, in the run log before it starts."""

import asyncio
import logging
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig

from agent.assistants.registry import Graph, compiled
from agent.cli.console import called_as
from agent.cli.environment import RUN_ID
from agent.cli.request import Request
from agent.cli.watch import Watcher
from agent.client.run_result import Outcome, Pause, RunName, outcome_of, pause_of
from agent.core.errors import InputError, StoreFailed
from agent.runs.run_log import AcceptedRun, End
from agent.runs.threads import Threads, continue_interrupted, open_threads, run_config, shorten
from agent.services import close_process_services
from agent.settings import read_settings

log = logging.getLogger(__name__)


async def ask_here(request: Request, watcher: Watcher, accepted: asyncio.Event) -> Outcome | Pause:
    """Run the assistant to its answer, or to where it waits for a review.

    `accepted` is set once the run is in the run log.

    Runs of killed processes are brought to their end besides, or before if they are on the same
    thread. Cancelling ends the run and closes everything. Raises AgentError.
    """
    try:
        async with open_threads(read_settings()) as threads:
            local_run = LocalRun(threads, request, watcher)
            if request.follows_up and request.question is not None:
                await local_run.finish_others()
                return await local_run.ask(accepted)
            run = await local_run.take_up()
            others = asyncio.create_task(local_run.finish_others())
            try:
                outcome = await local_run.ask(accepted, run)
                await others
            finally:
                others.cancel()
                await asyncio.gather(others, return_exceptions=True)
            return outcome
    finally:
        await close_process_services()


class LocalRun:
    """Run one question in this process."""

    def __init__(self, threads: Threads, request: Request, watcher: Watcher) -> None:
        self._threads, self._request, self._watcher = threads, request, watcher
        self._graphs: dict[str, Graph] = {}

    def graph(self, assistant: str) -> Graph:
        """Return the assistant's graph over these threads."""
        if assistant not in self._graphs:
            self._graphs[assistant] = compiled(assistant, self._threads.saver)
        return self._graphs[assistant]

    async def thread_exists(self) -> bool:
        """Return True if there is something on the request's thread."""
        config: RunnableConfig = {"configurable": {"thread_id": self._request.thread_id}}
        return bool((await self.graph(self._request.assistant).aget_state(config)).values)

    async def take_up(self) -> AcceptedRun | None:
        """Take over the run on this thread whose process was killed; return it or None."""
        if self._request.question is not None or self._request.resume is not None:
            return None
        for run in await self._threads.runs.unfinished():
            if run.thread_id == self._request.thread_id and run.url is None:
                return await self._threads.runs.take(run)
        return None

    async def finish_others(self) -> None:
        """Finish the runs of killed processes; a failure there is not ours."""
        try:
            await continue_interrupted(self._threads, self.graph, self._report)
        except Exception:
            log.exception("continuing an interrupted run failed")

    async def ask(self, accepted: asyncio.Event, run: AcceptedRun | None = None) -> Outcome | Pause:
        request, began = self._request, time.monotonic()
        if run is None:
            if request.question is None and (ended := await self._last_outcome()):
                return ended
            run = AcceptedRun(
                run_id=str(uuid.uuid4()),
                thread_id=request.thread_id,
                assistant=request.assistant,
                input=request.graph_input(),
                context=request.context,
                options={"command": {"resume": request.resume}} if request.resume else {},
            )
            await self._threads.runs.accept(run)
        accepted.set()
        RUN_ID.set(run.run_id)
        log.info("run accepted: assistant=%s thread=%s", run.assistant, run.thread_id)
        values = await self._work(run)
        if pause := pause_of(values):
            return pause
        seconds = time.monotonic() - began
        return outcome_of(values, RunName(run.assistant, run.thread_id, run.run_id), seconds)

    async def _last_outcome(self) -> Outcome | None:
        """Return the last answer of a thread on which nothing is left to do, else None."""
        request = self._request
        graph = self.graph(request.assistant)
        snapshot = await graph.aget_state({"configurable": {"thread_id": request.thread_id}})
        if not snapshot.values:
            raise InputError("--thread", f"there is no thread {request.thread_id} here")
        if snapshot.next:
            return None
        run_id = str((snapshot.metadata or {}).get("run_id") or "")
        name = RunName(request.assistant, request.thread_id, run_id)
        return outcome_of(snapshot.values, name, 0.0)

    async def _work(self, run: AcceptedRun) -> dict[str, Any]:
        """Stream the run to its last values, and close it in the run log."""
        status: End = "cancelled"
        try:
            values = await self._stream(run)
            status = "interrupted" if pause_of(values) else "success"
        except Exception as error:
            status = "error"
            log.info("run failed: %s", error)
            raise
        finally:
            await self._close(run.run_id, status)
        if status == "success":
            await shorten(run.thread_id, run.run_id, self._threads.saver)
        return values

    async def _close(self, run_id: str, status: End) -> None:
        """Close the run in the log; one that stays open is closed by the next command."""
        try:
            await self._threads.runs.finish(run_id, status)
        except StoreFailed as error:
            log.info("run=%s is not closed: %s", run_id, error)

    async def _stream(self, run: AcceptedRun) -> dict[str, Any]:
        values: dict[str, Any] = {}
        parts: AsyncIterator[Any] = self.graph(run.assistant).astream(
            run.graph_input,
            run_config(run),
            context=run.context or None,
            stream_mode=["custom", "messages", "values"],
            durability="sync",
        )
        async for mode, part in parts:
            if mode == "custom":
                self._watcher.event(part)
            elif mode == "messages" and isinstance(part[0], AIMessageChunk):
                self._watcher.token(str(part[0].text))
            elif mode == "values":
                values = part
        return values

    def _report(self, run: AcceptedRun, status: str) -> None:
        command = " ".join([*called_as(), "ask", "--thread", run.thread_id])
        if status == "continuing":
            line = f"continuing a question that was interrupted (see it with: {command})"
        else:
            line = f"the interrupted question ended: {status} ({command})"
        print(f"tanlu: {line}", file=sys.stderr)  # noqa: T201

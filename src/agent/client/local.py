"""Run assistants in this process: on the stored threads, in the run log before they start."""

import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.types import StateSnapshot

from agent.assistants.registry import Graph, compiled
from agent.client.follow import RunListener
from agent.client.run_result import Pause, RunName, RunResult, outcome_of, pause_of
from agent.core.errors import StoreFailed
from agent.runs.run_log import AcceptedRun, End
from agent.runs.threads import Threads, continue_interrupted, run_config, shorten

log = logging.getLogger(__name__)


class LocalRunner:
    """Run assistants on the threads of the data folder."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._graphs: dict[str, Graph] = {}

    def graph(self, assistant: str) -> Graph:
        """Return the assistant's graph over these threads."""
        if assistant not in self._graphs:
            self._graphs[assistant] = compiled(assistant, self._threads.saver)
        return self._graphs[assistant]

    async def snapshot(self, assistant: str, thread_id: str) -> StateSnapshot:
        """Return what is on a thread; its values are empty where there is no such thread."""
        return await self.graph(assistant).aget_state({"configurable": {"thread_id": thread_id}})

    async def accept(
        self,
        assistant: str,
        thread_id: str,
        *,
        input: dict[str, Any] | None,
        context: dict[str, Any],
        resume: Mapping[str, Any] | None = None,
    ) -> AcceptedRun:
        """Write a run into the run log; without an input or reply it goes on with the thread."""
        run = AcceptedRun(
            run_id=str(uuid.uuid4()),
            thread_id=thread_id,
            assistant=assistant,
            input=input,
            context=context,
            options={"command": {"resume": resume}} if resume else {},
        )
        await self._threads.runs.accept(run)
        return run

    async def take_up(self, thread_id: str) -> AcceptedRun | None:
        """Take over the run on this thread whose process was killed; return it or None."""
        for run in await self._threads.runs.unfinished():
            if run.thread_id == thread_id and run.url is None:
                return await self._threads.runs.take(run)
        return None

    async def finish_others(self, report: Callable[[AcceptedRun, str], None]) -> None:
        """Finish the runs of killed processes; a failure there is not ours."""
        try:
            await continue_interrupted(self._threads, self.graph, report)
        except Exception:
            log.exception("continuing an interrupted run failed")

    async def run(self, run: AcceptedRun, listener: RunListener) -> RunResult | Pause:
        """Run it to its answer, or to where it waits for a review. Raises AgentError.

        Cancelling ends it, and closes it in the run log.
        """
        began = time.monotonic()
        await listener.accepted(run.run_id)
        log.info("run accepted: assistant=%s thread=%s", run.assistant, run.thread_id)
        values = await self._work(run, listener)
        if pause := pause_of(values):
            return pause
        name = RunName(run.assistant, run.thread_id, run.run_id)
        return outcome_of(values, name, time.monotonic() - began)

    async def _work(self, run: AcceptedRun, listener: RunListener) -> dict[str, Any]:
        """Stream the run to its last values, and close it in the run log."""
        status: End = "cancelled"
        try:
            values = await self._stream(run, listener)
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
        """Close the run in the log; one that stays open is closed by the next process."""
        try:
            await self._threads.runs.finish(run_id, status)
        except StoreFailed as error:
            log.info("run=%s is not closed: %s", run_id, error)

    async def _stream(self, run: AcceptedRun, listener: RunListener) -> dict[str, Any]:
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
                await listener.event(part)
            elif mode == "messages" and isinstance(part[0], AIMessageChunk):
                await listener.token(str(part[0].text))
            elif mode == "values":
                values = part
        return values


def last_outcome(assistant: str, thread_id: str, snapshot: StateSnapshot) -> RunResult | None:
    """Return the last answer of a thread on which nothing is left to do, else None."""
    if snapshot.next:
        return None
    run_id = str((snapshot.metadata or {}).get("run_id") or "")
    return outcome_of(snapshot.values, RunName(assistant, thread_id, run_id), 0.0)

"""Answer questions in this process: one graph, one set of services, a thread for each question."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from langgraph.types import StateSnapshot

from agent.assistants.common.services import Services
from agent.assistants.common.turn import limits_of
from agent.assistants.registry import compiled
from agent.batch.jobs import Finished, JobAttempt, review_error
from agent.configuration import MODEL_FIELDS, Configuration
from agent.core.errors import AgentError, ConfigurationError, InputError, StoreFailed
from agent.runs.threads import Threads, open_threads, run_config
from agent.services import close_process_services, process_services
from agent.settings import read_settings

log = logging.getLogger(__name__)
_IDLE = "tanlu_idle_seconds"
StateValues = Mapping[str, Any]


@asynccontextmanager
async def local_worker(assistant: str, context: Mapping[str, Any]) -> AsyncIterator["LocalWorker"]:
    """Open a worker over the threads in TANLU_DATA_DIR; closes everything. Raises AgentError."""
    try:
        async with open_threads(read_settings()) as threads:
            services = await asyncio.to_thread(process_services)
            yield LocalWorker(assistant, context, threads=threads, services=services)
    finally:
        await close_process_services()


class LocalWorker:
    """Run questions on SQLite threads; a killed one goes on from its last step."""

    def __init__(
        self,
        assistant: str,
        context: Mapping[str, Any],
        *,
        threads: Threads,
        services: Services,
    ) -> None:
        # A turn's paid replies are kept until its row is on disk, not only until its last step:
        # between the two the process may be killed. So the graph itself cannot forget them.
        without_cache = replace(services, reply_cache=None)
        self._assistant, self._context = assistant, dict(context)
        self._threads, self._services = threads, services
        self._graph = compiled(assistant, threads.saver, lambda: without_cache)
        properties = self._graph.get_input_jsonschema().get("properties", {})
        self._formatted = "format_requirement" in properties
        schema: type[Configuration] = self._graph.context_schema or Configuration
        self._configuration = schema(**self._context)

    @property
    def models(self) -> Mapping[str, str]:
        return {name: getattr(self._configuration, name) for name in MODEL_FIELDS}

    async def work(self, job: JobAttempt) -> Finished:
        """Run the question, continue it, or return its finished run."""
        began = time.monotonic()
        values, error = await self._values(job)
        return Finished(values, self._seconds(values, began), error)

    async def _values(self, job: JobAttempt) -> tuple[StateValues, AgentError | None]:
        snapshot = await self._snapshot(job)
        if snapshot.values and not snapshot.next and not snapshot.tasks:
            return snapshot.values, None
        idle = self._go_on_counting(snapshot)
        run = job.accepted_run(self._assistant, self._context, formatted=self._formatted)
        log.info("question=%s run=%s thread=%s attempt=%d%s", job.question.id, job.run_id,
                 job.thread_id, job.attempt, " (continued)" if snapshot.values else "")  # fmt: skip
        try:
            config = run_config(run)
            config["metadata"] = {**config["metadata"], _IDLE: idle}
            values = await self._graph.ainvoke(
                run.input, config, context=run.context or None, durability="sync"
            )
        except StoreFailed:
            raise
        except ConfigurationError as error:
            if not isinstance(error, InputError):
                raise
            return await self._left(job), error
        except AgentError as error:
            return await self._left(job), error
        except Exception as error:
            log.exception("question=%s failed", job.question.id)
            unexpected = AgentError(f"unexpected {type(error).__name__}: {error}")
            return await self._left(job), unexpected
        if "__interrupt__" in values:
            return values, review_error()
        return values, None

    async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
        """Remove thread, paid replies and budget."""
        await self._threads.saver.adelete_thread(job.thread_id)
        await self._services.workspaces.forget(job.thread_id)
        turn = (finished.values.get("turn") or {}) if finished else {}
        if turn_id := turn.get("id"):
            self._services.budgets.close(turn_id)
            if self._services.reply_cache:
                await self._services.reply_cache.forget(turn_id)

    async def _snapshot(self, job: JobAttempt) -> StateSnapshot:
        return await self._graph.aget_state({"configurable": {"thread_id": job.thread_id}})

    async def _left(self, job: JobAttempt) -> StateValues:
        """Return the values of the steps before a failure."""
        values: StateValues = (await self._snapshot(job)).values
        return values

    def _go_on_counting(self, snapshot: StateSnapshot) -> float:
        """Open the budget of a dead process's question; return the seconds nobody worked on it.

        They do not count: a batch may lie still for nights. Every checkpoint holds their number.
        """
        turn = snapshot.values.get("turn") if snapshot.values else None
        if not turn or not snapshot.created_at:
            return 0.0
        until = datetime.fromisoformat(snapshot.created_at).timestamp()
        metadata: Mapping[str, Any] = snapshot.metadata or {}
        before = float(metadata.get(_IDLE) or 0.0)
        self._services.budgets.of(
            turn["id"],
            limits_of(self._configuration),
            spent=snapshot.values.get("usage"),
            elapsed=max(0.0, until - turn["started_at"] - before),
        )
        return before + max(0.0, self._services.now().timestamp() - until)

    def _seconds(self, values: StateValues, began: float) -> float:
        """Return the run's own seconds, which count earlier processes; else ours."""
        messages = values.get("messages") or []
        metadata = getattr(messages[-1], "additional_kwargs", {}) if messages else {}
        counted = (metadata.get("usage") or {}).get("seconds")
        return float(counted) if counted else time.monotonic() - began

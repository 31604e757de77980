"""Questions on a LangGraph server: its queue and its workers, however many machines they are."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.batch.course import Course, Target, Values
from agent.batch.jobs import Finished, Job
from agent.batch.patience import Patience, Pulse, Waited, max_run_seconds
from agent.client import connected, find_assistant, refusal
from agent.configuration import MODEL_FIELDS

_KEEP_SECONDS = 30.0
Context = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From an assistant's context schema to this batch's settings in its types."""


@asynccontextmanager
async def remote_worker(
    url: str, assistant: str, context: Context
) -> AsyncIterator["RemoteWorker"]:
    """A worker on a server; raises AgentError where the server cannot be used."""
    async with connected(url) as client:
        try:
            async with asyncio.timeout(Patience.reply):
                found = await find_assistant(client, assistant)
                schemas = await client.assistants.get_schemas(found["assistant_id"])
        except httpx.HTTPError as error:
            raise refusal(url, error) from None
        except TimeoutError:
            raise refusal(url, httpx.ReadTimeout("no reply")) from None
        schema = schemas.get("context_schema") or schemas.get("config_schema") or {}
        wanted = schemas.get("input_schema") or {}
        formatted = "format_requirement" in wanted.get("properties", {})
        target = Target(found, context(schema), url, formatted)
        patience = Patience(run=max_run_seconds(target.context, schema))
        yield RemoteWorker(client, target, patience)


class RemoteWorker:
    """Begins runs, joins those that are under way, and waits while the server is busy or away."""

    def __init__(
        self, client: LangGraphClient, target: Target, patience: Patience | None = None
    ) -> None:
        self._client, self._target = client, target
        self._patience, self._pulse = patience or Patience(), Pulse()
        self._done: deque[tuple[float, str]] = deque()

    @property
    def models(self) -> Mapping[str, str]:
        """Those this batch chose; the others are the server's business."""
        chosen = self._target.context
        return {name: str(chosen[name]) for name in MODEL_FIELDS if name in chosen}

    async def work(self, job: Job) -> Finished:
        """Bring it to its end there, or to an error: no wait is without a limit."""
        waited, began = Waited(self._patience, self._pulse), time.monotonic()
        try:
            course = Course(self._client, self._target, job, waited)
            values, error = await course.to_the_end()
        except httpx.HTTPError as refused:
            raise refusal(self._target.url, refused) from None
        return Finished(values, _seconds(values, began), error)

    async def forget(self, job: Job, finished: Finished | None) -> None:
        """Remove threads that ended a while ago; those of the last seconds stay.

        A killed server wakes up as it was some seconds before, and runs what it then had in work;
        on a thread that is still there this finds everything done and pays nothing.
        """
        now = time.monotonic()
        self._done.append((now, job.thread_id))
        while self._done and now - self._done[0][0] > _KEEP_SECONDS:
            _, thread_id = self._done.popleft()
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(self._patience.reply):
                    await self._client.threads.delete(thread_id)


def _seconds(values: Values, began: float) -> float:
    """The run's own count, which knows nothing of our waiting; else ours."""
    messages = values.get("messages") or []
    kept = (messages[-1].get("additional_kwargs") or {}) if messages else {}
    counted = (kept.get("usage") or {}).get("seconds")
    return float(counted) if counted else time.monotonic() - began

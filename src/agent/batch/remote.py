"""Answer questions on a LangGraph server: its queue and its workers, on however many machines."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.batch.jobs import Finished, JobAttempt, review_error
from agent.client.connection import connected, find_assistant, server_refusal
from agent.client.follow import (
    FollowLimits,
    RunFollower,
    RunOrder,
    ServerActivity,
    max_run_seconds,
)
from agent.client.run_result import pause_of
from agent.configuration import MODEL_FIELDS
from agent.core.errors import ConfigurationError, StoreFailed


@dataclass(frozen=True)
class RemoteAssistant:
    """Name the assistant on the server, with this batch's settings in its types."""

    assistant: Mapping[str, Any]
    context: Mapping[str, Any]
    url: str
    takes_format: bool
    """True if it takes a format requirement."""


_KEEP_SECONDS = 30.0
ReadContext = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From an assistant's context schema to this batch's settings in its types."""


@asynccontextmanager
async def remote_worker(
    url: str, name: str, read_context: ReadContext
) -> AsyncIterator["RemoteWorker"]:
    """Open a worker on a server; raise AgentError where the server cannot be used."""
    async with connected(url) as client:
        try:
            async with asyncio.timeout(FollowLimits.reply):
                assistant = await find_assistant(client, name)
                schemas = await client.assistants.get_schemas(assistant["assistant_id"])
        except httpx.HTTPError as error:
            raise server_refusal(url, error) from None
        except TimeoutError:
            raise server_refusal(url, httpx.ReadTimeout("no reply")) from None
        schema = schemas.get("context_schema") or schemas.get("config_schema") or {}
        input_schema = schemas.get("input_schema") or {}
        takes_format = "format_requirement" in input_schema.get("properties", {})
        target = RemoteAssistant(assistant, read_context(schema), url, takes_format)
        limits = FollowLimits(run=max_run_seconds(target.context, schema))
        worker = RemoteWorker(client, target, limits)
        yield worker
        await worker.forget_rest()


class RemoteWorker:
    """Begin runs, join those that are under way, and wait while the server is busy or away."""

    def __init__(
        self, client: LangGraphClient, target: RemoteAssistant, limits: FollowLimits | None = None
    ) -> None:
        self._client, self._target = client, target
        self._limits, self._activity = limits or FollowLimits(), ServerActivity()
        self._done: deque[tuple[float, str]] = deque()

    @property
    def models(self) -> Mapping[str, str]:
        """Return the models this batch chose; the others are settings of the server."""
        chosen = self._target.context
        return {name: str(chosen[name]) for name in MODEL_FIELDS if name in chosen}

    async def work(self, job: JobAttempt) -> Finished:
        """Run a question to its end there, or to an error; every wait has a limit.

        Raises AgentError for a problem that every other question would meet, too.
        """
        began = time.monotonic()
        run = await self._follower(job).follow()
        error = run.error
        if isinstance(error, ConfigurationError) or (error and error.code == StoreFailed.code):
            raise error
        if pause_of(run.values):
            error = review_error()
        return Finished(run.values, _seconds(run.values, began), error)

    def _follower(self, job: JobAttempt) -> RunFollower:
        request = RunOrder(
            self._target.assistant,
            job.thread_id,
            input=job.graph_input(formatted=self._target.takes_format),
            context=self._target.context,
            multitask="reject",
            owns_thread=True,
        )
        return RunFollower(
            self._client,
            request,
            server=self._target.url,
            limits=self._limits,
            activity=self._activity,
        )

    async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
        """Remove threads that ended a while ago; those of the last seconds stay.

        A killed server wakes up as it was some seconds before, and runs what it then had in work;
        on a thread that is still there this finds everything done and pays nothing.
        """
        now = time.monotonic()
        self._done.append((now, job.thread_id))
        while self._done and now - self._done[0][0] > _KEEP_SECONDS:
            await self._delete_first()

    async def forget_rest(self) -> None:
        """Remove the threads of the last seconds, too, where the server answers."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.reply):
                while self._done:
                    await self._delete_first()

    async def _delete_first(self) -> None:
        _, thread_id = self._done.popleft()
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(self._limits.reply):
                await self._client.threads.delete(thread_id)


def _seconds(values: Mapping[str, Any], began: float) -> float:
    """Return the run's own seconds, which do not count our waiting; else ours."""
    messages = values.get("messages") or []
    metadata = (messages[-1].get("additional_kwargs") or {}) if messages else {}
    seconds = (metadata.get("usage") or {}).get("seconds")
    return float(seconds) if seconds else time.monotonic() - began

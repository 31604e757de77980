"""Questions on a LangGraph server: its queue and its workers, however many machines they are."""

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.batch.jobs import Finished, Job
from agent.client import connected, find_assistant, message_of, refusal, status_of
from agent.configuration import MODEL_FIELDS
from agent.errors import AgentError, ConfigurationError
from agent.recovery import MARK

T = TypeVar("T")
log = logging.getLogger(__name__)

GIVE_UP_SECONDS = 600.0
"""How long a server may be away before the batch ends; it goes on when started again."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
_RECOVERY_SECONDS = 3.0
_PASSING = (404, 409, 429)
"""A server that restarts forgets a thread of the last seconds (404); another run is there (409)."""
_LOST = 6
_KEEP_SECONDS = 30.0
_JOIN_SECONDS = 60.0
"""Then the run is looked at anew: a restarted server may not tell the end of what it took over."""
_BUSY = ("pending", "running")
Values = Mapping[str, Any]
Context = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From an assistant's context schema to this batch's settings in its types."""


@asynccontextmanager
async def remote_worker(
    url: str, assistant: str, context: Context
) -> AsyncIterator["RemoteWorker"]:
    """A worker on a server; raises AgentError where the server cannot be used."""
    async with connected(url) as client:
        try:
            found = await find_assistant(client, assistant)
            schemas = await client.assistants.get_schemas(found["assistant_id"])
        except httpx.HTTPError as error:
            raise refusal(url, error) from None
        schema = schemas.get("context_schema") or schemas.get("config_schema") or {}
        wanted = schemas.get("input_schema") or {}
        formatted = "format_requirement" in wanted.get("properties", {})
        yield RemoteWorker(client, Target(found, context(schema), url, formatted))


class _Away(Exception):
    """The server cannot be asked at this moment."""

    def __init__(self, error: httpx.HTTPError) -> None:
        super().__init__(str(error) or type(error).__name__)
        self.error = error


@dataclass(frozen=True)
class Target:
    """The assistant on the server, with this batch's settings in its types."""

    assistant: Mapping[str, Any]
    context: Mapping[str, Any]
    url: str
    formatted: bool
    """Whether it takes a format requirement."""


class RemoteWorker:
    """Begins runs, joins those that are under way, and waits while the server is busy or away."""

    def __init__(self, client: LangGraphClient, target: Target) -> None:
        self._client, self._target = client, target
        self._done: deque[tuple[float, str]] = deque()

    @property
    def models(self) -> Mapping[str, str]:
        """Those this batch chose; the others are the server's business."""
        chosen = self._target.context
        return {name: str(chosen[name]) for name in MODEL_FIELDS if name in chosen}

    async def work(self, job: Job) -> Finished:
        """Bring it to its end there; a server that is away is waited for, GIVE_UP_SECONDS."""
        course, began = _Course(self._client, self._target, job), time.monotonic()
        pause = _FIRST_PAUSE
        while True:
            steps = course.steps
            try:
                values, error = await course.to_the_end()
                return Finished(values, _seconds(values, began), error)
            except _Away as away:
                if time.monotonic() - course.heard > GIVE_UP_SECONDS:
                    raise refusal(self._target.url, away.error) from None
                log.info("question=%s waits for the server: %s", job.question.id, away)
                pause = _FIRST_PAUSE if course.steps > steps else min(_LONGEST_PAUSE, pause * 2)
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - jitter
            except httpx.HTTPError as error:
                raise refusal(self._target.url, error) from None

    async def forget(self, job: Job, finished: Finished | None) -> None:
        """Remove threads that ended a while ago; those of the last seconds stay.

        A killed server wakes up as it was some seconds before, and runs what it then had in work;
        on a thread that is still there this finds everything done and pays nothing.
        """
        now = time.monotonic()
        self._done.append((now, job.thread_id))
        while self._done and now - self._done[0][0] > _KEEP_SECONDS:
            _, thread_id = self._done.popleft()
            with contextlib.suppress(httpx.HTTPError):
                await self._client.threads.delete(thread_id)


class _Course:
    """One question on its way through a server, which may restart meanwhile."""

    def __init__(self, client: LangGraphClient, target: Target, job: Job) -> None:
        self._client, self._target, self._job = client, target, job
        self.heard = time.monotonic()
        """When the server last answered anything."""
        self.steps = 0
        """Requests that succeeded."""
        self.lost = 0
        """Times the server knew nothing of what it had just been told."""
        self._run_id, self._waited = "", False
        self._failure: Any = None

    async def to_the_end(self) -> tuple[Values, AgentError | None]:
        """Look, join or begin, until it ended. Raises _Away, httpx.HTTPStatusError."""
        while True:
            await self._ask(
                self._client.threads.create(
                    thread_id=self._job.thread_id,
                    if_exists="do_nothing",
                    graph_id=self._target.assistant["graph_id"],
                )
            )
            runs = await self._ask(self._client.runs.list(self._job.thread_id, limit=1))
            status = str(runs[0]["status"]) if runs else ""
            if status in _BUSY:
                await self._join(str(runs[0]["run_id"]))
                continue
            state = await self._ask(self._client.threads.get_state(self._job.thread_id))
            if ended := self._ended(state, status):
                return ended
            await self._begin(state)

    def _ended(
        self, state: Mapping[str, Any], status: str
    ) -> tuple[Values, AgentError | None] | None:
        """Values and error, or None where something is left to do and nobody does it."""
        values: Values = state["values"] or {}
        if state.get("interrupts"):
            return values, AgentError("the run waits for a review, which a batch cannot give")
        if values and not state["next"] and not state["tasks"]:
            return values, None
        if status in ("error", "timeout"):
            told = [task["error"] for task in state["tasks"] if task.get("error")]
            return values, _error(self._failure or (told[0] if told else status))
        return None

    async def _begin(self, state: Mapping[str, Any]) -> None:
        """A run for this thread; one that has checkpoints goes on from the last."""
        begun, metadata = bool(state["values"]), state.get("metadata") or {}
        first = metadata.get(MARK) or metadata.get("run_id") or self._run_id
        if first and not self._waited:
            # A server that restarted is about to continue its runs by itself.
            self._waited = True
            await asyncio.sleep(_RECOVERY_SECONDS)
            return
        target = self._target
        created = await self._ask(
            self._client.runs.create(
                self._job.thread_id,
                target.assistant["assistant_id"],
                input=None if begun else self._job.graph_input(formatted=target.formatted),
                context=target.context or None,
                # So a restarted server that is late knows this as its own run, gone on with.
                metadata={MARK: first} if first else None,
                multitask_strategy="reject",
                durability="sync",
            )
        )
        self._run_id = self._run_id or created["run_id"]
        log.info("question=%s thread=%s begun%s", self._job.question.id, self._job.thread_id,
                 " again" if begun else "")  # fmt: skip

    async def _join(self, run_id: str) -> None:
        """Wait for a run's end; a plain request, because a cut one is looked at anew anyway."""
        path = f"/threads/{self._job.thread_id}/runs/{run_id}/join"
        try:
            async with asyncio.timeout(_JOIN_SECONDS):
                reply = await self._ask(self._client.http.get(path))
        except TimeoutError:
            return
        self._failure = reply.get("__error__") if isinstance(reply, Mapping) else None

    async def _ask(self, request: Awaitable[T]) -> T:
        """A reply; what passes by itself is _Away."""
        try:
            reply = await request
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            status = status_of(error)
            if status in _PASSING:
                self.heard = time.monotonic()
            self.lost = self.lost + 1 if status == 404 else self.lost
            if self.lost > _LOST and status == 404:
                raise
            if status == 0 or status in _PASSING or status >= 500:
                raise _Away(error) from None
            raise
        self.heard, self.steps = time.monotonic(), self.steps + 1
        return reply


def _error(failure: Any) -> AgentError:
    """A run's failure as ours; raises ConfigurationError, which every other run would meet."""
    message = message_of(failure)
    if isinstance(failure, Mapping) and failure.get("error") == ConfigurationError.__name__:
        name, _, problem = message.partition(": ")
        raise ConfigurationError(name, problem or "cannot be used")
    return AgentError(message)


def _seconds(values: Values, began: float) -> float:
    """The run's own count, which knows nothing of our waiting; else ours."""
    messages = values.get("messages") or []
    kept = (messages[-1].get("additional_kwargs") or {}) if messages else {}
    counted = (kept.get("usage") or {}).get("seconds")
    return float(counted) if counted else time.monotonic() - began

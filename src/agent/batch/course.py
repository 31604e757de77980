"""One question on its way through a server that may restart, forget, queue, or stall meanwhile.

Look at thread and run; join what is under way, take what ended, begin what nobody has; look again.
No wait is without a limit (`patience`), and no step relies on what an earlier one was told.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.batch.jobs import Job, unreviewed
from agent.batch.patience import Waited, Waiting
from agent.client import message_of, status_of
from agent.errors import AgentError, ConfigurationError, StoreFailed
from agent.marks import MARK

T = TypeVar("T")
log = logging.getLogger(__name__)

_TOO_MANY = 429
_NOT_NOW = (404, 409, _TOO_MANY)
"""A server that restarts forgets a thread of the last seconds (404); another run is there (409)."""
_UNKNOWN = 6
_BUSY = ("running", "pending")
_OVER = ("error", "timeout")
Values = Mapping[str, Any]
Ended = tuple[Values, AgentError | None]


@dataclass(frozen=True)
class Target:
    """The assistant on the server, with this batch's settings in its types."""

    assistant: Mapping[str, Any]
    context: Mapping[str, Any]
    url: str
    formatted: bool
    """Whether it takes a format requirement."""


class _NotNow(Exception):
    """The server did not do it at this moment; `why` says what this wait counts as."""

    def __init__(self, error: httpx.HTTPError, why: Waiting) -> None:
        super().__init__(str(error) or type(error).__name__)
        self.error, self.why = error, why
        self.busy = status_of(error) == _TOO_MANY


class Course:
    """The way of one question; `to_the_end` once."""

    def __init__(self, client: LangGraphClient, target: Target, job: Job, waited: Waited) -> None:
        self._client, self._target, self._job, self._waited = client, target, job, waited
        self._patience = waited.patience
        self._steps = 0
        """Requests that succeeded."""
        self._unknown = 0
        """Times the server knew nothing of what it had just been told."""
        self._run_id, self._recovered = "", False
        self._failure: Any = None
        self._values: Values = {}

    async def to_the_end(self) -> Ended:
        """Values and error of the question's run; an error, too, where it is given up.

        Raises httpx.HTTPError where the server cannot be used or stays away.
        """
        pause, longest = self._patience.pauses
        while True:
            steps = self._steps
            try:
                return await self._looked_at()
            except _NotNow as wait:
                self._waited.spent(wait.why)
                log.info("question=%s waits for the server: %s", self._job.question.id, wait)
                pause = self._patience.pauses[0] if self._steps > steps else min(longest, pause * 2)
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - jitter
                self._waited.spent(wait.why)
                # A server that takes nothing at all is no question's fault: no row fails for it.
                if self._waited.gone or (wait.busy and self._waited.exhausted()):
                    raise wait.error from None

    async def _looked_at(self) -> Ended:
        """Look, join or begin, until it ended or is given up. Raises _NotNow, httpx.HTTPError."""
        threads, thread_id = self._client.threads, self._job.thread_id
        while True:
            if reason := self._waited.exhausted():
                return await self._given_up(reason)
            graph = self._target.assistant["graph_id"]
            await self._ask(
                threads.create(thread_id=thread_id, if_exists="do_nothing", graph_id=graph)
            )
            runs = await self._ask(self._client.runs.list(thread_id, limit=10))
            if busy := _under_way(runs):
                await self._join(busy)
                continue
            state = await self._ask(threads.get_state(thread_id))
            self._values = _values_of(state)
            if ended := self._ended(state, str(runs[0]["status"]) if runs else ""):
                self._waited.pulse.beat()
                return ended
            if reason := self._waited.lost_too_often():
                return self._values, reason
            await self._begin(state)

    def _ended(self, state: Mapping[str, Any], status: str) -> Ended | None:
        """Values and error, or None where something is left to do and nobody does it."""
        if state.get("interrupts"):
            return self._values, unreviewed()
        if self._values and not state["next"] and not state["tasks"]:
            return self._values, None
        if status in _OVER:
            told = [task["error"] for task in state["tasks"] if task.get("error")]
            return self._values, _error(self._failure or (told[0] if told else status))
        return None

    async def _begin(self, state: Mapping[str, Any]) -> None:
        """A run for this thread; one that has checkpoints goes on from the last."""
        metadata = state.get("metadata") or {}
        first = metadata.get(MARK) or metadata.get("run_id") or self._run_id
        if first and not self._recovered:
            # A server that restarted is about to continue its runs by itself.
            self._recovered = True
            await asyncio.sleep(self._patience.recovery)
            return
        begun = bool(self._values)
        created = await self._ask(
            self._client.runs.create(
                self._job.thread_id,
                self._target.assistant["assistant_id"],
                input=None if begun else self._job.graph_input(formatted=self._target.formatted),
                context=self._target.context or None,
                # So a restarted server that is late knows this as its own run, gone on with.
                metadata={MARK: first} if first else None,
                multitask_strategy="reject",
                durability="sync",
            )
        )
        self._run_id = self._run_id or created["run_id"]
        self._waited.begun += 1
        self._failure, self._unknown = None, 0
        log.info("question=%s thread=%s begun%s", self._job.question.id, self._job.thread_id,
                 " again" if begun or self._waited.begun > 1 else "")  # fmt: skip

    async def _join(self, run: Mapping[str, Any]) -> None:
        """Wait for a run's end, but not for long; a cut request is looked at anew anyway."""
        path = f"/threads/{self._job.thread_id}/runs/{run['run_id']}/join"
        why: Waiting = "work" if run["status"] == "running" else "queue"
        if why == "work":
            self._waited.pulse.beat()
        try:
            async with asyncio.timeout(self._patience.join):
                reply = await self._ask(self._client.http.get(path), why)
        except TimeoutError:
            self._waited.spent(why)
            return
        self._unknown = 0
        self._failure = reply.get("__error__") if isinstance(reply, Mapping) else None

    async def _given_up(self, reason: AgentError) -> Ended:
        """What there is so far; what is still under way is stopped, for it costs money."""
        runs, thread_id = self._client.runs, self._job.thread_id
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(self._patience.reply):
                for run in await runs.list(thread_id, limit=10):
                    if run["status"] in _BUSY:
                        await runs.cancel(thread_id, run["run_id"])
                state = await self._client.threads.get_state(thread_id)
                self._values = _values_of(state) or self._values
        return self._values, reason

    async def _ask(self, request: Awaitable[T], why: Waiting = "work") -> T:
        """A reply within its limit; what passes by itself is _NotNow."""
        try:
            async with asyncio.timeout(self._patience.reply):
                reply = await request
        except TimeoutError as error:
            raise _NotNow(httpx.ReadTimeout("no reply"), "away") from error
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            raise self._passing(error) or error from None
        self._steps += 1
        self._waited.spent(why)
        return reply

    def _passing(self, error: httpx.HTTPError) -> _NotNow | None:
        """The wait an error asks for; None where waiting would not help."""
        status = status_of(error)
        self._unknown += status == 404
        if status == 404 and self._unknown > _UNKNOWN:
            return None
        if status in _NOT_NOW:
            return _NotNow(error, "queue" if status == _TOO_MANY else "work")
        return _NotNow(error, "away") if status == 0 or status >= 500 else None


def _under_way(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The run to wait for: the one at work, else the first in the queue; None: there is none."""
    oldest_first = list(reversed(runs))
    found = (run for status in _BUSY for run in oldest_first if run["status"] == status)
    return next(found, None)


def _values_of(state: Mapping[str, Any]) -> Values:
    values: Values = state["values"] or {}
    return values


def _error(failure: Any) -> AgentError:
    """A run's failure as ours; raises what every other run would meet: a setting, a full disk."""
    message = message_of(failure)
    if isinstance(failure, Mapping) and failure.get("error") == ConfigurationError.__name__:
        name, _, problem = message.partition(": ")
        raise ConfigurationError(name, problem or "cannot be used")
    if isinstance(failure, Mapping) and failure.get("error") == StoreFailed.__name__:
        raise AgentError(message)
    return AgentError(message)

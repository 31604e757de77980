"""Questions on a LangGraph server: its queue and its workers, however many machines they are.

Nothing a server does, forgets or leaves undone may keep a question for ever: every second is
counted as its work, as time in its queue, or as its absence, and each of them has a limit.

Look at thread and run; join what is under way, take what ended, begin what nobody has; look again.
No wait is without a limit (`patience`), and no step relies on what an earlier one was told.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.batch.jobs import Finished, Job, unreviewed
from agent.client.connection import connected, find_assistant, message_of, refusal, status_of
from agent.configuration import MODEL_FIELDS
from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.core.metadata_keys import MARK

Waiting = Literal["work", "queue", "away"]

MARGIN_SECONDS = 120.0
"""Beyond a run's own `max_run_seconds`: its last call, its checkpoints, a slow machine."""
MOST_RETURNS = 3
"""Times a server may come back, each of which gives a question its time again."""
MOST_RUNS = 3
"""Runs begun for one question on a server that is never away."""


@dataclass(frozen=True)
class Patience:
    """Limits of waiting, in seconds."""

    run: float = 300.0
    """`max_run_seconds` of the assistant, as this batch sets it or the server's schema has it."""
    margin: float = MARGIN_SECONDS
    reply: float = 60.0
    """For one request."""
    join: float = 20.0
    """Then run and thread are looked at anew: a restarted server may not know the run any more."""
    recovery: float = 3.0
    """For a server that restarted to take up by itself what it had in work."""
    away: float = 600.0
    """How long a server may be away before the batch ends; it goes on when started again."""
    pauses: tuple[float, float] = (0.5, 5.0)
    """Between two attempts to reach a server: the first, the longest."""

    @property
    def whole(self) -> float:
        """For a run from its beginning to its end."""
        return self.run + self.margin


def max_run_seconds(context: Mapping[str, Any], schema: Mapping[str, Any]) -> float:
    """The limit of a run: what the batch sets, else the default of the assistant's schema."""
    rule = (schema.get("properties") or {}).get("max_run_seconds") or {}
    return float(context.get("max_run_seconds") or rule.get("default") or Patience.run)


class Pulse:
    """Whether the server works on anything of this batch; shared by its questions."""

    def __init__(self) -> None:
        self.beats = 0

    def beat(self) -> None:
        """A run was seen at work, or ended."""
        self.beats += 1


@dataclass
class Waited:
    """What one question has waited; call `spent` after every wait, saying for what it was."""

    patience: Patience
    pulse: Pulse
    clock: Callable[[], float] = time.monotonic
    returns: int = 0
    """Times the server came back after it had been away."""
    begun: int = 0
    """Runs begun for the question by this process."""
    _seconds: dict[Waiting, float] = field(
        default_factory=lambda: {"work": 0.0, "queue": 0.0, "away": 0.0}
    )

    def __post_init__(self) -> None:
        self._mark, self._beats, self._away = self.clock(), self.pulse.beats, False

    def spent(self, waiting: Waiting) -> None:
        """Count the time since the last call."""
        now = self.clock()
        self._seconds[waiting] += now - self._mark
        self._mark = now
        if waiting == "away":
            self._away = True
        elif self._away:
            self._away, self.returns = False, self.returns + 1
            if self.returns <= MOST_RETURNS:
                self._seconds["away"] = 0.0
        if self.pulse.beats != self._beats:
            # The server is at work on our other questions: this one has its place in the queue.
            self._beats, self._seconds["queue"] = self.pulse.beats, 0.0

    @property
    def gone(self) -> bool:
        """Whether the server is away for too long."""
        return self._seconds["away"] > self.patience.away

    def exhausted(self) -> AgentError | None:
        """Why the question is given up, or None."""
        limit = self.patience.whole * (1 + min(self.returns, MOST_RETURNS))
        if self._seconds["work"] > limit:
            return AgentError(
                f"the server did not bring the run to its end within {limit:.0f} s; if runs may"
                " take longer there, say so with --set max_run_seconds"
            )
        if self._seconds["queue"] > self.patience.whole:
            return AgentError(
                f"the server began no run of this batch for {self.patience.whole:.0f} s"
            )
        return None

    def lost_too_often(self) -> AgentError | None:
        """Why no further run is begun, or None; a server that came back may have lost some."""
        if self.begun < MOST_RUNS + 2 * min(self.returns, MOST_RETURNS):
            return None
        return AgentError(f"the server lost the run, or left it unfinished, {self.begun} times")


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

"""Follow a run on a server to its end, over lost streams, restarts and continuations.

Look at the thread and its runs; join what is under way, take what ended, begin what nobody has;
look again. Every wait has a limit (`FollowLimits`), and no step relies on an earlier reply: a
restarted server may have forgotten the run, or continue it under another id (`tanlu_run`).
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import anyio
import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Command, MultitaskStrategy, StreamMode, StreamPart

from agent.client.connection import TOO_MANY, retry_after, run_error, server_refusal, status_of
from agent.core.errors import AgentError
from agent.runs.engine import MARK

log = logging.getLogger(__name__)
T = TypeVar("T")
ThreadValues = Mapping[str, Any]
Wait = Literal["work", "queue", "away"]
"""The run is at work, waits in the server's queue, or the server does not answer."""

MARGIN_SECONDS = 120.0
"""Beyond a run's own `max_run_seconds`: its last call, its checkpoints, a slow machine."""
MOST_RETURNS = 3
"""Times a server may come back, each of which gives a run its time again."""
MOST_RUNS = 3
"""Runs begun for one request on a server that is never away."""
_NOT_NOW = (404, 409, TOO_MANY)
"""A server that restarts forgets a thread of the last seconds (404); another run is there (409)."""
_MOST_UNKNOWN = 6
"""Times in a row that a server may not know a thread or run before it is no assistant server."""
_BUSY = ("running", "pending")
_FAILED = ("error", "timeout")
_LISTED = 10
_FROM_THE_START = "-1"


@dataclass(frozen=True)
class FollowLimits:
    """Limits of waiting, in seconds."""

    run: float = 300.0
    """`max_run_seconds` of the run, as the request or the assistant's schema has it."""
    margin: float = MARGIN_SECONDS
    queue: float | None = None
    """In the server's queue while it begins no other run of ours; None: as for a whole run."""
    longest_retry: float = 300.0
    """A server that wants to be left alone for longer has the run refused with its words."""
    reply: float = 60.0
    """For one request."""
    quiet: float = 15.0
    """Without an event of the run; then thread and run are looked at anew, as its end may be lost
    and a restarted server may not know it any more."""
    recovery: float = 3.0
    """For a server that restarted to continue its runs by itself."""
    away: float = 600.0
    """For a server that does not answer, counted from its last answer."""
    pauses: tuple[float, float] = (0.5, 5.0)
    """Between two attempts to reach a server: the first, the longest."""
    cancel: float = 5.0
    """For a server to stop the run."""

    @property
    def whole(self) -> float:
        """For a run from its beginning to its end."""
        return self.run + self.margin


def max_run_seconds(context: Mapping[str, Any], schema: Mapping[str, Any]) -> float:
    """Return a run's limit: the one in its context, else the default of the assistant's schema."""
    rule = (schema.get("properties") or {}).get("max_run_seconds") or {}
    return float(context.get("max_run_seconds") or rule.get("default") or FollowLimits.run)


class ServerActivity:
    """Count signs that a server works on our runs; shared by all that wait in its queue."""

    def __init__(self) -> None:
        self.count = 0

    def seen(self) -> None:
        """Note that a run was at work, or ended."""
        self.count += 1


@dataclass
class Deadlines:
    """Count the waits for one run; call `count` after every wait with the kind of it."""

    limits: FollowLimits
    activity: ServerActivity
    clock: Callable[[], float] = time.monotonic
    returns: int = 0
    """Times the server came back after it had been away."""
    begun: int = 0
    """Runs begun for the request by this process."""
    _seconds: dict[Wait, float] = field(
        default_factory=lambda: {"work": 0.0, "queue": 0.0, "away": 0.0}
    )

    def __post_init__(self) -> None:
        self._last, self._activity, self._away = self.clock(), self.activity.count, False

    def count(self, wait: Wait) -> None:
        """Add the time since the last call."""
        now = self.clock()
        self._seconds[wait] += now - self._last
        self._last = now
        if wait == "away":
            self._away = True
        elif self._away:
            self._away, self.returns = False, self.returns + 1
            if self.returns <= MOST_RETURNS:
                self._seconds["away"] = 0.0
        if self.activity.count != self._activity:
            # The server is at work on our other runs: this one has its place in the queue.
            self._activity, self._seconds["queue"] = self.activity.count, 0.0

    @property
    def work(self) -> float:
        """Seconds a run may be at work; a server that came back gives it its time again."""
        return self.limits.whole * (1 + min(self.returns, MOST_RETURNS))

    @property
    def queue(self) -> float:
        """Seconds a run may wait in the queue."""
        return self.limits.whole if self.limits.queue is None else self.limits.queue

    @property
    def left(self) -> float:
        """Seconds of work that are left, never below zero."""
        return max(0.0, self.work - self._seconds["work"])

    @property
    def away_too_long(self) -> bool:
        """Say that the server has not answered for longer than the limit."""
        return self._seconds["away"] > self.limits.away

    def overdue(self) -> AgentError | None:
        """Return the reason to give the run up, or None."""
        if self._seconds["work"] > self.work:
            return AgentError(
                f"the server did not bring the run to its end within {self.work:.0f} s; if runs"
                " may take longer there, say so with --set max_run_seconds",
                code="run_overdue",
            )
        if self._seconds["queue"] > self.queue:
            problem = f"the server began no run of ours for {self.queue:.0f} s"
            return AgentError(problem, code="run_overdue")
        return None

    def lost_too_often(self) -> AgentError | None:
        """Return the reason to begin no further run, or None; a server that was away may lose some.

        The limit is `MOST_RUNS`, and two more for each return of the server.
        """
        if self.begun < MOST_RUNS + 2 * min(self.returns, MOST_RETURNS):
            return None
        problem = f"the server lost the run, or left it unfinished, {self.begun} times"
        return AgentError(problem, code="run_lost")


class RunListener:
    """Hear of a run while it is followed; each method may be overridden."""

    async def accepted(self, run_id: str) -> None:
        """Note that the server has the run; again with another id where it is continued."""

    async def event(self, event: Mapping[str, Any]) -> None:
        """Take a progress event."""

    async def token(self, text: str) -> None:
        """Take a piece of the growing answer."""

    async def lost(self) -> None:
        """Note that the server does not answer; it is asked again."""


@dataclass(frozen=True)
class RunOrder:
    """Describe a run of an assistant on a thread."""

    assistant: Mapping[str, Any]
    """As the server lists it: `assistant_id` and `graph_id`."""
    thread_id: str
    input: Mapping[str, Any] | None = None
    """None goes on with what the thread has."""
    resume: Mapping[str, Any] | None = None
    """A person's reply to what the thread waits for, instead of an input."""
    context: Mapping[str, Any] = field(default_factory=dict)
    stream_mode: Sequence[StreamMode] = ("custom",)
    multitask: MultitaskStrategy = "enqueue"
    owns_thread: bool = False
    """Every run on the thread is this one, as begun by an earlier process."""


@dataclass(frozen=True)
class FollowedRun:
    """Hold the thread's last values, also where the run failed; `error` then says why.

    Values of a run that waits for a person have `__interrupt__`.
    """

    values: ThreadValues
    run_id: str
    error: AgentError | None = None


def ended_run(state: Mapping[str, Any]) -> FollowedRun:
    """Return the run that wrote the thread's last checkpoint."""
    metadata = state.get("metadata") or {}
    return FollowedRun(_values_of(state), str(metadata.get("run_id") or ""))


class _NotNow(Exception):
    """Carry an error that passes by itself, and the kind of wait it asks for."""

    def __init__(self, error: httpx.HTTPError, wait: Wait) -> None:
        super().__init__(str(error) or type(error).__name__)
        self.error, self.wait = error, wait
        self.busy = status_of(error) == TOO_MANY


class RunFollower:
    """Follow one run: `begin` or `rejoin` it first, or leave both to `follow`.

    `server` names the server in errors.
    """

    def __init__(
        self,
        client: LangGraphClient,
        request: RunOrder,
        *,
        server: str,
        limits: FollowLimits | None = None,
        listener: RunListener | None = None,
        activity: ServerActivity | None = None,
    ) -> None:
        self._client, self._request, self._server = client, request, server
        self._limits, self._listener = limits or FollowLimits(), listener or RunListener()
        self._activity = activity or ServerActivity()
        self._deadlines = Deadlines(self._limits, self._activity)
        self._run_id = self._first_id = ""
        self._ids = set[str]()
        self._last_event_id = _FROM_THE_START
        self._replies = self._unknown = 0
        self._thread_known = self._recovery_awaited = False
        self._failure: Any = None
        self._values: ThreadValues = {}
        self._streamed: ThreadValues = {}

    async def begin(self) -> None:
        """Begin the run on its thread, made if need be; a cancellation waits for the run's id.

        Raises AgentError.
        """
        try:
            await self._make_thread()
            await _whole(self._create(self._request.input), self._limits.cancel)
        except httpx.HTTPError as error:
            raise server_refusal(self._server, error) from None

    async def rejoin(self) -> bool:
        """Take over the run that is under way on the thread; return False where there is none.

        Raises httpx.HTTPStatusError for a thread the server does not know.
        """
        runs = await self._client.runs.list(self._request.thread_id, limit=_LISTED)
        run = _under_way(runs)
        if run is not None:
            await self._adopt(run)
        return run is not None

    async def follow(self) -> FollowedRun:
        """Return the run once it ended, or was given up; raise AgentError without a server."""
        try:
            values, error = await self._to_the_end()
        except httpx.HTTPError as problem:
            raise server_refusal(self._server, problem) from None
        return FollowedRun(values, self._run_id, error)

    async def cancel(self) -> None:
        """Stop the run on the server; one that is gone is not waited for."""
        if not self._run_id:
            return
        with (
            contextlib.suppress(httpx.HTTPError),
            anyio.move_on_after(self._limits.cancel, shield=True),
        ):
            await self._client.runs.cancel(self._request.thread_id, self._run_id, wait=True)

    async def _to_the_end(self) -> tuple[ThreadValues, AgentError | None]:
        pause, longest = self._limits.pauses
        while True:
            replies = self._replies
            try:
                return await self._look()
            except _NotNow as problem:
                self._deadlines.count(problem.wait)
                log.info("thread=%s waits for the server: %s", self._request.thread_id, problem)
                if problem.wait == "away":
                    await self._listener.lost()
                answered = self._replies > replies
                pause = self._limits.pauses[0] if answered else min(longest, pause * 2)
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - jitter
                self._deadlines.count(problem.wait)
                # A server that takes nothing at all is no fault of this run.
                too_long = problem.busy and self._deadlines.overdue()
                if self._deadlines.away_too_long or too_long:
                    raise problem.error from None

    async def _look(self) -> tuple[ThreadValues, AgentError | None]:
        """Look, join or begin until the run ended or is given up; raise _NotNow, HTTPError."""
        thread_id = self._request.thread_id
        while True:
            if reason := self._deadlines.overdue():
                return await self._give_up(reason)
            if not self._thread_known:
                await self._ask(self._make_thread())
            runs = await self._ask(self._client.runs.list(thread_id, limit=_LISTED))
            ours = [run for run in runs if self._is_ours(run)]
            if (busy := _under_way(ours)) is not None:
                await self._join(busy)
                continue
            state = await self._ask(self._client.threads.get_state(thread_id))
            if end := self._ended(state, str(ours[0]["status"]) if ours else ""):
                self._activity.seen()
                if ours:
                    # The server may have continued it, under another id, while nobody looked.
                    await self._adopt(ours[0])
                return end
            if reason := self._deadlines.lost_too_often():
                return self._values, reason
            await self._begin_again(state)

    def _ended(
        self, state: Mapping[str, Any], status: str
    ) -> tuple[ThreadValues, AgentError | None] | None:
        """Return values and error, or None where something is left to do and nobody does it.

        `status` is that of our newest run; empty where the server has none.
        """
        belongs, values = self._belongs(state), _values_of(state)
        if not belongs and status == "success" and self._streamed:
            # Another's next run may have changed the thread already.
            return self._streamed, None
        self._values = values if belongs else self._values
        if state.get("interrupts") and (belongs or status in ("success", "interrupted")):
            return {**values, "__interrupt__": state["interrupts"]}, None
        at_rest = bool(values) and not state["next"] and not state["tasks"]
        if at_rest and (belongs or status == "success"):
            return values, None
        if status in _FAILED:
            errors = [task["error"] for task in state["tasks"] if task.get("error")]
            return self._values, run_error(self._failure or (errors[0] if errors else status))
        if status == "interrupted" and not self._request.owns_thread:
            return self._values, AgentError("the run was stopped", code="run_stopped")
        return None

    async def _begin_again(self, state: Mapping[str, Any]) -> None:
        """Begin a run for what nobody works on; one with checkpoints goes on from the last."""
        begun = self._belongs(state) and bool(state["values"])
        metadata = (state.get("metadata") or {}) if begun else {}
        first = metadata.get(MARK) or metadata.get("run_id") or self._first_id
        if first and not self._recovery_awaited:
            # A server that restarted is about to continue its runs by itself.
            self._recovery_awaited = True
            await asyncio.sleep(self._limits.recovery)
            return
        request = None if begun else self._request.input
        create = self._create(request, first=first, begun=begun)
        await self._ask(_whole(create, self._limits.cancel))
        log.info("thread=%s begun%s", self._request.thread_id,
                 " again" if begun or self._deadlines.begun > 1 else "")  # fmt: skip

    async def _create(
        self, run_input: Mapping[str, Any] | None, *, first: str = "", begun: bool = False
    ) -> None:
        """Begin a run; `first` is the id of the run that it goes on with."""
        request = self._request
        resume = None if begun else request.resume
        created = await self._client.runs.create(
            request.thread_id,
            request.assistant["assistant_id"],
            input=run_input,
            command=Command(resume=resume) if resume else None,
            context=request.context or None,
            # So a restarted server that is late takes this for its own run, gone on with.
            metadata={MARK: first} if first else None,
            multitask_strategy="reject" if first else request.multitask,
            stream_mode=list(request.stream_mode),
            stream_resumable=True,
            durability="sync",
        )
        self._deadlines.begun += 1
        self._failure, self._unknown = None, 0
        await self._adopt(created)

    async def _make_thread(self) -> None:
        """Make the thread unless it is there."""
        await self._client.threads.create(
            thread_id=self._request.thread_id,
            if_exists="do_nothing",
            graph_id=self._request.assistant["graph_id"],
        )
        self._thread_known = True

    async def _adopt(self, run: Mapping[str, Any]) -> None:
        """Take a run for ours."""
        if run["run_id"] == self._run_id:
            return
        self._run_id, self._last_event_id = str(run["run_id"]), _FROM_THE_START
        self._first_id = self._first_id or (run.get("metadata") or {}).get(MARK) or self._run_id
        self._ids |= {self._run_id, self._first_id}
        await self._listener.accepted(self._run_id)

    def _is_ours(self, run: Mapping[str, Any]) -> bool:
        marked = (run.get("metadata") or {}).get(MARK)
        return self._request.owns_thread or run["run_id"] in self._ids or marked in self._ids

    def _belongs(self, state: Mapping[str, Any]) -> bool:
        """Return True if the thread's last checkpoint is of our run."""
        metadata = state.get("metadata") or {}
        ours = {metadata.get("run_id"), metadata.get(MARK)} & self._ids
        return self._request.owns_thread or bool(ours)

    async def _join(self, run: Mapping[str, Any]) -> None:
        """Stream the run until it ends, falls silent, or may work no longer."""
        await self._adopt(run)
        wait: Wait = "work" if run["status"] == "running" else "queue"
        if wait == "work":
            self._activity.seen()
        clock, heard = asyncio.get_running_loop().time, False
        try:
            async with asyncio.timeout(self._limits.quiet) as silence:
                async with contextlib.aclosing(self._parts()) as parts:
                    async for part in parts:
                        self._deadlines.count(wait)
                        wait, heard = "work", True
                        silence.reschedule(clock() + min(self._limits.quiet, self._deadlines.left))
                        await self._hear(part)
        except TimeoutError:
            self._deadlines.count(wait)
            return
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            raise self._passing(error) or error from None
        self._replies, self._unknown = self._replies + 1, 0
        self._deadlines.count(wait)
        if not heard:
            # A stream without an event for a run that is said to work: not at once again.
            await asyncio.sleep(self._limits.pauses[0])

    async def _parts(self) -> AsyncGenerator[StreamPart]:
        """Yield the parts of the run's stream from the last one that was heard.

        All its modes: servers leave out errors where a client names those it wants.
        """
        async for part in self._client.runs.join_stream(
            self._request.thread_id,
            self._run_id,
            last_event_id=self._last_event_id,
        ):
            yield part

    async def _hear(self, part: StreamPart) -> None:
        """Pass one part of the stream on; `event` and `data` as the SDK gives them."""
        self._last_event_id = getattr(part, "id", None) or self._last_event_id
        match part.event:
            case "custom":
                await self._listener.event(part.data)
            case "messages":
                if text := _token(part.data):
                    await self._listener.token(text)
            case "values":
                self._streamed = part.data
            case "error":
                self._failure = part.data

    async def _give_up(self, reason: AgentError) -> tuple[ThreadValues, AgentError]:
        """Stop what is still under way, for it costs money; return what there is so far."""
        runs, thread_id = self._client.runs, self._request.thread_id
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(self._limits.reply):
                for run in await runs.list(thread_id, limit=_LISTED):
                    if run["status"] in _BUSY and self._is_ours(run):
                        await runs.cancel(thread_id, run["run_id"])
                state = await self._client.threads.get_state(thread_id)
                if self._belongs(state):
                    self._values = _values_of(state) or self._values
        return self._values, reason

    async def _ask(self, request: Awaitable[T]) -> T:
        """Return a reply within its limit; raise _NotNow for what passes by itself."""
        try:
            async with asyncio.timeout(self._limits.reply):
                reply = await request
        except TimeoutError as error:
            raise _NotNow(httpx.ReadTimeout("no reply"), "away") from error
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            raise self._passing(error) or error from None
        self._replies += 1
        self._deadlines.count("work")
        return reply

    def _passing(self, error: httpx.HTTPError) -> _NotNow | None:
        """Return the wait an error asks for; None where waiting would not help."""
        status = status_of(error)
        if status == 404:
            self._unknown, self._thread_known = self._unknown + 1, False
            if self._unknown > _MOST_UNKNOWN:
                return None
        if retry_after(error) > self._limits.longest_retry:
            return None
        if status in _NOT_NOW:
            return _NotNow(error, "queue" if status == TOO_MANY else "work")
        return _NotNow(error, "away") if status == 0 or status >= 500 else None


def _under_way(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the run to wait for: the one at work, else the first in the queue, else None.

    `runs` come newest first.
    """
    oldest_first = list(reversed(runs))
    busy = (run for status in _BUSY for run in oldest_first if run["status"] == status)
    return next(busy, None)


def _values_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a thread's values; a server may send null for none."""
    return dict(state["values"] or {})


def _token(data: Any) -> str:
    """Return the text of a part of the stream of messages, empty where it is no piece of one."""
    chunk = data[0] if isinstance(data, list) and data else {}
    content = chunk.get("content") if chunk.get("type") == "AIMessageChunk" else ""
    return content if isinstance(content, str) else ""


async def _whole(work: Coroutine[Any, Any, T], longest: float) -> T:
    """Await work to its end even when cancelled, then for `longest` seconds more.

    A run whose id nobody has could not be stopped.
    """
    task = asyncio.ensure_future(work)
    with anyio.CancelScope(shield=True):
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=longest)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
    return task.result()

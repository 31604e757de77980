"""Wrap every outside call.

In this order: reply cache (what this turn has already paid for) → breaker → budget → pace → time
limit → the call → retry. Adapters translate third-party errors into `errors.ProviderError` before
they reach this module, which therefore knows no provider. `telemetry` hears of every call.
"""

import asyncio
import hashlib
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

from agent.core.budget import Meter, Spending
from agent.core.concurrency import Breaker, Pace, SharedSemaphore, SlidingWindow
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    TimedOut,
)
from agent.core.faults import contained
from agent.core.outside import finite
from agent.core.progress import said_while_waiting
from agent.core.shared_limits import SharedLimits
from agent.core.strings import valid_text
from agent.core.telemetry import CANCELLED, Exchange, Tokens, code_of, tell_listeners

T = TypeVar("T")
log = logging.getLogger(__name__)


class ReplyStore(Protocol):
    """Hold replies paid for in a turn that has not finished; outlive the process."""

    async def load(self, turn_id: str, key: str) -> str | None: ...

    async def save(self, turn_id: str, key: str, reply: str) -> None: ...

    async def ready(self, turn_id: str) -> None:
        """Return if replies can be kept; else raise StoreFailed, so that nothing is paid for."""
        ...


def may_pass(error: ProviderError) -> bool:
    """Return whether the same call may succeed a moment later."""
    return isinstance(error, ProviderUnavailable | RateLimited | MalformedReply)


@dataclass(frozen=True)
class Policy:
    """Set the limits and retries of one kind of call; times in seconds."""

    provider: str
    spends: Spending | None
    timeout: float
    attempts: int = 3
    base_delay: float = 0.3
    max_delay: float = 8.0
    max_retry_after: float = 30.0
    breaker: bool = False
    part: str = ""
    """What of the provider is called, where that may be down alone: it has a breaker of its own."""
    retry_on: Callable[[ProviderError], bool] = may_pass
    """Asked after each failed attempt but the last one."""
    setting: str = ""
    """The variable that sets `timeout`, for who is told of it."""
    first_seconds: float = 0.0
    """For the first sign of the service, where that may take longer than `timeout`."""
    places: SharedSemaphore | None = None
    """How many such calls may be under way at once."""


class Pulse:
    """Hear the signs of life of a call: each gives it its whole time anew.

    So a slow reply that comes in pieces is waited for, and one that stands still is not.
    """

    def __init__(self) -> None:
        self.beats = 0
        self._limit: asyncio.Timeout | None = None
        self._seconds, self._end = 0.0, 0.0

    def beat(self) -> None:
        """Tell that something has come."""
        self.beats += 1
        if self._limit:
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(min(now + self._seconds, self._end))

    @asynccontextmanager
    async def limit(self, first: float, seconds: float, most: float) -> AsyncIterator[None]:
        """Raise TimeoutError after `first` without a beat, `seconds` after one, or `most`."""
        self.beats, self._seconds = 0, seconds
        self._end = asyncio.get_running_loop().time() + most
        try:
            async with asyncio.timeout(min(first, most)) as self._limit:
                yield
        finally:
            self._limit = None


class Calls:
    """Make the calls of a process: paces, breakers and the reply cache by provider."""

    def __init__(
        self, *, reply_cache: ReplyStore | None = None, shared: SharedLimits | None = None
    ) -> None:
        self._reply_cache = reply_cache
        self.shared = shared
        self._paces: dict[str, Pace] = {}
        self._breakers: dict[tuple[str, str], Breaker] = {}

    def pace(self, provider: str, *, rate: float, burst: float = 1) -> None:
        """Limit a provider to `rate` calls a second."""
        self._paces[provider] = Pace(rate, burst)

    async def book(self, name: str, limit: Pace | SlidingWindow) -> float:
        """Book the next place of a limit; return the seconds to wait for it."""
        return await self.shared.book(name, limit) if self.shared else limit.reserve()

    async def once(
        self,
        policy: Policy,
        send: Callable[[], Awaitable[str]],
        *,
        meter: Meter,
        request: Any,
        tokens: Tokens | None = None,
        pulse: Pulse | None = None,
    ) -> str:
        """Make a call whose reply (text) is paid for once in a turn, also after a crash.

        `request` is anything JSON-like that identifies it; replies come back as text so that they
        can be kept, as `valid_text`. `tokens` are filled in by `send`.
        """
        key = request_key(policy.provider, request)
        if (earlier := await self.recall(policy, request, meter, key)) is not None:
            return earlier
        async with self.place(policy, meter):
            with told_when_ended(
                policy.provider, request, meter.turn_id, tokens or Tokens()
            ) as ended:
                reply = await self.call(
                    policy, send, meter=meter, failures=ended.failures, pulse=pulse
                )
                ended.reply = reply = valid_text(reply)
        await self.save(meter, key, reply)
        return reply

    @asynccontextmanager
    async def place(self, policy: Policy, meter: Meter) -> AsyncIterator[None]:
        """Hold a place among the calls under way; waiting for it is no part of the call's time."""
        if policy.places is None:
            yield
            return
        with said_while_waiting(policy.provider, meter):
            try:
                async with asyncio.timeout(max(0.0, meter.remaining())):
                    await policy.places.__aenter__()
            except TimeoutError:
                raise meter.budget.out_of_time() from None
        try:
            yield
        finally:
            await policy.places.__aexit__()

    async def recall(self, policy: Policy, request: Any, meter: Meter, key: str) -> str | None:
        """Return the reply that the turn has paid for already, and count it; None without one.

        `key` is the request's `request_key`.
        """
        if self._reply_cache is None:
            return None
        if (reply := await self._reply_cache.load(meter.turn_id, key)) is None:
            return None
        log.info("turn=%s %s: reply already paid for", meter.turn_id, policy.provider)
        if policy.spends:
            meter.recall(policy.spends, key)
        tell_listeners(
            Exchange(policy.provider, request, reply, reused=True, turn_id=meter.turn_id)
        )
        return reply

    async def save(self, meter: Meter, key: str, reply: str) -> None:
        """Keep a reply until its turn has ended."""
        meter.budget.paid.add(key)
        if self._reply_cache:
            await self._reply_cache.save(meter.turn_id, key, reply)

    async def call(
        self,
        policy: Policy,
        send: Callable[[], Awaitable[T]],
        *,
        meter: Meter,
        failures: list[str] | None = None,
        pulse: Pulse | None = None,
    ) -> T:
        """Make one logical call with its retries; raise ProviderError or BudgetExceeded.

        `failures` is given the codes of the attempts that failed and were repeated.
        """
        breaker = self._breaker(policy)
        attempt = 1
        while True:
            if breaker:
                breaker.check(policy.provider)
            try:
                with said_while_waiting(policy.provider, meter):
                    reply = await self._attempt(policy, send, meter, pulse or Pulse())
            except ProviderError as error:
                if breaker and isinstance(error, ProviderUnavailable | RateLimited):
                    breaker.failed()
                delay = _delay(policy, error, attempt)
                if delay is None or delay >= meter.remaining():
                    raise
                log.warning(
                    "turn=%s %s: %s; attempt %d of %d, again in %.1f s",
                    meter.turn_id, policy.provider, error, attempt, policy.attempts, delay,
                    extra={"attempt": attempt + 1, "error": error},
                )  # fmt: skip
                if failures is not None:
                    failures.append(error.code)
                await asyncio.sleep(delay)
                attempt += 1
            else:
                if breaker:
                    breaker.succeeded()
                return reply

    async def _attempt(
        self, policy: Policy, send: Callable[[], Awaitable[T]], meter: Meter, pulse: Pulse
    ) -> T:
        if pace := self._paces.get(policy.provider):
            await _wait(await self.book(policy.provider, pace), meter)
        if self._reply_cache:
            await self._reply_cache.ready(meter.turn_id)
        if policy.spends:
            meter.reserve(policy.spends)
        if (most := meter.remaining()) <= 0:
            raise meter.budget.out_of_time()
        began = time.monotonic()
        try:
            async with pulse.limit(policy.first_seconds or policy.timeout, policy.timeout, most):
                with contained(policy.provider):
                    return await send()
        except TimeoutError:
            raise _late(policy, meter, time.monotonic() - began, pulse) from None

    def _breaker(self, policy: Policy) -> Breaker | None:
        if not policy.breaker:
            return None
        return self._breakers.setdefault((policy.provider, policy.part), Breaker())


@dataclass
class _Ended:
    reply: str = ""
    failures: list[str] = field(default_factory=list)


@contextmanager
def told_when_ended(provider: str, request: Any, turn_id: str, tokens: Tokens) -> Iterator[_Ended]:
    """Tell of the call within when it has ended: the reply that is set, or its error."""
    began, ended, problem, code = time.monotonic(), _Ended(), "", ""
    try:
        yield ended
    except Exception as error:
        problem, code = str(error), code_of(error)
        raise
    except BaseException:
        problem = code = CANCELLED
        raise
    finally:
        tell_listeners(
            Exchange(
                provider,
                request,
                ended.reply,
                problem,
                time.monotonic() - began,
                code,
                retried=ended.failures,
                turn_id=turn_id,
                tokens=tokens,
            )
        )


async def _wait(delay: float, meter: Meter) -> None:
    """Wait for a place that is booked; a run that would end before it does not wait."""
    if delay >= meter.remaining():
        raise meter.budget.out_of_time()
    if delay > 0:
        await asyncio.sleep(delay)


def request_key(provider: str, request: Any) -> str:
    """Return a stable name of a request."""
    text = json.dumps(request, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(f"{provider}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _late(policy: Policy, meter: Meter, seconds: float, pulse: Pulse) -> TimedOut:
    """Return the error of a call whose time is over: its own time, or what the run had left."""
    of_run = meter.remaining() <= 0
    setting = "MAX_RUN_SECONDS" if of_run else policy.setting
    seconds = seconds if of_run else policy.timeout
    what = "no end" if of_run and pulse.beats else "nothing more" if pulse.beats else "no answer"
    message = f"{what} within {seconds:.0f} s" + (f" ({setting})" if setting else "")
    return TimedOut(
        policy.provider, message, seconds=seconds, setting=setting, begun=pulse.beats > 0
    )


def _delay(policy: Policy, error: ProviderError, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt, or None to give up."""
    if attempt >= policy.attempts or not policy.retry_on(error):
        return None
    backoff = min(policy.max_delay, policy.base_delay * 2.0 ** (attempt - 1))
    delay = backoff * (0.5 + random.random())  # noqa: S311 - jitter, not cryptography
    if isinstance(error, RateLimited) and error.retry_after is not None:
        # A service that says "at once" is asked no faster than one that says nothing.
        delay = max(delay, error.retry_after)
        return delay if delay <= policy.max_retry_after else None
    return delay


def retry_after_seconds(value: Any) -> float | None:
    """Return the seconds of a Retry-After value (seconds or an HTTP date), or None.

    Some services send -1, nan, or a date that is over; that says nothing.
    """
    seconds = finite(value)
    if seconds is None and isinstance(value, str):
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError, OSError):
            return None
    return seconds if seconds is not None and seconds >= 0 else None

"""Give the processor in turns to work that takes nothing else, and no longer than it may have it.

The threads of one interpreter share its lock. Several that compute would delay each other and the
event loop, which waits for that lock after each of its system calls. So one piece of work goes on
at a time, and `breathe`, which whatever reads long texts calls between two pieces of them, is where
it ends once nobody waits for it, gives its turn away, and rests to let the event loop go on.
"""

import asyncio
import contextvars
import logging
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NoReturn, TypeVar, overload

from agent.core.faults import await_or_else
from agent.core.telemetry import owner_of_step

T = TypeVar("T")
log = logging.getLogger(__name__)
SECONDS = 30.0
"""The time of a piece of work whose caller says nothing else: by the clock, on a machine on which
other programs may run. What takes one second alone took more than ten beside two test suites."""
SLICE = 0.005
ORDINARY = 0.1
"""Seconds after which work rests as long as it works: most work never does."""
_CREDIT = 1.0
"""Seconds that whoever comes may have before those who have had more are served again."""
SHORT = 20_000
"""Characters that are read at once: to read them elsewhere takes longer."""
_STUCK = 0.5
"""Seconds without a breath after which those who wait go on beside it."""
_THREADS, _SWITCH = 64, 0.001
_HERE = threading.local()


class lazy_property(Generic[T]):  # noqa: N801 - it stands where functools.cached_property would
    """Compute an attribute at its first use and keep it.

    That of functools holds, until Python 3.12, one lock for all objects while it computes: work
    that gave its turn away within it would be waited for by the work that has the turn.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    @overload
    def __get__(self, owner: None, _: type | None = None) -> "lazy_property[T]": ...

    @overload
    def __get__(self, owner: object, _: type | None = None) -> T: ...

    def __get__(self, owner: object | None, _: type | None = None) -> "T | lazy_property[T]":
        if owner is None:
            return self
        value = owner.__dict__[self._compute.__name__] = self._compute(owner)
        return value


class GivenUp(BaseException):
    """End, in its thread, work that nobody waits for; what handles errors does not catch it."""


def give_way_soon() -> None:
    """Have threads give the interpreter's lock away within a millisecond, not five.

    The event loop waits for it after each system call; beside a thread that computes an answer of
    `GET /ok` waits some twenty times.
    """
    sys.setswitchinterval(_SWITCH)


def breathe() -> None:
    """Let others have the processor where this is part of a longer piece of work.

    Not to be called within a lock that the next piece of work may need.
    """
    work: _Work | None = getattr(_HERE, "work", None)
    if work is not None:
        work.processor.breathe(work)


class _Work:
    """Hold one piece of work: whose it is, and how long it has had the turn."""

    def __init__(self, processor: "Processor", owner: str) -> None:
        self.processor, self.owner = processor, owner
        self.turn = threading.Event()
        self.given_up = False
        self.had = 0.0
        self.since: float | None = None
        """When it went on; None while it waits."""


class Processor:
    """Let one piece of work go on at a time; the turn goes to the owner who has had least of it."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._rest = clock, rest
        self._lock = threading.Lock()
        self._running: _Work | None = None
        self._waiting: list[_Work] = []
        self._had = defaultdict[str, float](float)
        """The seconds of each owner since the processor was last idle."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="compute")

    async def compute(
        self, work: Callable[[], T], *, otherwise: Callable[[], T], seconds: float, owner: str
    ) -> T:
        """Return what `work` does in a thread, or `otherwise` once its turns took too long."""
        own, context = _Work(self, owner), contextvars.copy_context()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, context.run, self._do, own, work)
        try:
            while (left := seconds - own.had - self._seconds_of(own)) > 0:
                await asyncio.wait([future], timeout=max(left, SLICE))
                if future.done():
                    return future.result()
        finally:
            self._give_up(own)
            future.cancel()
        name = getattr(work, "__qualname__", "work")
        log.warning("%s took the processor for more than %g s and was given up", name, seconds)
        return otherwise()

    def breathe(self, work: _Work) -> None:
        """End the work, or its turn, where it is time for that."""
        if work.given_up:
            raise GivenUp
        worked = self._seconds_of(work)
        if worked < SLICE:
            return
        if work.had + worked > ORDINARY and self._running is work:
            self._rest(worked)
        with self._lock:
            self._leave(work)
            self._queue(work)
        self._wait(work)

    def _do(self, own: _Work, work: Callable[[], T]) -> T:
        with self._lock:
            self._admit(own)
            self._queue(own)
        self._wait(own)
        _HERE.work = own
        try:
            return work()
        finally:
            _HERE.work = None
            with self._lock:
                self._leave(own)
                self._pass_on()

    def _admit(self, work: _Work) -> None:
        owners = {each.owner for each in (*self._waiting, self._running) if each is not None}
        if work.owner not in owners:
            least = min((self._had[owner] for owner in owners), default=0.0)
            self._had[work.owner] = max(self._had[work.owner], least - _CREDIT)

    def _queue(self, work: _Work) -> None:
        if not work.given_up:
            work.turn.clear()
            self._waiting.append(work)
        self._pass_on()

    def _wait(self, work: _Work) -> None:
        """Wait for a turn; work that has one and does not breathe goes on beside others then."""
        while not work.turn.wait(_STUCK):
            with self._lock:
                if self._running is not None and self._seconds_of(self._running) > _STUCK:
                    self._running = None
                self._pass_on()
        if work.given_up:
            raise GivenUp

    def _give_up(self, work: _Work) -> None:
        with self._lock:
            work.given_up = True
            if work in self._waiting:
                self._waiting.remove(work)
            self._leave(work)
            self._pass_on()
            work.turn.set()

    def _leave(self, work: _Work) -> None:
        worked = self._seconds_of(work)
        work.had, work.since = work.had + worked, None
        self._had[work.owner] += worked
        if self._running is work:
            self._running = None

    def _pass_on(self) -> None:
        if self._running is None and self._waiting:
            following = min(self._waiting, key=lambda work: self._had[work.owner])
            self._waiting.remove(following)
            self._running, following.since = following, self._clock()
            following.turn.set()
        elif self._running is None:
            self._had.clear()

    def _seconds_of(self, work: _Work) -> float:
        return 0.0 if work.since is None else self._clock() - work.since


_PROCESSOR = Processor()


async def compute(
    work: Callable[[], T], *, otherwise: Callable[[], T], seconds: float = SECONDS
) -> T:
    """Do what only takes the processor in a thread, in fair turns with other owners' work.

    `seconds` are those of its own turns. What takes more is given up, and `otherwise` says, at
    little cost, what to go on with; so it does where the work breaks.
    """
    done = _PROCESSOR.compute(work, otherwise=otherwise, seconds=seconds, owner=owner_of_step())
    return await await_or_else(getattr(work, "__qualname__", "work"), done, otherwise)


async def read_in_turns(work: Callable[[], T], size: int) -> T:
    """Return what the work makes of a text of so many characters; a long one is read in turns.

    What the work raises is raised, and TimeoutError where its turns take too long.
    """
    return work() if size <= SHORT else await in_turns(work, owner_of_step())


async def in_turns(work: Callable[[], T], owner: str, *, seconds: float = SECONDS) -> T:
    """Return what comes of an owner's work, done in a thread in fair turns; raise as above."""
    return await _PROCESSOR.compute(work, otherwise=_give_up, seconds=seconds, owner=owner)


def _give_up() -> NoReturn:
    raise TimeoutError("it took the processor for too long")

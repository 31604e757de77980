"""Hold values for a loop or a time, and limit how often and how much at once things are done.

Everything but `PerLoop`'s values may be used from every thread and event loop.
"""

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from agent.core.errors import ProviderUnavailable

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Lazy(Generic[T]):
    """Build a value at the first call, once for all threads; return the same one ever after."""

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self._guard = threading.Lock()
        self.built: T | None = None

    def __call__(self) -> T:
        """Return the value; what building it raises is raised, and the next call tries again."""
        with self._guard:
            if self.built is None:
                self.built = self._build()
            return self.built


class _Slot(Generic[T]):
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.value: T | None = None


class PerLoop(Generic[T]):
    """Build a value on first use in a loop and close it there.

    `drop` frees, without awaiting, what a loop that has ended left behind. A WeakKeyDictionary
    would not do: the values hold their loop, so ended loops are swept out on the next use.
    """

    def __init__(
        self,
        build: Callable[[], Awaitable[T]],
        close: Callable[[T], Awaitable[None]],
        drop: Callable[[T], None],
    ) -> None:
        self._build, self._close, self._drop = build, close, drop
        self._slots: dict[asyncio.AbstractEventLoop, _Slot[T]] = {}
        self._guard = threading.Lock()

    async def get(self) -> T:
        """Return the running loop's value; built once, however many callers wait for it."""
        slot = self._slot(asyncio.get_running_loop())
        if slot.value is None:
            async with slot.lock:
                if slot.value is None:
                    slot.value = await self._build()
        return slot.value

    def _slot(self, loop: asyncio.AbstractEventLoop) -> _Slot[T]:
        if (slot := self._slots.get(loop)) is not None:
            return slot
        with self._guard:
            self._sweep()
            return self._slots.setdefault(loop, _Slot())

    def _sweep(self) -> None:
        for loop in [loop for loop in self._slots if loop.is_closed()]:
            if (value := self._slots.pop(loop).value) is not None:
                self._drop(value)

    async def aclose(self, seconds: float = 5) -> None:
        """Close every loop's value on its own loop; wait at most `seconds` for each."""
        with self._guard:
            slots, self._slots = self._slots, {}
        for loop, slot in slots.items():
            if slot.value is None:
                continue
            if loop is asyncio.get_running_loop():
                await self._close(slot.value)
            elif loop.is_running():
                await self._close_elsewhere(slot.value, loop, seconds)
            else:
                self._drop(slot.value)

    async def _close_elsewhere(
        self, value: T, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        async def close() -> None:
            await self._close(value)

        try:
            future = asyncio.run_coroutine_threadsafe(close(), loop)
        except RuntimeError:  # the loop ended just now
            self._drop(value)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(future), seconds)


class Lanes:
    """Hold one semaphore a turn and event loop, shared by parallel branches."""

    def __init__(self) -> None:
        self._gates: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._lock = threading.Lock()

    def of(self, turn_id: str, width: int) -> asyncio.Semaphore:
        """Return the turn's semaphore, which lets `width` branches in."""
        key = (turn_id, id(asyncio.get_running_loop()))
        with self._lock:
            return self._gates.setdefault(key, asyncio.Semaphore(width))

    def close(self, turn_id: str) -> None:
        with self._lock:
            for key in [key for key in self._gates if key[0] == turn_id]:
                del self._gates[key]


def begin_beside(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Begin work beside others; its error is told to who awaits it, and to nobody else."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


async def together(waiting: Sequence[Awaitable[T]]) -> list[T]:
    """Return all results in their order; the first error cancels the others and is raised."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class TurnTasks(Generic[T]):
    """Run work of a turn beside its nodes; it stays on the loop it was begun on.

    Nothing of it survives the process: whoever finds no task does the work itself.
    """

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, int, str], asyncio.Task[T]] = {}
        self._lock = threading.Lock()

    def start(self, turn_id: str, name: str, work: Coroutine[Any, Any, T]) -> None:
        """Begin the work; once for a name that is under way."""
        key = (turn_id, id(asyncio.get_running_loop()), name)
        with self._lock:
            if key in self._tasks:
                work.close()
                return
            self._tasks[key] = begin_beside(work)

    async def result(self, turn_id: str, name: str) -> T | None:
        """Return what came of the work, once; None where it was not begun here."""
        key = (turn_id, id(asyncio.get_running_loop()), name)
        with self._lock:
            task = self._tasks.pop(key, None)
        return await task if task else None

    @contextlib.contextmanager
    def ending_with(self, turn_id: str) -> Iterator[None]:
        """End the turn's work with a step of it that is cancelled or fails."""
        try:
            yield
        except BaseException:
            self.close(turn_id)
            raise

    def close(self, turn_id: str) -> None:
        """End all work of the turn that was begun on this loop."""
        loop = id(asyncio.get_running_loop())
        with self._lock:
            keys = [key for key in self._tasks if key[:2] == (turn_id, loop)]
            tasks = [self._tasks.pop(key) for key in keys]
        for task in tasks:
            task.cancel()


class Pace:
    """Limit calls of all threads and loops: a token bucket, `rate` a second, `burst` at once."""

    def __init__(
        self, rate: float, burst: float = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.interval = 1 / rate if rate > 0 else 0.0
        self.burst = burst
        self._clock = clock
        self._next_free = float("-inf")
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Book the next place; return the seconds to wait for it."""
        if not self.interval:
            return 0.0
        with self._lock:
            now = self._clock()
            earliest = now - (self.burst - 1) * self.interval
            start = max(self._next_free, earliest)
            self._next_free = start + self.interval
            return max(0.0, start - now)

    async def wait(self) -> None:
        """Wait for the next place, however long that takes."""
        if (delay := self.reserve()) > 0:
            await asyncio.sleep(delay)


class Breaker:
    """Open for `cool` seconds after `threshold` failures in a row, then let one probe through."""

    def __init__(
        self, threshold: int = 3, cool: float = 60, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold, self._cool, self._clock = threshold, cool, clock
        self._failures = 0
        self._open_until = 0.0
        self._lock = threading.Lock()

    def check(self, provider: str) -> None:
        with self._lock:
            if self._clock() < self._open_until:
                raise ProviderUnavailable(
                    provider, "failing repeatedly; not asked again for a while", code="breaker_open"
                )
            if self._failures >= self._threshold:
                self._open_until = self._clock() + self._cool

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._open_until = 0, 0.0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._threshold:
                self._open_until = self._clock() + self._cool


class SingleFlight:
    """Share one reply among equal calls in flight at the same time on one loop."""

    def __init__(self) -> None:
        self._flights: dict[tuple[int, str], tuple[asyncio.Task[Any], list[int]]] = {}

    async def do(self, key: str, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the reply of `send`, or that of an equal call already under way.

        One caller's cancellation leaves the call to the others; the last one's ends it.
        """
        slot = (id(asyncio.get_running_loop()), key)
        if slot not in self._flights:
            task = asyncio.ensure_future(send())
            self._flights[slot] = (task, [0])
            task.add_done_callback(lambda _: self._flights.pop(slot, None))
        task, waiting = self._flights[slot]
        waiting[0] += 1
        try:
            result: T = await asyncio.shield(task)
            return result
        finally:
            waiting[0] -= 1
            if not waiting[0] and not task.done():
                task.cancel()


class SharedSemaphore:
    """Let `limit` in at a time, first come, first served; `async with` waits for a place."""

    def __init__(self, limit: int) -> None:
        self.limit = self._free = limit
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """Return the places that nobody has."""
        return self._free

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            place = loop.create_future()
            self._waiting.append((loop, place))
        try:
            await place
        except asyncio.CancelledError:
            with self._lock:
                entered = (loop, place) not in self._waiting
                if not entered:
                    self._waiting.remove((loop, place))
            if entered:
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, place = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_resolve, place)
            except RuntimeError:  # that loop has ended; the place goes to the next
                continue
            return


def _resolve(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)


class BoundedCache(Generic[K, T]):
    """Hold values for `seconds` each; beyond `limit` the longest unused ones make room.

    `weigh` says how much of the limit a value takes, by default 1.
    """

    def __init__(
        self,
        limit: float,
        *,
        seconds: float,
        weigh: Callable[[T], float] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit, self._seconds, self._weigh, self._clock = limit, seconds, weigh, clock
        self._entries: OrderedDict[K, tuple[float, T]] = OrderedDict()
        self._weight = 0.0
        self._lock = threading.Lock()

    def get(self, key: K) -> T | None:
        """Return the value if it is there and fresh, and count it as used."""
        with self._lock:
            if key not in self._entries:
                return None
            until, value = self._entries[key]
            if self._clock() >= until:
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return value

    def put(self, key: K, value: T, *, seconds: float | None = None) -> None:
        """Hold a value, by default as long as all of them."""
        with self._lock:
            if key in self._entries:
                self._drop(key)
            until = self._clock() + (self._seconds if seconds is None else seconds)
            self._entries[key] = (until, value)
            self._weight += self._weigh(value)
            while self._weight > self._limit:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        self._weight -= self._weigh(self._entries.pop(key)[1])


class SlidingWindow:
    """Let at most `limit` things into any window of `seconds`.

    A token bucket (`Pace`) of the same rate lets more through at its start than a limit of calls in
    any one second, which is how services word theirs.
    """

    def __init__(
        self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit, self.seconds, self._clock = limit, seconds, clock
        self._booked: deque[float] = deque(maxlen=limit)
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Book the next place; return the seconds to wait for it."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_free(now))
            self._booked.append(start)
            return start - now

    def admit(self) -> bool:
        """Take a place if there is one now; return False otherwise."""
        return self.take() == 0.0

    def take(self) -> float:
        """Take a place if there is one now, and return 0; else the seconds until there is one."""
        with self._lock:
            now = self._clock()
            if (start := self._next_free(now)) > now:
                return start - now
            self._booked.append(now)
            return 0.0

    async def wait(self) -> None:
        """Wait for the next place."""
        if (delay := self.reserve()) > 0:
            await asyncio.sleep(delay)

    def _next_free(self, now: float) -> float:
        full = len(self._booked) == self._booked.maxlen
        return self._booked[0] + self.seconds if full else now

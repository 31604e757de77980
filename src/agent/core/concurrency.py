"""Keep values that belong to one event loop, and limit how much runs at the same time."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


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

"""The thread whose event loop owns every map session of this process.

Sessions must be opened and closed by one task on one loop, and on Linux a server dies with the
thread that spawned it; callers come from many loops and go.
"""

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OwnerLoop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="map-sessions", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it can be used here: a fork copies the object but not the thread."""
        return self.pid == os.getpid() and self._thread.is_alive()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run on the owner loop; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the owner loop and wait; cancelling the caller cancels the work."""
        return await asyncio.wrap_future(self.submit(work))

    def stop(self, seconds: float = 3.0) -> None:
        """Cancel everything on the loop, so that sessions close, and end the thread."""
        if not self.alive:
            return
        with contextlib.suppress(Exception):
            self.submit(_cancel_all()).result(seconds)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(seconds)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_lock = threading.Lock()
_owner: OwnerLoop | None = None


def owner_loop() -> OwnerLoop:
    """The process's owner loop, started at the first call and stopped at exit."""
    global _owner
    with _lock:
        if _owner is None or not _owner.alive:
            _owner = OwnerLoop()
            atexit.register(_owner.stop)
        return _owner

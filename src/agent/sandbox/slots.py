"""A few threads for programs: so many run at once, others wait, whatever event loop they are on."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agent.sandbox.types import CodeResult

Work = Callable[[threading.Event], CodeResult]
"""Ends soon after the event is set."""

CLOSED = CodeResult("", "not run: shutting down")


class Slots:
    """Threads stay until the end, because on Linux a child dies with the thread it came from."""

    def __init__(self, parallel: int) -> None:
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="code")
        self._running: set[threading.Event] = set()
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, work: Work) -> CodeResult:
        """Wait for a free thread, then for the work; cancelled, stop it and wait for its end."""
        stop = threading.Event()
        with self._lock:
            if self._closed:
                return CLOSED
            self._running.add(stop)
            future = self._threads.submit(self._work, work, stop)
        future.add_done_callback(lambda _: self._running.discard(stop))
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if waiting.cancelled() and task is not None and not task.cancelling():
                return CLOSED
            stop.set()
            future.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({waiting})
            raise

    def _work(self, work: Work, stop: threading.Event) -> CodeResult:
        # A thread freed by closing may take up the next before what waits is dropped.
        return CLOSED if self._closed else work(stop)

    async def aclose(self) -> None:
        """Stop what runs, drop what waits, end the threads."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for stop in running:
            stop.set()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

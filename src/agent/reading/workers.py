"""Have foreign documents read by processes that are used again, and killed when time is up."""

import asyncio
import json
import logging
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from agent.core.concurrency import SharedSemaphore
from agent.core.telemetry import owner_of_step
from agent.reading.confined import environment
from agent.reading.extractors import ExtractedPage
from agent.reading.fetch import HostLimits

log = logging.getLogger(__name__)
_IDLE = 60
"""Seconds for which a process waits for the next document."""
_START, _GRACE = 5.0, 1.0
"""Seconds for a process to begin with a document, and to end by itself after it."""


class _Worker:
    """Hold one process."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        self.idle_since = time.monotonic()

    def read(self, kind: str, body: bytes, seconds: int) -> dict[str, Any] | None:
        """Return the answer to a document; None where that ends the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        head = json.dumps({"kind": kind, "seconds": seconds, "size": len(body)})
        try:
            self._process.stdin.write(head.encode("ascii") + b"\n" + body)
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            return None
        self.idle_since = time.monotonic()
        return answer

    def kill(self) -> None:
        """End the process now; whoever waits for its answer gets none."""
        self._process.kill()

    def end(self) -> bool:
        """Leave nothing of the process; return whether its own alarm had ended it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self._process.kill()
        with suppress(OSError), self._process:  # what it did not take any more cannot be flushed
            pass
        return sys.platform != "win32" and self._process.returncode == -signal.SIGALRM


class Workers:
    """Run at most `most` processes for all event loops, and `each` of them for one owner."""

    def __init__(self, command: Sequence[str], *, most: int = 3, each: int = 2) -> None:
        self._command = [*command, str(_IDLE)]
        self._places = SharedSemaphore(most)
        self._owners = HostLimits(at_once=each, rate=0)
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="documents")
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        weakref.finalize(self, _end_all, self._idle)

    async def read(self, kind: str, body: bytes, *, seconds: int) -> ExtractedPage:
        """Return what is in a document, or why nothing is: `timeout`, `page_too_complex`."""
        async with self._owners.turn(owner_of_step()), self._places:
            reading = _Reading(self, kind, body, seconds)
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._threads, reading.run)
            try:
                async with asyncio.timeout(seconds + _START):
                    return await asyncio.shield(future)
            except TimeoutError:
                return ExtractedPage(failed="timeout")
            finally:
                reading.stop()
                await asyncio.shield(asyncio.wait([future]))

    def take(self) -> _Worker:
        """Return a process that waits, or a new one."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return _Worker(self._command)
            # It may end itself while a document is on its way to it.
            if time.monotonic() - worker.idle_since < _IDLE - _START:
                return worker
            worker.kill()
            worker.end()

    def give_back(self, worker: _Worker) -> None:
        with self._lock:
            self._idle.append(worker)


class _Reading:
    """Have one document read, by a thread that can be stopped."""

    def __init__(self, workers: Workers, kind: str, body: bytes, seconds: int) -> None:
        self._workers, self._kind, self._body, self._seconds = workers, kind, body, seconds
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._is_over = False

    def run(self) -> ExtractedPage:
        worker = self._workers.take()
        with self._lock:
            self._worker = worker
            if self._is_over:
                worker.kill()
        answer = worker.read(self._kind, self._body, self._seconds)
        with self._lock:
            self._worker = None
        if answer is not None and not answer.pop("last"):
            self._workers.give_back(worker)
            return ExtractedPage(**answer)
        was_late = worker.end()
        if answer is not None:
            return ExtractedPage(**answer)
        log.warning("a document ended its reader")
        return ExtractedPage(failed="timeout" if was_late else "page_too_complex")

    def stop(self) -> None:
        """End the process if it still reads."""
        with self._lock:
            self._is_over = True
            if self._worker is not None:
                self._worker.kill()


def _end_all(idle: Sequence[_Worker]) -> None:
    for worker in idle:
        worker.kill()
        worker.end()

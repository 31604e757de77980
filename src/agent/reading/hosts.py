"""How many pages are fetched from one host at the same time, and how often.

Counted across threads and event loops: a graph runs on several, and a host sees only their sum.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.core.calls import Pace

_KNOWN = 1000


class Turnstile:
    """Lets `limit` in at a time, first come, first served."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()
        self.users = 0
        """Inside or waiting; whoever keeps many turnstiles counts here."""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place and hold it."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    async def _enter(self) -> None:
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
                given = (loop, place) not in self._waiting
                if not given:
                    self._waiting.remove((loop, place))
            if given:
                self._leave()
            raise

    def _leave(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, place = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_give, place)
            except RuntimeError:  # that loop has ended; the place goes to the next
                continue
            return


def _give(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)


class HostLimits:
    """A turnstile and a pace for each host; hosts nobody uses are forgotten, the oldest first."""

    def __init__(self, *, at_once: int = 2, rate: float = 4, burst: float = 4) -> None:
        self._at_once, self._rate, self._burst = at_once, rate, burst
        self._hosts: OrderedDict[str, tuple[Turnstile, Pace]] = OrderedDict()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a place at this host, and for its next moment."""
        turnstile, pace = self._enter(host)
        try:
            async with turnstile.turn():
                await pace.wait()
                yield
        finally:
            with self._lock:
                turnstile.users -= 1

    def _enter(self, host: str) -> tuple[Turnstile, Pace]:
        with self._lock:
            if host not in self._hosts:
                self._forget()
                self._hosts[host] = Turnstile(self._at_once), Pace(self._rate, self._burst)
            self._hosts.move_to_end(host)
            self._hosts[host][0].users += 1
            return self._hosts[host]

    def _forget(self) -> None:
        if len(self._hosts) < _KNOWN:
            return
        idle = [host for host, (turnstile, _) in self._hosts.items() if not turnstile.users]
        for host in idle[: _KNOWN // 2]:
            del self._hosts[host]

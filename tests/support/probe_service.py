"""The other end of the probe graph: counts its calls, and holds those it is told to hold."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from tests.support.served import serve_in_thread


class Probe:
    """Counts calls by `turn/name`; `seconds` is how long one takes."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.arrived: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.held: set[str] = set()
        self._changed = threading.Condition()
        self.app = web.Application()
        self.app.router.add_get("/{turn}/{name}", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        name = f"{request.match_info['turn']}/{request.match_info['name']}"
        self._count(self.arrived, name)
        while name in self.held:  # noqa: ASYNC110 - set from other threads
            await asyncio.sleep(0.01)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        self._count(self.answered, name)
        return web.Response(text=request.match_info["name"])

    def _count(self, counter: Counter[str], name: str) -> None:
        with self._changed:
            counter[name] += 1
            self._changed.notify_all()

    def wait_for(self, name: str, *, answered: bool = False, seconds: float = 120) -> None:
        """Until this call has arrived (or was answered)."""
        counter = self.answered if answered else self.arrived
        self.wait_until(lambda: counter[name] > 0, seconds=seconds, what=name)

    def wait_until(self, true: Callable[[], bool], *, seconds: float = 60, what: str = "") -> None:
        with self._changed:
            if not self._changed.wait_for(true, timeout=seconds):
                raise AssertionError(f"{what} did not come in {seconds} s; {dict(self.arrived)}")


@contextmanager
def probe_service(seconds: float = 0.0) -> Iterator[tuple[Probe, str]]:
    """A running probe and its address."""
    probe = Probe(seconds)
    with serve_in_thread(probe.app) as running:
        yield probe, running.url

"""Look hosts up in threads of their own, and remember for a while those that do not answer."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable

from agent.core.concurrency import BoundedCache, SingleFlight

_SECONDS = 5.0
"""How long a name server may take."""
_MOST_LOOKUPS = 64
"""Names that are looked up at the same time, those that were given up included."""
_MOST_HOSTS = 1000
_FAILURES = 2
"""Connections that must fail before a host is left alone; one look-up that fails is enough."""

Lookup = Callable[[str, int], list[str]]
"""(host, port) → every address its name stands for; blocks, and raises OSError."""


def system_lookup(host: str, port: int) -> list[str]:
    """Return every address the machine's resolver knows; raises OSError."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


class Hosts:
    """Resolve hosts for every event loop of the process.

    A look-up cannot be stopped. In asyncio's own threads, which are few, those that were given up
    would hold up files and look-ups of everybody; here each has a thread that nothing waits for.
    """

    def __init__(
        self,
        silent_seconds: float,
        lookup: Lookup = system_lookup,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._failures: BoundedCache[str, int] = BoundedCache(
            _MOST_HOSTS, seconds=silent_seconds, clock=clock
        )
        self._flights = SingleFlight()
        self._free = threading.BoundedSemaphore(_MOST_LOOKUPS)

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return every address of a host; raise OSError, at once where it failed a moment ago."""
        if self.is_silent(host):
            raise OSError(f"{host} did not answer a moment ago")
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._flights.do(f"{host}:{port}", lambda: self._looked_up(host, port))
        except OSError:  # TimeoutError is one
            self.silent(host, _FAILURES)
            raise

    def is_silent(self, host: str) -> bool:
        """Return whether a host has failed so lately that it is not worth asking."""
        return (self._failures.get(host) or 0) >= _FAILURES

    def silent(self, host: str, failures: int = 1) -> None:
        """Remember that a host took no connection; by `failures` 2 is it left alone at once."""
        self._failures.put(host, (self._failures.get(host) or 0) + failures)

    def answered(self, host: str) -> None:
        """Forget earlier failures of a host."""
        if self._failures.get(host):
            self._failures.put(host, 0)

    async def _looked_up(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[list[str]] = loop.create_future()
        if not self._free.acquire(blocking=False):
            raise OSError("too many names are being looked up")

        def tell(addresses: list[str], error: Exception | None) -> None:
            if result.done():
                return
            if error is None:
                result.set_result(addresses)
            else:
                result.set_exception(error)

        def look_up() -> None:
            addresses, problem = list[str](), None
            try:
                addresses = self._lookup(host, port)
            except Exception as error:  # noqa: BLE001 - it is told to who waits for the host
                problem = error
            finally:
                self._free.release()
            try:
                loop.call_soon_threadsafe(tell, addresses, problem)
            except RuntimeError:  # the loop has ended, and with it who asked
                return

        threading.Thread(target=look_up, name="look-up", daemon=True).start()
        return await result

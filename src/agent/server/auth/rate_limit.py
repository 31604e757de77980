"""Limit how often keys may be guessed: the wrong ones of the last minute, by their address.

The sign-in and every other route count together. Only different keys count: a program that goes on
sending a key that was taken away guesses nothing, and must not keep its whole address waiting.
"""

import hashlib
import ipaddress
import time
from collections.abc import Callable

from starlette.requests import HTTPConnection

from agent.core.concurrency import BoundedCache

_WINDOW = 60.0
_MOST_PEERS = 4096
_ONE_HOME = 64
"""Bits of an IPv6 address that name a network; whoever has one has all addresses in it."""


class RateLimit:
    """Count wrong keys by peer; `most` is how many of them a minute one may send."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: BoundedCache[str, dict[bytes, float]] = BoundedCache(
            _MOST_PEERS, seconds=_WINDOW, clock=clock
        )

    def wait(self, peer: str, most: int) -> float:
        """Return the seconds until this peer may try again; 0 is now."""
        oldest_first = list((self._failed.get(peer) or {}).values())[-most:]
        if len(oldest_first) < most:
            return 0.0
        return max(0.0, oldest_first[0] + _WINDOW - self._clock())

    def count(self, peer: str, key: str) -> None:
        """Count a wrong key; who has not tried for longest is forgotten where there are many."""
        now = self._clock()
        earlier = self._failed.get(peer) or {}
        digests = {digest: at for digest, at in earlier.items() if at + _WINDOW > now}
        digests.setdefault(_mark(key), now)
        self._failed.put(peer, digests)


def peer_of(connection: HTTPConnection) -> str:
    """Return whom wrong keys are counted for: the address, of IPv6 its network, or nothing."""
    host = connection.client.host if connection.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _ONE_HOME), strict=False))


def _mark(key: str) -> bytes:
    """Return a digest of a wrong key, which may be a right one with a slip, so not itself."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()

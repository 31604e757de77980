"""Replies of the map kept in memory for a short while; its terms allow no more."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from agent.errors import ProviderError

_HOUR = 3600.0
_SECONDS = {
    "maps_geo": 24 * _HOUR,
    "maps_regeocode": 24 * _HOUR,
    "maps_text_search": _HOUR,
    "maps_around_search": _HOUR,
    "maps_search_detail": 6 * _HOUR,
    "maps_weather": _HOUR / 2,
    "maps_ip_location": _HOUR,
}
_OTHERS = 600.0
NOT_FOUND_SECONDS = 600.0


class ReplyCache:
    """The texts of replies and, for ten minutes, that a place was not found; other errors never."""

    def __init__(self, size: int = 2000, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = size, clock
        self._kept: OrderedDict[str, tuple[float, str | ProviderError]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> str | ProviderError | None:
        """What is known, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            until, reply = self._kept[key]
            if self._clock() >= until:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return reply

    def put(self, tool: str, key: str, reply: str) -> None:
        self._keep(key, reply, _SECONDS.get(tool, _OTHERS))

    def put_not_found(self, key: str, error: ProviderError) -> None:
        self._keep(key, error, NOT_FOUND_SECONDS)

    def _keep(self, key: str, reply: str | ProviderError, seconds: float) -> None:
        with self._lock:
            self._kept[key] = (self._clock() + seconds, reply)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

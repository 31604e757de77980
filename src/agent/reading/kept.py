"""Pages read a short while ago, bounded by their bytes and their age."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class KeptPages(Generic[T]):
    """The last used pages by URL: at most `max_bytes` of them, each for `seconds`."""

    def __init__(
        self,
        size: Callable[[T], int],
        *,
        max_bytes: int = 32 << 20,
        seconds: float = 600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size, self._max_bytes = size, max_bytes
        self._seconds, self._clock = seconds, clock
        self._pages: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, url: str) -> T | None:
        """The page if it is known and fresh."""
        with self._lock:
            if url not in self._pages:
                return None
            until, page = self._pages[url]
            if self._clock() >= until:
                self._drop(url)
                return None
            self._pages.move_to_end(url)
            return page

    def keep(self, url: str, page: T) -> None:
        """Remember a page; the longest unused ones make room."""
        with self._lock:
            if url in self._pages:
                self._drop(url)
            self._pages[url] = (self._clock() + self._seconds, page)
            self._bytes += self._size(page)
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._pages)))

    def _drop(self, url: str) -> None:
        self._bytes -= self._size(self._pages.pop(url)[1])

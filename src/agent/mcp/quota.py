"""How often the map may be asked: pace, place searches a day, and pauses Amap imposed on us."""

import asyncio
import contextlib
import math
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from agent.core.errors import ProviderError, RateLimited
from agent.core.private_files import private_database

# Fixed, as China has no summer time and Windows no time zone files.
SHANGHAI = timezone(timedelta(hours=8), "Asia/Shanghai")
SEARCH_TOOLS = frozenset({"maps_text_search", "maps_around_search", "maps_search_detail"})
_BURST = 3
_KEY_PAUSE = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS map_searches (day TEXT PRIMARY KEY, count INTEGER NOT NULL)"
_ADD = """INSERT INTO map_searches VALUES (?, 1)
ON CONFLICT (day) DO UPDATE SET count = count + 1 RETURNING count"""


class WindowPace:
    """At most a burst of calls in any window of burst ÷ rate seconds, across threads and loops.

    A token bucket of the same rate lets more through at its start than a limit of calls in any
    one second, which is how Amap words its own.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        burst = max(1, min(_BURST, math.ceil(rate)))
        self._window = burst / rate
        self._clock = clock
        self._booked: deque[float] = deque(maxlen=burst)
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Book the next place; the seconds to wait for it."""
        with self._lock:
            now = self._clock()
            full = len(self._booked) == self._booked.maxlen
            start = max(now, self._booked[0] + self._window) if full else now
            self._booked.append(start)
            return start - now

    async def wait(self) -> None:
        if (delay := self.reserve()) > 0:
            await asyncio.sleep(delay)


class DailySearches:
    """Counts place searches of a day in Shanghai, in a file that processes share, or in memory."""

    def __init__(
        self,
        limit: int,
        *,
        file: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(SHANGHAI),
    ) -> None:
        self.limit, self._file, self._now = limit, file, now
        self._memory: tuple[str, int] = ("", 0)
        self._lock = threading.Lock()

    async def spend(self, tool: str) -> None:
        """Count a call; raises RateLimited (`map_quota_day`) when the day is spent."""
        if not self.limit or tool not in SEARCH_TOOLS:
            return
        count = await asyncio.to_thread(self._add)
        if count > self.limit:
            raise day_is_spent(
                f"AMAP_DAILY_SEARCH_LIMIT = {self.limit} place searches are used up", self._now()
            )

    def _add(self) -> int:
        day = self._now().astimezone(SHANGHAI).date().isoformat()
        with self._lock:
            if self._file is None:
                known, count = self._memory
                self._memory = (day, count + 1 if known == day else 1)
                return self._memory[1]
            private_database(self._file)
            with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as base, base:
                base.execute(_TABLE)
                return int(base.execute(_ADD, (day,)).fetchone()[0])


def day_is_spent(reason: str, now: datetime) -> RateLimited:
    """The error of a spent day, which says when the next begins."""
    here = now.astimezone(SHANGHAI)
    midnight = (here + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return RateLimited(
        "amap",
        f"{reason}; the count starts again at {midnight:%Y-%m-%d %H:%M} (Asia/Shanghai)",
        retry_after=(midnight - here).total_seconds(),
        code="map_quota_day",
    )


class Pauses:
    """What Amap told us not to ask for a while, so that nobody asks again before that."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, tuple[float, ProviderError]] = {}

    def check(self, tool: str) -> None:
        """Raises the error that began a pause which is not over."""
        for family in ("all", _family(tool)):
            until, error = self._until.get(family, (0.0, None))
            if error is not None and self._clock() < until:
                raise error.with_traceback(None)

    def note(self, tool: str, error: ProviderError) -> None:
        """Begin a pause if the error asks for one."""
        if isinstance(error, RateLimited) and error.retry_after:
            family = _family(tool) if error.code == "map_quota_day" else "all"
            self._until[family] = (self._clock() + error.retry_after, error)
        elif error.code == "map_key_invalid":
            self._until["all"] = (self._clock() + _KEY_PAUSE, error)


def _family(tool: str) -> str:
    """Amap counts place searches together, everything else by service."""
    return "search" if tool in SEARCH_TOOLS else tool

"""Limit calls of a map server: pace, place searches a day, pauses that it imposed."""

import asyncio
import contextlib
import math
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from agent.core.concurrency import SlidingWindow
from agent.core.errors import ProviderError, RateLimited
from agent.core.private_files import private_database
from agent.core.shared_limits import SharedLimits

_BURST = 3
_KEY_PAUSE = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS map_searches (day TEXT PRIMARY KEY, count INTEGER NOT NULL)"
_ADD = """INSERT INTO map_searches VALUES (?, 1)
ON CONFLICT (day) DO UPDATE SET count = count + 1 RETURNING count"""


@dataclass(frozen=True)
class DailyQuota:
    """Describe the calls that a service counts together, day by day."""

    provider: str
    tools: frozenset[str]
    setting: str
    """The variable of our own limit."""
    zone: tzinfo
    zone_name: str

    def spent(self, reason: str, now: datetime) -> RateLimited:
        """Return the error of a spent day, which says when the next begins."""
        local = now.astimezone(self.zone)
        midnight = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return RateLimited(
            self.provider,
            f"{reason}; the count starts again at {midnight:%Y-%m-%d %H:%M} ({self.zone_name})",
            retry_after=(midnight - local).total_seconds(),
            code="map_quota_day",
        )


def window_pace(rate: float, clock: Callable[[], float] = time.monotonic) -> SlidingWindow:
    """Return the pace of a service that counts its calls in any one second; `rate` a second."""
    burst = max(1, min(_BURST, math.ceil(rate)))
    return SlidingWindow(burst, burst / rate, clock)


class DailySearches:
    """Count the calls of a quota's day, in a file that processes share, or in memory.

    `shared` counts those of other machines, too; while it is away the file has those of this one.
    """

    def __init__(
        self,
        limit: int,
        quota: DailyQuota | None,
        *,
        file: Path | None = None,
        shared: SharedLimits | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._shared = shared
        self.limit, self._quota, self._file, self._now = limit, quota, file, now
        self._memory: tuple[str, int] = ("", 0)
        self._lock = threading.Lock()

    async def spend(self, tool: str) -> None:
        """Count a call; raise RateLimited (`map_quota_day`) when the day is spent."""
        quota = self._quota
        if not self.limit or quota is None or tool not in quota.tools:
            return
        day = self._now().astimezone(quota.zone).date().isoformat()
        count = await asyncio.to_thread(self._add, day)
        if self._shared:
            count = max(count, await self._shared.count(f"{quota.provider}:{day}") or 0)
        if count > self.limit:
            reason = f"{quota.setting} = {self.limit} place searches are used up"
            raise quota.spent(reason, self._now())

    def _add(self, day: str) -> int:
        with self._lock:
            if self._file is None:
                last, count = self._memory
                self._memory = (day, count + 1 if last == day else 1)
                return self._memory[1]
            private_database(self._file)
            with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as base, base:
                base.execute(_TABLE)
                return int(base.execute(_ADD, (day,)).fetchone()[0])


class Pauses:
    """Remember the pauses a service asked for, so that nobody calls before they are over."""

    def __init__(
        self, quota: DailyQuota | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quota, self._clock = quota, clock
        self._until: dict[str, tuple[float, ProviderError]] = {}

    def check(self, tool: str) -> None:
        """Raise the error that began a pause which is not over."""
        for family in ("all", self._family(tool)):
            until, error = self._until.get(family, (0.0, None))
            if error is not None and self._clock() < until:
                raise error.with_traceback(None)

    def note(self, tool: str, error: ProviderError) -> None:
        """Begin a pause if the error asks for one."""
        if isinstance(error, RateLimited) and error.retry_after:
            family = self._family(tool) if error.code == "map_quota_day" else "all"
            self._until[family] = (self._clock() + error.retry_after, error)
        elif error.code == "map_key_invalid":
            self._until["all"] = (self._clock() + _KEY_PAUSE, error)

    def _family(self, tool: str) -> str:
        """Return one name for all tools that are counted together."""
        return "search" if self._quota and tool in self._quota.tools else tool

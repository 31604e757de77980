"""Limit what each owner may begin: runs a minute, open runs, and US dollars a day.

Runs a minute and dollars hold for all processes of a deployment where there is a Redis
(TANLU_REDIS_URL), else for each process since its start; open runs as far as a server lists them.
A run that has begun goes to its end.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import ceil
from typing import Any

from langchain_core.messages import convert_to_messages

from agent.core.concurrency import SlidingWindow
from agent.core.errors import ConfigurationError
from agent.core.shared_limits import SharedLimits
from agent.core.telemetry import STEP, Cost, Event, listening
from agent.runs.engine import OWNER, engine
from agent.server.auth.api_keys import access
from agent.server.metrics import is_free
from agent.settings import AccessSettings, read_access_settings, read_settings
from agent.texts import Language, detect_language, say

_MINUTE = 60.0
_OPEN_AGAIN = 5.0
"""Seconds after which one may try again where too many runs are open."""
_JUST_ADMITTED = 1.0
"""Seconds until a run that was let in is among those that the server lists."""


class TooMany(Exception):
    """Say which limit an owner has reached, and in how many seconds there is room."""

    def __init__(self, name: str, limit: float, retry_after: float) -> None:
        super().__init__(name)
        self.name, self.retry_after = name, max(1, ceil(retry_after))
        self._limit = f"{limit:g}"

    def words(self, language: Language) -> str:
        """Return what the caller is told."""
        return say(
            f"limits.{self.name}", language, limit=self._limit, seconds=str(self.retry_after)
        )


@dataclass(frozen=True, eq=False)
class _Place:
    """Hold a run that was let in, or is about to be, and that the server may not list yet."""

    thread_id: str
    """Empty for a run that gets a thread of its own."""
    at: float


class OwnerLimits:
    """Admit runs by the limits of the settings, 0 of which is none."""

    def __init__(
        self,
        settings: AccessSettings,
        shared: SharedLimits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings, self._shared, self._clock, self._now = settings, shared, clock, now
        self._windows: dict[str, SlidingWindow] = {}
        self._booked: dict[str, list[_Place]] = {}
        self._spent: dict[str, float] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Add up what runs cost while the context lasts."""
        self._loop = asyncio.get_running_loop()
        try:
            with listening(self._note):
                yield
        finally:
            if self._shared:
                await self._shared.aclose()

    async def admit(self, owner: str, thread_id: str = "") -> None:
        """Take a place for a new run; raise TooMany where there is none."""
        await self._check_dollars(owner)
        with self._place(owner, thread_id) as earlier:
            await self._check_open(owner, thread_id, earlier)
            await self._check_pace(owner)

    async def admit_search(self, owner: str) -> None:
        """Count a search that begins no run: it costs as one may, and is over at once."""
        await self._check_dollars(owner)
        await self._check_pace(owner)

    @contextmanager
    def _place(self, owner: str, thread_id: str) -> Iterator[Sequence[_Place]]:
        """Book a place before it is known to be free; provide those that were booked earlier.

        So runs asked for at the same moment count each other. It is given back where it fails.
        """
        booked, since = self._booked.setdefault(owner, []), self._clock() - _JUST_ADMITTED
        booked[:] = [place for place in booked if place.at > since]
        place, earlier = _Place(thread_id, self._clock()), [*booked]
        booked.append(place)
        try:
            yield earlier
        except BaseException:
            booked[:] = [other for other in booked if other is not place]
            raise

    async def _check_pace(self, owner: str) -> None:
        if not (limit := self._settings.tanlu_runs_per_minute):
            return
        window = self._windows.setdefault(owner, SlidingWindow(limit, _MINUTE, self._clock))
        name = f"runs:{owner}"
        wait = await self._shared.take(name, window) if self._shared else window.take()
        if wait > 0:
            raise TooMany("runs_per_minute", limit, wait)

    async def _check_open(self, owner: str, thread_id: str, earlier: Sequence[_Place]) -> None:
        if not (limit := self._settings.tanlu_open_runs):
            return
        async with engine().client(owner) as client:
            rows = await client.threads.search(
                metadata={OWNER: owner} if owner else None,
                status="busy",
                limit=2 * limit + 1,
                select=["thread_id", "created_at"],
            )
        made_at = {str(row["thread_id"]): _time_of(row["created_at"]) for row in rows}
        threads = {place.thread_id for place in earlier if place.thread_id}
        # A run without a thread gets one of its own, by which the server lists it soon.
        just_now = self._now() - timedelta(seconds=_JUST_ADMITTED)
        new = sum(at >= just_now for id, at in made_at.items() if id not in threads)
        unlisted = max(0, sum(not place.thread_id for place in earlier) - new)
        if len((threads | made_at.keys()) - {thread_id}) + unlisted >= limit:
            raise TooMany("open_runs", limit, _OPEN_AGAIN)

    async def _check_dollars(self, owner: str) -> None:
        if not (limit := self._settings.tanlu_daily_usd):
            return
        now = self._now()
        if await self.spent(owner) >= limit:
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            raise TooMany("daily_usd", limit, (midnight - now).total_seconds())

    async def spent(self, owner: str) -> float:
        """Return the US dollars of an owner's calls since midnight UTC."""
        name = self._day_of(owner)
        own = self._spent.get(name, 0.0)
        return max(own, await self._shared.add(name, 0.0) or 0.0) if self._shared else own

    def _note(self, event: Event) -> None:
        if not isinstance(event, Cost) or not event.usd or is_free():
            return
        step = STEP.get()
        name = self._day_of(step.owner if step and not access().open else "")
        with self._lock:
            self._spent = {
                key: value for key, value in self._spent.items() if key[:15] == name[:15]
            }
            self._spent[name] = self._spent.get(name, 0.0) + event.usd
        if self._shared and self._loop and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._shared.add(name, event.usd), self._loop)

    def _day_of(self, owner: str) -> str:
        return f"usd:{self._now():%Y-%m-%d}:{owner}"


def _time_of(moment: datetime | str) -> datetime:
    """Return a server's moment, which some send as text."""
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment


@lru_cache(maxsize=1)
def owner_limits() -> OwnerLimits:
    """Return the limits of this process; of settings that cannot be read nobody is let in."""
    try:
        settings = read_settings()
    except ConfigurationError:
        # Each run tells that; only who may call must be known here.
        return OwnerLimits(read_access_settings())
    url = settings.tanlu_redis_url
    return OwnerLimits(settings, SharedLimits(url) if url else None)


def question_language(request: Mapping[str, Any]) -> Language:
    """Return the language of a run's question; English where it has none."""
    value = request.get("input")
    try:
        messages = value["messages"] if isinstance(value, Mapping) else []
        last = convert_to_messages(messages if isinstance(messages, list) else [messages])[-1]
        return detect_language(str(last.text))
    except (LookupError, AttributeError, NotImplementedError, TypeError, ValueError):
        return "en"

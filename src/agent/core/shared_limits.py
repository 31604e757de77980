"""Limit calls over all processes of a deployment, in Redis (`tanlu[redis]`, TANLU_REDIS_URL).

The limits are those of `concurrency`, booked by Redis' clock. While Redis is away each process
keeps to its own, and the log says so once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.core.concurrency import Pace, SlidingWindow
from agent.core.errors import ConfigurationError
from agent.core.redaction import hide

log = logging.getLogger(__name__)
_NAME = "TANLU_REDIS_URL"
_PREFIX = "tanlu:limit:"
_SECONDS = 1.0
"""For an answer of Redis; it takes less than a millisecond."""
_AWAY_SECONDS = 10.0
"""Before Redis is asked again."""
_DAYS = 2 * 86_400

_NOW = "local t = redis.call('TIME'); local now = t[1] + t[2] / 1000000; "
_PACE = _NOW + (
    "local free = tonumber(redis.call('GET', KEYS[1]) or 0);"
    "local start = math.max(free, now - (ARGV[2] - 1) * ARGV[1]);"
    "redis.call('SET', KEYS[1], string.format('%.6f', start + ARGV[1]),"
    " 'EX', math.ceil(math.max(0, start - now) + ARGV[2] * ARGV[1]) + 1);"
    "return string.format('%.6f', math.max(0, start - now))"
)
_WINDOW = _NOW + (
    "local start = now; local limit = tonumber(ARGV[1]);"
    "if redis.call('LLEN', KEYS[1]) >= limit then"
    " start = math.max(now, redis.call('LINDEX', KEYS[1], -limit) + ARGV[2]) end;"
    "redis.call('RPUSH', KEYS[1], string.format('%.6f', start));"
    "redis.call('LTRIM', KEYS[1], -limit, -1);"
    "redis.call('EXPIRE', KEYS[1], math.ceil(start - now + ARGV[2]) + 1);"
    "return string.format('%.6f', start - now)"
)
_TAKE = _NOW + (
    "local limit = tonumber(ARGV[1]);"
    "if redis.call('LLEN', KEYS[1]) >= limit then"
    " local wait = redis.call('LINDEX', KEYS[1], -limit) + ARGV[2] - now;"
    " if wait > 0 then return string.format('%.6f', wait) end end;"
    "redis.call('RPUSH', KEYS[1], string.format('%.6f', now));"
    "redis.call('LTRIM', KEYS[1], -limit, -1);"
    "redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[2]) + 1);"
    "return '0'"
)
_ADD = (
    "local sum = redis.call('INCRBYFLOAT', KEYS[1], ARGV[1]);"
    "redis.call('EXPIRE', KEYS[1], ARGV[2]);"
    "return sum"
)
_COUNT = (
    "local count = redis.call('INCR', KEYS[1]);"
    "if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end;"
    "return count"
)


class SharedLimits:
    """Book places and count in Redis; connects at the first use. Usable from every event loop.

    Raises ConfigurationError for an address that cannot be one, or where the library is missing.
    """

    def __init__(self, url: SecretStr, clock: Callable[[], float] = time.monotonic) -> None:
        if find_spec("redis") is None:
            raise ConfigurationError(_NAME, 'needs the extra: pip install "tanlu[redis]"')
        parts = urlsplit(url.get_secret_value())
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ConfigurationError(_NAME, "is no address of the form redis://host:6379/0")
        hide(parts.password or "")
        self._url, self._clock = url.get_secret_value(), clock
        self._client: Any = None
        self._away_until = 0.0
        self._is_away = False

    async def book(self, name: str, limit: Pace | SlidingWindow) -> float:
        """Book the next place of all processes; return the seconds to wait for it."""
        if isinstance(limit, Pace):
            script, values = _PACE, [limit.interval, limit.burst]
        else:
            script, values = _WINDOW, [limit.limit, limit.seconds]
        if isinstance(limit, Pace) and not limit.interval:
            return 0.0
        reply = await self._ask(script, name, values)
        return limit.reserve() if reply is None else float(reply)

    async def take(self, name: str, window: SlidingWindow) -> float:
        """Take a place of all processes if there is one now; else the seconds until there is."""
        reply = await self._ask(_TAKE, name, [window.limit, window.seconds])
        return window.take() if reply is None else float(reply)

    async def add(self, name: str, amount: float) -> float | None:
        """Add to what has this name for two days; return the sum, None while Redis is away."""
        reply = await self._ask(_ADD, name, [amount, _DAYS])
        return None if reply is None else float(reply)

    async def count(self, name: str) -> int | None:
        """Count one more of what has this name; None while Redis is away."""
        reply = await self._ask(_COUNT, name, [_DAYS])
        return None if reply is None else int(reply)

    async def server(self) -> tuple[str, float]:
        """Return the server's version and its clock; raise what the library raises."""

        def ask() -> tuple[str, float]:
            client = self._connected()
            seconds, microseconds = client.time()
            return str(client.info("server")["redis_version"]), seconds + microseconds / 1e6

        return await asyncio.to_thread(ask)

    async def _ask(self, script: str, name: str, values: Sequence[float]) -> Any:
        if self._clock() < self._away_until:
            return None
        try:
            async with asyncio.timeout(3 * _SECONDS):
                reply = await asyncio.to_thread(self._eval, script, _PREFIX + name, values)
        except Exception as error:  # noqa: BLE001 - the library's own errors, which it names itself
            self._note_loss(error)
            return None
        if self._is_away:
            self._is_away = False
            log.info("%s: limits hold for all processes again", _NAME)
        return reply

    def _note_loss(self, error: Exception) -> None:
        self._away_until = self._clock() + _AWAY_SECONDS
        if not self._is_away:
            self._is_away = True
            reason = " ".join(str(error).split()) or type(error).__name__
            log.warning("%s: limits hold for each process alone for now: %s", _NAME, reason)

    def _eval(self, script: str, key: str, values: Sequence[float]) -> Any:
        return self._connected().eval(script, 1, key, *values)

    def _connected(self) -> Any:
        if self._client is None:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry

            self._client = redis.Redis.from_url(
                self._url,
                socket_timeout=_SECONDS,
                socket_connect_timeout=_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections; harmless when none was opened."""
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.close)

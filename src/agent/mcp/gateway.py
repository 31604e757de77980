"""The one way to the map: cleans, caches, shares, paces, counts, classifies, scrubs."""

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol

from mcp.types import CallToolResult

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy, SingleFlight
from agent.core.errors import BudgetExceeded, ProviderError, ProviderRefused
from agent.core.redaction import scrub
from agent.evidence.geo import parse_lnglat
from agent.mcp.errors import NOT_FOUND, NOT_SET_UP, WAITING_HELPS, failure
from agent.mcp.quota import SHANGHAI, DailySearches, Pauses, WindowPace, day_is_spent
from agent.mcp.records import parsed, text_of
from agent.mcp.servers import expected_tools

RADIUS_M = (100, 50_000)
_LONGEST = 300
_POINTS = ("location", "origin", "destination", "origins")
# Read by the server though it does not list it; `types` it lists and never sends.
_HIDDEN = {"maps_text_search": {"citylimit"}}
_IGNORED = {"maps_text_search": {"types"}}


def clean_arguments(tool: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Known arguments as text, coordinates put right, the city put before an address.

    Raises ProviderRefused (`map_bad_request`) that says what is wrong.
    """
    known, required = _schema(tool)
    cleaned = {
        name: text
        for name, value in given.items()
        if name in known and (text := _text(name, value))
    }
    for name in _POINTS:
        if name in cleaned:
            cleaned[name] = _points(name, cleaned[name])
    if "radius" in cleaned:
        cleaned["radius"] = _radius(cleaned["radius"])
    if missing := sorted(required - cleaned.keys()):
        raise _bad(f"{tool} needs {', '.join(missing)}")
    return _with_city(tool, cleaned)


def cache_key(tool: str, cleaned: Mapping[str, str]) -> str:
    """Equal for calls whose answers are equal: coordinates count to about a metre."""
    parts = [
        f"{name}={_coarse(value) if name in _POINTS else value.casefold()}"
        for name, value in sorted(cleaned.items())
    ]
    return f"{tool}?{'&'.join(parts)}"


@cache
def _schema(tool: str) -> tuple[frozenset[str], frozenset[str]]:
    for listed in expected_tools():
        if listed["name"] == tool:
            known = set(listed["inputSchema"]["properties"]) | _HIDDEN.get(tool, set())
            known -= _IGNORED.get(tool, set())
            return frozenset(known), frozenset(listed["inputSchema"].get("required", ()))
    raise _bad(f"there is no tool {tool}")


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping) and {"lng", "lat"} <= value.keys():
        return f"{value['lng']},{value['lat']}"
    if isinstance(value, list | tuple):
        joint = "," if name in _POINTS and all(isinstance(v, int | float) for v in value) else " "
        value = ("|" if name == "origins" and joint == " " else joint).join(map(str, value))
    text = " ".join(str(value).split())
    if len(text) > (4000 if name == "origins" else _LONGEST):
        raise _bad(f"{name} is too long")
    return "" if text.casefold() in ("null", "none", "undefined") else text


def _points(name: str, text: str) -> str:
    points = [parse_lnglat(part) for part in text.split("|")]
    if not points or None in points:
        raise _bad(f'{name} must be "longitude,latitude" in degrees, not "{text[:60]}"')
    return "|".join(f"{point[0]:.6f},{point[1]:.6f}" for point in points if point)


def _radius(text: str) -> str:
    try:
        metres = int(float(text))
    except ValueError:
        raise _bad("radius must be a number of metres") from None
    return str(min(max(metres, RADIUS_M[0]), RADIUS_M[1]))


def _with_city(tool: str, cleaned: dict[str, str]) -> dict[str, str]:
    city = cleaned.get("city", "")
    if tool == "maps_geo" and city:
        # The server never sends `city`, so it has to be part of the address.
        cleaned = {"address": with_city_before(cleaned["address"], city)}
    elif tool == "maps_text_search" and city:
        cleaned = {"citylimit": "true", **cleaned}
    return cleaned


def with_city_before(address: str, city: str) -> str:
    """The address, with the city in front unless it is in it already."""
    short = re.sub(r"(?<=..)[市省]$", "", city)
    if short.casefold() in address.casefold():
        return address
    return f"{city} {address}" if city.isascii() or address.isascii() else f"{city}{address}"


def _coarse(text: str) -> str:
    found = (parse_lnglat(part) for part in text.split("|"))
    return "|".join(f"{point[0]:.5f},{point[1]:.5f}" for point in found if point)


def _bad(problem: str) -> ProviderRefused:
    return ProviderRefused("amap", problem, code="map_bad_request")


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


log = logging.getLogger(__name__)
# Longer than the session's own limits together, which say better what went wrong.
_LONGEST_CALL = 300.0
# That the map does not know a name is an answer; that there is no map is the operator's choice.
_NO_FAULT = frozenset({NOT_FOUND, *NOT_SET_UP})
POLICY = Policy(
    provider="amap",
    spends="map_calls",
    timeout=_LONGEST_CALL,
    base_delay=0.6,
    retry_on=lambda error: error.code in {*WAITING_HELPS, "timeout"},
)


class ToolSession(Protocol):
    """What the gateway needs of a session."""

    async def ready(self) -> None: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> CallToolResult: ...


class Gateway:
    """Calls of one map server for all runs of a process."""

    def __init__(
        self,
        session: ToolSession,
        calls: Calls,
        *,
        qps: float = 2.5,
        daily: DailySearches | None = None,
        cache: ReplyCache | None = None,
        policy: Policy = POLICY,
        now: Callable[[], datetime] = lambda: datetime.now(SHANGHAI),
    ) -> None:
        self._session, self._calls, self._policy, self._now = session, calls, policy, now
        self._pace = WindowPace(qps)
        self._daily = daily or DailySearches(0)
        self._cache = cache or ReplyCache()
        self._pauses = Pauses()
        self._flights = SingleFlight()

    async def call(self, tool: str, args: Mapping[str, Any], *, meter: Meter) -> dict[str, Any]:
        """The reply without empties; what is known already costs nothing.

        Raises ProviderError with the code of `amap_errors`, or BudgetExceeded.
        """
        cleaned = clean_arguments(tool, args)
        key = cache_key(tool, cleaned)
        known = self._cache.get(key)
        if isinstance(known, ProviderError):
            raise known.with_traceback(None)
        return parsed(known or await self._shared(key, tool, cleaned, meter))

    async def _shared(self, key: str, tool: str, cleaned: dict[str, str], meter: Meter) -> str:
        """One call for equal ones under way; whoever comes first pays."""
        mine = False

        async def send() -> str:
            nonlocal mine
            mine = True
            return await self._paid(key, tool, cleaned, meter)

        while True:
            try:
                return await self._flights.do(key, send)
            except BudgetExceeded:
                # The budget that is spent may be that of another run.
                if mine:
                    raise

    async def _paid(self, key: str, tool: str, cleaned: dict[str, str], meter: Meter) -> str:
        self._pauses.check(tool)
        request = {"tool": tool, "arguments": cleaned}
        try:
            text = await self._calls.once(
                self._policy, lambda: self._send(tool, cleaned), meter=meter, request=request
            )
        except ProviderError as error:
            level = logging.INFO if error.code in _NO_FAULT else logging.WARNING
            log.log(level, "turn=%s %s failed: %s (%s)", meter.turn_id, tool, error, error.code)
            self._pauses.note(tool, error)
            if error.code == NOT_FOUND:
                self._cache.put_not_found(key, error)
            raise
        self._cache.put(tool, key, text)
        return text

    async def _send(self, tool: str, cleaned: dict[str, str]) -> str:
        self._pauses.check(tool)
        # A start takes long enough to bring calls paced before it too close together.
        await self._session.ready()
        await self._pace.wait()
        await self._daily.spend(tool)
        return self._read(tool, await self._session.call_tool(tool, dict(cleaned)))

    def _read(self, tool: str, result: CallToolResult) -> str:
        """The text of a good reply; a bad one's error."""
        text = scrub(text_of(result))
        if result.isError:
            error = failure(tool, text)
            raise day_is_spent(str(error), self._now()) if error.code == "map_quota_day" else error
        parsed(text)
        return text

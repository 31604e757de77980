"""Read Amap's failures by its own words for them."""

import re
from typing import Final

from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.redaction import scrub
from agent.mcp.amap.install import PROVIDER
from agent.mcp.errors import NOT_FOUND, service_words

_NETWORK = re.compile(r"request to .* failed|socket hang up|ECONN|ENOTFOUND|ETIMEDOUT|certificate")
_CRASH = re.compile(
    r"\bJSON\b|Unexpected (?:end|token)|Cannot read properties|is not iterable|failed: undefined$",
    re.IGNORECASE,
)

_RATE = frozenset(f"{who}QPS_HAS_EXCEEDED_THE_LIMIT" for who in ("", "C", "CK", "CU", "K", "U"))
_BANNED = frozenset({"ACCESS_TOO_FREQUENT"})
_BUSY = frozenset({"GATEWAY_TIMEOUT", "SERVER_IS_BUSY", "RESOURCE_UNAVAILABLE", "UNKNOWN_ERROR"})
_DAY = re.compile(r"DAILY_QUERY_OVER_LIMIT|QUOTA_PLAN_RUN_OUT")
_KEY = frozenset(
    {
        "INVALID_USER_KEY", "SERVICE_NOT_AVAILABLE", "INVALID_USER_IP", "INVALID_USER_DOMAIN",
        "INVALID_USER_SIGNATURE", "INVALID_USER_SCODE", "USERKEY_PLAT_NOMATCH", "NOT_SUPPORT_HTTPS",
        "INSUFFICIENT_PRIVILEGES", "USER_KEY_RECYCLED", "USER_KEY_DISABLED", "SERVICE_EXPIRED",
        "ABROAD_QUOTA_PLAN_RUN_OUT", "IP_QUERY_OVER_LIMIT",
    }
)  # fmt: skip
_ABROAD = frozenset({"INSUFFICIENT_ABROAD_PRIVILEGES", "OUT_OF_SERVICE"})
_NO_ROUTE = frozenset({"NO_ROADS_NEARBY", "ROUTE_FAIL", "OVER_DIRECTION_RANGE"})
_NOTHING_READ: Final = {
    "maps_search_detail": "reading 'id'",
    "maps_weather": "reading 'city'",
}
_ROUTES = ("maps_direction_", "maps_bicycling", "maps_distance")


def failure(tool: str, text: str) -> ProviderError:
    """Return the error that the text of a failed call stands for."""
    message = scrub(text)[:300]
    for name in service_words(text):
        if error := _by_word(name, message):
            return error
    if (unread := _NOTHING_READ.get(tool)) and unread in text:
        return ProviderRefused(PROVIDER, "nothing of that name or id", code=NOT_FOUND)
    if tool.startswith(_ROUTES) and "undefined" in text:
        return ProviderRefused(PROVIDER, f"no route: {message}", code="map_no_route")
    if _CRASH.search(text):
        return MalformedReply(PROVIDER, message, code="map_malformed")
    if _NETWORK.search(text):
        return ProviderUnavailable(PROVIDER, message, code="map_network")
    return ProviderRefused(PROVIDER, message or "failed without a word", code="map_failed")


def _by_word(name: str, message: str) -> ProviderError | None:
    if name in _RATE:
        return RateLimited(PROVIDER, message, code="map_rate")
    if name in _BANNED:
        return RateLimited(PROVIDER, message, retry_after=60, code="map_banned")
    if name in _BUSY:
        return ProviderUnavailable(PROVIDER, message, code="map_busy")
    if _DAY.search(name) and name not in _KEY:
        return RateLimited(PROVIDER, message, code="map_quota_day")
    if name in _ABROAD:
        return ProviderRefused(PROVIDER, message, code="map_not_covered")
    if name in _KEY:
        return ProviderRefused(PROVIDER, message, code="map_key_invalid")
    if name in _NO_ROUTE:
        return ProviderRefused(PROVIDER, message, code="map_no_route")
    if name.startswith("ENGINE_"):
        return ProviderRefused(PROVIDER, message, code=NOT_FOUND)
    if name.startswith(("INVALID_PARAMS", "MISSING_REQUIRED", "ILLEGAL_REQUEST")):
        return ProviderRefused(PROVIDER, message, code="map_bad_request")
    return None

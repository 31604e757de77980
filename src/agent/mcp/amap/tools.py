"""Know Amap's tools: their catalogue, arguments and quota, their failures by Amap's words."""

from collections.abc import Mapping
from datetime import timedelta, timezone
from functools import cache
from typing import Any, Final

from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.outside import finite
from agent.core.redaction import scrub
from agent.core.strings import has_any
from agent.evidence.geo import parse_lnglat
from agent.evidence.types import MapIntent, TravelMode
from agent.mcp.amap.install import PACKAGE_FILES, PROVIDER
from agent.mcp.map_server import Catalogue, DailyQuota
from agent.mcp.records import NOT_FOUND, service_words

# Read when imported: later there may be an event loop, which must not wait for files.
CATALOGUE = Catalogue.from_file(PACKAGE_FILES / "tools.json")
ROUTE_TOOLS: dict[TravelMode, str] = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}
# Fixed, as China has no summer time and Windows no time zone files.
SHANGHAI = timezone(timedelta(hours=8), "Asia/Shanghai")
QUOTA = DailyQuota(
    provider=PROVIDER,
    tools=frozenset({"maps_text_search", "maps_around_search", "maps_search_detail"}),
    setting="AMAP_DAILY_SEARCH_LIMIT",
    zone=SHANGHAI,
    zone_name="Asia/Shanghai",
)
_PLACES = ("maps_geo", "maps_text_search", "maps_around_search", "maps_search_detail")
_WAYS = ("maps_geo", "maps_text_search", *ROUTE_TOOLS.values(), "maps_distance")
TOOLS_BY_INTENT: dict[MapIntent | None, tuple[str, ...]] = {
    "nearby": _PLACES,
    "area": _PLACES,
    "poi": _PLACES,
    "route": _WAYS,
    "distance": _WAYS,
    "weather": ("maps_weather", "maps_geo"),
    "regeo": ("maps_regeocode", "maps_around_search", "maps_search_detail"),
    None: (*_PLACES, *_WAYS, "maps_weather", "maps_regeocode"),
}
"""Tools a model may call for an intent; never everything, and never the lookup of addresses."""
_HOUR = 3600.0
CACHE_SECONDS = {
    "maps_geo": 24 * _HOUR,
    "maps_regeocode": 24 * _HOUR,
    "maps_text_search": _HOUR,
    "maps_around_search": _HOUR,
    "maps_search_detail": 6 * _HOUR,
    "maps_weather": _HOUR / 2,
    "maps_ip_location": _HOUR,
}
RADIUS_M = (100, 50_000)
_LONGEST = 300
_POINTS = ("location", "origin", "destination", "origins")
# Read by the server though it does not list it; `types` it lists and never sends.
_HIDDEN = {"maps_text_search": {"citylimit"}}
_IGNORED = {"maps_text_search": {"types"}}


def clean_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return known arguments as text, coordinates put right, the city before an address.

    Raises ProviderRefused (`map_bad_request`) that says what is wrong.
    """
    allowed, required = _schema(tool)
    cleaned = {
        name: text
        for name, value in arguments.items()
        if name in allowed and (text := _text(name, value))
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
    """Return a key that is equal for equal calls: coordinates count to about a metre."""
    parts = [
        f"{name}={_coarse(value) if name in _POINTS else value.casefold()}"
        for name, value in sorted(cleaned.items())
    ]
    return f"{tool}?{'&'.join(parts)}"


@cache
def _schema(tool: str) -> tuple[frozenset[str], frozenset[str]]:
    listed, required = CATALOGUE.arguments(tool)
    if tool not in CATALOGUE.names:
        raise _bad(f"there is no tool {tool}")
    return (listed | _HIDDEN.get(tool, set())) - _IGNORED.get(tool, set()), required


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
        said = f'"longitude,latitude" in degrees or the id of a place, not "{text[:60]}"'
        raise _bad(f"{name} must be {said}")
    return "|".join(f"{point[0]:.6f},{point[1]:.6f}" for point in points if point)


def _radius(text: str) -> str:
    if (metres := finite(text)) is None:
        raise _bad("radius must be a number of metres")
    return str(int(min(max(metres, RADIUS_M[0]), RADIUS_M[1])))


def _with_city(tool: str, cleaned: dict[str, str]) -> dict[str, str]:
    city = cleaned.get("city", "")
    if tool == "maps_geo" and city:
        # The server never sends `city`, so it has to be part of the address.
        cleaned = {"address": with_city_before(cleaned["address"], city)}
    elif tool == "maps_text_search" and city:
        cleaned = {"citylimit": "true", **cleaned}
    return cleaned


def with_city_before(address: str, city: str) -> str:
    """Return the address, with the city in front unless it is in it already."""
    short = city[:-1] if len(city) > 2 and city[-1] in "市省" else city
    if short.casefold() in address.casefold():
        return address
    return f"{city} {address}" if city.isascii() or address.isascii() else f"{city}{address}"


def _coarse(text: str) -> str:
    points = (parse_lnglat(part) for part in text.split("|"))
    return "|".join(f"{point[0]:.5f},{point[1]:.5f}" for point in points if point)


def _bad(problem: str) -> ProviderRefused:
    return ProviderRefused(PROVIDER, problem, code="map_bad_request")


_NETWORK = ("request to http", "socket hang up", "ECONN", "ENOTFOUND", "ETIMEDOUT", "certificate")
_CRASH = (
    *("JSON", "invalid json", "Unexpected end", "Unexpected token"),
    *("Cannot read properties", "is not iterable"),
)

_RATE = frozenset(f"{who}QPS_HAS_EXCEEDED_THE_LIMIT" for who in ("", "C", "CK", "CU", "K", "U"))
_BANNED = frozenset({"ACCESS_TOO_FREQUENT"})
_BUSY = frozenset({"GATEWAY_TIMEOUT", "SERVER_IS_BUSY", "RESOURCE_UNAVAILABLE", "UNKNOWN_ERROR"})
_DAY = ("DAILY_QUERY_OVER_LIMIT", "QUOTA_PLAN_RUN_OUT")
_KEY = frozenset(
    {
        "INVALID_USER_KEY", "SERVICE_NOT_AVAILABLE", "INVALID_USER_IP", "INVALID_USER_DOMAIN",
        "INVALID_USER_SIGNATURE", "INVALID_USER_SCODE", "USERKEY_PLAT_NOMATCH", "NOT_SUPPORT_HTTPS",
        "INSUFFICIENT_PRIVILEGES", "USER_KEY_RECYCLED", "USER_KEY_DISABLED", "SERVICE_EXPIRED",
        "ABROAD_QUOTA_PLAN_RUN_OUT", "IP_QUERY_OVER_LIMIT",
    }
)  # fmt: skip
_ACCOUNT = ("账号", "账户", "帐号", "帐户", "封禁", "密钥", "欠费")
"""Of refusals that Amap words in Chinese, as a closed account's (10026)."""
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
    if has_any(text, _CRASH) or text.endswith("failed: undefined"):
        return MalformedReply(PROVIDER, message, code="map_malformed")
    if has_any(text, _NETWORK):
        return ProviderUnavailable(PROVIDER, message, code="map_network")
    code = "map_key_invalid" if has_any(text, _ACCOUNT) else "map_failed"
    return ProviderRefused(PROVIDER, message or "failed without a word", code=code)


def _by_word(name: str, message: str) -> ProviderError | None:
    if name in _RATE:
        return RateLimited(PROVIDER, message, code="map_rate")
    if name in _BANNED:
        return RateLimited(PROVIDER, message, retry_after=60, code="map_banned")
    if name in _BUSY:
        return ProviderUnavailable(PROVIDER, message, code="map_busy")
    if has_any(name, _DAY) and name not in _KEY:
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

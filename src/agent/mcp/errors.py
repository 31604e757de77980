"""Amap's failures by name, and what they mean to the person who asked."""

import logging
import re
from typing import Final

from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.redaction import scrub
from agent.evidence.types import Gap
from agent.texts import has, say
from agent.texts.language import Language
from agent.texts.reasons import reason_of

_NAME = re.compile(r"\b[A-Z][A-Z_]{6,}\b")
_NETWORK = re.compile(r"request to .* failed|socket hang up|ECONN|ENOTFOUND|ETIMEDOUT|certificate")
_NOT_AMAPS = re.compile(
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

WAITING_HELPS = frozenset({"map_rate", "map_busy", "map_network", "map_malformed"})
"""Codes after which the same call may be made again soon."""
NOT_FOUND = "map_place_not_found"
NOT_SET_UP = frozenset({"map_key_missing", "map_no_node"})
"""Codes of a map that nobody has set up; nothing is broken."""


def failure(tool: str, text: str) -> ProviderError:
    """What the text of a failed call means."""
    said = scrub(text)[:300]
    for name in _names(text):
        if error := _named(name, said):
            return error
    if (unread := _NOTHING_READ.get(tool)) and unread in text:
        return ProviderRefused("amap", "nothing of that name or id", code=NOT_FOUND)
    if tool.startswith(_ROUTES) and "undefined" in text:
        return ProviderRefused("amap", f"no route: {said}", code="map_no_route")
    if _NOT_AMAPS.search(text):
        return MalformedReply("amap", said, code="map_malformed")
    if _NETWORK.search(text):
        return ProviderUnavailable("amap", said, code="map_network")
    return ProviderRefused("amap", said or "failed without a word", code="map_failed")


def amaps_word(text: str) -> str:
    """Amap's own name for a failure, such as INVALID_USER_IP; empty where there is none."""
    return next(iter(_names(text)), "")


def _names(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if name != "AMAP_MAPS_API_KEY"]


def _named(name: str, said: str) -> ProviderError | None:
    if name in _RATE:
        return RateLimited("amap", said, code="map_rate")
    if name in _BANNED:
        return RateLimited("amap", said, retry_after=60, code="map_banned")
    if name in _BUSY:
        return ProviderUnavailable("amap", said, code="map_busy")
    if _DAY.search(name) and name not in _KEY:
        return RateLimited("amap", said, code="map_quota_day")
    if name in _ABROAD:
        return ProviderRefused("amap", said, code="map_not_covered")
    if name in _KEY:
        return ProviderRefused("amap", said, code="map_key_invalid")
    if name in _NO_ROUTE:
        return ProviderRefused("amap", said, code="map_no_route")
    if name.startswith("ENGINE_"):
        return ProviderRefused("amap", said, code=NOT_FOUND)
    if name.startswith(("INVALID_PARAMS", "MISSING_REQUIRED", "ILLEGAL_REQUEST")):
        return ProviderRefused("amap", said, code="map_bad_request")
    return None


log = logging.getLogger(__name__)

_SAME = {"timeout": "map_timeout"}
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """One line for people; Amap's own word for a refused key, which says what to correct."""
    key = f"map.errors.{_SAME.get(error.code, error.code)}"
    if not has(key):
        return say("map.unwritten", language, reason=reason_of(error, language))
    text = say(key, language, about=about)
    reply = amaps_word(error.message) if error.code == "map_key_invalid" else ""
    return say("map.refusal", language, text=text, reply=reply) if reply else text


def map_gap(error: AgentError, query: str, language: Language, about: str = "") -> Gap:
    """The failure as the user sees it; its own text goes to the log."""
    log.info("map: %s (%s)", error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", "amap"),
        code=error.code,
        message=map_message(error, language, about or query),
    )

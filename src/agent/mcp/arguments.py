"""Arguments as the server should get them: it checks nothing and sends null as "null"."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from agent.errors import ProviderRefused
from agent.evidence.geodesy import parse_lnglat
from agent.mcp.contract import expected_tools

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

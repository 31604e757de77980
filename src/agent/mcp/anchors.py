"""Finding the place a question is about, and refusing what is merely called the same."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent.errors import ProviderError, ProviderRefused
from agent.evidence.geodesy import parse_lnglat, wgs84_to_gcj02
from agent.evidence.types import Location, Point
from agent.language import Language
from agent.mcp.amap_errors import NOT_FOUND
from agent.mcp.cities import chinese_city, same_city
from agent.mcp.places import location_of, text_or_none
from agent.mcp.replies import records

log = logging.getLogger(__name__)
Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]

_WIDE = frozenset({"国家", "省", "市", "区县", "直辖市", "地级市", "县级市"})
_VILLAGES = frozenset({"村庄", "乡镇", "村", "乡", "镇"})
_HERE: dict[Language, str] = {"zh": "您的位置", "en": "your location"}
_HERE_WORDS = frozenset(
    {
        "我的位置", "我这里", "我这儿", "这里", "这儿", "附近", "当前位置", "此处", "here", "me",
        "my location", "current location", "near me",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Anchor:
    """A resolved place."""

    name: str
    location: Location
    city: str | None = None
    adcode: str | None = None
    detail: dict[str, Any] | None = None
    """The looked-up place, where it took that to find it."""

    @property
    def text(self) -> str:
        """ "lng,lat" as the tools take it."""
        return f"{self.location['lng']:.6f},{self.location['lat']:.6f}"


def here(near: Point, language: Language) -> Anchor:
    """The user's position."""
    lng, lat = wgs84_to_gcj02(near["lng"], near["lat"])
    location = Location(lng=round(lng, 6), lat=round(lat, 6), crs="GCJ-02")
    return Anchor(_HERE[language], location)


def means_here(place: str | None) -> bool:
    """Whether the words only say "where I am"."""
    return (place or "").strip().casefold() in _HERE_WORDS


async def find_anchor(ask: Ask, place: str, city: str | None, *, wide: bool = False) -> Anchor:
    """Coordinates as they are, else the geocoder, else the place search of the city.

    `wide` also accepts whole cities and districts. Raises ProviderRefused
    (`map_place_not_found`, `map_not_covered`, `map_place_too_wide`).
    """
    if point := parse_lnglat(place):
        location = Location(lng=point[0], lat=point[1], crs="GCJ-02")
        return Anchor(place, location)
    city = chinese_city(city)
    try:
        return await _geocoded(ask, place, city, wide=wide)
    except ProviderError as error:
        if error.code not in (NOT_FOUND, "map_wrong_city"):
            raise
        log.info("map: geocoding %s: %s", place, error)
    return await _searched(ask, place, city)


async def _geocoded(ask: Ask, place: str, city: str | None, *, wide: bool) -> Anchor:
    asked = {"address": place, "city": city} if city else {"address": place}
    found = records(await ask("maps_geo", asked), "return")
    if not found:
        raise _refused(place, NOT_FOUND)
    problem = NOT_FOUND
    for candidate in found:
        location = location_of(candidate.get("location"))
        if location is None:
            continue
        problem = _problem(candidate, place, city, wide=wide)
        if not problem:
            log.info("map: %s is at %s (%s)", place, candidate["location"], candidate.get("level"))
            town = text_or_none(candidate.get("city")) or text_or_none(candidate.get("province"))
            return Anchor(place, location, town, text_or_none(candidate.get("adcode")))
    raise _refused(place, problem)


def _problem(candidate: dict[str, Any], place: str, city: str | None, *, wide: bool) -> str:
    """Why a geocode is not what was asked for; empty if it is."""
    if (text_or_none(candidate.get("country")) or "中国") != "中国":
        return "map_not_covered"
    names = [text_or_none(candidate.get(part)) for part in ("province", "city", "district")]
    if not same_city(city, *names):
        return "map_wrong_city"
    level = text_or_none(candidate.get("level")) or ""
    if level in _WIDE and not wide:
        return "map_place_too_wide"
    # Names from abroad resolve to villages that happen to be called so.
    if level in _VILLAGES and not city and not place.endswith(("村", "镇", "乡", "屯")):
        return NOT_FOUND
    return ""


async def _searched(ask: Ask, place: str, city: str | None) -> Anchor:
    asked = {"keywords": place, "city": city} if city else {"keywords": place}
    hits = records(await ask("maps_text_search", asked), "pois")
    best = next((hit for hit in by_name(hits, place) if hit.get("id")), None)
    if best is None:
        raise _refused(place, NOT_FOUND)
    detail = await ask("maps_search_detail", {"id": best["id"]})
    location = location_of(detail.get("location"))
    town = text_or_none(detail.get("city"))
    if location is None or not same_city(city, town):
        raise _refused(place, NOT_FOUND)
    return Anchor(text_or_none(detail.get("name")) or place, location, town, detail=detail)


def by_name(hits: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Hits whose name is the wanted one first, then those that hold it; else as they came."""
    wanted = "".join(name.casefold().split())

    def rank(hit: dict[str, Any]) -> int:
        found = "".join(str(hit.get("name") or "").casefold().split())
        if found == wanted:
            return 0
        return 1 if found.startswith(wanted) else 2 if wanted in found else 3

    return sorted(hits, key=rank)


def _refused(place: str, code: str) -> ProviderRefused:
    return ProviderRefused("amap", f"{place}: {code.removeprefix('map_')}", code=code)

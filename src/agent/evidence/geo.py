"""Convert GCJ-02 and WGS-84 coordinates, measure and format distances.

GCJ-02 is the offset system of maps in mainland China, 30 to 700 m away from WGS-84.
"""

from collections.abc import Mapping
from math import asin, cos, hypot, isfinite, pi, radians, sin, sqrt
from typing import Any

from agent.core.outside import finite
from agent.core.patterns import Linear
from agent.evidence.types import Crs, Location, Point
from agent.texts import Language, say

_BESIDE_M, _DEGREE_M = 100, 157_000
"""Metres by which a model rounds a position at most, and of a degree to both sides."""


def location_in(crs: Crs, point: Point) -> Location:
    """Return a WGS-84 position in a datum."""
    lng, lat = point["lng"], point["lat"]
    if crs == "GCJ-02":
        lng, lat = wgs84_to_gcj02(lng, lat)
    return Location(lng=round(lng, 6), lat=round(lat, 6), crs=crs)


def location_at(lng: Any, lat: Any, crs: Crs) -> Location | None:
    """Return the position that a reply tells; None of what is nowhere on earth."""
    east, north = finite(lng), finite(lat)
    if east is None or north is None or abs(east) > 180 or abs(north) > 90:
        return None
    return Location(lng=round(east, 6), lat=round(north, 6), crs=crs)


def wgs84_of(location: Location) -> Point:
    """Return the WGS-84 point of a location, rounded to about 0.1 m."""
    lng, lat = location["lng"], location["lat"]
    if location["crs"] == "GCJ-02":
        lng, lat = gcj02_to_wgs84(lng, lat)
    return Point(lng=round(lng, 6), lat=round(lat, 6))


EARTH_RADIUS_M = 6_371_008.8
_KRASOVSKY_A = 6_378_245.0
_KRASOVSKY_EE = 0.00669342162296594323
_INVERSE_STEPS = 30
_INVERSE_PRECISION = 1e-12

_NUMBER = r"[-+]?\d{1,3}(?:\.\d{1,20})?"
_PAIR = Linear(rf"\s*[(（\[]?\s*({_NUMBER})\s*(?:[,，;；]\s*|\s+)({_NUMBER})\s*[)）\]]?\s*")


def in_china_box(lng: float, lat: float) -> bool:
    """Return whether the point is in the box outside which the two systems are the same.

    The box also holds places that are not in China (Seoul, Taipei, Hanoi): whether to
    convert is the caller's decision, by what the map says about the country.
    """
    return 72.004 <= lng <= 137.8347 and 0.8293 <= lat <= 55.8271


def wgs84_to_gcj02(lng: float, lat: float) -> tuple[float, float]:
    """Convert Convert WGS-84 degrees to GCJ-02 degrees; unchanged outside the box."""
    if not in_china_box(lng, lat):
        return lng, lat
    d_lng, d_lat = _offset(lng, lat)
    return lng + d_lng, lat + d_lat


def gcj02_to_wgs84(lng: float, lat: float) -> tuple[float, float]:
    """Convert GCJ-02 degrees to WGS-84 degrees by iteration (error below 0.01 mm)."""
    if not in_china_box(lng, lat):
        return lng, lat
    guess_lng, guess_lat = lng, lat
    for _ in range(_INVERSE_STEPS):
        d_lng, d_lat = _offset(guess_lng, guess_lat)
        next_lng, next_lat = lng - d_lng, lat - d_lat
        moved = hypot(next_lng - guess_lng, next_lat - guess_lat)
        guess_lng, guess_lat = next_lng, next_lat
        if moved < _INVERSE_PRECISION:
            break
    return guess_lng, guess_lat


def distance_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return metres along the sphere between two (lng, lat) points of one system."""
    lng_a, lat_a, lng_b, lat_b = map(radians, (*a, *b))
    h = sin((lat_b - lat_a) / 2) ** 2
    h += cos(lat_a) * cos(lat_b) * sin((lng_b - lng_a) / 2) ** 2
    return 2 * EARTH_RADIUS_M * asin(sqrt(min(1.0, h)))


def metres_apart(one: Point | Location, other: Point | Location) -> float:
    """Return the metres between two positions of one system."""
    return distance_m((one["lng"], one["lat"]), (other["lng"], other["lat"]))


def parse_lnglat(text: str) -> tuple[float, float] | None:
    """Parse a text that is a (lng, lat) pair; return None for others.

    "lat,lng" is turned round where it can only be that: in China, or beyond 90 degrees.
    """
    match = _PAIR.fullmatch(text)
    if not match:
        return None
    lng, lat = float(match[1]), float(match[2])
    if _is_swapped(lng, lat):
        lng, lat = lat, lng
    if not (isfinite(lng) and isfinite(lat)) or abs(lng) > 180 or abs(lat) > 90:
        return None
    return lng, lat


def exact_position(position: str) -> str:
    """Return "lng,lat" with six decimals, however it is written; other texts without blanks."""
    plain = position.replace(" ", "")
    try:
        lng, lat = map(float, plain.split(","))
    except ValueError:
        return plain
    return f"{lng:.6f},{lat:.6f}"


def name_at(position: str, names: Mapping[str, str]) -> str | None:
    """Return the name of a position among those of exact ones.

    Of a position that a model has rounded it is that of the known one that it may be: one that it
    has made up is not what happens to stand nearest to it.
    """
    if name := names.get(exact_position(position)):
        return name
    if (point := parse_lnglat(position)) is None:
        return None
    positions = ((at, name) for text, name in names.items() if (at := parse_lnglat(text)))
    near = min(((distance_m(point, at), name) for at, name in positions), default=None)
    sides = _PAIR.fullmatch(position)
    last = min(len(side.partition(".")[2]) for side in sides.groups()) if sides else 0
    rounded = min(_BESIDE_M, _DEGREE_M * 10**-last + 1)
    return near[1] if near and near[0] <= rounded else None


def _is_swapped(first: float, second: float) -> bool:
    if 3 <= first <= 54 and 73 <= second <= 136:
        return True
    return abs(first) <= 90 < abs(second) <= 180


def _offset(lng: float, lat: float) -> tuple[float, float]:
    """Return the offset of GCJ-02 at a WGS-84 point, in degrees of longitude and latitude."""
    x, y = lng - 105.0, lat - 35.0
    wave = 20.0 * sin(6.0 * x * pi) + 20.0 * sin(2.0 * x * pi)
    north = -100.0 + 2.0 * x + 3.0 * y + 0.2 * y * y + 0.1 * x * y + 0.2 * sqrt(abs(x))
    north += (wave + 20.0 * sin(y * pi) + 40.0 * sin(y / 3.0 * pi)) * 2.0 / 3.0
    north += (160.0 * sin(y / 12.0 * pi) + 320.0 * sin(y * pi / 30.0)) * 2.0 / 3.0
    east = 300.0 + x + 2.0 * y + 0.1 * x * x + 0.1 * x * y + 0.1 * sqrt(abs(x))
    east += (wave + 20.0 * sin(x * pi) + 40.0 * sin(x / 3.0 * pi)) * 2.0 / 3.0
    east += (150.0 * sin(x / 12.0 * pi) + 300.0 * sin(x / 30.0 * pi)) * 2.0 / 3.0
    rad = radians(lat)
    magic = 1 - _KRASOVSKY_EE * sin(rad) ** 2
    meridian = _KRASOVSKY_A * (1 - _KRASOVSKY_EE) / (magic * sqrt(magic))
    parallel = _KRASOVSKY_A / sqrt(magic) * cos(rad)
    return degrees_of(east, parallel), degrees_of(north, meridian)


def degrees_of(metres: float, radius_m: float) -> float:
    """Return the angle, in degrees, of an arc in metres."""
    return metres * 180.0 / (radius_m * pi)


def distance_text(metres: int | None, language: Language, *, exact: bool = False) -> str:
    """Format a distance: `320 m`, `2.4 km`, `2,4 km`; `exact` to the metre: `3.02 km`."""
    if metres is None or metres < 1000:
        return "" if metres is None else say("records.m", language, n=metres)
    is_whole = not (exact and metres % 100)
    kilometres = f"{metres / 1000:.1f}" if is_whole else f"{metres / 1000:.3f}".rstrip("0")
    return say("records.km", language, n=decimal_text(kilometres, language))


def decimal_text(figure: str, language: Language) -> str:
    """Return a figure with the sign that a language has before decimals."""
    return figure.replace(".", say("punctuation.decimal", language))


def duration_text(seconds: int | None, language: Language) -> str:
    """Format a duration: `24 min`, at least one minute."""
    if seconds is None:
        return ""
    minutes = max(1, round(seconds / 60))
    return say("records.minutes", language, minutes=minutes)

"""The server's replies as the nouns of a run. Coordinates are GCJ-02, with WGS-84 beside them."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agent.evidence.geodesy import gcj02_to_wgs84, parse_lnglat
from agent.evidence.types import Crs, Location, Point, RouteStep, WeatherDay
from agent.mcp.replies import records

_MOST_STEPS = 12
_LONGEST_TEXT = 200
_RATING = (0.0, 5.0)
PHOTO_HOSTS = ("store.is.autonavi.com", "aos-comment.amap.com", "aos-cdn-image.amap.com")
"""Where Amap keeps photos of places; all of them speak https."""


def location_of(text: Any) -> Location | None:
    """Amap's "lng,lat"; WGS-84 in Taiwan, where it does not shift."""
    point = parse_lnglat(text) if isinstance(text, str) else None
    if point is None:
        return None
    crs: Crs = "WGS-84" if _in_taiwan(*point) else "GCJ-02"
    return Location(lng=round(point[0], 6), lat=round(point[1], 6), crs=crs)


def wgs84_of(location: Location) -> Point:
    """Rounded to about 0.1 m."""
    lng, lat = location["lng"], location["lat"]
    if location["crs"] == "GCJ-02":
        lng, lat = gcj02_to_wgs84(lng, lat)
    return Point(lng=round(lng, 6), lat=round(lat, 6))


def _in_taiwan(lng: float, lat: float) -> bool:
    return 120.0 < lng < 122.1 and 21.8 < lat < 25.4


def text_or_none(value: Any) -> str | None:
    """One line of text, cut where it is absurdly long."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = " ".join(str(value).split())
    return text[:_LONGEST_TEXT] or None


def number_or_none(value: Any, low: float = 0.0, high: float = 1e9) -> float | None:
    """A number within the bounds; 0 means unknown, as Amap uses it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if low < number <= high else None


def whole_or_none(value: Any) -> int | None:
    try:
        return round(float(value))
    except (TypeError, ValueError, OverflowError):
        return None


def rating_of(detail: dict[str, Any]) -> float | None:
    return number_or_none(detail.get("rating"), *_RATING)


def category_of(detail: dict[str, Any]) -> str | None:
    """The most precise part of "餐饮服务;咖啡厅;咖啡厅"."""
    parts = [part for part in str(detail.get("type") or "").split("|")[0].split(";") if part]
    return parts[-1] if parts else None


def photo_of(detail: dict[str, Any]) -> str | None:
    """The first photo's https address; None where it is not one of Amap's own."""
    photo = detail.get("photos")
    url = photo.get("url") if isinstance(photo, dict) else None
    if not isinstance(url, str) or not url.isprintable():
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    allowed = parts.scheme in ("http", "https", "") and parts.netloc in PHOTO_HOSTS
    return urlunsplit(parts._replace(scheme="https")) if allowed else None


def path_of(tool: str, reply: dict[str, Any]) -> tuple[int | None, int | None, list[RouteStep]]:
    """Metres, seconds and steps of the first way a direction tool offers."""
    route = reply.get("data" if tool == "maps_bicycling" else "route")
    route = route if isinstance(route, dict) else {}
    if tool == "maps_direction_transit_integrated":
        transit = next(iter(records(route, "transits")), None)
        if transit is None:
            return None, None, []
        steps = list(_transit_steps(transit))
        return whole_or_none(route.get("distance")), whole_or_none(transit.get("duration")), steps
    path = next(iter(records(route, "paths")), None)
    if path is None:
        return None, None, []
    steps = [
        RouteStep(instruction=text, distance_m=whole_or_none(step.get("distance")))
        for step in records(path, "steps")[:_MOST_STEPS]
        if (text := text_or_none(step.get("instruction")))
    ]
    return whole_or_none(path.get("distance")), whole_or_none(path.get("duration")), steps


def _transit_steps(transit: dict[str, Any]) -> Iterable[RouteStep]:
    for segment in records(transit, "segments")[:_MOST_STEPS]:
        walking = segment.get("walking")
        metres = whole_or_none(walking.get("distance")) if isinstance(walking, dict) else None
        if metres:
            yield RouteStep(instruction="步行", distance_m=metres)
        bus = segment.get("bus")
        for line in records(bus, "buslines")[:1] if isinstance(bus, dict) else ():
            stops = [
                (line.get(end) or {}).get("name") for end in ("departure_stop", "arrival_stop")
            ]
            ride = " → ".join(str(stop) for stop in stops if stop)
            yield RouteStep(
                instruction=f"{text_or_none(line.get('name')) or ''} {ride}".strip(),
                distance_m=whole_or_none(line.get("distance")),
            )


def days_of(reply: dict[str, Any]) -> list[WeatherDay]:
    """Today and the next days, as forecast."""
    return [
        WeatherDay(
            date=str(day["date"]),
            day=text_or_none(day.get("dayweather")) or "",
            night=text_or_none(day.get("nightweather")) or "",
            high_c=whole_or_none(day.get("daytemp")),
            low_c=whole_or_none(day.get("nighttemp")),
            wind=_wind(day),
        )
        for day in records(reply, "forecasts")
        if day.get("date")
    ]


def _wind(day: dict[str, Any]) -> str | None:
    direction, power = text_or_none(day.get("daywind")), text_or_none(day.get("daypower"))
    if not direction:
        return None
    return f"{direction}风 {power} 级" if power else f"{direction}风"

"""Amap's replies as records of a branch: places, routes, weather, each with its source."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from mcp.types import CallToolResult, TextContent

from agent.core.errors import MalformedReply
from agent.core.strings import parse_json
from agent.evidence.geo import (
    distance_m,
    distance_text,
    duration_text,
    parse_lnglat,
    wgs84_of,
)
from agent.evidence.types import (
    Crs,
    Location,
    Place,
    Route,
    RouteStep,
    Source,
    TravelMode,
    Weather,
    WeatherDay,
)
from agent.mcp.types import MapOptions, Survey
from agent.texts import say
from agent.texts.language import Language

LARGEST = 1 << 20
"""Characters of one reply."""
_LISTS = frozenset(
    {
        "return", "pois", "forecasts", "results", "paths", "steps", "transits", "segments",
        "buslines", "via_stops", "keywords", "ciytes", "photos",
    }
)  # fmt: skip


def text_of(result: CallToolResult) -> str:
    """All text blocks together."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def parsed(text: str) -> dict[str, Any]:
    """The reply without empties; raises MalformedReply (`map_malformed`, `map_too_large`)."""
    if len(text) > LARGEST:
        raise MalformedReply(
            "amap", f"a reply of {len(text)} characters is too large", code="map_too_large"
        )
    try:
        reply = parse_json(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise MalformedReply("amap", "the reply is no JSON object", code="map_malformed")
    cleaned: dict[str, Any] = without_empties(reply)
    return cleaned


def without_empties(value: Any, key: str = "") -> Any:
    """`[]` and blank text become None, except where the field is a list."""
    if isinstance(value, dict):
        return {name: without_empties(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        if not value:
            return [] if key in _LISTS else None
        return [without_empties(inner) for inner in value]
    if isinstance(value, str) and not value.strip():
        return None
    return value


def records(reply: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list field; [] where it is missing or something else."""
    found = reply.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


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


_BASE = "https://uri.amap.com"
_US = {"src": "tanlu", "callnative": "0"}
_MODES: dict[TravelMode, str] = {
    "walking": "walk",
    "driving": "car",
    "bicycling": "ride",
    "transit": "bus",
}


def place_link(poi_id: str) -> str:
    """A place by its id."""
    return _link("marker", {"poiid": poi_id})


def position_link(lng: float, lat: float, name: str) -> str:
    """A GCJ-02 position with a name."""
    asked = {"position": f"{lng:.6f},{lat:.6f}", "name": name, "coordinate": "gaode"}
    return _link("marker", asked)


def route_link(origin: str, destination: str, mode: TravelMode, names: tuple[str, str]) -> str:
    """A way between two "lng,lat" points in GCJ-02."""
    start, end = (name.replace(",", " ") for name in names)
    asked = {"from": f"{origin},{start}", "to": f"{destination},{end}", "mode": _MODES[mode]}
    return _link("navigation", {**asked, "coordinate": "gaode"})


def city_link(city: str) -> str:
    """A city on the map."""
    return _link("search", {"keyword": city, "city": city})


def _link(kind: str, asked: dict[str, str]) -> str:
    return f"{_BASE}/{kind}?{urlencode({**asked, **_US}, quote_via=quote, safe=',')}"


log = logging.getLogger(__name__)
_FAR = 1.5
"""Times the radius, beyond which a place is no answer to "nearby"."""


@dataclass(frozen=True)
class Presentation:
    """How sources look: what stands before titles, and whether ids lead somewhere."""

    label: str = ""
    """The key of a text."""
    links_by_id: bool = True


class Ledger:
    """Adds to a survey; ids of sources are `prefix-0`, `prefix-1`, …"""

    def __init__(
        self,
        survey: Survey,
        options: MapOptions,
        *,
        presentation: Presentation | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.survey, self.options, self._now = survey, options, now
        self._shown = presentation or Presentation()

    def add_place(self, detail: dict[str, Any], keywords: Sequence[str] = ()) -> Place | None:
        """The record of a looked-up place, once per id; None where it has no position or is far."""
        location, name = (
            location_of(detail.get("location")),
            text_or_none(detail.get("name")),
        )
        if location is None or name is None:
            return None
        poi = text_or_none(detail.get("id"))
        key = f"amap:{poi or _coordinates(location)}"
        if known := next((p for p in self.survey.places if p["id"] == key), None):
            known["keywords"] = list(dict.fromkeys([*known["keywords"], *keywords]))
            return known
        far = self._distance(location)
        if far is not None and self.survey.radius_m and far > self.survey.radius_m * _FAR:
            self.reject(name, f"{far} m from {self.survey.centre_name}")
            return None
        place = self._place(key, name, location, detail)
        place["url"] = self._place_url(poi, location, name)
        place["keywords"], place["distance_m"] = list(keywords), far
        place["distance_from"] = self.survey.centre_name if far is not None else None
        place["source"] = self._source(name, place["url"], _facts(place, self.options.language))
        self.survey.places.append(place)
        return place

    def reject(self, name: str, why: str) -> None:
        """Note a place that must not be used."""
        log.info("map: %s left out: %s", name, why)
        if name not in self.survey.rejected:
            self.survey.rejected.append(name)

    def add_route(
        self,
        tool: str,
        reply: dict[str, Any],
        *,
        mode: TravelMode,
        ends: tuple[str, str],
        names: tuple[str, str],
    ) -> Route | None:
        """A way, once per mode; `ends` are "lng,lat". None where the map gave none."""
        if tool == "maps_distance":
            one = next(iter(records(reply, "results")), {})
            metres, seconds = (whole_or_none(one.get(k)) for k in ("distance", "duration"))
            steps: list[RouteStep] = []
        else:
            metres, seconds, steps = path_of(tool, reply)
        if metres is None and seconds is None:
            return None
        key = f"amap:{mode}:{ends[0]}:{ends[1]}"
        if known := next((r for r in self.survey.routes if r["id"] == key), None):
            return known
        url = route_link(*ends, mode, names)
        language = self.options.language
        title = f"{say(f'records.modes.{mode}', language)} {names[0]} → {names[1]}"
        facts = (title, distance_text(metres), duration_text(seconds or None, language))
        source = self._source(title, url, " · ".join(fact for fact in facts if fact))
        route = Route(
            id=key,
            mode=mode,
            origin=names[0],
            destination=names[1],
            distance_m=metres,
            duration_s=seconds or None,
            steps=steps,
            url=url,
            source=source,
            fetched_at=self._time(),
        )
        self.survey.routes.append(route)
        return route

    def add_weather(self, reply: dict[str, Any]) -> Weather | None:
        """The record of a city's forecast, once per city."""
        city, days = text_or_none(reply.get("city")), days_of(reply)
        if city is None or not days:
            return None
        if known := next((w for w in self.survey.weather if w["city"] == city), None):
            return known
        title = say("map.forecast", self.options.language, city=city)
        first = days[0]
        facts = f"{city} {first['date']} {first['day']} {first['low_c']}–{first['high_c']} °C"
        weather = Weather(
            id=f"amap:weather:{city}",
            city=city,
            days=days,
            source=self._source(title, city_link(city), facts),
            fetched_at=self._time(),
        )
        self.survey.weather.append(weather)
        return weather

    def _place(self, key: str, name: str, at: Location, detail: dict[str, Any]) -> Place:
        opening = detail.get("open_time") or detail.get("opentime2") or detail.get("opentime")
        return Place(
            id=key,
            name=name,
            location=at,
            wgs84=wgs84_of(at),
            address=text_or_none(detail.get("address")),
            category=category_of(detail),
            district=text_or_none(detail.get("district")),
            city=text_or_none(detail.get("city")),
            distance_m=None,
            distance_from=None,
            rating=rating_of(detail),
            cost=number_or_none(detail.get("cost"), high=1e6),
            open_time=text_or_none(opening),
            photo=photo_of(detail),
            url="",
            source="",
            mentioned=False,
            keywords=[],
            detailed=True,
            fetched_at=self._time(),
        )

    def _place_url(self, poi: str | None, location: Location, name: str) -> str:
        if poi and self._shown.links_by_id:
            return place_link(poi)
        return position_link(location["lng"], location["lat"], name)

    def _distance(self, location: Location) -> int | None:
        centre = self.survey.centre
        if centre is None or centre["crs"] != location["crs"]:
            return None
        here = (centre["lng"], centre["lat"])
        return round(distance_m(here, (location["lng"], location["lat"])))

    def _source(self, title: str, url: str, facts: str) -> str:
        language = self.options.language
        source = Source(
            id=f"{self.options.prefix}-{len(self.survey.sources)}",
            kind="place",
            title=f"{say(self._shown.label, language) if self._shown.label else ''}{title}",
            url=url,
            provider=say("map.provider", language),
            quotes=[facts],
        )
        self.survey.sources.append(source)
        shown = self._now().astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        self.survey.attribution = f"{say('map.attribution', language)} · {shown}"
        return source["id"]

    def _time(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds")


def _coordinates(location: Location) -> str:
    return f"{location['lng']:.6f},{location['lat']:.6f}"


def _facts(place: Place, language: Language) -> str:
    """What the record says, as one sentence-like line."""
    parts = [place["name"], place["category"], place["address"]]
    if place["distance_m"] is not None:
        metres, origin = place["distance_m"], place["distance_from"]
        parts.append(say("records.metres_from", language, origin=origin, metres=metres))
    if place["rating"] is not None:
        parts.append(say("records.rated", language, rating=f"{place['rating']:g}"))
    if place["cost"] is not None:
        parts.append(say("records.cost", language, cost=f"{place['cost']:g}"))
    parts.append(place["open_time"])
    return say("punctuation.comma", language).join(part for part in parts if part)

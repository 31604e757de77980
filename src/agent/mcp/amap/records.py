"""Read Amap's replies as records of a branch: places, routes, weather."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from agent.core.outside import finite, objects, whole_or_none
from agent.core.patterns import PIECE
from agent.core.strings import without_open_bracket
from agent.evidence.agreement import told_closed
from agent.evidence.geo import exact_position, name_at, parse_lnglat
from agent.evidence.types import (
    Crs,
    Location,
    Place,
    Point,
    Route,
    RouteMode,
    RouteStep,
    TravelMode,
    Weather,
    WeatherDay,
)
from agent.evidence.way_steps import in_english, ride_text
from agent.evidence.zones import is_in_taiwan
from agent.mcp.amap.install import PROVIDER
from agent.mcp.amap.tools import ROUTE_TOOLS
from agent.mcp.new_records import MOST_STEPS, NamedStop, legs_over, new_place, new_route
from agent.mcp.records import (
    MapHit,
    MapRecords,
    Presentation,
    lnglat,
    marked_weather_lines,
    place_line,
    route_line,
    text_or_none,
)
from agent.mcp.reply_text import compacted, fitting_lines
from agent.texts import LANGUAGES, Language, is_chinese, say


def _in_all_languages(key: str) -> dict[Language, str]:
    return {language: say(key, language) for language in LANGUAGES}


PRESENTATION = Presentation(
    provider=PROVIDER,
    names=_in_all_languages("map.provider"),
)
SAMPLE = replace(PRESENTATION, label=_in_all_languages("map.sample"), links_by_id=False)
_LISTS = frozenset(
    {
        "return", "pois", "forecasts", "results", "paths", "steps", "transits", "segments",
        "buslines", "via_stops", "keywords", "ciytes", "photos",
    }
)  # fmt: skip


def without_empties(value: Any, key: str = "") -> Any:
    """Return the value with `[]` and blank text as None, except where the field is a list.

    No text is longer than a field of Amap's can be, so that what is read of one is bounded.
    """
    if isinstance(value, dict):
        return {name: without_empties(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        if not value:
            return [] if key in _LISTS else None
        return [without_empties(inner) for inner in value]
    if isinstance(value, str):
        return value[:PIECE] if value.strip() else None
    return value


_CATERING, _LODGING = "餐饮服务", "住宿服务"
_ENTERED = ("风景名胜", "科教文化服务")
"""Kinds whose price is that of entry: parks, temples, sights, museums, libraries."""
_RATING = (0.0, 5.0)
PHOTO_HOSTS = ("store.is.autonavi.com", "aos-comment.amap.com", "aos-cdn-image.amap.com")
"""Where Amap keeps photos of places; all of them speak https."""


def location_of(text: Any) -> Location | None:
    """Return the location of Amap's "lng,lat"; WGS-84 in Taiwan, where it does not shift."""
    point = parse_lnglat(text) if isinstance(text, str) else None
    if point is None:
        return None
    at = Point(lng=round(point[0], 6), lat=round(point[1], 6))
    crs: Crs = "WGS-84" if is_in_taiwan(at) else "GCJ-02"
    return Location(**at, crs=crs)


_MOST = 1e9


def number_or_none(value: Any, low: float = 0.0, high: float = _MOST) -> float | None:
    """Return a number within the bounds; 0 means unknown, as Amap uses it."""
    number = finite(value)
    return number if number is not None and low < number <= high else None


def rating_of(detail: dict[str, Any]) -> float | None:
    return number_or_none(detail.get("rating"), *_RATING)


def english_name(detail: dict[str, Any]) -> str | None:
    """Return the other name that Amap lists, where it is written in Latin letters."""
    alias = text_or_none(detail.get("alias")) or ""
    is_latin = alias.isprintable() and all(char <= "\u024f" or char in "’–" for char in alias)
    has_letter = any(char.isascii() and char.isalpha() for char in alias)
    return alias if is_latin and has_letter else None


def category_of(detail: dict[str, Any]) -> str | None:
    """Return the most precise part of "餐饮服务;咖啡厅;咖啡厅"."""
    parts = [part for part in str(detail.get("type") or "").split("|")[0].split(";") if part]
    return parts[-1] if parts else None


def _is_per_person(detail: dict[str, Any]) -> bool:
    """Return whether a price is one per person; of an unknown kind it is taken for one.

    Amap's own page says so of what one eats, enters or watches, and nothing of a car park's.
    """
    kind = str(detail.get("type") or _CATERING)
    return kind.startswith((_CATERING, *_ENTERED)) or "影" in kind


def _cost_of(detail: dict[str, Any]) -> float | None:
    """Return the price; 0 is one where entry is what one pays for, else Amap does not know it."""
    if finite(detail.get("cost")) == 0 and str(detail.get("type") or "").startswith(_ENTERED):
        return 0.0
    return number_or_none(detail.get("cost"), high=1e6)


def photo_of(detail: dict[str, Any]) -> str | None:
    """Return the first photo's https address; None where it is not one of Amap's own."""
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
    """Return metres, seconds and steps of the first way a route or distance tool offers."""
    if tool == "maps_distance":
        one = next(iter(objects(reply.get("results"))), {})
        return whole_or_none(one.get("distance")), whole_or_none(one.get("duration")), []
    route = reply.get("data" if tool == "maps_bicycling" else "route")
    route = route if isinstance(route, dict) else {}
    if tool == "maps_direction_transit_integrated":
        transit = next(iter(objects(route.get("transits"))), None)
        if transit is None:
            return None, None, []
        steps = list(_transit_steps(transit))
        return whole_or_none(route.get("distance")), whole_or_none(transit.get("duration")), steps
    path = next(iter(objects(route.get("paths"))), None)
    if path is None:
        return None, None, []
    steps = [
        RouteStep(instruction=text, distance_m=whole_or_none(step.get("distance")))
        for step in objects(path.get("steps"))[:MOST_STEPS]
        if (text := text_or_none(step.get("instruction")))
    ]
    return whole_or_none(path.get("distance")), whole_or_none(path.get("duration")), steps


def _transit_steps(transit: dict[str, Any]) -> Iterable[RouteStep]:
    for segment in objects(transit.get("segments"))[:MOST_STEPS]:
        walking = segment.get("walking")
        metres = whole_or_none(walking.get("distance")) if isinstance(walking, dict) else None
        if metres:
            yield RouteStep(instruction="", distance_m=metres)
        bus, railway = segment.get("bus"), segment.get("railway")
        rides = objects(bus.get("buslines"))[:1] if isinstance(bus, dict) else []
        for ride in [*rides, *([railway] if isinstance(railway, dict) else [])]:
            if line := text_or_none(ride.get("name")):
                yield _ride(line, ride)


def _ride(line: str, ride: dict[str, Any]) -> RouteStep:
    ends = [ride.get(end) for end in ("departure_stop", "arrival_stop")]
    names = [text_or_none(end.get("name")) if isinstance(end, dict) else None for end in ends]
    return RouteStep(
        instruction="",
        distance_m=whole_or_none(ride.get("distance")),
        line=line,
        board_at=names[0],
        leave_at=names[1],
        stops=len(objects(ride.get("via_stops"))) + 1 if "via_stops" in ride else None,
    )


def days_of(reply: dict[str, Any]) -> list[WeatherDay]:
    """Return the forecast of today and the next days."""
    return [
        WeatherDay(
            date=str(day["date"]),
            day=text_or_none(day.get("dayweather")) or "",
            night=text_or_none(day.get("nightweather")) or "",
            high_c=whole_or_none(day.get("daytemp")),
            low_c=whole_or_none(day.get("nighttemp")),
            wind=_wind(day),
        )
        for day in objects(reply.get("forecasts"))
        if day.get("date")
    ]


def _wind(day: dict[str, Any]) -> str | None:
    direction, power = text_or_none(day.get("daywind")), text_or_none(day.get("daypower"))
    if not direction:
        return None
    return f"{direction}风 {power} 级" if power else f"{direction}风"


_BASE = "https://uri.amap.com"
_MOST_MARKS = 10
_LONGEST_MARK = 6
_CALLER = {"src": "tanlu"}
_MODES: dict[TravelMode, str] = {
    "walking": "walk",
    "driving": "car",
    "bicycling": "ride",
    "transit": "bus",
}


def place_link(poi_id: str) -> str:
    """Return the link of a place by its id."""
    return _link("marker", {"poiid": poi_id})


def position_link(lng: float, lat: float, name: str) -> str:
    """Return the link of a GCJ-02 position with a name."""
    return _link("marker", {"position": f"{lng:.6f},{lat:.6f}", "name": name})


def route_link(origin: str, destination: str, mode: TravelMode, names: tuple[str, str]) -> str:
    """Return the link of a way between two "lng,lat" points in GCJ-02."""
    start, end = (name.replace(",", " ") for name in names)
    values = {"from": f"{origin},{start}", "to": f"{destination},{end}", "mode": _MODES[mode]}
    return _link("navigation", values)


def stops_link(stops: Sequence[NamedStop]) -> str:
    """Return the link of a map of several named positions, at most ten, in their order.

    Names are cut, so that a QR code of the link can be read off a screen.
    A way over more than one stop between its ends is no link of Amap's for browsers.
    """
    names = (
        without_open_bracket(name.replace(",", " ").replace("|", " ")[:_LONGEST_MARK]).strip()
        for name, _ in stops
    )
    marks = [f"{lnglat(location)},{name}" for name, (_, location) in zip(names, stops, strict=True)]
    return _link("marker", {"markers": "|".join(marks[:_MOST_MARKS])})


def _way_link(mode: RouteMode, ends: tuple[str, str], names: tuple[str, str]) -> str:
    """Return the navigation of a way; of a straight line only where it ends."""
    if mode != "straight":
        return route_link(*ends, mode, names)
    lng, lat = parse_lnglat(ends[1]) or (0.0, 0.0)
    return position_link(lng, lat, names[1])


def city_link(city: str) -> str:
    """Return the link of a city on the map."""
    return _link("search", {"keyword": city, "city": city})


def _link(kind: str, values: dict[str, str]) -> str:
    return f"{_BASE}/{kind}?{urlencode({**values, **_CALLER}, quote_via=quote, safe=',')}"


_TOOL_MODES: dict[str, TravelMode] = {tool: mode for mode, tool in ROUTE_TOOLS.items()}
_DISTANCE_MODES: dict[str, RouteMode] = {"0": "straight", "1": "driving", "3": "walking"}


_ASKED_FOR_WAYS = ("route", "distance", None)
"""Intents whose measurements are a result; elsewhere only the model reads them."""
MOST_PLACES = 20
_DROPPED = frozenset({"photos", "typecode", "polyline", "suggestion", "via_stops"})
_LIMITS = {"pois": MOST_PLACES, "steps": 12, "transits": 2, "paths": 1, "segments": 12}


class AmapReader:
    """Enter Amap's replies into the records of a branch."""

    def __init__(self, records: MapRecords) -> None:
        self.records = records
        result, self._language = records.result, records.options.language
        self._names = {exact_position(position): name for position, name in result.names.items()}
        self._names |= {lnglat(place["location"]): place["name"] for place in result.places}
        if result.centre and result.centre_name:
            self._names[lnglat(result.centre)] = result.centre_name

    def read(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> str:
        """Enter the records of a model's call; return the reply as the model reads it."""
        lines = self._lines(tool, arguments, reply)
        if lines and not {"route", "data"} & reply.keys():
            return fitting_lines(lines, self._language)
        return compacted(lines, reply, leave_out=_DROPPED, limits=_LIMITS)

    def _lines(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> list[str]:
        language = self._language
        if tool == "maps_search_detail":
            name = text_or_none(reply.get("name")) or ""
            self._remember(str(reply.get("location")), name)
            place = self.add_place(reply)
            if place is None:
                return [f"{name}: outside what was asked for, or without a position; do not use it"]
            return [place_line(place, language)]
        if tool == "maps_geo":
            for geocode in objects(reply.get("return"))[:1]:
                self._remember(str(geocode.get("location")), str(arguments.get("address")))
        if tool == "maps_around_search" and (position := str(arguments.get("location"))):
            self.records.measure_from(position, self._name_of(position), "GCJ-02")
        if tool == "maps_weather" and (weather := self.add_weather(reply)):
            return marked_weather_lines(weather, language)
        if tool in _TOOL_MODES or tool == "maps_distance":
            route = self._route(tool, arguments, reply)
            return [route_line(route, language)] if route else []
        return []

    def _route(
        self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]
    ) -> Route | None:
        origin = str(arguments.get("origins" if tool == "maps_distance" else "origin"))
        destination = str(arguments.get("destination"))
        kind = arguments.get("type")
        mode = _TOOL_MODES.get(tool) or _DISTANCE_MODES.get("1" if kind is None else str(kind))
        names = (self._name_of(origin), self._name_of(destination))
        if mode is None or None in names or self.records.result.intent not in _ASKED_FOR_WAYS:
            return None
        ends = (origin.replace(" ", ""), destination.replace(" ", ""))
        return self.add_route(
            tool, reply, mode=mode, ends=ends, names=(names[0] or "", names[1] or "")
        )

    def _remember(self, position: str, name: str) -> None:
        if name:
            self._names[exact_position(position)] = name

    def _name_of(self, position: str) -> str | None:
        """Return the name that is known for one position, which the records must have brought."""
        return name_at(position, self._names)

    def add_place(self, detail: dict[str, Any], keywords: Sequence[str] = ()) -> Place | None:
        """Enter a looked-up place; return None where it has no position, is too far or closed."""
        location, name = location_of(detail.get("location")), text_or_none(detail.get("name"))
        if location is None or name is None:
            return None
        closed = told_closed(name)
        if closed and self.records.result.intent in ("nearby", "area"):
            return None
        poi = text_or_none(detail.get("id"))
        by_id = poi and self.records.presentation.links_by_id
        opening = detail.get("open_time") or detail.get("opentime2") or detail.get("opentime")
        place = new_place(
            id=f"{PROVIDER}:{poi or lnglat(location)}",
            name=name,
            location=location,
            url=place_link(poi)
            if poi and by_id
            else position_link(location["lng"], location["lat"], name),
            address=text_or_none(detail.get("address")),
            category=category_of(detail),
            district=text_or_none(detail.get("district")),
            city=text_or_none(detail.get("city")),
            rating=rating_of(detail),
            cost=_cost_of(detail),
            # Its hours are those of before.
            open_time=closed or text_or_none(opening),
            photo=photo_of(detail),
        )
        if english := english_name(detail):
            place["name_en"] = english
        if phone := text_or_none(detail.get("tel")):
            place["phone"] = phone
        if place["cost"] is not None and not _is_per_person(detail):
            place["per_head"] = False
            if str(detail.get("type") or "").startswith(_LODGING):
                place["per_night"] = True
        return self.records.add_place(place, keywords)

    def add_route(
        self,
        tool: str,
        reply: dict[str, Any],
        *,
        mode: RouteMode,
        ends: tuple[str, str],
        names: tuple[str, str],
    ) -> Route | None:
        """Enter a way between `ends` ("lng,lat"); return None where Amap gave none."""
        metres, seconds, steps = path_of(tool, reply)
        if metres is None and seconds is None:
            return None
        for step in steps:
            words = step["instruction"]
            english = in_english(words) if not is_chinese(self._language) else ""
            step["instruction"] = english or words or ride_text(step, self._language)
        located = [location_of(end) for end in ends]
        stops = [(name, at) for name, at in zip(names, located, strict=True) if at]
        if len(stops) < len(ends):
            return None
        route = new_route(
            id=f"{PROVIDER}:{mode}:{ends[0]}:{ends[1]}",
            mode=mode,
            stops=stops,
            url=_way_link(mode, ends, names),
            distance_m=metres,
            duration_s=None if mode == "straight" else seconds or None,
            steps=steps,
        )
        return self.records.add_route(route)

    def add_total(self, legs: Sequence[Route], stops: Sequence[NamedStop]) -> Route:
        """Enter the way over all legs: their lengths and times summed, each leg a step."""
        lengths, times = [leg["distance_m"] for leg in legs], [leg["duration_s"] for leg in legs]
        route = new_route(
            id=f"{PROVIDER}:over:{'+'.join(leg['id'] for leg in legs)}",
            mode=legs[0]["mode"],
            stops=stops,
            url=stops_link(stops),
            distance_m=None if None in lengths else sum(filter(None, lengths)),
            duration_s=None if None in times else sum(filter(None, times)),
            steps=legs_over(stops, list(zip(lengths, times, strict=True))),
        )
        # Its legs have the positions, and pins of their own.
        del route["ends"]
        route.pop("via", None)
        return self.records.add_route(route)

    def add_weather(self, reply: dict[str, Any]) -> Weather | None:
        """Enter a city's forecast; return None where there is none."""
        city, days = text_or_none(reply.get("city")), days_of(reply)
        if city is None or not days:
            return None
        weather = Weather(
            id=f"{PROVIDER}:weather:{city}", city=city, days=days, source="", fetched_at=""
        )
        return self.records.add_weather(weather, city_link(city))


PlaceHits = list[dict[str, Any]]
RankedHit = tuple[dict[str, Any], list[str]]
"""A hit, and the words of the searches that returned it."""


def interleaved(searches: Sequence[PlaceHits], words: Sequence[str | None]) -> list[RankedHit]:
    """Return the hits of several searches once each: the best of every search, then the next.

    A search whose hit another has brought already brings its next one instead.
    """
    ranked: dict[str, RankedHit] = {}
    named = [[hit for hit in search if isinstance(hit.get("id"), str)] for search in searches]
    queues = [deque(search) for search in named]
    while any(queues):
        for queue in queues:
            while queue and queue[0]["id"] in ranked:
                queue.popleft()
            if queue:
                hit = queue.popleft()
                ranked[hit["id"]] = (hit, [])
    for word, search in zip(words, named, strict=True):
        for name in dict.fromkeys(hit["id"] for hit in search if word):
            ranked[name][1].append(str(word))
    return list(ranked.values())


def hit_of(hit: dict[str, Any], keywords: list[str]) -> MapHit:
    """Return a hit as the result of the branch holds it."""
    return MapHit(
        id=str(hit.get("id")),
        name=text_or_none(hit.get("name")) or "",
        address=text_or_none(hit.get("address")),
        keywords=keywords,
    )

"""Enters what the map said into the survey of one branch: records and their sources."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent.evidence.geodesy import distance_m
from agent.evidence.measures import MODES, distance_text, duration_text
from agent.evidence.types import (
    Location,
    Place,
    Route,
    RouteStep,
    Source,
    TravelMode,
    Weather,
)
from agent.language import Language
from agent.mcp import places as read
from agent.mcp.links import city_link, place_link, position_link, route_link
from agent.mcp.replies import records
from agent.mcp.types import MapOptions, Survey

log = logging.getLogger(__name__)
PROVIDER: dict[Language, str] = {"zh": "高德地图", "en": "Amap"}
ATTRIBUTION: dict[Language, str] = {"zh": "数据 © 高德地图", "en": "Data © Amap (高德地图)"}
_FAR = 1.5
"""Times the radius, beyond which a place is no answer to "nearby"."""


@dataclass(frozen=True)
class Presentation:
    """How sources look: what stands before titles, and whether ids lead somewhere."""

    label: Mapping[Language, str] = field(default_factory=dict)
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
            read.location_of(detail.get("location")),
            read.text_or_none(detail.get("name")),
        )
        if location is None or name is None:
            return None
        poi = read.text_or_none(detail.get("id"))
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
            metres, seconds = (read.whole_or_none(one.get(k)) for k in ("distance", "duration"))
            steps: list[RouteStep] = []
        else:
            metres, seconds, steps = read.path_of(tool, reply)
        if metres is None and seconds is None:
            return None
        key = f"amap:{mode}:{ends[0]}:{ends[1]}"
        if known := next((r for r in self.survey.routes if r["id"] == key), None):
            return known
        url = route_link(*ends, mode, names)
        language = self.options.language
        title = f"{MODES[language][mode]} {names[0]} → {names[1]}"
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
        city, days = read.text_or_none(reply.get("city")), read.days_of(reply)
        if city is None or not days:
            return None
        if known := next((w for w in self.survey.weather if w["city"] == city), None):
            return known
        title = f"{city}天气预报" if self.options.language == "zh" else f"Weather forecast {city}"
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
            wgs84=read.wgs84_of(at),
            address=read.text_or_none(detail.get("address")),
            category=read.category_of(detail),
            district=read.text_or_none(detail.get("district")),
            city=read.text_or_none(detail.get("city")),
            distance_m=None,
            distance_from=None,
            rating=read.rating_of(detail),
            cost=read.number_or_none(detail.get("cost"), high=1e6),
            open_time=read.text_or_none(opening),
            photo=read.photo_of(detail),
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
            title=f"{self._shown.label.get(language, '')}{title}",
            url=url,
            provider=PROVIDER[language],
            quotes=[facts],
        )
        self.survey.sources.append(source)
        shown = self._now().astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        self.survey.attribution = f"{ATTRIBUTION[language]} · {shown}"
        return source["id"]

    def _time(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds")


def _coordinates(location: Location) -> str:
    return f"{location['lng']:.6f},{location['lat']:.6f}"


def _facts(place: Place, language: Language) -> str:
    """What the record says, as one sentence-like line."""
    zh = language == "zh"
    parts = [place["name"], place["category"], place["address"]]
    if place["distance_m"] is not None:
        metres, origin = place["distance_m"], place["distance_from"]
        parts.append(f"距{origin} {metres} 米" if zh else f"{metres} m from {origin}")
    if place["rating"] is not None:
        parts.append(f"评分 {place['rating']:g}" if zh else f"rated {place['rating']:g}")
    if place["cost"] is not None:
        parts.append(f"人均 ¥{place['cost']:g}" if zh else f"¥{place['cost']:g} a head")
    parts.append(place["open_time"])
    return ("，" if zh else ", ").join(part for part in parts if part)

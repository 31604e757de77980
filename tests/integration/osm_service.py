"""Stand in for Nominatim, Overpass, OSRM and Open-Meteo, over elements in Overpass's own form.

They are ours (`tests/data/osm_elements.json`), or those of an extract (`osm_extract`).
"""

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from agent.evidence.geo import distance_m
from agent.sample.services.loopback import BODY, Service
from agent.settings import Settings
from tests.support.served import serve_in_thread
from tests.support.standin import Standin

OWN = Path(__file__).parents[1] / "data" / "osm_elements.json"
_STATEMENT = re.compile(r'nwr\(([^)]*)\)((?:\["[^"]*"[=~]"[^"]*"(?:,i)?\])+);')
_FILTER = re.compile(r'\["([^"]*)"([=~])"([^"]*)"')
_TODAY = date(2026, 11, 24)
_METRES_A_SECOND = {"foot": 1.3, "bike": 4.0, "car": 9.0}
Element = dict[str, Any]


def own_elements() -> list[Element]:
    elements: list[Element] = json.loads(OWN.read_text("utf-8"))
    return elements


class OsmService(Standin, Service):
    """Answer the four protocols on one port, each under its own path."""

    def __init__(self, elements: Sequence[Element]) -> None:
        super().__init__("osm")
        self.elements = elements
        self.cities = [element for element in elements if "country" in element]
        add = self.app.router.add_route
        add("GET", "/nominatim/search", self._search)
        add("GET", "/nominatim/reverse", self._reverse)
        add("GET", "/nominatim/lookup", self._lookup)
        add("POST", "/overpass", self._overpass)
        add("GET", "/osrm/{profile}/route/v1/{name}/{points}", self._route)
        add("GET", "/osrm/{profile}/table/v1/{name}/{points}", self._table)
        add("GET", "/meteo/v1/forecast", self._forecast)

    async def _search(self, request: web.Request) -> web.Response:
        words = request.query["q"].casefold().split(",")
        name, city = words[0].strip(), words[-1].strip() if len(words) > 1 else ""
        codes = request.query.get("countrycodes", "").split(",")
        hits = []
        for element in self.elements:
            names = [v.casefold() for k, v in element["tags"].items() if "name" in k]
            home = self._city_of(element)
            towns = [v.casefold() for k, v in home["tags"].items() if k.startswith("name")]
            known = any(name == own or (len(name) > 4 and name in own) for own in names)
            if (
                known
                and (not city or city in towns)
                and (codes == [""] or home["country"] in codes)
            ):
                # As Nominatim does: what is a place in itself, then what is known of best.
                order = (element is not home, -len(element["tags"]), element["id"])
                hits.append((order, self._row(element)))
        hits.sort(key=lambda hit: hit[0])
        return web.json_response([row for _, row in hits[:5]])

    async def _reverse(self, request: web.Request) -> web.Response:
        at = (float(request.query["lon"]), float(request.query["lat"]))
        near = min(self.elements, key=lambda e: distance_m(at, (e["lon"], e["lat"])))
        if distance_m(at, (near["lon"], near["lat"])) > 30_000:
            return web.json_response({"error": "Unable to geocode"})
        return web.json_response(self._row(near))

    async def _lookup(self, request: web.Request) -> web.Response:
        ids = request.query["osm_ids"].split(",")
        found = [e for e in self.elements if f"{e['type'][0].upper()}{e['id']}" in ids]
        return web.json_response([self._row(element) for element in found])

    async def _overpass(self, request: web.Request) -> web.Response:
        query = request[BODY]
        text = query if isinstance(query, str) else ""
        text = re.sub(r"%([0-9A-F]{2})|\+", _unquoted, text)
        found: dict[int, Element] = {}
        for where, filters in _STATEMENT.findall(text):
            for element in self.elements:
                if _has_all(element["tags"], filters) and _is_within(element, where):
                    found[id(element)] = element
        return web.json_response({"elements": [_bare(element) for element in found.values()]})

    async def _route(self, request: web.Request) -> web.Response:
        points = _points(request)
        if distance_m(points[0], points[-1]) > 2_000_000:
            return web.json_response({"code": "NoRoute", "message": "no way"}, status=400)
        metres = sum(distance_m(a, b) for a, b in itertools.pairwise(points)) * 1.3
        middle = ((points[0][0] + points[-1][0]) / 2, points[0][1])
        steps = [
            {"maneuver": {"type": "depart"}, "name": "Hauptweg", "distance": metres / 2},
            {"maneuver": {"type": "turn", "modifier": "left"}, "name": "Uferweg", "distance": 50.0},
            {"maneuver": {"type": "arrive"}, "name": "", "distance": 0},
        ]
        route = {
            "distance": metres,
            "duration": metres / _METRES_A_SECOND[request.match_info["profile"]],
            "geometry": {"coordinates": [list(p) for p in (points[0], middle, points[-1])]},
            "legs": [
                {
                    "distance": far,
                    "duration": far / _METRES_A_SECOND[request.match_info["profile"]],
                    "steps": steps,
                }
                for a, b in itertools.pairwise(points)
                if (far := distance_m(a, b) * 1.3)
            ],
        }
        return web.json_response({"code": "Ok", "routes": [route]})

    async def _table(self, request: web.Request) -> web.Response:
        points = _points(request)
        rows = [
            [int(at) for at in request.query[k].split(";")] for k in ("sources", "destinations")
        ]
        far = [[distance_m(points[a], points[b]) * 1.3 for b in rows[1]] for a in rows[0]]
        speed = _METRES_A_SECOND[request.match_info["profile"]]
        durations = [[metres / speed for metres in row] for row in far]
        return web.json_response({"code": "Ok", "distances": far, "durations": durations})

    async def _forecast(self, request: web.Request) -> web.Response:
        days = int(request.query["forecast_days"])
        daily = {
            "time": [str(_TODAY + timedelta(days=day)) for day in range(min(days, 7))],
            "weather_code": [3, 61, 71, 0, 2, 95, 45],
            "temperature_2m_max": [4.6, 3.1, 0.2, 1.0, 2.0, 3.0, 4.0],
            "temperature_2m_min": [-1.4, 0.3, -4.0, -5.0, -2.0, -1.0, 0.0],
            "wind_speed_10m_max": [22.0, 30.0, 8.0, 5.0, 12.0, 40.0, 2.0],
            "wind_direction_10m_dominant": [312, 180, 90, 0, 45, 270, 225],
        }
        return web.json_response({"timezone": "Europe/Berlin", "daily": daily})

    def _city_of(self, element: Element) -> Element:
        at = (element["lon"], element["lat"])
        return min(self.cities, key=lambda city: distance_m(at, (city["lon"], city["lat"])))

    def _row(self, element: Element) -> dict[str, Any]:
        tags, city = element["tags"], self._city_of(element)
        key = next(k for k in ("place", "amenity", "shop", "tourism", "leisure", "railway", "name")
                   if k in tags)  # fmt: skip
        west, south, east, north = element.get("box") or [element["lon"], element["lat"]] * 2
        address = {
            "road": tags.get("addr:street"), "house_number": tags.get("addr:housenumber"),
            "city": city["tags"]["name"], "country": city.get("country", "").upper(),
            "country_code": city["country"], "state": city.get("state"),
        }  # fmt: skip
        return {
            "osm_type": element["type"], "osm_id": element["id"],
            "lat": str(element["lat"]), "lon": str(element["lon"]),
            "category": key, "type": tags[key], "name": tags.get("name", ""),
            "display_name": f"{tags.get('name', '')}, {city['tags']['name']}",
            "address": {k: v for k, v in address.items() if v},
            "namedetails": {k: v for k, v in tags.items() if "name" in k},
            "extratags": tags, "boundingbox": [str(s) for s in (south, north, west, east)],
            "importance": element.get("importance"),
        }  # fmt: skip


def _has_all(tags: Mapping[str, str], filters: str) -> bool:
    for key, sign, value in _FILTER.findall(filters):
        own = tags.get(key, "")
        same = own == value if sign == "=" else re.search(value, own, re.IGNORECASE)
        if not own or not same:
            return False
    return True


def _unquoted(match: re.Match[str]) -> str:
    return " " if match[0] == "+" else chr(int(match[1], 16))


def _bare(element: Element) -> Element:
    """Return an element as "out center" gives it: only a node has a position of its own."""
    own = {key: element[key] for key in ("type", "id", "tags")}
    at = {"lat": element["lat"], "lon": element["lon"]}
    return {**own, **at} if element["type"] == "node" else {**own, "center": at}


def _is_within(element: Mapping[str, Any], where: str) -> bool:
    lng, lat = element["lon"], element["lat"]
    if where.startswith("around:"):
        radius, at_lat, at_lng = map(float, where.removeprefix("around:").split(","))
        return distance_m((at_lng, at_lat), (lng, lat)) <= radius
    south, west, north, east = map(float, where.split(","))
    return south <= lat <= north and west <= lng <= east


def _points(request: web.Request) -> list[tuple[float, float]]:
    pairs = (part.split(",") for part in request.match_info["points"].split(";"))
    points = [(float(lng), float(lat)) for lng, lat in pairs]
    assert all(map(math.isfinite, (each for point in points for each in point)))
    return points


@dataclass(frozen=True)
class OsmLab:
    """The stand-in, and the settings that lead to it."""

    service: OsmService
    settings: dict[str, Any]

    def asked(self, path: str) -> list[dict[str, str]]:
        """Return the queries of requests below a path."""
        return [r.query for r in self.service.requests if r.path.startswith(path)]


@contextmanager
def osm_service(elements: Sequence[Element] | None = None) -> Iterator[OsmLab]:
    service = OsmService(own_elements() if elements is None else elements)
    with serve_in_thread(service.app) as running:
        settings = {
            "nominatim_base_url": f"{running.url}/nominatim",
            "overpass_base_url": f"{running.url}/overpass",
            "osrm_base_url": f"{running.url}/osrm/{{profile}}",
            "open_meteo_base_url": f"{running.url}/meteo",
            "osm_qps": 1000,
        }
        yield OsmLab(service, settings)


def osm_settings(lab: OsmLab, **more: Any) -> Settings:
    return Settings(**{"map_servers": "osm", **lab.settings, **more})

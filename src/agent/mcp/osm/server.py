"""Serve OpenStreetMap's places, ways and Open-Meteo's forecasts as tools of MCP."""

import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import mcp.types as protocol
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from agent import __version__
from agent.core.outside import finite, objects, parse_json
from agent.core.strings import without_accents
from agent.evidence.geo import distance_m
from agent.mcp.osm.kinds import DIETS, WantedKind, tag_of
from agent.mcp.osm.services import OsmServices, ServiceError
from agent.texts import OF_ANSWERS

TOOLS: list[dict[str, Any]] = parse_json(
    files(__package__).joinpath("tools.json").read_text(encoding="utf-8")
)
_PROFILES = {"walking": "foot", "bicycling": "bike", "driving": "car"}
_TYPES = {"node": "N", "way": "W", "relation": "R"}
_LEAST_RADIUS, _USUAL_RADIUS, _LARGEST_RADIUS = 100, 1000, 10_000
_MOST, _MOST_FOUND, _MOST_KINDS = 20, 300, 5
_WIDEST_BOX = 0.4
"""Degrees: what is wider is cut to so much around its middle."""
_MOST_LINE = 150
"""Points of the line of a way: what a screen shows."""
_MOST_STEPS = 40
_TWINS_M = 50
"""Between two records of one shop: its point and its house."""
_LONGEST = 255
"""Characters of a tag, as OpenStreetMap limits them."""
_TAGS = {
    "opening_hours": "hours", "phone": "phone", "contact:phone": "phone", "website": "website",
    "contact:website": "website", "fee": "fee", "wheelchair": "wheelchair", "cuisine": "cuisine",
    "seasonal": "seasonal", "wheelchair:description": "access", "toilets:wheelchair": "toilets",
    "indoor": "indoor", "disused": "disused", "highchair": "highchair",
    "high_chair": "highchair", "kids_area": "kids_area",
}  # fmt: skip
_COMPLETE = ("hours", "website", "phone", "address", "wikidata")
_DAILY = (
    "weather_code", "temperature_2m_max", "temperature_2m_min", "wind_speed_10m_max",
    "wind_direction_10m_dominant", "precipitation_probability_max",
)  # fmt: skip
_MOST_DAYS = 16


class OsmTools:
    """Answer the tools; each asks one service once."""

    def __init__(self, services: OsmServices) -> None:
        self._services = services

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object of a tool's reply; raise ServiceError."""
        tools: dict[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {
            "osm_geocode": self._geocode,
            "osm_reverse": self._reverse,
            "osm_nearby": self._nearby,
            "osm_details": self._details,
            "osm_route": self._route,
            "osm_matrix": self._matrix,
            "osm_weather": self._weather,
        }
        return await tools[name](arguments)

    async def _geocode(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        params = {"q": str(asked["query"])[:_LONGEST], "limit": "5", **_naming(asked)}
        if countries := str(asked.get("countries") or ""):
            params["countrycodes"] = countries.lower()[:60]
        rows = await self._services.nominatim("search", params)
        places = _rows(rows, params["q"])
        if not places:
            raise ServiceError(f"NOT_FOUND nothing is called {params['q']}")
        return {"places": places}

    async def _reverse(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        lng, lat = _point(asked.get("location"))
        params = {"lon": f"{lng:.6f}", "lat": f"{lat:.6f}", "zoom": "16", **_naming(asked)}
        places = _rows([await self._services.nominatim("reverse", params)])
        if not places:
            raise ServiceError("NOT_FOUND nothing lies there")
        return {"places": places}

    async def _details(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        ids = [part.strip().partition("/") for part in str(asked["ids"]).split("|")][:_MOST]
        short = [f"{_TYPES[kind]}{number}" for kind, _, number in ids if _is_id(kind, number)]
        if not short:
            raise ServiceError("BAD_REQUEST ids are like node/123|way/456")
        params = {"osm_ids": ",".join(short), **_naming(asked)}
        places = _rows(await self._services.nominatim("lookup", params))
        if not places:
            raise ServiceError("NOT_FOUND no place has such an id")
        return {"places": places}

    async def _nearby(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        words = [word.strip() for word in str(asked["kinds"]).split("|") if word.strip()]
        words = list(dict.fromkeys(words))[:_MOST_KINDS]
        if not words:
            raise ServiceError("BAD_REQUEST kinds names no kind of place")
        where, centre = _where(asked)
        limit = min(int(asked.get("limit") or _MOST), _MOST_FOUND)
        kinds = {word: WantedKind.of(word) for word in words}
        parts = [_part(kind, where) for kind in kinds.values()]
        if not any(parts):
            raise ServiceError("BAD_REQUEST kinds names no kind of place")
        found = await self._services.overpass(f"[out:json][timeout:12];{''.join(parts)}")
        places = [place for element in found if (place := _of_element(element, centre))]
        unique = {place["id"]: place for place in places}
        places, counts = _best(unique.values(), kinds, limit)
        return {"places": places, "found": counts}

    async def _route(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        between = [part for part in str(asked.get("via") or "").split("|") if part.strip()]
        texts = [asked.get("origin"), *between, asked.get("destination")]
        path = ";".join("{:.6f},{:.6f}".format(*_point(text)) for text in texts)
        params = {"overview": "full", "geometries": "geojson", "steps": "true"}
        reply = await self._services.osrm("route", _profile(asked), path, params)
        route = next(iter(objects(reply.get("routes"))), None)
        if route is None:
            raise ServiceError("NO_ROUTE there is no way between them")
        steps = [step for leg in objects(route.get("legs")) for step in objects(leg.get("steps"))]
        geometry = route.get("geometry")
        line = geometry.get("coordinates") if isinstance(geometry, dict) else None
        return {
            "route": {
                "distance_m": finite(route.get("distance")),
                "duration_s": finite(route.get("duration")),
                "steps": [_step(step) for step in steps[:_MOST_STEPS]],
                "legs": [
                    {
                        "distance_m": finite(leg.get("distance")),
                        "duration_s": finite(leg.get("duration")),
                    }
                    for leg in objects(route.get("legs"))[:_MOST_STEPS]
                ],
                "line": _thinned(line if isinstance(line, list) else []),
            }
        }

    async def _matrix(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        ends = [
            [_point(part) for part in str(asked[name]).split("|") if part.strip()]
            for name in ("origins", "destinations")
        ]
        points = [point for one in ends for point in one]
        if asked.get("mode") == "straight":
            return {"ways": _straight(*ends)}
        path = ";".join(f"{lng:.6f},{lat:.6f}" for lng, lat in points[:100])
        sources = ";".join(map(str, range(len(ends[0]))))
        targets = ";".join(map(str, range(len(ends[0]), len(points))))
        params = {"annotations": "duration,distance", "sources": sources, "destinations": targets}
        reply = await self._services.osrm("table", _profile(asked), path, params)
        rows = (reply.get("distances"), reply.get("durations"))
        return {
            "ways": [
                {
                    "origin": at,
                    "destination": to,
                    "distance_m": round(metres),
                    "duration_s": round(seconds),
                }
                for at in range(len(ends[0]))
                for to in range(len(ends[1]))
                # From a point to itself there is no way.
                if ends[0][at] != ends[1][to]
                and (metres := _cell(rows[0], at, to)) is not None
                and (seconds := _cell(rows[1], at, to)) is not None
            ]
        }

    async def _weather(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        lng, lat = _point(asked.get("location"))
        days = max(1, min(int(asked.get("days") or 7), _MOST_DAYS))
        # What a forecast is for is a town: so are equal questions equal, too.
        params = {
            "latitude": f"{lat:.2f}", "longitude": f"{lng:.2f}", "daily": ",".join(_DAILY),
            "timezone": "auto", "forecast_days": str(days),
        }  # fmt: skip
        reply = await self._services.forecast(params)
        daily = reply.get("daily")
        columns = daily if isinstance(daily, dict) else {}
        dates = columns.get("time")
        if not isinstance(dates, list) or not dates:
            raise ServiceError("NOT_FOUND there is no forecast for that position")
        rows = [
            {"date": str(date), **{name: _at(columns.get(name), at) for name in _DAILY}}
            for at, date in enumerate(dates[:_MOST_DAYS])
        ]
        return {"days": rows, "zone": str(reply.get("timezone") or "")[:60]}


def _naming(asked: Mapping[str, Any]) -> dict[str, str]:
    language = str(asked.get("language") or "en")[:20]
    details = {"addressdetails": "1", "namedetails": "1", "extratags": "1"}
    return {**details, "accept-language": language}


def _texts(value: Any) -> dict[str, str]:
    """Return an object's texts, none longer than a tag can be."""
    if not isinstance(value, dict):
        return {}
    return {str(k): str(v)[:_LONGEST] for k, v in value.items() if isinstance(v, str | int)}


def _point(text: Any) -> tuple[float, float]:
    parts = [finite(part) for part in text.split(",")] if isinstance(text, str) else []
    match parts:
        case [float(lng), float(lat)] if abs(lng) <= 180 and abs(lat) <= 90:
            return lng, lat
    raise ServiceError(f'BAD_REQUEST a position is "lng,lat" in degrees, not {text!r}'[:200])


def _profile(asked: Mapping[str, Any]) -> str:
    mode = str(asked.get("mode") or "walking")
    if mode not in _PROFILES:
        raise ServiceError("BAD_REQUEST mode is walking, bicycling or driving")
    return _PROFILES[mode]


def _is_id(kind: str, number: str) -> bool:
    return kind in _TYPES and number.isdigit() and len(number) < 20


def _rows(value: Any, query: str = "") -> list[dict[str, Any]]:
    """Return the places of Nominatim's rows; of their names also the one that a query asks for."""
    return [place for row in objects(value) if (place := _of_row(row, query))]


def _of_row(row: dict[str, Any], query: str) -> dict[str, Any] | None:
    lng, lat = finite(row.get("lon")), finite(row.get("lat"))
    kind, number = str(row.get("osm_type")), str(row.get("osm_id"))
    if lng is None or lat is None or not _is_id(kind, number):
        return None
    address, names = _texts(row.get("address")), _texts(row.get("namedetails"))
    name = names.get("name") or str(row.get("name") or "")
    name = name or str(row.get("display_name") or "").partition(",")[0]
    tag = f"{row.get('category')}={row.get('type')}"
    listed = row.get("boundingbox")
    sides = [finite(side) for side in listed] if isinstance(listed, list) else []
    box = [side for side in sides if side is not None]
    south, north, west, east = box if len(box) == 4 else (lat, lat, lng, lng)
    place = {
        "id": f"{kind}/{number}",
        "name": name[:_LONGEST],
        "lng": lng,
        "lat": lat,
        "tag": tag,
        "is_area": row.get("category") in ("boundary", "place"),
        "importance": finite(row.get("importance")),
        "bbox": f"{west},{south},{east},{north}",
        **_address(address),
        **_chosen(_texts(row.get("extratags"))),
        "names": {**_names(names), **_asked_name(names, query)},
    }
    return {key: value for key, value in place.items() if value not in ("", None, {})}


def _asked_name(names: Mapping[str, str], query: str) -> dict[str, str]:
    """Return the one of all names that a query begins with: "Helsingin rautatieasema"."""
    said = without_accents(query.partition(",")[0].strip().casefold())
    listed = (each.strip() for value in names.values() for each in value.split(";"))
    own = (each for each in listed if without_accents(each.casefold()) == said)
    return {"asked": name} if (name := next(own, "")) else {}


def _address(address: Mapping[str, str]) -> dict[str, str]:
    def first(*names: str) -> str:
        return next((address[name] for name in names if address.get(name)), "")

    street = " ".join(filter(None, (first("road", "pedestrian"), first("house_number"))))
    city = first("city", "town", "village", "municipality", "county", "state")
    return {
        "address": ", ".join(filter(None, (street, " ".join([first("postcode"), city]).strip()))),
        "city": city,
        "region": first("state", "province", "region", "county"),
        "district": first("city_district", "borough", "suburb", "neighbourhood"),
        "country": first("country"),
        "country_code": first("country_code").lower(),
    }


def _of_element(
    element: dict[str, Any], centre: tuple[float, float] | None
) -> dict[str, Any] | None:
    """Return the place of one of Overpass's elements."""
    at = element.get("center") if isinstance(element.get("center"), dict) else element
    lng, lat = (finite((at or {}).get(side)) for side in ("lon", "lat"))
    kind, number, tags = (
        str(element.get("type")),
        str(element.get("id")),
        _texts(element.get("tags")),
    )
    if lng is None or lat is None or not _is_id(kind, number) or not tags:
        return None
    street = " ".join(filter(None, (tags.get("addr:street"), tags.get("addr:housenumber"))))
    town = " ".join(filter(None, (tags.get("addr:postcode"), tags.get("addr:city"))))
    place = {
        "id": f"{kind}/{number}",
        "name": tags.get("name") or tags.get("brand") or tags.get("operator", ""),
        "lng": lng,
        "lat": lat,
        "tag": tag_of(tags),
        "all_tags": tags,
        "address": ", ".join(filter(None, (street, town))),
        "city": tags.get("addr:city"),
        "wikidata": tags.get("wikidata"),
        "distance_m": round(distance_m(centre, (lng, lat))) if centre else None,
        **_chosen(tags),
        "names": _names(tags),
    }
    return {key: value for key, value in place.items() if value not in ("", None, {})}


def _chosen(tags: Mapping[str, str]) -> dict[str, str]:
    known = {ours: tags[theirs] for theirs, ours in _TAGS.items() if tags.get(theirs)}
    for words in ("only", "yes"):
        if diets := sorted(diet for diet in DIETS if tags.get(f"diet:{diet}") == words):
            known[f"diets_{words}"] = ";".join(diets)
    return known


def _names(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the names in the languages that readers are answered in, where there are any."""
    english = tags.get("name:en") or tags.get("int_name") or tags.get("name:int", "")
    chinese = tags.get("name:zh-Hans") or tags.get("name:zh") or tags.get("name:zh-Hant", "")
    others = {code: tags.get(f"name:{code}", "") for code in OF_ANSWERS}
    names = {"en": english, "zh": chinese, **others}
    return {code: name for code, name in names.items() if name}


def _where(asked: Mapping[str, Any]) -> tuple[str, tuple[float, float] | None]:
    """Return the filter of Overpass for a circle or a box, and the centre of the circle."""
    if box := str(asked.get("bbox") or ""):
        sides = [finite(side) for side in box.split(",")]
        if len(sides) != 4 or None in sides:
            raise ServiceError("BAD_REQUEST bbox is west,south,east,north")
        west, south, east, north = (side or 0.0 for side in sides)
        half = _WIDEST_BOX / 2
        lng, lat = (west + east) / 2, (south + north) / 2
        west, east = max(west, lng - half), min(east, lng + half)
        south, north = max(south, lat - half), min(north, lat + half)
        return f"({south:.5f},{west:.5f},{north:.5f},{east:.5f})", None
    lng, lat = _point(asked.get("location"))
    radius = int(asked.get("radius_m") or _USUAL_RADIUS)
    radius = max(_LEAST_RADIUS, min(radius, _LARGEST_RADIUS))
    return f"(around:{radius},{lat:.6f},{lng:.6f})", (lng, lat)


def _part(kind: WantedKind, where: str) -> str:
    """Return the statements that find a kind, each kind with its own share of the reply."""
    found = kind.statements(where)
    return f"({found});out tags center {_MOST_FOUND};" if found else ""


def _best(
    places: Iterable[dict[str, Any]], kinds: Mapping[str, WantedKind], limit: int
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the places of each kind, near and well described ones first, with their kinds.

    And how many there are of each. Those that are closed for good are left out.
    """
    open_ = [place for place in places if "disused" not in place]
    ranked = _without_twins(sorted(open_, key=_rank))
    chosen: dict[str, dict[str, Any]] = {}
    counts: dict[str, int] = {}
    for word, kind in kinds.items():
        ranks = [(rank, place) for place in ranked
                 if (rank := kind.rank(place["all_tags"])) is not None]  # fmt: skip
        best = [place for _, place in sorted(ranks, key=lambda each: each[0])]
        counts[word] = len(best)
        for place in _nearest_first(best)[:limit]:
            chosen.setdefault(place["id"], {**place, "kinds": []})["kinds"].append(word)
    told = [{k: v for k, v in place.items() if k != "all_tags"} for place in chosen.values()]
    return told, counts


def _without_twins(places: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return places; a shop that is on the map as a point and as a house comes once, with both."""
    unique: dict[str, dict[str, Any]] = {}
    namesakes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place in places:
        known = namesakes.setdefault((place.get("name", ""), place.get("tag", "")), [])
        twin = next((each for each in known if "name" in each and _is_twin(each, place)), None)
        if twin is None:
            known.append(place)
            unique[place["id"]] = place
        else:
            tags = {**place["all_tags"], **twin["all_tags"]}
            twin.update({**place, **twin, "all_tags": tags})
    return [*unique.values()]


def _is_twin(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    kinds = {each["id"].partition("/")[0] for each in (one, other)}
    apart = distance_m((one["lng"], one["lat"]), (other["lng"], other["lat"]))
    return len(kinds) > 1 and apart < _TWINS_M


def _nearest_first(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return places with the nearest one that has a name in front: it is what many ask for."""
    named = [place for place in places if "name" in place and "distance_m" in place]
    nearest = sorted(named, key=lambda place: (place["distance_m"], place["id"]))[:1]
    return [*nearest, *(place for place in places if place not in nearest)]


def _rank(place: Mapping[str, Any]) -> tuple[bool, float, str]:
    """Return a key to sort places by: named ones first, then the near ones.

    Each known fact (hours, telephone, …) lets a place count as nearer.
    """
    known = sum(1 for name in _COMPLETE if place.get(name))
    far = (place.get("distance_m", 0) + 100) / (1 + 0.3 * known)
    return "name" not in place, far, place["id"]


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    manoeuvre = step.get("maneuver")
    turn = manoeuvre if isinstance(manoeuvre, dict) else {}
    return {
        "kind": str(turn.get("type") or "")[:30],
        "turn": str(turn.get("modifier") or "")[:30],
        "road": str(step.get("name") or step.get("ref") or "")[:_LONGEST],
        "distance_m": finite(step.get("distance")),
    }


def _thinned(line: Sequence[Any]) -> list[list[float]]:
    """Return a line's points, evenly chosen where they are more than a screen shows."""
    points = [
        [round(lng, 5), round(lat, 5)]
        for each in line
        if isinstance(each, list) and len(each) == 2
        if (lng := finite(each[0])) is not None and (lat := finite(each[1])) is not None
    ]
    if len(points) <= _MOST_LINE:
        return points
    last = len(points) - 1
    return [points[round(at * last / (_MOST_LINE - 1))] for at in range(_MOST_LINE)]


def _straight(
    origins: Sequence[tuple[float, float]], destinations: Sequence[tuple[float, float]]
) -> list[dict[str, Any]]:
    """Return the straight lines between positions."""
    pairs = itertools.product(enumerate(origins[:_MOST]), enumerate(destinations[:_MOST]))
    return [
        {"origin": at, "destination": to, "distance_m": round(distance_m(start, end))}
        for (at, start), (to, end) in pairs
    ]


def _cell(rows: Any, row: int, column: int) -> float | None:
    return finite(_at(_at(rows, row), column))


def _at(values: Any, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


def osm_mcp_server(services: OsmServices) -> Server[Any]:
    """Return the server of the tools."""
    server: Server[Any] = Server("tanlu-osm", version=__version__)
    tools = OsmTools(services)

    @server.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def list_tools() -> list[protocol.Tool]:
        hints = protocol.ToolAnnotations(readOnlyHint=True, openWorldHint=True)
        return [protocol.Tool(**tool, annotations=hints) for tool in TOOLS]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await tools.call(name, arguments)

    return server


async def serve_stdio(services: OsmServices) -> None:
    """Serve over standard input and output until the client has gone."""
    server = osm_mcp_server(services)
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await services.aclose()

"""Export places as a GeoJSON FeatureCollection (RFC 7946: WGS-84, longitude first)."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, cast

from geojson_pydantic import Feature, FeatureCollection, LineString, Point

from agent.core.errors import AgentError
from agent.evidence.mentions import day_ends, places_of
from agent.evidence.records import HOME_MAP, maps_of, owners
from agent.evidence.types import Anchor, DayEnd, Location, Place, Route
from agent.evidence.types import Point as Wgs84
from agent.export.finished import FinishedAnswer
from agent.texts import say

_Collection = FeatureCollection[Feature[Point | LineString, dict[str, Any]]]
_DECIMALS = 7
_NO_PROPERTIES = {"id", "wgs84", "location", "told", "said"}
"""Keys of a place that a feature has elsewhere, and what only the answer's own text needs."""
_CHINA_LNG, _CHINA_LAT = (73.0, 136.0), (3.0, 54.0)


def feature_collection(
    places: Sequence[Place],
    *,
    anchor: Anchor | None = None,
    query: str | None = None,
    generated_at: str | None = None,
) -> dict[str, Any]:
    """Return a validated FeatureCollection: the anchor first, then each place as a point.

    Foreign members: query, provider, attribution, generated_at (ISO 8601, UTC) and, where a
    record's coordinates cannot be right (swapped, not finite), `omitted` with its ids.
    """
    features = [_anchor_feature(anchor)] if anchor and has_sane_axes(anchor) else []
    features += [_place_feature(place) for place in places if has_sane_axes(place)]
    maps = maps_of(places) or [HOME_MAP]
    collection: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if features:
        collection["bbox"] = _bounds(f["geometry"]["coordinates"] for f in features)
    collection |= {
        "query": query,
        "provider": ",".join(maps),
        "attribution": _attribution(maps),
        "generated_at": generated_at or datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if omitted := [place["id"] for place in places if not has_sane_axes(place)]:
        collection["omitted"] = omitted
    _Collection.model_validate(collection)
    return collection


def answer_geojson(answer: FinishedAnswer) -> str:
    """Return an answer's collection as text: its places, the stops of its routes.

    Raises AgentError (`nothing_to_draw`) where it has neither.
    """
    check_drawable(answer)
    collection = answer.geojson or feature_collection(
        answer.places, query=answer.question, generated_at=answer.generated_at
    )
    if features := [*_route_features(answer), *_day_features(answer)]:
        features = [*collection["features"], *features]
        collection = {**collection, "features": features, "bbox": _bounds(_positions(features))}
        _Collection.model_validate(collection)
    return json.dumps(collection, ensure_ascii=False, indent=2)


def check_drawable(answer: FinishedAnswer) -> None:
    """Raise AgentError (`nothing_to_draw`) for an answer without a position."""
    if not (any(map(has_sane_axes, answer.places)) or route_stops(answer.routes)):
        reason = say("export.nothing_to_draw", answer.language)
        raise AgentError(reason, code="nothing_to_draw")


def route_stops(routes: Sequence[Route]) -> list[list[Anchor]]:
    """Return where each way starts, goes over and ends, once for those that have all in common."""
    known: dict[tuple[float, ...], list[Anchor]] = {}
    for route in routes:
        stops = _stops(route)
        if stops and all(map(has_sane_axes, stops)):
            known.setdefault(tuple(n for stop in stops for n in _position(stop)), stops)
    return list(known.values())


def lines_of(routes: Sequence[Route]) -> list[tuple[list[Anchor], list[list[float]] | None]]:
    """Return the stops of each way, once, with its line as the map draws it, where one has it."""
    ways = list[tuple[list[Anchor], list[list[float]] | None]]()
    for stops in route_stops(routes):
        positions = [_position(stop) for stop in stops]
        lines = (each["line"] for each in routes
                 if len(each.get("line", [])) > 1 and _joins(each, positions))  # fmt: skip
        ways.append((stops, next(lines, None)))
    return ways


def roles_of(stops: Sequence[Anchor]) -> list[tuple[str, Anchor]]:
    """Return each stop of a way with what it is: its start, its end, or one between."""
    roles = ["start", *["via"] * (len(stops) - 2), "end"]
    return list(zip(roles, stops, strict=True))


def _stops(route: Route) -> list[Anchor]:
    match route.get("ends", []):
        case [start, end]:
            return [start, *route.get("via", []), end]
    return []


def _route_features(answer: FinishedAnswer) -> list[dict[str, Any]]:
    """Return the stops and a line for each way: its own, else a straight one.

    A straight line says that it is one.
    """
    features: list[dict[str, Any]] = []
    for number, (stops, line) in enumerate(lines_of(answer.routes), start=1):
        for place, (role, stop) in enumerate(roles_of(stops)):
            feature = _anchor_feature(stop)
            feature["properties"]["role"] = role
            name = f"{role}-{place}" if role == "via" else role
            features.append({**feature, "id": f"route-{number}-{name}"})
        positions = [_position(stop) for stop in stops]
        joining = [each for each in answer.routes if _joins(each, positions)]
        told = {} if line else {"note": say("export.straight_line", answer.language)}
        features.append({
            "type": "Feature",
            "id": f"route-{number}",
            "geometry": {"type": "LineString", "coordinates": line or positions},
            "properties": {
                "role": "route",
                "straight": line is None,
                **told,
                "ways": [_way(each) for each in joining],
            },
        })  # fmt: skip
    return features


def _day_features(answer: FinishedAnswer) -> list[dict[str, Any]]:
    """Return where a planned day begins and ends, if that was named, and its line over the stops.

    The line is straight from one to the next.
    """
    places = {place["id"]: place for place in answer.places if has_sane_axes(place)}
    ids = places_of(answer.outing)
    stops: list[Place | DayEnd] = [places[id] for id in ids if id in places]
    start, end = day_ends(answer.outing)
    features = list[dict[str, Any]]()
    named = {"start": start, "end": end if end != start else None}
    for role, point in named.items():
        if point:
            properties = {"name": point["name"], "role": role}
            features.append(_feature(f"day-{role}", point["wgs84"], properties))
    around = [*([start] if start else []), *stops, *([end] if end else [])]
    if (start or end) and stops:
        note = say("export.straight_line", answer.language)
        shape = {"type": "LineString", "coordinates": [_position(point) for point in around]}
        features.append({
            "type": "Feature", "id": "day", "geometry": shape,
            "properties": {"role": "route", "straight": True, "note": note, "ways": []},
        })  # fmt: skip
    return features


def _joins(route: Route, positions: Sequence[Sequence[float]]) -> bool:
    return [_position(stop) for stop in _stops(route)] == positions


def _way(route: Route) -> dict[str, Any]:
    return {key: route.get(key) for key in ("mode", "distance_m", "duration_s", "url")}


def _position(anchor: Anchor | Place | DayEnd) -> list[float]:
    point = anchor["wgs84"]
    return [round(point["lng"], _DECIMALS), round(point["lat"], _DECIMALS)]


def _positions(features: Iterable[dict[str, Any]]) -> list[Sequence[float]]:
    """Return every position of points and lines."""
    shapes = [feature["geometry"] for feature in features]
    return [
        position
        for shape in shapes
        for position in (
            [shape["coordinates"]] if shape["type"] == "Point" else shape["coordinates"]
        )
    ]


def has_sane_axes(place: Place | Anchor | DayEnd) -> bool:
    """Tell whether the coordinates are degrees, and in China where the map says it is China."""
    lng, lat = place["wgs84"]["lng"], place["wgs84"]["lat"]
    if not (isfinite(lng) and isfinite(lat)) or abs(lng) > 180 or abs(lat) > 90:
        return False
    location: Location | None = cast(Any, place).get("location")
    if location is None or location["crs"] != "GCJ-02":
        return True
    return _CHINA_LNG[0] <= lng <= _CHINA_LNG[1] and _CHINA_LAT[0] <= lat <= _CHINA_LAT[1]


def _anchor_feature(anchor: Anchor) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": anchor["name"], "role": "anchor"}
    if english := anchor.get("name_en"):
        properties["name_en"] = english
    if location := anchor.get("location"):
        properties["gcj02"] = _gcj02(location)
    return _feature("anchor", anchor["wgs84"], properties)


def _attribution(maps: Sequence[str]) -> str:
    return say("records.attribution", "zh", maps=owners(maps, "zh"))


def _place_feature(place: Place) -> dict[str, Any]:
    properties: dict[str, Any] = {
        key: value for key, value in place.items() if key not in _NO_PROPERTIES
    }
    properties |= {
        "role": "place",
        "gcj02": _gcj02(place["location"]),
        "attribution": _attribution(maps_of([place])),
    }
    return _feature(place["id"], place["wgs84"], properties)


def _gcj02(location: Location) -> dict[str, float] | None:
    if location["crs"] != "GCJ-02":
        return None
    return {"lng": location["lng"], "lat": location["lat"]}


def _feature(identity: str, point: Wgs84, properties: dict[str, Any]) -> dict[str, Any]:
    coordinates = [round(point["lng"], _DECIMALS), round(point["lat"], _DECIMALS)]
    geometry = {"type": "Point", "coordinates": coordinates}
    return {"type": "Feature", "id": identity, "geometry": geometry, "properties": properties}


def _bounds(points: Iterable[Sequence[float]]) -> list[float]:
    """Return [west, south, east, north]."""
    lngs, lats = zip(*points, strict=True)
    return [min(lngs), min(lats), max(lngs), max(lats)]

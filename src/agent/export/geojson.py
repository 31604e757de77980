"""Export places as a GeoJSON FeatureCollection (RFC 7946: WGS-84, longitude first)."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from geojson_pydantic import Feature, FeatureCollection, Point

from agent.evidence.types import Anchor, Location, Place
from agent.evidence.types import Point as Wgs84
from agent.export.finished import FinishedAnswer
from agent.texts import say

AMAP_ATTRIBUTION = say("records.attribution", "zh")
_DECIMALS = 7
_CHINA_LNG, _CHINA_LAT = (73.0, 136.0), (3.0, 54.0)


def feature_collection(
    places: Sequence[Place],
    *,
    anchor: Anchor | None = None,
    query: str | None = None,
    provider: str = "amap",
    attribution: str = AMAP_ATTRIBUTION,
    generated_at: str | None = None,
) -> dict[str, Any]:
    """Return a validated FeatureCollection: the anchor first, then each place as a point.

    Foreign members: query, provider, attribution, generated_at (ISO 8601, UTC) and, where a
    record's coordinates cannot be right (swapped, not finite), `omitted` with its ids.
    """
    features = [_anchor_feature(anchor)] if anchor and has_sane_axes(anchor) else []
    features += [_place_feature(place, attribution) for place in places if has_sane_axes(place)]
    collection: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if features:
        collection["bbox"] = _bounds(f["geometry"]["coordinates"] for f in features)
    collection |= {
        "query": query,
        "provider": provider,
        "attribution": attribution,
        "generated_at": generated_at or datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if omitted := [place["id"] for place in places if not has_sane_axes(place)]:
        collection["omitted"] = omitted
    FeatureCollection[Feature[Point, dict[str, Any]]].model_validate(collection)
    return collection


def answer_geojson(answer: FinishedAnswer) -> str:
    """Return an answer's collection as text; made from its places where the run left none."""
    collection = answer.geojson or feature_collection(
        answer.places, query=answer.question, generated_at=answer.generated_at
    )
    return json.dumps(collection, ensure_ascii=False, indent=2)


def has_sane_axes(place: Place | Anchor) -> bool:
    """Tell whether the coordinates are degrees, and in China where the map says it is China."""
    lng, lat = place["wgs84"]["lng"], place["wgs84"]["lat"]
    if not (isfinite(lng) and isfinite(lat)) or abs(lng) > 180 or abs(lat) > 90:
        return False
    location = place.get("location")
    if location is None or location["crs"] != "GCJ-02":
        return True
    return _CHINA_LNG[0] <= lng <= _CHINA_LNG[1] and _CHINA_LAT[0] <= lat <= _CHINA_LAT[1]


def _anchor_feature(anchor: Anchor) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": anchor["name"], "role": "anchor"}
    if location := anchor.get("location"):
        properties["gcj02"] = _gcj02(location)
    return _feature("anchor", anchor["wgs84"], properties)


def _place_feature(place: Place, attribution: str) -> dict[str, Any]:
    properties: dict[str, Any] = {
        key: value for key, value in place.items() if key not in ("id", "wgs84", "location")
    }
    properties |= {
        "role": "place",
        "gcj02": _gcj02(place["location"]),
        "attribution": attribution,
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

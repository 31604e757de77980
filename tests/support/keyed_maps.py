"""Stand in for the hosted map servers of Tencent and Mapbox, by the schemas that they publish."""

from collections.abc import Mapping
from typing import Any

NAMES = {
    "东直门": (39.9414, 116.4335),
    "机场": (40.0801, 116.6031),
    "王府井": (39.9138, 116.4112),
    "咖啡一号": (39.9140, 116.4120),
    "故宫博物院": (39.9180, 116.3970),
}


def tencent(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply as Tencent's WebService has it, with its status."""
    if name.startswith("place"):
        words = str(asked["keyword"])
        if words == "busy":
            return {"status": 120, "message": "此key每秒请求量已达到上限"}
        rows = [_poi(at, key) for at, key in enumerate(NAMES) if words in key]
        return {"status": 0, "message": "Success", "count": len(rows), "data": rows}
    bus = {"mode": "TRANSIT", "distance": 9000, "lines": [{
        "title": "机场线", "geton": {"title": "东直门"}, "getoff": {"title": "机场"},
        "station_count": 3}]}  # fmt: skip
    drive = {"instruction": "沿机场路行驶", "distance": 24000}
    route = {
        "distance": 31000 if asked.get("policy") else 27000,
        "duration": 52,
        "polyline": [39.9414, 116.4335, 138700, 169600],
        "steps": [bus if name == "directionTransit" else drive],
    }
    return {"status": 0, "message": "Success", "result": {"routes": [route]}}


def _poi(at: int, name: str) -> dict[str, Any]:
    lat, lng = NAMES[name]
    return {
        "id": f"t{at}", "title": name, "address": "某街1号", "category": "美食:咖啡厅",
        "location": {"lat": lat, "lng": lng},
        "ad_info": {"province": "北京市", "city": "北京市", "district": "东城区"},
    }  # fmt: skip


def mapbox(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply as Mapbox's Search Box and Directions have it."""
    if name == "search_and_geocode_tool":
        around = "proximity" in asked
        names = (
            ["Café Eins", "Café Zu"] if around else [] if asked["q"] == "Nowhere" else [asked["q"]]
        )
        return {"type": "FeatureCollection", "features": list(map(_feature, names))}
    ends = [[point["longitude"], point["latitude"]] for point in asked["coordinates"]]
    line = {"type": "LineString", "coordinates": ends}
    route = {"distance": 1234.5, "duration": 600.2, "geometry": line, "instructions": ["Go north."]}
    return {"routes": [route], "waypoints": []}


def _feature(name: str) -> dict[str, Any]:
    about = {
        "mapbox_id": name.casefold(), "name": name, "full_address": "Hauptstr. 1, Berlin",
        "poi_category": ["café", "food"], "context": {"place": {"name": "Berlin"}},
        "operational_status": "closed" if name == "Café Zu" else "active",
    }  # fmt: skip
    at = [13.41, 52.52] if name == "Alexanderplatz" else [13.405, 52.521]
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": at},
        "properties": about,
    }

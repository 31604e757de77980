"""Stand in for the hosted map servers of Tencent and Mapbox, by the schemas that they publish."""

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from mcp.server.lowlevel import Server
from mcp.types import TextContent, Tool
from starlette.types import Scope

from tests.support.hut_service import mcp_address

KEY = "key-of-maps-7f3a"
Answer = Callable[[str, Mapping[str, Any]], dict[str, Any]]
Asked = list[tuple[str, Mapping[str, Any]]]
_TEXT, _POINT = {"type": "string"}, {
    "type": "object",
    "properties": {"longitude": {"type": "number"}, "latitude": {"type": "number"}},
    "required": ["longitude", "latitude"],
}  # fmt: skip


def tool(name: str, *needed: str, **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(needed)}
    return Tool(name=name, description=name, inputSchema=schema)


TENCENT_TOOLS = [
    tool("geocoder", "address", address=_TEXT),
    tool("placeSuggestion", "keyword", keyword=_TEXT, region=_TEXT),
    tool("placeSearchNearby", "location", "keyword", location=_TEXT, keyword=_TEXT, radius=_TEXT),
    tool("directionDriving", "from", "to", **{"from": _TEXT, "to": _TEXT, "policy": _TEXT}),
    *(
        tool(f"direction{mode}", "from", "to", **{"from": _TEXT, "to": _TEXT})
        for mode in ("Walking", "Bicycling", "Transit")
    ),
]
MAPBOX_TOOLS = [
    tool(
        "search_and_geocode_tool", "q",
        q=_TEXT, language=_TEXT, proximity=_POINT, country={"type": "array", "items": _TEXT},
        types={"type": "array", "items": _TEXT}, auto_complete={"type": "boolean"},
    ),
    tool(
        "directions_tool", "coordinates",
        coordinates={"type": "array", "items": _POINT}, routing_profile=_TEXT, exclude=_TEXT,
        depart_at=_TEXT, arrive_by=_TEXT,
        geometries={"type": "string", "enum": ["none", "geojson"]},
    ),
]  # fmt: skip
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


def tencent_address(
    asked: Asked, answer: Answer = tencent
) -> contextlib.AbstractContextManager[str]:
    """Yield the address of Tencent's stand-in, which takes its key in the query."""

    def has_key(scope: Scope) -> bool:
        query = parse_qs(scope["query_string"].decode())
        return (query.get("key"), query.get("format")) == ([KEY], ["1"])

    return mcp_address(_served(TENCENT_TOOLS, asked, answer), has_key)


def mapbox_address(asked: Asked) -> contextlib.AbstractContextManager[str]:
    """Yield the address of Mapbox's stand-in, which takes its token as a header."""

    def has_key(scope: Scope) -> bool:
        return dict(scope["headers"]).get(b"authorization", b"").decode() == f"Bearer {KEY}"

    return mcp_address(_served(MAPBOX_TOOLS, asked, mapbox), has_key)


def _served(tools: list[Tool], asked: Asked, answer: Answer) -> Server[Any]:
    server: Server[Any] = Server("maps")

    @server.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def list_tools() -> list[Tool]:
        return tools

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        asked.append((name, arguments))
        return [TextContent(type="text", text=json.dumps(answer(name, arguments)))]

    return server

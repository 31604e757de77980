"""Know Mapbox's hosted map server: its tools, by the schemas it publishes, and its replies."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.core.errors import ProviderError, ProviderRefused
from agent.core.outside import objects, whole_or_none
from agent.core.redaction import scrub
from agent.evidence.geo import location_at
from agent.evidence.types import Crs, Location, Place, RouteStep, TravelMode, WayWish
from agent.mcp.keyed import Request, Travel, Way
from agent.mcp.map_server import Catalogue, expected_tool
from agent.mcp.new_records import MOST_STEPS, NamedStop, new_place
from agent.mcp.osm.records import mark_link, way_link
from agent.mcp.records import Presentation, lnglat, text_or_none
from agent.texts import LANGUAGES, Language

PROVIDER = "mapbox"
PRESENTATION = Presentation(provider=PROVIDER, names=dict.fromkeys(LANGUAGES, "Mapbox"))
_TEXT, _LIST, _POINT = {"type": "string"}, {"type": "array"}, {"type": "object"}
_SEARCH, _WAY = "search_and_geocode_tool", "directions_tool"
CATALOGUE = Catalogue((
    expected_tool(
        _SEARCH, "Find a place by its name or address, or kinds of places around a position",
        ["q"], q=_TEXT, language=_TEXT, proximity=_POINT, country=_LIST, types=_LIST,
    ),
    expected_tool(
        _WAY, "Plan a way over positions", ["coordinates"], coordinates=_LIST,
        routing_profile=_TEXT, geometries=_TEXT, exclude=_TEXT, depart_at=_TEXT, arrive_by=_TEXT,
    ),
))  # fmt: skip
_PROFILES: Mapping[TravelMode, str] = {
    "driving": "mapbox/driving-traffic", "walking": "mapbox/walking", "bicycling": "mapbox/cycling",
}  # fmt: skip
_USUAL_TRAFFIC = "mapbox/driving"
_CLOSED = {"closed", "permanently_closed", "temporarily_closed"}


def failure(tool: str, text: str) -> ProviderError:
    """Return the error of a failed call: of a refused token, or of the question."""
    said = scrub(text)[:300]
    refused = any(word in said for word in ("401", "403", "Unauthorized", "Forbidden"))
    code = "map_key_invalid" if refused else "map_bad_request"
    return ProviderRefused(PROVIDER, f"{tool}: {said}", code=code)


class MapboxService:
    """Mapbox's tools, which take positions as objects."""

    provider = PROVIDER
    crs: Crs = "WGS-84"
    heeds: frozenset[WayWish] = frozenset({"motorway", "toll", "ferry", "depart_at", "arrive_by"})
    modes: tuple[TravelMode, ...] = tuple(_PROFILES)

    def find(self, name: str, city: str | None, country: str | None, language: Language) -> Request:
        """Return what finds a place by its name or address."""
        named = name if not city or city.casefold() in name.casefold() else f"{name}, {city}"
        return _SEARCH, {"q": named, "language": language, "country": [country] if country else ""}

    def around(self, at: Location, word: str, language: Language) -> Request:
        """Return what finds a kind of place around a position."""
        return _SEARCH, {"q": word, "language": language, "proximity": _point(at), "types": ["poi"]}

    def way(self, start: Location, end: Location, travel: Travel) -> Request:
        """Return what plans a way; by when to arrive it takes for usual traffic only."""
        profile = _USUAL_TRAFFIC if "arrive_by" in travel.at else _PROFILES[travel.mode]
        return _WAY, {
            "coordinates": [_point(start), _point(end)],
            "geometries": "geojson",
            "routing_profile": profile,
            "exclude": ",".join(travel.avoid),
            **travel.at,
        }

    def asked_way(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> tuple[TravelMode, list[Location]] | None:
        """Return the mode and the stops of a call for a way."""
        profile = arguments.get("routing_profile")
        usual: TravelMode = "driving"
        mode = next((mode for mode, name in _PROFILES.items() if name == profile), usual)
        asked = objects(arguments.get("coordinates"))
        stops = [_at([point.get("longitude"), point.get("latitude")]) for point in asked]
        return (mode, [stop for stop in stops if stop]) if tool == _WAY else None

    def places(self, reply: Mapping[str, Any]) -> list[Place]:
        """Return the places of a reply but those that are closed."""
        return [place for row in objects(reply.get("features")) if (place := _place(row))]

    def read_way(self, reply: Mapping[str, Any]) -> Way:
        """Return the first way."""
        way = next(iter(objects(reply.get("routes"))), {})
        said = way.get("instructions")
        steps = [
            RouteStep(instruction=text, distance_m=None)
            for each in (said if isinstance(said, list) else [])[:MOST_STEPS]
            if (text := text_or_none(each))
        ]
        shape = way.get("geometry")
        points = shape.get("coordinates") if isinstance(shape, dict) else None
        line = [at for each in points if (at := _at(each))] if isinstance(points, list) else []
        metres, seconds = (whole_or_none(way.get(key)) for key in ("distance", "duration"))
        return Way(metres, seconds or None, steps, [[at["lng"], at["lat"]] for at in line])

    def way_link(self, mode: TravelMode, stops: Sequence[NamedStop]) -> str:
        """Return a page of the way; Mapbox has none of its own."""
        return way_link(mode, [at for _, at in stops])


def _place(row: Mapping[str, Any]) -> Place | None:
    shape, about = row.get("geometry"), row.get("properties")
    location = _at(shape.get("coordinates")) if isinstance(shape, dict) else None
    known = about if isinstance(about, dict) else {}
    name = text_or_none(known.get("name_preferred")) or text_or_none(known.get("name"))
    if location is None or name is None or str(known.get("operational_status")) in _CLOSED:
        return None
    context, kinds = known.get("context"), known.get("poi_category")
    town = context.get("place") if isinstance(context, dict) else None
    return new_place(
        id=f"{PROVIDER}:{text_or_none(known.get('mapbox_id')) or lnglat(location)}",
        name=name,
        location=location,
        url=mark_link(location),
        address=text_or_none(known.get("full_address")),
        category=text_or_none(kinds[0]) if isinstance(kinds, list) and kinds else None,
        city=text_or_none(town.get("name")) if isinstance(town, dict) else None,
    )


def _at(pair: Any) -> Location | None:
    lng, lat = (*pair, None, None)[:2] if isinstance(pair, list) else (None, None)
    return location_at(lng, lat, "WGS-84")


def _point(at: Location) -> dict[str, float]:
    return {"longitude": at["lng"], "latitude": at["lat"]}

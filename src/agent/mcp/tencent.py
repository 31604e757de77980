"""Know Tencent's hosted map server: its tools, by the schemas it publishes, and its replies."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from agent.core.errors import ProviderError, ProviderRefused, ProviderUnavailable, RateLimited
from agent.core.outside import finite, objects, whole_or_none
from agent.evidence.geo import location_at, parse_lnglat, wgs84_of
from agent.evidence.types import AvoidedRoad, Crs, Location, Place, RouteStep, TravelMode, WayWish
from agent.mcp.keyed import Request, Travel, Way
from agent.mcp.map_server import Catalogue, expected_tool
from agent.mcp.new_records import LONGEST_LINE, MOST_STEPS, NamedStop, new_place
from agent.mcp.records import NOT_FOUND, Presentation, text_or_none
from agent.texts import Language

PROVIDER = "tencent"
PRESENTATION = Presentation(provider=PROVIDER, names={"zh": "腾讯地图", "en": "Tencent Maps"})
_ENDS = {"from": "Start, lat,lng", "to": "End, lat,lng"}
_TOOLS: Mapping[TravelMode, str] = {
    "driving": "directionDriving", "walking": "directionWalking",
    "bicycling": "directionBicycling", "transit": "directionTransit",
}  # fmt: skip


def _tool(name: str, what: str, needed: Mapping[str, str], **more: str) -> dict[str, Any]:
    told = {**needed, **more}
    texts = {key: {"type": "string", "description": each} for key, each in told.items()}
    return expected_tool(name, what, needed, **texts)


CATALOGUE = Catalogue((
    _tool("placeSuggestion", "Find a place by its name or address in China",
          {"keyword": "Name or address"}, region="City"),
    _tool("placeSearchNearby", "Find a kind of place around a position in China",
          {"location": "lat,lng", "keyword": "Kind of place, in Chinese"}),
    _tool("directionDriving", "Plan a way by car", _ENDS,
          policy="AVOID_HIGHWAY for no motorway, LEAST_FEE for little toll"),
    _tool("directionWalking", "Plan a way on foot", _ENDS),
    _tool("directionBicycling", "Plan a way by bicycle", _ENDS),
    _tool("directionTransit", "Plan a way by bus and train", _ENDS),
))  # fmt: skip
_POLICIES: Mapping[AvoidedRoad, str] = {"motorway": "AVOID_HIGHWAY", "toll": "LEAST_FEE"}
_NOT_FOUND, _A_SECOND, _A_DAY = {347}, {120}, {121}
_OF_THE_KEY = {110, 111, 112, 113, 190, 199, 311}
_LINKS = {"driving": "drive", "walking": "walk", "bicycling": "bike", "transit": "bus"}
_SITE = "https://apis.map.qq.com/uri/v1"


def clean_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the latitude first, as a record's position has it last."""
    cleaned = CATALOGUE.cleaned(PROVIDER, tool, arguments)
    for name in ("location", *_ENDS):
        if point := parse_lnglat(str(cleaned.get(name))):
            cleaned[name] = f"{point[1]:.6f},{point[0]:.6f}"
    return cleaned


def clean_reply(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a good reply; raise the error that one with a status holds."""
    status = whole_or_none(reply.get("status")) or 0
    if status:
        raise _error(status, text_or_none(reply.get("message")) or "")
    return reply


def _error(status: int, message: str) -> ProviderError:
    said = f"{status} {message}"
    if status in _A_SECOND:
        return RateLimited(PROVIDER, said, code="map_rate")
    if status in _A_DAY:
        return RateLimited(PROVIDER, said, code="map_quota_day")
    if status >= 500:
        return ProviderUnavailable(PROVIDER, said, code="map_busy")
    key = "map_key_invalid" if status in _OF_THE_KEY else "map_bad_request"
    return ProviderRefused(PROVIDER, said, code=NOT_FOUND if status in _NOT_FOUND else key)


class TencentService:
    """Tencent's tools, which have the latitude first."""

    provider = PROVIDER
    crs: Crs = "GCJ-02"
    heeds: frozenset[WayWish] = frozenset(_POLICIES)
    modes: tuple[TravelMode, ...] = tuple(_TOOLS)

    def find(self, name: str, city: str | None, country: str | None, language: Language) -> Request:
        """Return what finds a place by its name or address."""
        return "placeSuggestion", {"keyword": name, "region": city or ""}

    def around(self, at: Location, word: str, language: Language) -> Request:
        """Return what finds a kind of place around a position."""
        return "placeSearchNearby", {"location": _latlng(at), "keyword": word}

    def way(self, start: Location, end: Location, travel: Travel) -> Request:
        """Return what plans a way."""
        policy = ",".join(_POLICIES[road] for road in travel.avoid if road in _POLICIES)
        return _TOOLS[travel.mode], {"from": _latlng(start), "to": _latlng(end), "policy": policy}

    def asked_way(
        self, tool: str, arguments: Mapping[str, Any]
    ) -> tuple[TravelMode, list[Location]] | None:
        """Return the mode and the ends of a call for a way."""
        mode = next((mode for mode, name in _TOOLS.items() if name == tool), None)
        points = [parse_lnglat(str(arguments.get(end))) for end in _ENDS]
        ends = [Location(lng=at[0], lat=at[1], crs="GCJ-02") for at in points if at]
        return (mode, ends) if mode else None

    def places(self, reply: Mapping[str, Any]) -> list[Place]:
        """Return the places of a reply."""
        return [place for row in objects(reply.get("data")) if (place := _place(row))]

    def read_way(self, reply: Mapping[str, Any]) -> Way:
        """Return the first way; its minutes as seconds."""
        result = reply.get("result")
        routes = objects(result.get("routes")) if isinstance(result, dict) else []
        way = next(iter(routes), {})
        minutes = whole_or_none(way.get("duration"))
        steps = [step for row in objects(way.get("steps"))[:MOST_STEPS] if (step := _step(row))]
        metres = whole_or_none(way.get("distance"))
        return Way(metres, minutes * 60 if minutes else None, steps, _line(way.get("polyline")))

    def way_link(self, mode: TravelMode, stops: Sequence[NamedStop]) -> str:
        """Return the page of a way from the first stop to the last."""
        (start, at), (end, to) = stops[0], stops[-1]
        ends = {"from": start, "fromcoord": _latlng(at), "to": end, "tocoord": _latlng(to)}
        return _link("routeplan", {"type": _LINKS[mode], **ends})


def _place(row: Mapping[str, Any]) -> Place | None:
    where, name = row.get("location"), text_or_none(row.get("title"))
    at = where if isinstance(where, dict) else {}
    location = location_at(at.get("lng"), at.get("lat"), "GCJ-02")
    if not location or not name or not (location["lng"] and location["lat"]):
        return None
    # A semicolon would begin a further part of the marker: another position, say.
    title = name.replace(";", " ")
    area = row.get("ad_info")
    town = {**area, **row} if isinstance(area, dict) else row
    category = text_or_none(row.get("category"))
    return new_place(
        id=f"{PROVIDER}:{text_or_none(row.get('id')) or _latlng(location)}",
        name=name,
        location=location,
        url=_link("marker", {"marker": f"coord:{_latlng(location)};title:{title}"}),
        address=text_or_none(row.get("address")),
        category=category.rpartition(":")[2] if category else None,
        district=text_or_none(town.get("district")),
        city=text_or_none(town.get("city")),
        open_time=text_or_none(row.get("open_time")),
    )


def _step(row: Mapping[str, Any]) -> RouteStep | None:
    metres = whole_or_none(row.get("distance"))
    if line := next(iter(objects(row.get("lines"))), None):
        on, off = (line.get(end) for end in ("geton", "getoff"))
        return RouteStep(
            instruction="",
            distance_m=metres,
            line=text_or_none(line.get("title")) or "",
            board_at=text_or_none(on.get("title")) if isinstance(on, dict) else None,
            leave_at=text_or_none(off.get("title")) if isinstance(off, dict) else None,
            stops=whole_or_none(line.get("station_count")),
        )
    text = text_or_none(row.get("instruction"))
    return RouteStep(instruction=text or "", distance_m=metres) if text or metres else None


def _line(packed: Any) -> list[list[float]]:
    """Return the points of a line: the first as it is, each other by its difference from before."""
    numbers = [finite(each) for each in packed] if isinstance(packed, list) else []
    if len(numbers) % 2 or len(numbers) > 2 * LONGEST_LINE or None in numbers:
        return []
    whole = [number or 0.0 for number in numbers]
    for at in range(2, len(whole)):
        whole[at] = whole[at - 2] + whole[at] / 1e6
    pairs = zip(whole[1::2], whole[::2], strict=True)
    line = [location_at(lng, lat, "GCJ-02") for lng, lat in pairs]
    points = [wgs84_of(at) for at in line if at]
    return [[at["lng"], at["lat"]] for at in points] if len(points) == len(line) else []


def _latlng(at: Location) -> str:
    return f"{at['lat']:.6f},{at['lng']:.6f}"


def _link(page: str, values: Mapping[str, str]) -> str:
    return f"{_SITE}/{page}?{urlencode({**values, 'referer': 'tanlu'}, safe=',;:')}"

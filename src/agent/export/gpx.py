"""Export places as GPX 1.1 waypoints (WGS-84), for navigation devices and apps."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from agent.core.strings import valid_text
from agent.evidence.markdown import open_url
from agent.evidence.mentions import day_ends
from agent.evidence.names import titled_name
from agent.evidence.records import HOME_MAP, kind_text, maps_of, owners
from agent.evidence.types import Anchor, DayEnd, Outing, Place, Route
from agent.export.finished import FinishedAnswer
from agent.export.geojson import check_drawable, has_sane_axes, roles_of, route_stops
from agent.texts import Language, say

_NAMESPACE = "http://www.topografix.com/GPX/1/1"


def answer_gpx(answer: FinishedAnswer) -> str:
    """Return an answer's document; raise AgentError (`nothing_to_draw`) where it is empty."""
    check_drawable(answer)
    return gpx(
        answer.places,
        title=answer.question,
        generated_at=answer.generated_at,
        outing=answer.outing,
        language=answer.language,
        routes=answer.routes,
    )


def gpx(
    places: Sequence[Place],
    *,
    title: str,
    generated_at: str,
    outing: Outing | None = None,
    language: Language = "zh",
    routes: Sequence[Route] = (),
) -> str:
    """Return the document; places with impossible coordinates are left out.

    A planned day is a route over its stops, in their order, besides the waypoints. Of other ways
    the ends are waypoints; one whose line the map gives is a track, too.
    """
    root = Element("gpx", {"version": "1.1", "creator": "tanlu", "xmlns": _NAMESPACE})
    about = SubElement(root, "metadata")
    _text(about, "name", title)
    _text(
        about,
        "desc",
        say(
            "records.attribution",
            language,
            maps=owners(maps_of([*places, *routes]) or [HOME_MAP], language),
        ),
    )
    _text(about, "time", generated_at)
    for place in places:
        if has_sane_axes(place):
            _waypoint(root, place, language)
    for stops in route_stops(routes):
        for role, stop in roles_of(stops):
            waypoint = SubElement(root, "wpt", _at(stop))
            _text(waypoint, "name", stop["name"])
            _text(waypoint, "type", say(f"export.route_{role}", language))
    if outing:
        _route(root, outing, {place["id"]: place for place in places})
    for route in routes:
        _track(root, route)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _track(root: Element, route: Route) -> None:
    if len(line := route.get("line", [])) > 1:
        track = SubElement(root, "trk")
        _text(track, "name", f"{route['origin']} → {route['destination']}")
        segment = SubElement(track, "trkseg")
        for lng, lat in line:
            SubElement(segment, "trkpt", {"lat": f"{lat:.7f}", "lon": f"{lng:.7f}"})


def _route(root: Element, outing: Outing, places: Mapping[str, Place]) -> None:
    route = SubElement(root, "rte")
    _text(route, "name", f"{outing['day']} {outing['begins']}–{outing['ends']}")
    points: list[tuple[Place | DayEnd | None, str]] = [
        (places.get(stop.get("place", "")), f"{stop['begins']} {stop['name']}")
        for stop in outing["stops"]
    ]
    start, end = day_ends(outing)
    outer = [(each, at) for each, at in ((start, outing["begins"]), (end, outing["ends"]))]
    named = [(each, f"{at} {each['name']}" if each else "") for each, at in outer]
    for place, text in [named[0], *points, named[1]]:
        if place and has_sane_axes(place):
            _text(SubElement(route, "rtept", _at(place)), "name", text)


def _at(place: Place | Anchor | DayEnd) -> dict[str, str]:
    point = place["wgs84"]
    return {"lat": f"{point['lat']:.7f}", "lon": f"{point['lng']:.7f}"}


def _waypoint(root: Element, place: Place, language: Language) -> None:
    waypoint = SubElement(root, "wpt", _at(place))
    _text(waypoint, "name", titled_name(place, language))
    _text(waypoint, "desc", place["address"])
    if url := open_url(place["url"]):
        SubElement(waypoint, "link", {"href": url})
    _text(waypoint, "type", kind_text(place, language))


def _text(parent: Element, tag: str, value: str | None) -> None:
    if value:
        SubElement(parent, tag).text = valid_text(value)

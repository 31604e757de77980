import json
from collections.abc import Callable
from typing import Any, cast
from xml.etree.ElementTree import fromstring

import pytest

from agent.core.errors import AgentError
from agent.evidence.types import Anchor, Location, Place, Point, Route
from agent.export.finished import FinishedAnswer
from agent.export.geojson import answer_geojson, feature_collection
from agent.export.gpx import answer_gpx, gpx
from tests.unit.export_samples import HOSTILE, answer, place


def test_places_are_points_in_wgs84_with_their_gcj02_position_beside() -> None:
    found = feature_collection([place(1)], query="遛娃", generated_at="2026-11-21T00:00:00+00:00")
    feature = found["features"][0]
    assert feature["id"] == "amap:B1"
    assert feature["geometry"]["type"] == "Point"
    lng, lat = feature["geometry"]["coordinates"]
    assert abs(lng - place(1)["wgs84"]["lng"]) < 1e-6
    assert abs(lat - place(1)["wgs84"]["lat"]) < 1e-6
    assert feature["properties"]["gcj02"] == {"lng": 116.4115, "lat": 39.915}
    assert feature["properties"]["attribution"] == "数据 © 高德地图"
    assert found["query"] == "遛娃"
    assert found["provider"] == "amap"
    assert found["generated_at"] == "2026-11-21T00:00:00+00:00"


def test_what_a_card_says_of_its_bullet_is_no_property_of_a_place() -> None:
    shown = cast(Place, {**place(1), "told": [[0, "和平菓局 — "]]})
    assert feature_collection([shown])["features"] == feature_collection([place(1)])["features"]


def test_a_place_of_another_map_has_its_own_owner_and_no_chinese_datum() -> None:
    abroad = Location(lng=13.4, lat=52.5, crs="WGS-84")
    cafe = {**place(2), "id": "osm:node/1", "location": abroad, "wgs84": Point(lng=13.4, lat=52.5)}
    found = feature_collection([place(1), cast(Place, cafe)])
    told = found["features"][1]["properties"]
    assert (told["gcj02"], told["attribution"]) == (None, "数据 © OpenStreetMap 贡献者 (ODbL)")
    assert found["provider"] == "amap,osm"
    assert found["attribution"] == "数据 © 高德地图，OpenStreetMap 贡献者 (ODbL)"


def test_the_box_holds_anchor_and_places() -> None:
    anchor = Anchor(name="王府井", wgs84=Point(lng=116.40, lat=39.91))
    found = feature_collection([place(1), place(9)], anchor=anchor)
    assert found["features"][0]["properties"] == {"name": "王府井", "role": "anchor"}
    west, south, east, north = found["bbox"]
    for feature in found["features"]:
        lng, lat = feature["geometry"]["coordinates"]
        assert west <= lng <= east
        assert south <= lat <= north


def test_swapped_axes_are_left_out_and_named() -> None:
    swapped = place(3, wgs84=Point(lng=39.9, lat=116.4))
    beyond = place(4, wgs84=Point(lng=float("nan"), lat=39.9))
    found = feature_collection([place(1), swapped, beyond])
    assert [f["id"] for f in found["features"]] == ["amap:B1"]
    assert found["omitted"] == ["amap:B3", "amap:B4"]


def test_a_place_outside_china_may_lie_anywhere() -> None:
    tower = place(
        5,
        wgs84=Point(lng=-0.12, lat=51.5),
        location=Location(lng=-0.12, lat=51.5, crs="WGS-84"),
    )
    found = feature_collection([tower])
    assert found["features"][0]["geometry"]["coordinates"] == [-0.12, 51.5]
    assert found["features"][0]["properties"]["gcj02"] is None


def test_no_places_are_an_empty_collection_without_a_box() -> None:
    found = feature_collection([])
    assert found["features"] == []
    assert "bbox" not in found


def routed(*modes: str, **changed: Any) -> FinishedAnswer:
    """An answer with ways from one end to the other, without a place."""
    ends = [
        Anchor(name=name, wgs84=Point(lng=lng, lat=39.91))
        for name, lng in (("王府井", 116.41), ("三里屯", 116.45))
    ]
    routes = [
        Route(id=mode, mode=mode, origin="王府井", destination="三里屯", distance_m=4000,
              duration_s=3000, steps=[], url="https://uri.amap.com/navigation", source="a0-0",
              fetched_at="2026-11-21T11:40:00+00:00", ends=ends)
        for mode in modes
    ]  # fmt: skip
    return answer(places=[], routes=routes, **changed)


def test_a_route_is_its_two_ends_and_a_line_that_says_it_is_straight() -> None:
    written = json.loads(answer_geojson(routed("walking", "transit")))
    shapes = [(f["properties"]["role"], f["geometry"]["type"]) for f in written["features"]]
    assert shapes == [("start", "Point"), ("end", "Point"), ("route", "LineString")]
    line = written["features"][2]
    assert line["geometry"]["coordinates"] == [[116.41, 39.91], [116.45, 39.91]]
    assert line["properties"]["straight"] is True
    assert "直线" in line["properties"]["note"]
    assert [way["mode"] for way in line["properties"]["ways"]] == ["walking", "transit"]
    assert written["bbox"] == [116.41, 39.91, 116.45, 39.91]


def test_a_stop_on_the_way_is_a_point_between_its_ends() -> None:
    route = routed("walking").routes[0]
    via = [Anchor(name="东单", wgs84=Point(lng=116.42, lat=39.9))]
    drawn = answer(places=[], routes=[Route(**{**route, "via": via})])
    *stops, line = json.loads(answer_geojson(drawn))["features"]
    assert [stop["properties"]["role"] for stop in stops] == ["start", "via", "end"]
    assert line["geometry"]["coordinates"][1] == [116.42, 39.9]


def test_a_way_whose_line_is_known_is_that_line() -> None:
    route = routed("walking").routes[0]
    line = [[116.41, 39.91], [116.43, 39.92], [116.45, 39.91]]
    drawn = answer(places=[], routes=[Route(**{**route, "line": line})])
    written = json.loads(answer_geojson(drawn))["features"][2]
    assert written["geometry"]["coordinates"] == line
    assert written["properties"]["straight"] is False
    track = fromstring(answer_gpx(drawn)).findall("{*}trk/{*}trkseg/{*}trkpt")
    assert [[float(p.attrib["lon"]), float(p.attrib["lat"])] for p in track] == line
    assert "note" not in written["properties"]


def test_a_route_s_ends_are_waypoints() -> None:
    root = fromstring(answer_gpx(routed("walking", "transit")))
    points = [(p.findtext("{*}name"), p.findtext("{*}type")) for p in root.findall("{*}wpt")]
    assert points == [("王府井", "起点"), ("三里屯", "终点")]


@pytest.mark.parametrize("export", [answer_geojson, answer_gpx])
def test_an_answer_without_a_position_says_that_there_is_nothing_to_draw(
    export: Callable[[FinishedAnswer], str],
) -> None:
    with pytest.raises(AgentError, match="没有可画的"):
        export(answer(places=[]))


def test_gpx_holds_waypoints_and_escapes_names() -> None:
    written = gpx(
        [place(1, HOSTILE + "\x1b"), place(2, url="javascript:alert(1)")],
        title="遛娃 & more",
        generated_at="2026-11-21T00:00:00Z",
    )
    root = fromstring(written)
    names = {"g": "http://www.topografix.com/GPX/1/1"}
    waypoints = root.findall("g:wpt", names)
    assert waypoints[0].findtext("g:name", namespaces=names) == HOSTILE
    assert abs(float(waypoints[0].attrib["lon"]) - place(1)["wgs84"]["lng"]) < 1e-6
    assert waypoints[1].find("g:link", names) is None
    assert "javascript" not in written

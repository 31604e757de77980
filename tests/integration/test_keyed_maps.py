"""Tencent and Mapbox, by key, before stand-ins written from their published schemas."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from langchain_core.messages import ToolCall
from mcp.server.lowlevel import Server
from mcp.types import TextContent, Tool
from starlette.types import Scope

from agent.core.calls import Calls
from agent.core.errors import ConfigurationError
from agent.evidence.agreement import disagreement
from agent.evidence.maps import valid_map_task
from agent.evidence.types import MapTask, Place
from agent.graph import build_graph
from agent.mcp.map import Maps, build_map_client, probe_map
from agent.mcp.map_server import MapServer
from agent.mcp.new_records import new_place
from agent.mcp.records import MapOptions, MapResult
from agent.mcp.servers import (
    amap_server,
    map_names,
    mapbox_server,
    osm_server,
    tencent_server,
)
from agent.mcp.tencent import TencentService
from agent.sample.services import amap as amap_service
from agent.sample.services.amap import AmapService
from agent.settings import Settings
from agent.texts import say
from tests.integration.hut_service import mcp_address
from tests.integration.osm_service import osm_service, osm_settings
from tests.integration.test_question_kept import Spoken, plan
from tests.support.keyed_maps import mapbox, tencent
from tests.support.lab import Lab, answer_of, laboratory
from tests.support.map_fixtures import meter, script_fixture
from tests.support.served import serve_in_thread

__all__ = ["script_fixture"]

KEY = "key-of-maps-7f3a"
Answer = Callable[[str, Mapping[str, Any]], dict[str, Any]]
Asked = list[tuple[str, Mapping[str, Any]]]
_TEXT = {"type": "string"}
_POINT = {
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


@asynccontextmanager
async def asking(*entries: MapServer) -> AsyncIterator[Maps]:
    maps = Maps([build_map_client(Settings(), Calls(), server=entry) for entry in entries])
    try:
        yield maps
    finally:
        await maps.aclose()


@contextmanager
def tencent_entry(asked: Asked, answer: Any = tencent, key: str = KEY) -> Iterator[MapServer]:
    with tencent_address(asked, answer) as url:
        yield tencent_server(Settings(tencent_map_key=key, tencent_mcp_url=url, amap_qps=1000))


@contextmanager
def mapbox_entry(asked: Asked) -> Iterator[MapServer]:
    with mapbox_address(asked) as url:
        yield mapbox_server(Settings(mapbox_access_token=KEY, mapbox_mcp_url=url))


async def result_of(maps: Maps, task: Mapping[str, Any], language: Any = "zh") -> MapResult:
    valid = cast(MapTask, {**task, **(valid_map_task(task) or {})})
    options = MapOptions(prefix="a0", language=language)
    return await maps.map_result(
        valid, "q", options=options, meter=meter(), on_call=lambda call: None
    )


async def test_tencent_s_places_and_ways_are_records_of_its_own() -> None:
    asked: Asked = []
    with tencent_entry(asked) as entry:
        async with asking(entry) as maps:
            near = await result_of(
                maps, {"intent": "nearby", "place": "王府井", "keywords": ["咖啡"], "country": "cn"}
            )
            ride = await result_of(
                maps,
                {"intent": "route", "origin": "东直门", "destination": "机场", "mode": "transit"},
            )
    [place] = near.places
    assert (place["id"], place["name"], place["category"]) == ("tencent:t3", "咖啡一号", "咖啡厅")
    assert place["location"] == {"lng": 116.412, "lat": 39.914, "crs": "GCJ-02"}
    assert (place["distance_from"], near.provider, near.gaps) == ("王府井", "tencent", [])
    assert [source["provider"] for source in near.sources] == ["腾讯地图"]
    assert asked[1] == (
        "placeSearchNearby",
        {"location": "39.913800,116.411200", "keyword": "咖啡"},
    )
    [route] = ride.routes
    assert (route["distance_m"], route["duration_s"]) == (27000, 3120)
    assert route["steps"][0]["line"] == "机场线"
    assert route["steps"][0]["stops"] == 3
    assert route["line"][1] == pytest.approx([116.5971, 40.0788], abs=0.002)


async def test_a_model_s_calls_are_records_too() -> None:
    result, other = MapResult(intent="route", provider="tencent"), MapResult(provider="mapbox")
    points = [{"longitude": 13.41, "latitude": 52.52}, {"longitude": 13.405, "latitude": 52.521}]
    asked: Asked = []
    with tencent_entry(asked) as one, mapbox_entry([]) as two:
        async with asking(one, two) as maps:
            for of, tool, arguments in (
                (result, "placeSuggestion", {"keyword": "王府井"}),
                (result, "directionWalking", {"from": "a0-0", "to": "39.914,116.412"}),
                (other, "search_and_geocode_tool", {"q": "Alexanderplatz"}),
                (other, "directions_tool", {"coordinates": points}),
            ):
                tools = await maps.tools(
                    of, "q", options=MapOptions(prefix="a0", language="en"), meter=meter(),
                    on_call=lambda call: None,
                )  # fmt: skip
                call = ToolCall(name=tool, args=arguments, id="c", type="tool_call")
                message = await tools.call(call)
                assert str(message.content).startswith("[^a0-"), message.content
    assert asked[1][1] == {"from": "39.913800,116.411200", "to": "39.914000,116.412000"}
    assert [(r["mode"], r["origin"], r["destination"]) for r in result.routes] == [
        ("walking", "王府井", "116.412000,39.914000")
    ]
    assert [(r["mode"], r["origin"]) for r in other.routes] == [("driving", "Alexanderplatz")]


@pytest.mark.parametrize(("mode", "policy"), [("no_motorway", "AVOID_HIGHWAY"),
                                              ("no_toll", "LEAST_FEE")])  # fmt: skip
async def test_a_way_without_motorways_is_asked_of_the_map_whose_ways_can_leave_them_out(
    mode: str, policy: str
) -> None:
    asked: Asked = []
    way = {"intent": "route", "origin": "东直门", "destination": "机场", "mode": "driving",
           "country": "cn"}  # fmt: skip
    amap = amap_server(Settings(amap_maps_api_key="k", amap_mcp_url="http://127.0.0.1:9/mcp"))
    with tencent_entry(asked) as entry:
        async with asking(amap, entry) as maps:
            result = await result_of(maps, {**way, "mode": mode, "avoid": ["fog"]})
            assert [one.provider for one in maps.covering("cn")] == ["amap", "tencent"]
    assert (result.provider, result.gaps) == ("tencent", [])
    assert asked[-1][1]["policy"] == policy
    assert [route["distance_m"] for route in result.routes] == [31000]


@pytest.mark.usefixtures("map_server_script")
async def test_what_a_map_cannot_leave_out_is_told() -> None:
    with serve_in_thread(AmapService().app) as service:
        async with asking(amap_server(Settings(amap_qps=1000), redirect=service.url)) as maps:
            way = {"intent": "route", "origin": "天安门", "destination": "王府井"}
            result = await result_of(maps, {**way, "mode": "driving", "avoid": ["motorway"]})
    [gap] = result.gaps
    unmet = say("map.unmet", "zh", wishes=say("map.avoid.motorway", "zh"))
    assert (gap["code"], gap["message"]) == ("map_unmet", unmet)


@pytest.mark.usefixtures("map_server_script")
async def test_an_address_that_the_map_lists_no_place_of_is_where_it_locates_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = {"pois": [], "suggestion": {"keywords": [], "cities": []}}
    monkeypatch.setitem(amap_service._ANSWERS, "/v3/place/text", lambda query: none)
    with serve_in_thread(AmapService().app) as service:
        async with asking(amap_server(Settings(amap_qps=1000), redirect=service.url)) as maps:
            found = await result_of(maps, {"intent": "poi", "place": "王府井"})
            lost = await result_of(maps, {"intent": "poi", "place": "子虚路一号"})
    assert [(place["name"], bool(place["wgs84"])) for place in found.places] == [("王府井", True)]
    assert [gap["code"] for gap in lost.gaps] == ["map_place_not_found"]


async def test_a_status_in_a_good_reply_is_the_error_that_it_stands_for() -> None:
    for answer, code in (
        ({"status": 347, "message": "查询无结果"}, "map_place_not_found"),
        ({"status": 190, "message": "无效的KEY"}, "map_key_invalid"),
        ({"status": 121, "message": "此key每日调用量已达到上限"}, "map_quota_day"),
        ({"status": 310, "message": "请求参数信息有误"}, "map_bad_request"),
        ({"status": 0, "data": []}, "map_place_not_found"),
        ({"status": 0, "data": "?"}, "map_place_not_found"),
    ):
        with tencent_entry([], lambda name, asked, answer=answer: answer) as entry:
            async with asking(entry) as maps:
                result = await result_of(maps, {"intent": "poi", "place": "没有"})
        assert [gap["code"] for gap in result.gaps] == [code]


@pytest.mark.parametrize(
    "line", [[1.7e308] * 8, [1.7976931348623157e308] * 8, [91, 0, 1, 1], [39.9, 116.4] * 5000]
)
def test_a_line_that_leaves_the_earth_or_has_no_end_is_none(line: list[float]) -> None:
    read = TencentService().read_way({"result": {"routes": [{"distance": 9, "polyline": line}]}})
    assert (read.distance_m, read.line) == (9, [])


def test_a_place_s_name_adds_no_part_to_the_address_of_its_marker() -> None:
    row = {"title": "A;coord:1,2;title:B", "location": {"lat": 39.9, "lng": 116.4}}
    [place] = TencentService().places({"data": [row]})
    assert place["name"] == row["title"]
    [marker] = parse_qs(urlsplit(place["url"]).query)["marker"]
    assert marker.split(";")[0] == "coord:39.900000,116.400000"
    assert marker.count(";") == 1


async def test_mapbox_finds_places_and_ways_outside_china_and_none_in_it() -> None:
    asked: Asked = []
    with mapbox_entry(asked) as entry:
        async with asking(entry) as maps:
            near = await result_of(
                maps,
                {"intent": "nearby", "place": "Alexanderplatz", "keywords": ["cafe"],
                 "country": "de"}, "de",
            )  # fmt: skip
            way = await result_of(
                maps, {"intent": "route", "origin": "Alexanderplatz", "destination": "Café Eins",
                       "mode": "driving", "avoid": ["toll", "ferry"]}, "en",
            )  # fmt: skip
            home = await result_of(maps, {"intent": "poi", "place": "故宫", "country": "cn"})
            unknown = await result_of(maps, {"intent": "poi", "place": "Nowhere"}, "en")
    assert [place["name"] for place in near.places] == ["Café Eins"], "the other one is closed"
    assert near.places[0]["city"] == "Berlin"
    assert near.places[0]["location"]["crs"] == "WGS-84"
    assert [route["distance_m"] for route in way.routes] == [1234]
    assert way.routes[0]["line"] == [[13.41, 52.52], [13.405, 52.521]]
    assert asked[-2][1]["exclude"] == "toll,ferry"
    assert [gap["code"] for gap in home.gaps] == ["map_not_covered"]
    assert [gap["code"] for gap in unknown.gaps] == ["map_place_not_found"]


async def test_when_one_leaves_or_arrives_is_asked_of_a_map_that_can_and_else_told() -> None:
    """ "There by nine" was a wish in words, which no map was asked for."""
    asked: Asked = []
    way = {"intent": "route", "origin": "Alexanderplatz", "destination": "Café Eins",
           "mode": "driving", "country": "de"}  # fmt: skip
    with osm_service() as lab, mapbox_entry(asked) as entry:
        async with asking(osm_server(osm_settings(lab)), entry) as maps:
            by_nine = await result_of(maps, {**way, "arrive_by": "2026-12-01T09:00"}, "en")
            at_eight = await result_of(maps, {**way, "depart_at": "2026-12-01T08:00"}, "en")
            over = {**way, "via": ["Tor"], "depart_at": "2026-12-01T08:00"}
            legs = await result_of(maps, over, "en")
    assert [by_nine.provider, at_eight.provider] == ["mapbox", "mapbox"]
    assert [*by_nine.gaps, *at_eight.gaps] == []
    ways = [arguments for tool, arguments in asked if tool == "directions_tool"]
    assert (ways[0]["arrive_by"], ways[0]["routing_profile"]) == (
        "2026-12-01T09:00", "mapbox/driving",
    )  # fmt: skip
    assert (ways[1]["depart_at"], ways[1]["routing_profile"]) == (
        "2026-12-01T08:00", "mapbox/driving-traffic",
    )  # fmt: skip
    assert "depart_at" not in ways[2], "the second leg begins later"
    leaving = say("map.depart_at", "en", time="08:00")
    assert [gap["message"] for gap in legs.gaps] == [say("map.untimed", "en", wishes=leaving)]


async def test_what_a_map_by_key_does_not_tell_the_next_map_is_asked_or_it_is_said() -> None:
    with mapbox_entry([]) as entry, osm_service() as lab:
        osm = osm_server(osm_settings(lab))
        async with asking(entry, osm) as maps:
            weather = await result_of(
                maps, {"intent": "weather", "city": "Seestadt", "country": "de"}
            )
            way = {"intent": "route", "origin": "Alexanderplatz", "destination": "Café Eins"}
            ride = await result_of(maps, {**way, "mode": "transit", "country": "de"})
        async with asking(entry) as maps:
            alone = await result_of(maps, {"intent": "weather", "city": "Berlin"}, "en")
    assert [forecast["id"] for forecast in weather.weather] == [
        "open_meteo:weather:湖城 (Seestadt)"
    ]
    assert [route["mode"] for route in ride.routes] == ["walking"]
    assert [gap["message"] for gap in ride.gaps] == [
        say("map.no_timetables.walking", "zh", map="Mapbox")
    ]
    assert [gap["message"] for gap in alone.gaps] == [
        say("map.other_errors.map_cannot", "en", map="Mapbox")
    ]


async def test_doctor_asks_each_for_one_small_real_thing() -> None:
    with tencent_entry([]) as one, mapbox_entry([]) as other:
        async with asking(one, other) as maps:
            results = [await probe_map(client, "en") for client in maps.clients]
    assert [result.gaps for result in results] == [[], []]
    assert [result.places[0]["name"] for result in results] == ["故宫博物院", "Helsinki"]


async def test_without_a_key_nothing_is_sent_and_a_wrong_one_is_told() -> None:
    asked: Asked = []
    with tencent_entry(asked, key="wrong") as wrong:
        for entry, code in ((tencent_server(Settings()), "map_key_missing"),
                            (mapbox_server(Settings()), "map_key_missing"),
                            (wrong, "map_key_invalid")):  # fmt: skip
            async with asking(entry) as maps:
                result = await result_of(maps, {"intent": "poi", "place": "王府井"})
            assert [gap["code"] for gap in result.gaps] == [code]
    assert not asked
    assert map_names(Settings(map_servers="tencent, mapbox")) == ["tencent", "mapbox"]
    with pytest.raises(ConfigurationError, match="mapbox"):
        map_names(Settings(map_servers="baidu"))


def record(provider: str, name: str, north_m: float = 0, hours: str | None = None) -> Place:
    location = {"lng": 116.4, "lat": 39.9 + north_m / 111_195, "crs": "GCJ-02"}
    return new_place(
        id=f"{provider}:{name}{north_m}", name=name, location=cast(Any, location), url="",
        open_time=hours,
    )  # fmt: skip


DAILY, SHORTER = "周一至周日 09:00-21:00", "周一至周日 10:00-18:00"


@pytest.mark.parametrize(
    ("own", "others", "told"),
    [
        (("老舍纪念馆", 0, None), [("老舍纪念馆", 120, None)], []),
        (("老舍纪念馆", 0, None), [("老舍纪念馆", 350, None)], ["350"]),
        (("老舍纪念馆", 0, None), [("北京老舍纪念馆", 30, None)], []),
        (("老舍纪念馆", 0, DAILY), [("老舍纪念馆", 0, DAILY)], []),
        (("老舍纪念馆", 0, DAILY), [("老舍纪念馆", 0, None)], []),
        (("老舍纪念馆", 0, DAILY), [("老舍纪念馆", 0, SHORTER)], [DAILY, SHORTER]),
        (("老舍纪念馆", 0, None), [("老舍纪念馆(暂停营业)", 20, None)], ["腾讯地图标为停业"]),
        (("老舍纪念馆(暂停营业)", 0, None), [("老舍纪念馆", 20, None)], ["高德地图标为停业"]),
        # Of a chain the next branch is another place, and so is a namesake in the next town.
        (("肯德基", 0, None), [("肯德基", 400, None), ("肯德基", 900, None)], []),
        (("海底捞(王府井店)", 0, None), [("海底捞(西单店)", 1500, None)], []),
        (("老舍纪念馆", 0, None), [("老舍纪念馆", 9000, None)], []),
        (("老舍纪念馆", 0, None), [("鲁迅博物馆", 10, None)], []),
        (("老舍纪念馆", 0, None), [], []),
    ],
)
def test_two_maps_that_tell_one_place_otherwise_are_told_in_one_sentence(
    own: tuple[str, float, str | None],
    others: list[tuple[str, float, str | None]],
    told: list[str],
) -> None:
    said = disagreement(record("amap", *own), [record("tencent", *each) for each in others], "zh")
    assert bool(said) == bool(told), said
    assert all(words in said for words in told), said
    assert not said or (said.count("高德地图") and said.count("腾讯地图"))


@pytest.mark.usefixtures("map_server_script")
async def test_a_place_that_the_second_map_places_elsewhere_is_told_with_the_records() -> None:
    asked: Asked = []

    def answer(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        place = {"id": "1", "title": arguments["keyword"], "location": {"lat": 39.93, "lng": 116.4}}
        return {"status": 0, "data": [place]}

    task = {"intent": "poi", "place": "故宫博物院", "city": "北京"}
    query = {"query": "故宫博物院", "map": {**task, "country": "cn"}, "web": False}
    with serve_in_thread(AmapService().app) as service, tencent_entry(asked, answer) as entry:
        amap = amap_server(Settings(amap_qps=1000), redirect=service.url)
        async with asking(amap, entry) as maps, laboratory() as lab:
            result = await result_of(maps, task)
            services = replace(lab.services, maps=maps)
            lab = Lab(services, build_graph(lambda: services).compile())
            lab.gemini.llm = llm = Spoken(generate_query=[plan(query)])
            text = str(answer_of(await lab.ask("故宫博物院的位置在哪一条街上？")).text)
    assert result.provider == "amap"
    assert [place["id"].partition(":")[0] for place in result.places] == ["amap"]
    [gap] = result.gaps
    assert (gap["provider"], gap["code"]) == ("tencent", "map_differs")
    assert "故宫博物院" in gap["message"]
    assert {name for name, _ in asked} == {"placeSuggestion"}
    assert gap["message"] in text
    assert gap["message"] in llm.prompts("answer")[0]

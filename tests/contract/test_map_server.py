"""The real map server, pinned, against the stand-in of Amap: its quirks are what we think.

Each defect of the server (A1 to A9) and of the original design (S1 to S4) has a test of its name.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolCall

from agent.core.calls import Calls
from agent.core.errors import AgentError
from agent.evidence.geo import distance_m
from agent.mcp.amap.tools import CATALOGUE
from agent.mcp.map import build_map_client
from agent.mcp.records import MapOptions
from agent.mcp.servers import amap_command, amap_server
from agent.mcp.session import SupervisedSession
from agent.mcp.tools import load_amap_mcp_tools
from agent.settings import Settings
from agent.texts import say
from tests.support.map_fixtures import (  # noqa: F401 - fixtures
    MapLab,
    lab_fixture,
    map_lab,
    meter,
    script_fixture,
)

pytestmark = pytest.mark.node
WANGFUJING = "116.411246,39.913822"
SANLITUN = "116.454802,39.934202"
WAY = {"origin": WANGFUJING, "destination": SANLITUN}
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("maps_geo", {"address": "北京王府井"}, "return"),
    ("maps_regeocode", {"location": WANGFUJING}, "provice"),
    ("maps_text_search", {"keywords": "咖啡", "city": "北京"}, "pois"),
    ("maps_around_search", {"location": WANGFUJING, "keywords": "咖啡", "radius": 3000}, "pois"),
    ("maps_search_detail", {"id": "B0SAMPW003"}, "location"),
    ("maps_weather", {"city": "北京"}, "forecasts"),
    ("maps_ip_location", {"ip": "114.247.50.2"}, "rectangle"),
    ("maps_distance", {"origins": WANGFUJING, "destination": SANLITUN}, "results"),
    ("maps_direction_walking", WAY, "route"),
    ("maps_direction_driving", WAY, "route"),
    ("maps_bicycling", WAY, "data"),
    ("maps_direction_transit_integrated", {**WAY, "city": "北京", "cityd": "北京"}, "route"),
]


async def test_each_tool_answers_in_the_shape_we_read(lab: MapLab) -> None:
    assert {tool for tool, _, _ in CALLS} == {tool["name"] for tool in CATALOGUE.tools}
    for tool, arguments, key in CALLS:
        reply = await lab.maps._gateway.call(tool, arguments, meter=meter())
        assert key in reply, tool


async def test_the_catalogue_is_the_expected_one(lab: MapLab) -> None:
    listed = await lab.maps.session.list_tools()
    assert CATALOGUE.problem(listed.tools) is None
    assert {tool.name for tool in listed.tools} == {tool["name"] for tool in CATALOGUE.tools}
    health = await lab.maps.health()
    assert health["works"] is True
    assert health["tools"] == 12


async def test_a1_the_city_is_ignored_so_it_goes_into_the_address(lab: MapLab) -> None:
    await lab.call("maps_geo", address="王府井", city="北京")
    assert lab.amap.asked("/v3/geocode/geo") == [{"address": "王府井"}]
    await lab.map_result(
        {"intent": "nearby", "place": "三里屯", "city": "北京", "keywords": ["咖啡"]}
    )
    assert lab.amap.asked("/v3/geocode/geo")[1] == {"address": "北京三里屯"}


async def test_a1_a_place_in_another_city_than_the_asked_one_is_refused(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "杭州", "keywords": ["咖啡"]}
    )
    assert map_result.places == []
    assert [gap["code"] for gap in map_result.gaps] == ["map_place_not_found"]


async def test_a2_searches_drop_the_position_and_details_bring_it_back(lab: MapLab) -> None:
    reply = json.loads(await lab.text("maps_around_search", location=WANGFUJING, keywords="咖啡"))
    assert not {"location", "distance", "rating"} & reply["pois"][0].keys()
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡"]}
    )
    for place in map_result.places:
        at = (place["location"]["lng"], place["location"]["lat"])
        metres = distance_m((116.411246, 39.913822), at)
        assert place["distance_m"] == pytest.approx(metres, abs=1)
        assert place["rating"] is not None
        assert place["distance_from"] == "王府井"


async def test_a3_a_search_in_a_city_stays_in_it(lab: MapLab) -> None:
    await lab.call("maps_text_search", keywords="咖啡", city="北京", types="050500")
    (direct,) = lab.amap.asked("/v3/place/text")
    assert "types" not in direct
    assert direct["citylimit"] == "false"
    map_result = await lab.map_result({"intent": "area", "city": "杭州", "keywords": ["咖啡"]})
    assert lab.amap.asked("/v3/place/text")[1]["citylimit"] == "true"
    assert {place["city"] for place in map_result.places} == {"杭州市"}


async def test_a4_a_municipality_without_city_and_the_misspelt_key_are_read(lab: MapLab) -> None:
    reply = json.loads(await lab.text("maps_regeocode", location=WANGFUJING))
    assert reply["provice"] == "北京市"
    assert reply["city"] == []
    map_result = await lab.map_result({"intent": "regeo", "place": WANGFUJING})
    assert map_result.places[0]["name"] == "北京市东城区"
    assert map_result.places[0]["city"] is None


async def test_a5_a_route_has_length_time_and_steps_but_no_line(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "route", "origin": "王府井", "destination": "三里屯", "city": "北京"}
    )
    (route,) = map_result.routes
    assert route["mode"] == "driving"
    assert (route["distance_m"] or 0) > 4000
    assert route["steps"]
    assert "polyline" not in json.dumps(map_result.routes)


async def test_the_end_of_a_route_that_nobody_knows_is_named_and_not_the_question(
    lab: MapLab,
) -> None:
    map_result = await lab.map_result(
        {"intent": "route", "origin": "故宫", "destination": "亚特兰蒂斯宫"}
    )
    assert [gap["message"] for gap in map_result.gaps] == [
        say("map.errors.map_place_not_found", "zh", about="亚特兰蒂斯宫")
    ]


async def test_a6_an_unknown_city_has_no_weather_and_says_so(lab: MapLab) -> None:
    assert "Cannot read properties" in await lab.text("maps_weather", city="亚特兰蒂斯")
    map_result = await lab.map_result({"intent": "weather", "city": "亚特兰蒂斯"})
    assert [gap["code"] for gap in map_result.gaps] == ["map_place_not_found"]
    assert "Cannot read" not in map_result.gaps[0]["message"]


async def test_a6_a_bicycle_route_that_fails_without_a_reason_is_no_route(lab: MapLab) -> None:
    far = {"origin": WANGFUJING, "destination": "121.473667,31.230525"}
    assert "undefined" in await lab.text("maps_bicycling", **far)
    with pytest.raises(AgentError) as caught:
        await lab.maps._gateway.call("maps_bicycling", far, meter=meter())
    assert caught.value.code == "map_no_route"


@pytest.mark.usefixtures("whole_back_off")
async def test_a7_a_refusal_for_frequency_is_waited_out(map_server_script: Path) -> None:
    async with map_lab() as lab:
        lab.amap.qps = 1
        map_result = await lab.map_result(
            {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡"]},
            options={"details": 1},
        )
        assert lab.amap.refused > 0
        assert map_result.gaps == []
        assert map_result.places


async def test_a7_paced_as_configured_amap_refuses_nothing(map_server_script: Path) -> None:
    async with map_lab(qps=3, amap_qps=2.5) as lab:
        map_result = await lab.map_result(
            {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡", "书店"]}
        )
        assert lab.amap.refused == 0
        assert len(map_result.places) == 2


async def test_a8_a_missing_key_is_named_and_nothing_is_started() -> None:
    session = SupervisedSession(amap_server(Settings()))
    with pytest.raises(AgentError) as caught:
        await session.call_tool("maps_geo", {"address": "王府井"})
    await session.aclose()
    assert caught.value.code == "map_key_missing"
    assert "AMAP_MAPS_API_KEY" in str(caught.value)


async def test_a8_the_servers_own_complaint_about_its_key_is_understood(
    map_server_script: Path,
) -> None:
    settings = Settings(amap_mcp_command=["node", str(map_server_script)])
    session = SupervisedSession(amap_server(settings))
    with pytest.raises(AgentError) as caught:
        await session.list_tools()
    await session.aclose()
    assert caught.value.code == "map_key_missing"


async def test_a9_positions_are_given_in_both_systems(lab: MapLab) -> None:
    map_result = await lab.map_result({"intent": "poi", "place": "东方新天地", "city": "北京"})
    (place,) = map_result.places
    gcj, wgs = place["location"], place["wgs84"]
    assert gcj["crs"] == "GCJ-02"
    shift = distance_m((gcj["lng"], gcj["lat"]), (wgs["lng"], wgs["lat"]))
    assert 300 < shift < 700


async def test_s1_loaded_tools_work_after_loading(lab: MapLab) -> None:
    tools = await load_amap_mcp_tools(lab.maps.session)
    assert len(tools) == 12
    geo = next(tool for tool in tools if tool.name == "maps_geo")
    answer = await geo.ainvoke({"address": "北京王府井"})
    assert "116.411246" in str(answer)


async def test_s2_a_models_tool_call_is_executed_and_its_sources_are_recorded(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡"]},
        options={"details": 1},
    )
    options = MapOptions(prefix="a0", language="zh")
    tools = await lab.maps.tools(
        map_result, "问题", options=options, meter=meter(), on_call=lambda text: None
    )
    asked = {"id": map_result.hits[0]["id"]}
    message = await tools.call(
        ToolCall(name="maps_search_detail", args=asked, id="c1", type="tool_call")
    )
    assert message.status == "success"
    assert message.tool_call_id == "c1"
    assert str(message.content).startswith("[^a0-1] ")
    assert map_result.places[1]["source"] == "a0-1"


async def test_s3_without_a_key_the_branch_ends_with_a_gap_and_no_exception() -> None:
    maps = build_map_client(Settings(), Calls())
    map_result = await maps.map_result(
        {"intent": "nearby", "place": "王府井"},
        "问题",
        options=MapOptions(prefix="a0", language="zh"),
        meter=meter(),
        on_call=lambda text: None,
    )
    await maps.aclose()
    assert [gap["code"] for gap in map_result.gaps] == ["map_key_missing"]
    assert "AMAP_MAPS_API_KEY" in map_result.gaps[0]["message"]
    assert not map_result.open_for_tools


async def test_s4_the_server_is_started_by_node_directly_and_once(lab: MapLab) -> None:
    command = amap_command(lab.settings, redirect=lab.url)
    assert "npx" not in " ".join((command.command, *command.args))
    for number in range(5):
        await lab.map_result({"intent": "poi", "place": "东方新天地"}, prefix=f"a{number}")
    assert lab.maps.session.starts == 1


async def test_s4_the_server_gets_what_it_needs_and_nothing_else(
    map_server_script: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "not-for-the-map")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("CORPORATE_CA", "/ca.pem")
    settings = Settings(amap_maps_api_key="k" * 20, amap_mcp_env="CORPORATE_CA")
    command = amap_command(settings)
    assert "GEMINI_API_KEY" not in command.env
    assert command.env["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert command.env["CORPORATE_CA"] == "/ca.pem"
    redirected = amap_command(settings, redirect="http://127.0.0.1:9")
    assert "HTTPS_PROXY" not in redirected.env
    assert "k" * 20 not in repr(command)


async def test_a_call_on_the_running_server_takes_milliseconds(lab: MapLab) -> None:
    await lab.maps.session.list_tools()
    began = time.monotonic()
    for _ in range(20):
        await lab.call("maps_weather", city="北京")
    assert lab.maps.session.starts == 1
    assert time.monotonic() - began < 20

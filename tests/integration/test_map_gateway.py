"""The gateway over the real server: faults of the map's service, limits, what is paid and told."""

import asyncio
import json
import logging
import time
from pathlib import Path

import pytest
from langchain_core.messages import ToolCall

from agent.core.calls import Calls
from agent.core.errors import AgentError
from agent.evidence.records import weather_lines
from agent.evidence.types import MapTask
from agent.mcp.map import Gateway
from agent.mcp.map_server import DailySearches
from agent.mcp.records import MapOptions, MapResult
from tests.support.map_fixtures import (
    CANARY,
    MapLab,
    lab_fixture,
    map_lab,
    meter,
    script_fixture,
)

pytestmark = pytest.mark.node
__all__ = ["lab_fixture", "script_fixture"]
NEARBY: MapTask = {
    "intent": "nearby",
    "place": "王府井",
    "city": "北京",
    "keywords": ["咖啡", "书店"],
}
GEO = {"address": "北京王府井"}


async def failure(lab: MapLab, tool: str = "maps_geo", **asked: str) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await lab.maps._gateway.call(tool, asked or GEO, meter=meter())
    return caught.value


@pytest.mark.parametrize("kind", ["drop", "html", "empty", "cut_json", "garbage"])
async def test_a_single_fault_of_the_service_is_survived(lab: MapLab, kind: str) -> None:
    lab.amap.fail(kind, status=502)  # type: ignore[arg-type]
    reply = await lab.maps._gateway.call("maps_geo", GEO, meter=meter())
    assert reply["return"]
    assert len(lab.amap.asked("/v3/geocode/geo")) == 2


@pytest.mark.parametrize("kind", ["drop", "html", "empty", "cut_json", "garbage"])
async def test_a_lasting_fault_is_a_gap_without_the_key(lab: MapLab, kind: str) -> None:
    lab.amap.fail(kind, status=502, times=None)  # type: ignore[arg-type]
    map_result = await lab.map_result(NEARBY)
    assert [gap["code"] for gap in map_result.gaps] in (["map_network"], ["map_malformed"])
    assert CANARY not in json.dumps(map_result.gaps)


async def test_a_service_that_hangs_costs_no_more_than_the_calls_time(
    map_server_script: Path,
) -> None:
    async with map_lab(map_call_seconds=0.5) as lab:
        lab.amap.fail("hang", times=None)
        began = time.monotonic()
        map_result = await lab.map_result(NEARBY)
        assert [gap["code"] for gap in map_result.gaps] == ["map_timeout"]
        assert time.monotonic() - began < 30
        assert lab.maps.session.starts == 1


async def test_a_wrong_key_is_asked_once_and_explained(lab: MapLab) -> None:
    lab.amap.key = "another-key"
    map_result = await lab.map_result(NEARBY)
    again = await lab.map_result({"intent": "weather", "city": "北京"})
    assert [gap["code"] for gap in map_result.gaps + again.gaps] == ["map_key_invalid"] * 2
    assert "Web服务" in map_result.gaps[0]["message"]
    assert len(lab.amap.requests) == 1


async def test_a_spent_day_says_when_it_resets_and_is_not_asked_again(lab: MapLab) -> None:
    lab.amap.daily_spent = True
    map_result = await lab.map_result(NEARBY, language="en")
    assert [gap["code"] for gap in map_result.gaps] == ["map_quota_day"]
    assert "00:00" in map_result.gaps[0]["message"]
    asked = len(lab.amap.requests)
    await lab.map_result({"intent": "poi", "place": "东方新天地"})
    assert len(lab.amap.requests) == asked
    assert (await lab.map_result({"intent": "weather", "city": "北京"})).weather


async def test_our_own_daily_limit_binds(map_server_script: Path, tmp_path: Path) -> None:
    async with map_lab() as lab:
        server = lab.maps.session.server
        daily = DailySearches(1, server.quota, file=tmp_path / "usage.sqlite")
        gateway = Gateway(server, lab.maps.session, Calls(), qps=1000, daily=daily)
        await gateway.call("maps_text_search", {"keywords": "咖啡"}, meter=meter())
        with pytest.raises(AgentError) as caught:
            await gateway.call("maps_text_search", {"keywords": "书店"}, meter=meter())
        assert caught.value.code == "map_quota_day"
        assert "AMAP_DAILY_SEARCH_LIMIT" in str(caught.value)


async def test_a_survey_asks_in_the_same_order_every_time_and_stays_in_its_budget(
    lab: MapLab,
) -> None:
    told: list[str] = []
    account = meter()
    map_result = await lab.map_result(NEARBY, told=told, meter=account)
    assert told[:3] == ["maps_geo 王府井", "maps_around_search 咖啡", "maps_around_search 书店"]
    assert [line.split()[0] for line in told[3:]] == ["maps_search_detail"] * 2
    assert account.usage["map_calls"] == 5
    assert map_result.complete
    assert [source["id"] for source in map_result.sources] == ["a0-0", "a0-1"]
    assert [place["source"] for place in map_result.places] == ["a0-0", "a0-1"]
    assert all(source["title"].startswith("[示例] ") for source in map_result.sources)


async def test_each_kind_that_was_asked_for_has_a_record(lab: MapLab) -> None:
    """Lunch and parking near Sanlitun brought two car parks."""
    asked: MapTask = {
        "intent": "nearby", "place": "三里屯", "city": "北京", "keywords": ["餐厅", "停车场"]
    }  # fmt: skip
    for details in (1, 2):
        map_result = await lab.map_result(asked, options={"details": details})
        found = {keyword for place in map_result.places for keyword in place["keywords"]}
        assert found == {"餐厅", "停车场"}


async def test_a_survey_for_an_english_question_is_told_with_english_kinds(lab: MapLab) -> None:
    told: list[str] = []
    searched: MapTask = {**NEARBY, "keywords": ["coffee shop", "书店", "剧本杀"]}
    await lab.map_result(searched, told=told, language="en")
    around = [line for line in told if line.startswith("maps_around_search")]
    assert [line.partition(" ")[2] for line in around] == ["coffee shop", "bookstore", "剧本杀"]


async def test_a_forecast_for_an_english_question_names_its_city_in_english(lab: MapLab) -> None:
    asked: list[str] = []
    weather: MapTask = {"intent": "weather", "city": "北京"}
    map_result = await lab.map_result(weather, language="en", told=asked)
    assert asked == ["maps_weather Beijing"]
    assert weather_lines(map_result.weather, "en").startswith("[^a0-0] Beijing 20")
    assert map_result.sources[0]["title"] == "[Sample] Weather forecast Beijing"
    assert map_result.sources[0]["quotes"][0].startswith("Beijing 20")


async def test_what_is_known_costs_nothing(lab: MapLab) -> None:
    first, second = meter(), meter()
    await lab.map_result(NEARBY, meter=first)
    asked = len(lab.amap.requests)
    await lab.map_result(NEARBY, meter=second)
    assert second.usage["map_calls"] == 0
    assert len(lab.amap.requests) == asked


async def test_a_small_share_saves_details_first_and_a_branch_that_delivered_leaves_no_gap(
    lab: MapLab,
) -> None:
    map_result = await lab.map_result(NEARBY, meter=meter(map_calls=4))
    assert len(map_result.places) == 1
    assert not map_result.gaps
    assert [search["keyword"] for search in map_result.searches] == ["咖啡", "书店"]


async def test_a_spent_budget_before_any_record_is_a_gap(lab: MapLab) -> None:
    map_result = await lab.map_result(NEARBY, meter=meter(map_calls=2))
    assert [gap["code"] for gap in map_result.gaps] == ["budget_max_map_calls"]
    assert not map_result.open_for_tools
    assert [search["keyword"] for search in map_result.searches] == ["咖啡"]


async def test_equal_calls_at_once_are_made_once_and_one_spent_budget_hurts_nobody_else(
    lab: MapLab,
) -> None:
    poor, rich = meter(map_calls=0), meter()
    gateway = lab.maps._gateway
    results = await asyncio.gather(
        gateway.call("maps_geo", GEO, meter=poor),
        gateway.call("maps_geo", GEO, meter=rich),
        gateway.call("maps_geo", GEO, meter=rich),
        return_exceptions=True,
    )
    assert isinstance(results[0], AgentError)
    assert results[1] == results[2]
    assert rich.usage["map_calls"] == 1
    assert len(lab.amap.requests) == 1


async def test_few_hits_widen_the_radius_once(lab: MapLab) -> None:
    task: MapTask = {**NEARBY, "keywords": ["书店"], "radius_m": 100}
    await lab.map_result(task)
    radii = [asked["radius"] for asked in lab.amap.asked("/v3/place/around")]
    assert radii == ["100", "250"]


async def test_a_radius_widened_is_not_said_where_what_is_shown_lies_within_it(lab: MapLab) -> None:
    """ "Too few within 2 km" beside two cafés 85 m away reads as a contradiction."""
    coffee: MapTask = {
        "intent": "nearby", "place": "三里屯", "keywords": ["咖啡"], "radius_m": 2000,
    }  # fmt: skip
    map_result = await lab.map_result(coffee)
    assert map_result.radius_m == 5000
    assert [place["distance_m"] for place in map_result.places] == [75, 85]
    assert map_result.gaps == []


async def test_near_me_is_the_users_position_in_the_maps_system(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "keywords": ["咖啡"]},
        options={"near": {"lng": 116.405, "lat": 39.912}},
    )
    asked = lab.amap.asked("/v3/place/around")[0]["location"]
    assert asked.startswith("116.411")
    assert map_result.places[0]["distance_from"] == "您的位置"
    assert lab.amap.asked("/v3/geocode/geo") == []


async def test_a_tool_call_that_fails_is_an_error_message_in_words(lab: MapLab) -> None:
    map_result = await lab.map_result(NEARBY)
    options = MapOptions(prefix="a0", language="zh")
    tools = await lab.maps.tools(map_result, "问题", options=options, meter=meter(), on_call=print)
    assert {tool.name for tool in tools.tools} == {
        "maps_geo", "maps_text_search", "maps_around_search", "maps_search_detail",
    }  # fmt: skip
    lab.amap.fail("drop", times=None)
    for name, asked in (
        ("maps_geo", {}),
        ("maps_geo", {"address": "火星基地"}),
        ("maps_around_search", {"location": "somewhere"}),
        ("maps_weather", {"city": "北京"}),
    ):
        message = await tools.call(ToolCall(name=name, args=asked, id="c", type="tool_call"))
        assert message.status == "error"
        assert CANARY not in str(message.content)


async def test_a_models_results_are_small_and_without_empties(lab: MapLab) -> None:
    map_result = await lab.map_result({"intent": "poi", "place": "东方新天地", "city": "北京"})
    options = MapOptions(prefix="a0", language="zh")
    tools = await lab.maps.tools(map_result, "问题", options=options, meter=meter(), on_call=print)
    call = ToolCall(
        name="maps_around_search",
        args={"location": "116.411246,39.913822", "radius": None, "keywords": None},
        id="c",
        type="tool_call",
    )
    text = str((await tools.call(call)).content)
    assert len(text) <= 4000
    assert "photos" not in text
    assert "[]" not in text
    assert lab.amap.asked("/v3/place/around")[-1]["radius"] == "1000"


async def test_an_id_of_a_list_of_hits_works_in_every_tool_of_the_map(lab: MapLab) -> None:
    map_result = await lab.map_result({"intent": "poi", "place": "东方新天地", "city": "北京"})
    empty = MapResult()
    options = MapOptions(prefix="a1", language="zh")
    tools = await lab.maps.tools(empty, "问题", options=options, meter=meter(), on_call=print)
    own = map_result.places[0]["id"].partition(":")[2]
    for name in (own, f"amap:{own}", f"[^{own}]"):
        around = {"location": name, "keywords": "餐厅"}
        call = ToolCall(name="maps_around_search", args=around, id="c", type="tool_call")
        message = await tools.call(call)
        assert message.status == "success", message.text
    assert [place["id"] for place in empty.places] == [map_result.places[0]["id"]]


async def test_the_key_is_in_no_text_anywhere(
    lab: MapLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    lab.amap.fail("drop", times=None)
    raw = await lab.text("maps_geo", address="王府井")
    assert CANARY in raw, "the server leaks it, or this test proves nothing"
    error = await failure(lab)
    map_result = await lab.map_result(NEARBY)
    options = MapOptions(prefix="a0", language="zh")
    tools = await lab.maps.tools(map_result, "问题", options=options, meter=meter(), on_call=print)
    call = ToolCall(name="maps_geo", args={"address": "天安门"}, id="c", type="tool_call")
    message = await tools.call(call)
    texts = [str(error), repr(map_result), str(message), repr(lab.maps.session.__dict__)]
    texts += [str(await lab.maps.health()), caplog.text]
    assert not [text for text in texts if CANARY in text]

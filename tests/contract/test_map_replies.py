"""Replies of Amap as they are seen, through its real server: used, or told as what they are."""

from typing import Any

import pytest
from aiohttp import web

from agent.assistants.common.gaps import reader_note
from agent.evidence.types import MapTask
from agent.texts import say
from tests.support.map_fixtures import MapLab, lab_fixture, script_fixture
from tests.support.rows import by_examples
from tests.support.standin import Fault

__all__ = ["lab_fixture", "script_fixture"]
pytestmark = pytest.mark.node
NEARBY: MapTask = {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["咖啡"]}
GEOCODE = {
    "country": "中国", "province": "江苏省", "city": "南京市", "district": "鼓楼区",
    "adcode": "320106", "level": "兴趣点", "location": "118.769739,32.066777",
}  # fmt: skip


def replies(ending: str, body: dict[str, Any]) -> Fault:
    def match(request: web.Request, _: Any) -> bool:
        return request.path.endswith(ending)

    return Fault("status", match=match, status=200, body=body, times=None)


def details(**fields: Any) -> Fault:
    poi = {"id": "B1", "name": "甲", "location": "116.411,39.913", "cityname": "北京市"}
    return replies("/place/detail", {"status": "1", "info": "OK", "pois": [{**poi, **fields}]})


@pytest.mark.parametrize(
    "fields", [{"location": []}, {"location": ""}, {"name": []}, {"location": "116.4"}]
)
async def test_places_without_position_or_name_do_not_vanish_without_a_word(
    lab: MapLab, fields: dict[str, Any]
) -> None:
    lab.amap.faults = [details(**fields)]
    found = await lab.map_result(NEARBY)
    assert found.places == []
    assert "map_no_results" in [gap["code"] for gap in found.gaps]


@pytest.mark.parametrize("mark", ["(暂停营业)", "（已停业）", "(暂停开放)"])
async def test_a_closed_place_is_not_recommended_and_said_to_be_closed(
    lab: MapLab, mark: str
) -> None:
    lab.amap.faults = [details(name=f"甲{mark}", biz_ext={"open_time": "10:00-21:00"})]
    assert (await lab.map_result(NEARBY)).places == []
    (place,) = (await lab.map_result({"intent": "poi", "place": "王府井"})).places
    assert place["open_time"] == mark[1:-1]
    assert "opening" not in place


async def test_a_name_that_several_cities_have_is_told(lab: MapLab) -> None:
    other = {**GEOCODE, "province": "北京市", "city": "北京市", "location": "116.39,39.94"}
    again = {**GEOCODE, "district": "玄武区"}
    body = {"status": "1", "info": "OK", "geocodes": [GEOCODE, again, other]}
    lab.amap.faults = [replies("/geocode/geo", body)]
    found = await lab.map_result({"intent": "nearby", "place": "鼓楼", "keywords": ["咖啡"]})
    message = say("map.ambiguous", "zh", place="鼓楼", city="南京市", others="北京市")
    assert [gap["message"] for gap in found.gaps if gap["code"] == "map_ambiguous"] == [message]
    in_city = await lab.map_result(
        {"intent": "nearby", "place": "鼓楼", "city": "南京", "keywords": ["咖啡"]}
    )
    assert "map_ambiguous" not in [gap["code"] for gap in in_city.gaps]


@pytest.mark.parametrize(
    ("info", "infocode", "code"),
    [
        ("USERKEY_PLAT_NOMATCH", "10009", "map_key_invalid"),
        ("INVALID_USER_KEY", "10001", "map_key_invalid"),
        ("账号处于被封禁状态", "10026", "map_key_invalid"),
        ("DAILY_QUERY_OVER_LIMIT", "10044", "map_quota_day"),
    ],
)
async def test_a_map_that_refuses_is_told_in_its_own_words_and_in_the_answer(
    lab: MapLab, info: str, infocode: str, code: str
) -> None:
    lab.amap.faults = [replies("", {"status": "0", "info": info, "infocode": infocode})]
    found = await lab.map_result(NEARBY)
    assert [gap["code"] for gap in found.gaps] == [code]
    assert code != "map_key_invalid" or info in found.gaps[0]["message"]
    # Also where a model that read all the web's evidence says that nothing is missing.
    note = reader_note(found.gaps, "王府井有很多店。", "zh", verdict="")
    assert say("missing.map", "zh") in note


@by_examples
async def test_a_city_that_nobody_named_is_told(
    lab: MapLab, query: str, more: dict[str, Any], told: bool
) -> None:
    body = {"status": "1", "info": "OK", "geocodes": [GEOCODE]}
    lab.amap.faults = [replies("/geocode/geo", body)]
    task: MapTask = {"intent": "nearby", "place": "鼓楼", "keywords": ["咖啡"]}
    found = await lab.map_result(task, query=query, options=more)
    message = say("map.city_assumed", "zh", place="鼓楼", city="南京市")
    assert (message in [gap["message"] for gap in found.gaps]) is told
    if told:
        read = await lab.map_result(task, query=query, options=more, language="de")
        message = say("map.city_assumed", "de", place="鼓楼", city="Nanjing")
        assert message in [gap["message"] for gap in read.gaps], "in letters that its reader reads"


async def test_a_place_that_a_search_found_under_another_name_is_told(lab: MapLab) -> None:
    found = {"id": "B0OTHER001", "name": "老塔宾馆", "typecode": "100000", "type": "住宿服务"}
    detail = {**found, "location": "116.41,39.91", "cityname": "北京市", "address": "甲1号"}
    nothing = {"status": "1", "info": "OK", "geocodes": []}
    suggestion = {"keywords": [], "cities": []}
    listed = {"status": "1", "info": "OK", "pois": [found], "suggestion": suggestion}
    lab.amap.faults = [
        replies("/geocode/geo", nothing),
        replies("/place/text", listed),
        replies("/place/detail", {"status": "1", "info": "OK", "pois": [detail]}),
    ]
    task: MapTask = {"intent": "nearby", "place": "老塔书院", "city": "北京", "keywords": ["咖啡"]}
    result = await lab.map_result(task)
    taken = say("map.taken", "zh", place="老塔书院", name="老塔宾馆（北京市）")
    assert taken in [gap["message"] for gap in result.gaps]

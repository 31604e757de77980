from datetime import UTC, datetime
from typing import Any

import pytest

from agent.core.errors import ProviderRefused
from agent.evidence.geo import wgs84_of
from agent.evidence.records import cost_text
from agent.evidence.types import Location
from agent.evidence.vocabulary import limiting_cities
from agent.mcp.amap.prefetch import by_name, chinese_city, find_anchor, same_city
from agent.mcp.amap.records import (
    PRESENTATION,
    AmapReader,
    interleaved,
    location_of,
    number_or_none,
    photo_of,
    place_link,
    position_link,
    rating_of,
    route_link,
)
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.texts import Language, say
from tests.support.rows import by_examples

DETAIL: dict[str, Any] = {
    "id": "B0FFG9",
    "name": "某咖啡馆",
    "location": "116.411246,39.913822",
    "address": "王府井大街 1 号",
    "city": "北京市",
    "type": "餐饮服务;咖啡厅;咖啡厅",
    "rating": "4.6",
    "cost": "35.00",
    "opentime2": "周一至周日 08:00-22:00",
    "photos": {"title": None, "url": "http://store.is.autonavi.com/x.jpg"},
}
GEOCODE: dict[str, Any] = {
    "country": "中国",
    "province": "北京市",
    "city": "北京市",
    "district": "东城区",
    "adcode": "110101",
    "location": "116.411246,39.913822",
    "level": "热点商圈",
}


def reader(language: Language = "zh", **around: Any) -> AmapReader:
    records = MapRecords(
        MapResult(**around),
        MapOptions(prefix="a3", language=language),
        presentation=PRESENTATION,
        now=lambda: datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC),
    )
    return AmapReader(records)


def test_a_looked_up_place_becomes_a_record_with_a_source() -> None:
    amap = reader()
    place = amap.add_place(DETAIL, ["咖啡"])
    assert place is not None
    assert place["id"] == "amap:B0FFG9"
    assert place["category"] == "咖啡厅"
    assert (place["rating"], place["cost"]) == (4.6, 35.0)
    assert place["open_time"] == "周一至周日 08:00-22:00"
    assert place["photo"] == "https://store.is.autonavi.com/x.jpg"
    assert place["url"] == place_link("B0FFG9")
    assert place["fetched_at"] == "2026-11-21T04:05:06+00:00"
    (source,) = amap.records.result.sources
    assert (source["id"], source["title"], source["provider"]) == ("a3-0", "某咖啡馆", "高德地图")
    assert "评分 4.6" in source["quotes"][0]


def test_a_place_found_twice_is_entered_once() -> None:
    amap = reader()
    amap.add_place(DETAIL, ["咖啡"])
    again = amap.add_place(DETAIL, ["下午茶", "咖啡"])
    assert again is not None
    assert again["keywords"] == ["咖啡", "下午茶"]
    assert len(amap.records.result.places) == len(amap.records.result.sources) == 1


def test_unknown_facts_are_none() -> None:
    detail = {
        **DETAIL,
        "rating": "0",
        "cost": None,
        "opentime2": None,
        "type": None,
        "photos": None,
    }
    place = reader().add_place(detail)
    assert place is not None
    facts = ("rating", "cost", "open_time", "category", "photo", "distance_m", "distance_from")
    assert {place[name] for name in facts} == {None}  # type: ignore[literal-required]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("餐饮服务;中餐厅;中餐厅", "¥300 a head"),
        ("住宿服务;宾馆酒店;三星级宾馆", "¥300 a night"),
        ("购物服务;专卖店;玩具店", say("records.price", "en", cost=300)),
    ],
)
def test_a_price_says_what_it_is_per_where_the_kind_of_place_does(kind: str, told: str) -> None:
    place = reader().add_place({**DETAIL, "type": kind, "cost": "300.00"})
    assert place is not None
    assert cost_text(place, "en") == told


def test_a_place_far_outside_the_radius_is_left_out_by_name() -> None:
    centre = location_of("116.411246,39.913822")
    amap = reader(centre=centre, centre_name="王府井", radius_m=1000)
    near = amap.add_place({**DETAIL, "id": "B1", "location": "116.425,39.913822"})
    far = amap.add_place({**DETAIL, "id": "B2", "name": "远", "location": "116.44,39.913822"})
    assert near is not None
    assert near["distance_m"] == pytest.approx(1173, abs=5)
    assert near["distance_from"] == "王府井"
    assert far is None
    assert amap.records.result.rejected == ["远"]


@pytest.mark.parametrize("location", [None, "nowhere", "999,999"])
def test_a_place_without_a_position_is_no_record(location: str | None) -> None:
    amap = reader()
    assert amap.add_place({**DETAIL, "location": location}) is None
    assert amap.records.result.sources == []


def test_positions_in_taiwan_are_not_shifted() -> None:
    taipei, beijing = location_of("121.56,25.03"), location_of("116.41,39.91")
    assert taipei is not None
    assert beijing is not None
    assert taipei["crs"] == "WGS-84"
    assert wgs84_of(taipei) == {"lng": 121.56, "lat": 25.03}
    assert wgs84_of(beijing)["lng"] != 116.41


def test_a_rating_outside_its_scale_is_unknown() -> None:
    assert rating_of({"rating": "4.8"}) == 4.8
    assert rating_of({"rating": "48"}) is None
    assert number_or_none("nan") is None


def test_links_are_of_the_documented_kind_and_encoded() -> None:
    assert place_link("B0&x=1") == "https://uri.amap.com/marker?poiid=B0%26x%3D1&src=tanlu"
    # Amap's own coordinates, and its page instead of its app, are what it takes without a word.
    named = "https://uri.amap.com/marker?position=116.400000,39.900000&name=%E5%90%8D&src=tanlu"
    assert position_link(116.4, 39.9, "名") == named
    link = route_link("116.4,39.9", "116.5,39.8", "transit", ("甲,乙", "丙"))
    assert "mode=bus" in link
    assert "from=116.4,39.9,%E7%94%B2%20%E4%B9%99" in link


@pytest.mark.parametrize(
    ("asked", "found", "same"),
    [
        ("北京", ("北京市", None), True),
        ("北京市", ("北京市", "东城区"), True),
        ("杭州", ("浙江省", "杭州市", "西湖区"), True),
        ("西湖区", ("浙江省", "杭州市", "西湖区"), True),
        ("杭州", ("北京市", "北京市"), False),
        ("Shanghai", ("上海市",), True),
        ("Shanghai", ("北京市",), False),
        ("Smalltown", ("北京市",), True),
        (None, ("北京市",), True),
        ("北京", (None,), True),
    ],
)
def test_cities_are_compared_by_name(
    asked: str | None, found: tuple[str | None, ...], same: bool
) -> None:
    assert same_city(asked, *found) is same


def test_english_names_of_cities_are_known() -> None:
    assert chinese_city("Xi'an") == "西安"
    assert chinese_city("Beijing, China") == "北京"
    assert chinese_city("成都") == "成都"


def test_hits_that_bear_the_name_come_first() -> None:
    hits = [{"name": "故宫东门"}, {"name": "北京故宫"}, {"name": "别处"}, {"name": "故宫"}]
    assert [hit["name"] for hit in by_name(hits, "故宫")] == [
        "故宫",
        "故宫东门",
        "北京故宫",
        "别处",
    ]


class Script:
    """Answers tools by name; an exception is raised."""

    def __init__(self, **replies: Any) -> None:
        self.replies = replies
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, tool: str, asked: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((tool, asked))
        reply = self.replies[tool]
        if isinstance(reply, Exception):
            raise reply
        found: dict[str, Any] = reply
        return found


NOT_FOUND = ProviderRefused("amap", "no", code="map_place_not_found")


async def test_coordinates_in_the_question_need_no_call() -> None:
    ask = Script()
    anchor = await find_anchor(ask, "116.41, 39.91", None)
    assert (anchor.location["lng"], anchor.location["crs"]) == (116.41, "GCJ-02")
    assert ask.asked == []


async def test_what_the_geocoder_does_not_know_is_searched_in_the_city() -> None:
    ask = Script(
        maps_geo=NOT_FOUND,
        maps_text_search={"pois": [{"id": "B1", "name": "别处"}, {"id": "B2", "name": "某咖啡馆"}]},
        maps_search_detail=DETAIL,
    )
    anchor = await find_anchor(ask, "某咖啡馆", "北京")
    assert anchor.text == "116.411246,39.913822"
    assert ask.asked[1:] == [
        ("maps_text_search", {"keywords": "某咖啡馆", "city": "北京"}),
        ("maps_search_detail", {"id": "B2"}),
    ]


async def test_a_geocode_in_another_city_is_not_taken_for_the_place() -> None:
    ask = Script(
        maps_geo={"return": [{**GEOCODE, "province": "上海市", "city": "上海市"}]},
        maps_text_search={"pois": []},
    )
    with pytest.raises(ProviderRefused) as caught:
        await find_anchor(ask, "人民广场", "北京")
    assert caught.value.code == "map_place_not_found"


async def test_the_second_geocode_is_taken_when_only_it_is_in_the_city() -> None:
    other = {**GEOCODE, "province": "上海市", "city": "上海市", "district": "黄浦区"}
    ask = Script(maps_geo={"return": [other, GEOCODE]})
    anchor = await find_anchor(ask, "人民广场", "北京")
    assert anchor.adcode == "110101"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"country": "日本"}, "map_not_covered"),
        ({"level": "市"}, "map_place_too_wide"),
        ({"level": "区县"}, "map_place_too_wide"),
    ],
)
async def test_places_abroad_and_whole_cities_have_no_surroundings(
    changes: dict[str, str], code: str
) -> None:
    ask = Script(maps_geo={"return": [{**GEOCODE, **changes}]})
    with pytest.raises(ProviderRefused) as caught:
        await find_anchor(ask, "某地", None)
    assert caught.value.code == code


async def test_a_village_that_is_called_like_a_foreign_city_is_not_it() -> None:
    village = {**GEOCODE, "province": "广西壮族自治区", "city": "某市", "level": "村庄"}
    ask = Script(maps_geo={"return": [village]}, maps_text_search={"pois": []})
    with pytest.raises(ProviderRefused):
        await find_anchor(ask, "东京", None)
    assert (await find_anchor(ask, "东京村", None)).name == "东京村"


async def test_a_route_may_end_at_a_whole_city() -> None:
    ask = Script(maps_geo={"return": [{**GEOCODE, "level": "市"}]})
    assert (await find_anchor(ask, "北京", None, wide=True)).city == "北京市"


def test_each_keywords_best_hit_comes_before_what_fits_all_a_little() -> None:
    first = [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"name": "without an id"}]
    second = [{"id": "c"}, {"id": "b"}, {"id": "d"}]
    ranked = interleaved([first, second], ["咖啡", "书店"])
    assert [hit["id"] for hit, _ in ranked] == ["a", "c", "b", "d"]
    assert [words for _, words in ranked] == [
        ["咖啡"],
        ["咖啡", "书店"],
        ["咖啡", "书店"],
        ["书店"],
    ]


def test_searches_with_the_same_hits_have_as_many_turns_as_one_with_its_own() -> None:
    play = [{"id": "playground"}, {"id": "toys"}, {"id": "park"}, {"id": "museum"}]
    food = [{"id": "hotpot"}, {"id": "pizza"}]
    ranked = interleaved([play, play, food], ["亲子乐园", "儿童游乐场", "亲子餐厅"])
    assert [hit["id"] for hit, _ in ranked] == [
        "playground", "toys", "hotpot", "park", "museum", "pizza",
    ]  # fmt: skip


@by_examples
def test_a_photo_is_one_of_the_map_s_own_and_fetched_over_https(
    given: str | None, kept: str | None
) -> None:
    assert photo_of({"photos": {"url": given}}) == kept
    assert photo_of({"photos": []}) is None


def records_of(question: str, **around: Any) -> MapRecords:
    return MapRecords(
        MapResult(**around),
        MapOptions(prefix="a0", language="zh"),
        presentation=PRESENTATION,
        cities=limiting_cities(question),
    )


@by_examples
def test_a_city_limits_places_unless_it_is_where_a_way_begins(
    question: str, cities: list[str]
) -> None:
    assert limiting_cities(question) == cities


def test_a_place_outside_the_city_that_was_named_is_dropped_and_counted() -> None:
    records = records_of("带父母去杭州西湖，附近哪里有医院")
    amap = AmapReader(records)
    here = {**DETAIL, "id": "B1", "name": "市一医院", "city": "杭州市"}
    assert amap.add_place(here) is not None
    elsewhere = {**DETAIL, "id": "B2", "name": "东方医院", "city": "上海市"}
    text = amap.read("maps_search_detail", {"id": "B2"}, elsewhere)
    assert "do not use it" in text
    assert records.result.rejected == ["东方医院"]
    assert [place["name"] for place in records.result.places] == ["市一医院"]


def test_a_city_that_a_call_names_itself_is_a_named_one() -> None:
    records = records_of("杭州两日游，顺便看看哪里")
    records.note_cities({"keywords": "医院", "city": "上海"})
    assert AmapReader(records).add_place({**DETAIL, "city": "上海市"}) is not None
    unknown = records_of("杭州两日游")
    assert AmapReader(unknown).add_place({**DETAIL, "city": ""}) is not None


def test_a_name_may_have_its_city_in_front() -> None:
    hits = [{"name": "迪士尼小镇"}, {"name": "上海迪士尼乐园"}, {"name": "别处"}]
    names = [hit["name"] for hit in by_name(hits[1:] + hits[:1], "迪士尼", "上海")]
    assert names == ["上海迪士尼乐园", "迪士尼小镇", "别处"]
    assert next(hit["name"] for hit in by_name(hits, "迪士尼")) == "迪士尼小镇"


def test_a_place_is_at_no_distance_from_itself() -> None:
    amap = reader()
    amap.records.set_centre("北京 站", Location(lng=116.4275, lat=39.9045, crs="GCJ-02"))
    own = amap.add_place({**DETAIL, "id": "B1", "name": "北京站", "location": "116.4271,39.9023"})
    other = amap.add_place({**DETAIL, "id": "B2", "name": "豆汁店", "location": "116.4271,39.9023"})
    assert own is not None
    assert (own["distance_m"], own["distance_from"]) == (None, None)
    assert other is not None
    assert (other["distance_m"], other["distance_from"]) == (247, "北京 站")


def test_several_positions_are_named_by_ids_in_a_list_or_parted() -> None:
    amap = reader()
    first = amap.add_place({**DETAIL, "id": "B1", "name": "甲", "location": "120.1,30.2"})
    assert first is not None
    position = "120.100000,30.200000"
    named = amap.records.with_position
    assert named(f"{first['source']}|120.3,30.1|B1") == f"{position}|120.3,30.1|{position}"
    assert named([f"[^{first['source']}]", 7]) == [position, 7]

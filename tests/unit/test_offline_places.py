"""Places, spots and cities of the sample are found by keyword, name and code."""

import pytest

from agent.sample.corpus import (
    find_city,
    find_spot,
    place_by_id,
    places_in,
    places_near,
)
from agent.sample.records import SamplePlace, load_sample
from tests.support.rows import by_examples

WANGFUJING = (116.411246, 39.913822)


def _names(places: list[tuple[SamplePlace, float]]) -> list[str]:
    return [place.name for place, _ in places]


def test_family_places_are_found_near_wangfujing_nearest_first() -> None:
    found = places_near(*WANGFUJING, 2000, "亲子乐园|儿童游乐场|亲子餐厅")
    metres = [distance for _, distance in found]
    assert len(found) >= 8
    assert metres == sorted(metres)
    assert metres[-1] <= 2000
    assert all(place.area == "wangfujing" for place, _ in found)


@pytest.mark.parametrize(
    ("keyword", "typecode"),
    [("停车场", "150904"), ("car park", "150904"), ("地铁站", "150500"), ("coffee", "050500")],
)
def test_a_keyword_finds_its_kind_of_place_only(keyword: str, typecode: str) -> None:
    found = places_near(*WANGFUJING, 3000, keyword)
    assert found
    assert {place.typecode for place, _ in found} == {typecode}


def test_a_compound_keyword_needs_all_its_parts() -> None:
    assert {"东单公园", "中山公园"} <= set(_names(places_near(*WANGFUJING, 3000, "儿童公园")))
    assert "菖蒲河公园" not in _names(places_near(*WANGFUJING, 3000, "儿童公园"))
    english = places_near(*WANGFUJING, 3000, "kids restaurants")
    assert english
    assert all("亲子餐厅" in place.tags for place, _ in english)


def test_chinese_keywords_apart_mean_any_of_them() -> None:
    both = places_near(*WANGFUJING, 2000, "书店 停车场")
    parts = places_near(*WANGFUJING, 2000, "书店") + places_near(*WANGFUJING, 2000, "停车场")
    assert sorted(_names(both)) == sorted(_names(parts))


def test_a_keyword_nothing_answers_to_finds_nothing() -> None:
    assert places_near(*WANGFUJING, 50_000, "火星车") == []
    assert places_near(*WANGFUJING, 50_000, "spaceport") == []


def test_no_keyword_means_everything_around() -> None:
    assert len(places_near(*WANGFUJING, 500)) >= 10
    assert places_near(0, 0, 50_000) == []


def test_bund_coffee_finds_cafes_at_the_bund() -> None:
    for city in (None, "上海", "Shanghai", "310000"):
        found = places_in(city, "Bund coffee")
        assert found
        assert all(place.area == "bund" and "coffee" in place.tags for place in found)


def test_places_named_like_the_keyword_come_first() -> None:
    assert places_in("上海", "外滩")[0].name == "外滩"
    assert places_in("杭州", "灵隐寺")[0].name == "灵隐寺"


def test_places_of_a_city_outside_the_sample_are_none() -> None:
    assert places_in("伦敦", "咖啡") == []
    assert {place.city for place in places_in("330106")} == {"杭州市"}


def test_a_place_is_found_by_its_id_with_or_without_the_prefix() -> None:
    first = load_sample().places[0]
    assert place_by_id(first.id) is first
    assert place_by_id(f"amap:{first.id}") is first
    assert place_by_id("B000000000") is None


@by_examples
def test_a_name_is_resolved_to_its_spot(text: str, name: str) -> None:
    anchor = find_spot(text)
    assert anchor is not None
    assert anchor.name == name


@pytest.mark.parametrize(
    "text", ["", "  ", "Paris", "福州西湖", "不存在的地方", "西湖区文三路", "\x00"]
)
def test_a_name_outside_the_sample_is_not_resolved(text: str) -> None:
    assert find_spot(text) is None


def test_a_spot_is_only_found_in_the_city_that_is_asked_for() -> None:
    assert find_spot("外滩", "北京") is None
    assert find_spot("外滩", "伦敦") is None
    found = find_spot("外滩", "021")
    assert found is not None
    assert found.adcode == "310101"


def test_a_city_is_known_by_name_code_and_district() -> None:
    for text in (
        "杭州",
        "杭州市",
        "Hangzhou",
        "330100",
        "0571",
        "西湖区",
        "杭州市西湖区",
        "330106",
    ):
        city = find_city(text)
        assert city is not None, text
        assert city.name == "杭州市"
    assert find_city("") is None

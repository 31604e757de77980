"""The bundled sample holds what it promises, and its look-ups follow its files."""

import json
import re
import subprocess
import sys
from collections import Counter
from importlib import resources

import pytest

from agent.offline.corpus import (
    Place,
    distance_m,
    find_anchor,
    find_city,
    load_sample,
    place_by_id,
    places_in,
    places_near,
    search_pages,
)

SAMPLE = load_sample()
WANGFUJING = (116.411246, 39.913822)
CHINA = (73.5, 135.1, 18.0, 53.6)


def _names(places: list[tuple[Place, float]]) -> list[str]:
    return [place.name for place, _ in places]


def test_the_sample_has_the_six_promised_areas() -> None:
    areas = {area.name for area in SAMPLE.areas}
    assert {"王府井", "三里屯", "西湖", "上海迪士尼", "外滩", "宽窄巷子"} <= areas


@pytest.mark.parametrize("area", [area.key for area in SAMPLE.areas])
def test_each_area_has_twenty_places_of_many_kinds(area: str) -> None:
    places = [place for place in SAMPLE.places if place.area == area]
    assert len(places) >= 22
    assert len({place.typecode for place in places}) >= 10
    for need in ("亲子", "停车场", "地铁站", "咖啡", "酒店", "餐厅"):
        assert any(need in place.tags for place in places), need


def test_ids_are_unique_and_look_like_the_maps_ids() -> None:
    ids = [place.id for place in SAMPLE.places]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"B0SAMP[A-Z]\d{3}", place_id) for place_id in ids)


def test_no_area_names_two_places_alike() -> None:
    counts = Counter((place.area, place.name) for place in SAMPLE.places)
    assert [name for name, count in counts.items() if count > 1] == []


def test_coordinates_are_in_china_and_near_their_area() -> None:
    centres = {area.key: (area.lng, area.lat) for area in SAMPLE.areas}
    west, east, south, north = CHINA
    for place in SAMPLE.places:
        assert west < place.lng < east, place.name
        assert south < place.lat < north, place.name
        assert distance_m(place.lng, place.lat, *centres[place.area]) < 15_000, place.name


def test_no_two_places_of_an_area_share_a_point() -> None:
    points = Counter((place.lng, place.lat) for place in SAMPLE.places)
    assert [point for point, count in points.items() if count > 1] == []


def test_places_carry_the_codes_of_their_district_and_city() -> None:
    cities = {city.name: city for city in SAMPLE.cities}
    for place in SAMPLE.places:
        city = cities[place.city]
        districts = {district.name: district.adcode for district in city.districts}
        assert districts[place.district] == place.adcode, place.name
        assert place.citycode == city.citycode
        assert re.fullmatch(r"\d{6}", place.typecode)
        assert place.type.count(";") == 2


def test_sample_values_are_in_a_believable_range() -> None:
    for place in SAMPLE.places:
        assert place.rating is None or 3 <= place.rating <= 5, place.name
        assert place.cost is None or 0 <= place.cost <= 5000, place.name


def test_each_file_with_changing_values_says_so_at_its_head() -> None:
    folder = resources.files("agent.offline") / "sample"
    files = [f for f in folder.iterdir() if f.name.startswith(("places_", "weather"))]
    assert len(files) == len(SAMPLE.areas) + 1
    for file in files:
        assert "SAMPLE VALUES" in json.loads(file.read_text(encoding="utf-8"))["note"]


def test_every_place_has_an_english_name_and_the_bund_english_addresses() -> None:
    assert all(place.name_en.isascii() or "é" in place.name_en for place in SAMPLE.places)
    assert all(place.address_en for place in SAMPLE.places if place.area == "bund")


def test_there_are_pages_enough_on_areas_and_on_general_subjects() -> None:
    kinds = Counter(page.id.split("-")[0] for page in SAMPLE.pages)
    assert len(SAMPLE.pages) >= 45
    assert kinds["general"] >= 16
    assert kinds["westlake"] >= 6
    assert {page.language for page in SAMPLE.pages} == {"zh", "en"}


def test_every_page_says_that_it_is_a_sample() -> None:
    marks = {"zh": "[示例] ", "en": "[Sample] "}
    for page in SAMPLE.pages:
        assert page.title.startswith(marks[page.language])
        assert page.url.startswith("https://sample.tanlu.invalid/")


def test_page_ids_and_addresses_are_unique() -> None:
    for values in ([p.id for p in SAMPLE.pages], [p.url for p in SAMPLE.pages]):
        assert len(set(values)) == len(values)


def test_every_page_has_sentences_to_quote_and_a_fair_length() -> None:
    for page in SAMPLE.pages:
        if page.language == "zh":
            assert page.text.count("。") >= 4, page.id
            assert 120 <= len(page.text) <= 400, page.id
        else:
            assert len(re.findall(r"\.(?:\s|$)", page.text)) >= 4, page.id
            assert 80 <= len(page.text.split()) <= 220, page.id
        assert page.text[-1] in "。."
        assert page.subjects
        assert page.topics


def test_chinese_pages_use_chinese_punctuation() -> None:
    for page in SAMPLE.pages:
        if page.language == "zh":
            assert not re.search("[\u4e00-\u9fff][,:;!?]", page.title[5:] + page.text), page.id


def test_weather_covers_each_city_from_today_on() -> None:
    assert {weather.city for weather in SAMPLE.weather} == {city.name for city in SAMPLE.cities}
    for weather in SAMPLE.weather:
        assert [day.offset for day in weather.days] == [0, 1, 2, 3]
        assert all(day.daytemp >= day.nighttemp for day in weather.days)


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
    first = SAMPLE.places[0]
    assert place_by_id(first.id) is first
    assert place_by_id(f"amap:{first.id}") is first
    assert place_by_id("B000000000") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("王府井", "王府井"),
        ("北京市东城区王府井大街138号", "王府井"),
        ("Wangfujing, Beijing", "王府井"),
        ("sanlitun", "三里屯"),
        ("杭州西湖", "西湖"),
        ("浙江省杭州市西湖区断桥", "断桥"),
        ("西湖区", "西湖区"),
        ("West Lake", "西湖"),
        ("Broken Bridge, West Lake, Hangzhou", "断桥"),
        ("The Bund", "外滩"),
        ("near the Bund, Shanghai", "外滩"),
        ("上海迪士尼乐园", "上海迪士尼乐园"),
        ("Shanghai Disneyland", "上海迪士尼乐园"),
        ("北京站", "北京站"),
        ("北京南站", "北京南站"),
        ("杭州东站", "杭州东站"),
        ("上海虹桥站", "上海虹桥站"),
        ("北京", "北京市"),
        ("中国儿童艺术剧院", "中国儿童艺术剧院"),
    ],
)
def test_a_name_is_resolved_to_its_spot(text: str, name: str) -> None:
    anchor = find_anchor(text)
    assert anchor is not None
    assert anchor.name == name


@pytest.mark.parametrize(
    "text", ["", "  ", "Paris", "福州西湖", "不存在的地方", "西湖区文三路", "\x00"]
)
def test_a_name_outside_the_sample_is_not_resolved(text: str) -> None:
    assert find_anchor(text) is None


def test_a_spot_is_only_found_in_the_city_that_is_asked_for() -> None:
    assert find_anchor("外滩", "北京") is None
    assert find_anchor("外滩", "伦敦") is None
    found = find_anchor("外滩", "021")
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


@pytest.mark.parametrize(
    "query",
    [
        "量子色动力学晶格计算",
        "sourdough hydration in Patagonia",
        "best coffee in Patagonia",
        "东京 亲子 餐厅",
        "巴黎 门票 预约 开放时间",
        "London metro tickets",
        "北京天气",
        "who won the 1998 world cup",
        "",
        "的了吗",
    ],
)
def test_a_query_outside_the_sample_finds_no_page(query: str) -> None:
    assert search_pages(query) == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("王府井附近适合遛娃的好去处", "wangfujing-kids"),
        ("杭州西湖 门票", "westlake-tickets"),
        ("杭州西湖 避坑", "westlake-pitfalls"),
        ("杭州西湖怎么停车", "westlake-transport"),
        ("上海迪士尼 停车", "disney-transport"),
        ("coffee near the Bund", "bund-coffee-en"),
        ("成都带孩子玩", "kuanzhai-kids"),
        ("What is LangGraph?", "general-langgraph-en"),
        ("LangGraph 是什么", "general-langgraph-zh"),
        ("sodium-ion batteries cost vs lithium 2026", "general-sodium-en"),
        ("钠离子电池 产业化 宁德时代", "general-sodium-zh"),
        ("how do vaccines work", "general-vaccines"),
        ("茶的历史", "general-tea-zh"),
    ],
)
def test_a_query_finds_the_page_on_it_first(query: str, first: str) -> None:
    assert search_pages(query)[0].id == first


def test_every_page_is_found_by_its_own_title() -> None:
    for page in SAMPLE.pages:
        found = search_pages(page.title.split("] ", 1)[1], language=page.language, limit=3)
        assert page.id in {other.id for other in found}, page.id


def test_pages_of_another_city_are_left_out() -> None:
    found = search_pages("上海亲子游")
    assert found
    assert {page.id.split("-")[0] for page in found} <= {"bund", "disney"}


def test_a_search_keeps_to_its_language_and_limit() -> None:
    found = search_pages("西湖", language="zh", limit=3)
    assert len(found) == 3
    assert {page.language for page in found} == {"zh"}


def test_a_search_of_a_very_long_text_ends() -> None:
    assert search_pages("王府井 " * 50_000)


def test_the_sample_needs_only_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import agent.offline.corpus; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - set(sys.stdlib_module_names) - {'agent'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"

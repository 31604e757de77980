"""The bundled sample holds what it promises."""

import json
import re
import subprocess
import sys
from collections import Counter
from importlib import resources

import pytest

from agent.evidence.geo import distance_m
from agent.sample.records import load_sample, read_sheets

SAMPLE = load_sample()
AREAS = {sheet["area"]["key"]: sheet["area"] for sheet in read_sheets("places_")}
CHINA = (73.5, 135.1, 18.0, 53.6)


def test_the_sample_has_the_six_promised_areas() -> None:
    areas = {area["name"] for area in AREAS.values()}
    assert {"王府井", "三里屯", "西湖", "上海迪士尼", "外滩", "宽窄巷子"} <= areas


@pytest.mark.parametrize("area", AREAS)
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
    centres = {key: (area["lng"], area["lat"]) for key, area in AREAS.items()}
    west, east, south, north = CHINA
    for place in SAMPLE.places:
        assert west < place.lng < east, place.name
        assert south < place.lat < north, place.name
        assert distance_m((place.lng, place.lat), centres[place.area]) < 15_000, place.name


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
    folder = resources.files("agent.sample") / "data"
    files = [f for f in folder.iterdir() if f.name.startswith(("places_", "weather"))]
    assert len(files) == len(AREAS) + 1
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
        assert [day["offset"] for day in weather.days] == [0, 1, 2, 3]
        assert all(day["daytemp"] >= day["nighttemp"] for day in weather.days)


def test_the_records_of_the_sample_need_only_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); "
        "from agent.sample.records import load_sample; load_sample(); "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - set(sys.stdlib_module_names) - {'agent'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"

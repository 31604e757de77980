"""Chinese names for English readers: how they sound, and which language they are in."""

import subprocess
import sys

import pytest

from agent.evidence.names import district_in_english, titled_name, with_pinyin
from agent.evidence.records import forecast_told
from agent.evidence.types import Weather, WeatherDay
from agent.export.html import html_page
from tests.unit.export_samples import place
from tests.unit.test_outing_exports import answer

pytestmark = pytest.mark.slow


def test_a_chinese_name_stands_with_its_pinyin_where_it_has_no_english_one():
    listed = [
        place(1, "和平菓局(王府井店)"),
        {**place(2, "故宫博物院"), "name_en": "Palace Museum"},
    ]
    shown = [titled_name(each, "en") for each in with_pinyin(listed)]
    assert shown == ["Hé píng guǒ jú · 和平菓局(王府井店)", "Palace Museum · 故宫博物院"]
    assert titled_name(with_pinyin(listed)[0], "zh") == "和平菓局(王府井店)"


def test_a_forecast_is_in_english_where_the_words_are_known():
    days = [
        WeatherDay(date="", day="晴", night="多云", low_c=1, high_c=9, wind="北风 1-3 级"),
        WeatherDay(date="", day="奇", night="奇", low_c=None, high_c=None, wind=None),
    ]
    forecast = Weather(id="w", city="北京市", days=days, source="m1", fetched_at="")
    english = forecast_told(forecast, "en")
    assert english["city_en"] == "Beijing"
    told = [(day["sky_en"], day["wind_en"]) for day in english["days"]]
    assert told == [("clear/cloudy", "wind N, force 1-3"), ("奇", "")]
    assert english["days"][0]["day"] == "晴", "what the map said stays"


def test_a_name_in_latin_letters_needs_none():
    assert "name_pinyin" not in with_pinyin([place(1, "KFC (王府井店)")])[0]


def test_a_district_reads_as_english_maps_write_it():
    names = ["东城区", "浦东新区", "西安市", "桐庐县", "Soho"]
    assert [*map(district_in_english, names)] == [
        "Dongcheng District", "Pudong New Area", "Xi'an City", "Tonglu County", "Soho"
    ]  # fmt: skip
    assert with_pinyin([{**place(1, "KFC"), "district": "东城区"}])[0]["district_en"] == (
        "Dongcheng District"
    )


def test_an_english_page_says_which_words_are_chinese():
    page = html_page(answer(language="en", answer="Go to 和平菓局 (sample)."))
    assert 'Go to <span lang="zh-CN">和平菓局</span> (sample).' in page
    assert "<span" not in page.partition("<svg")[2].partition("</svg>")[0]
    assert 'title="<span' not in page


def test_a_chinese_page_is_chinese_throughout():
    assert '<span lang="zh-CN">' not in html_page(answer())


def test_the_dictionary_of_sounds_is_loaded_for_a_chinese_name_only() -> None:
    """It takes 57 MB and half a second."""
    program = (
        "import sys; from agent.evidence.names import with_pinyin, district_in_english;"
        "from tests.unit.export_samples import place;"
        "with_pinyin([]); with_pinyin([place(1, 'KFC', district=None, distance_from=None)]);"
        "district_in_english('Camden');"
        "print('pypinyin' in sys.modules); with_pinyin([place(1, '外滩')]);"
        "print('pypinyin' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (printed.stdout.split(), printed.stderr) == (["False", "True"], "")

"""Chinese names for English readers: how they sound, and which language they are in."""

from agent.evidence.records import district_in_english, name_text, with_pinyin
from agent.export.html import html_page
from tests.unit.export_samples import place
from tests.unit.test_outing_exports import answer


def test_a_chinese_name_stands_with_its_pinyin_where_it_has_no_english_one():
    listed = [
        place(1, "和平菓局(王府井店)"),
        {**place(2, "故宫博物院"), "name_en": "Palace Museum"},
    ]
    shown = [name_text(each, "en") for each in with_pinyin(listed)]
    assert shown == ["和平菓局(王府井店) (Hé píng guǒ jú)", "故宫博物院 (Palace Museum)"]
    assert name_text(with_pinyin(listed)[0], "zh") == "和平菓局(王府井店)"


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

"""One place under one name: the asker's word goes with it where its own name is not read."""

from typing import Any

import pytest

from agent.assistants.common.forms import PlannedMap, WrittenQuery
from agent.assistants.common.map_tasks import plan_queries
from agent.assistants.common.shown_records import places_as_shown, readable, ways_said
from agent.configuration import Configuration
from agent.evidence.names import map_name, with_pinyin
from agent.evidence.records import place_facts, route_text
from agent.evidence.said import (
    anchor_said,
    called_as_written,
    names_said,
    place_said,
    route_said,
    source_said,
    with_said,
)
from agent.evidence.types import Anchor, Distance, MapTask, Place, Route, Source
from agent.texts import Language
from tests.support.rows import by_examples
from tests.unit.test_evidence_mentions import place

BUND = {"外滩": "the Bund"}


def way(origin: str, destination: str) -> Route:
    ends = [Anchor(name=name, wgs84={"lng": 121.5, "lat": 31.2}) for name in (origin, destination)]
    return Route(
        id="amap:w", mode="walking", origin=origin, destination=destination, distance_m=900,
        duration_s=700, steps=[], url="", source="a0-0", fetched_at="", ends=ends,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "asked", "bare", "said"),
    [
        ("外滩 (the Bund)", "Cafés near the Bund", "外滩", BUND),
        ("外滩（The Bund）", "Cafés near the Bund", "外滩", {"外滩": "The Bund"}),
        ("外滩 (Waitan)", "Cafés near the Bund", "外滩", {}),
        ("全聚德(王府井店)", "How far is 全聚德?", "全聚德(王府井店)", {}),
        ("Café (Mitte)", "Café (Mitte) in Berlin", "Café (Mitte)", {}),
        ("Эрмитаж (Hermitage)", "Near the Hermitage", "Эрмитаж", {"Эрмитаж": "Hermitage"}),
        ("外滩", "Cafés near the Bund", "外滩", {}),
        (
            "团结湖(地铁站) (Tuanjiehu station)",
            "From Tuanjiehu station",
            "团结湖(地铁站)",
            {"团结湖(地铁站)": "Tuanjiehu station"},
        ),
        (
            "星巴克(三里屯店)（Starbucks）",
            "Is Starbucks open?",
            "星巴克(三里屯店)",
            {"星巴克(三里屯店)": "Starbucks"},
        ),
        ("宽窄巷子 (寛窄巷子)", "成都の寛窄巷子の近く", "宽窄巷子", {"宽窄巷子": "寛窄巷子"}),
        ("天安门（天安門）", "天安門附近", "天安门", {"天安门": "天安門"}),
        ("天安门 (天安門)", "天安门附近", "天安门", {}),
        ("东京站 (東京駅)", "東京駅の近くの喫茶店", "东京站", {"东京站": "東京駅"}),
        (
            "Senaatintori (Сенатская площадь)",
            "Как доехать от Сенатской площади до вокзала?",
            "Senaatintori",
            {"Senaatintori": "Сенатская площадь"},
        ),
        ("Senaatintori (Сенатская площадь)", "How far is it?", "Senaatintori", {}),
        ("Starbucks (王府井店)", "Starbucks near me", "Starbucks (王府井店)", {}),
        ("北京烤鸭店(王府井店)", "王府井 烤鸭", "北京烤鸭店(王府井店)", {}),
    ],
)
def test_the_asker_s_word_behind_a_place_s_name_is_kept_and_not_asked_of_the_map(
    name: str, asked: str, bare: str, said: dict[str, str]
) -> None:
    told = with_said(MapTask(intent="nearby", place=name, keywords=["咖啡"]), asked)
    assert told["place"] == bare
    assert told.get("said", {}) == said
    (query,) = plan_queries(
        [WrittenQuery(query="q", map=PlannedMap(intent="nearby", place=name))],
        Configuration(),
        None,
        asked=asked,
    )
    assert query["map"]
    assert query["map"]["place"] == bare


@pytest.mark.parametrize(
    ("task", "meant", "expected"),
    [
        ({"said": BUND}, {"外滩": "外滩风景区"}, {**BUND, "外滩风景区": "the Bund"}),
        ({}, {"the Bund": "外滩"}, BUND),
        ({}, {"外滩": "外滩"}, {}),
        ({}, {"Mitte": "Mitte"}, {}),
    ],
)
def test_what_the_map_found_for_a_place_is_called_as_its_asker_does(
    task: dict[str, Any], meant: dict[str, str], expected: dict[str, str]
) -> None:
    assert names_said(MapTask(intent="nearby", **task), meant) == expected


def test_the_two_that_something_is_looked_for_between_are_called_as_who_asks_calls_them() -> None:
    """A Japanese card had "Helsinki Central Railway Stationから", the way its asker's word."""
    said = {"Helsingin päärautatieasema": "ヘルシンキ中央駅"}
    task = MapTask(intent="nearby", origin=next(iter(said)), destination="Torni", said=said)
    found = names_said(
        task, {next(iter(said)): "Helsinki Central Railway Station", "Torni": "Torni"}
    )
    assert found["Helsinki Central Railway Station"] == "ヘルシンキ中央駅"


@by_examples
def test_a_place_is_called_as_the_text_calls_it_in_its_reader_s_script(
    text: str, reader: Language, english: str | None, expected: str | None
) -> None:
    """A Russian read "Bank of Finland Museum" on the card, and his own word nowhere."""
    known = place("Rahamuseo")
    if english:
        known["name_en"] = english
    (told,) = called_as_written([known], text, reader)
    assert told.get("name_en") == expected


def test_a_place_is_called_in_chinese_as_the_text_has_it_in_bold_before_its_own_name() -> None:
    (told,) = called_as_written([place("Rahamuseo")], "- **货币博物馆（Rahamuseo）**：近", "zh")
    assert map_name(told, "zh") == "货币博物馆 (Rahamuseo)"
    assert map_name(told, "zh-Hant") == "貨幣博物館 (Rahamuseo)"
    assert told["name"] == "Rahamuseo"


def test_the_ends_of_a_way_are_called_as_its_asker_calls_them_also_over_other_places() -> None:
    task = MapTask(
        intent="route", origin="外滩", destination="豫园", via=["人民广场"],
        said={**BUND, "豫园": "Yu Garden"},
    )  # fmt: skip
    routes = [way("外滩(地铁站)", "人民广场 → 豫园")]
    said = names_said(task, {"外滩": "外滩(地铁站)", "豫园": "豫园"})
    assert said["外滩(地铁站)"] == "the Bund"
    route = route_said(routes[0], said)
    assert "the Bund → 人民广场 → Yu Garden" in route_text(route, "en")
    assert "外滩(地铁站) → 人民广场 → 豫园" in route_text(route, "zh")
    assert route["ends"][0]["name_en"] == "the Bund"
    listed = source(route["source"], "Walk 外滩(地铁站) → 人民广场 → 豫园")
    assert source_said(listed, [route])["title"] == "Walk the Bund → 人民广场 → Yu Garden"
    assert source_said(source("m9", "Walk 外滩 → 豫园"), [route])["title"] == "Walk 外滩 → 豫园"


def test_a_title_is_put_once_where_a_name_has_the_other_in_it() -> None:
    route = Route(
        **{**way("Kiasma", "Zetor"), "origin_en": "Museum Kiasma", "destination_en": "Zetor"}
    )
    once = source_said(source(route["source"], "Walk Kiasma → Zetor"), [route])
    assert once["title"] == "Walk Museum Kiasma → Zetor"
    assert source_said(once, [route]) == once


def source(name: str, title: str) -> Source:
    return Source(
        id=name, kind="place", title=title, url="https://a.example", provider="amap", quotes=[]
    )


async def test_who_reads_japanese_reads_one_name_of_a_place_and_no_sound_of_it() -> None:
    said = {"宽窄巷子": "寛窄巷子"}
    near = place_said(
        Place(**{**place("鹤鸣茶社"), "distance_m": 300, "distance_from": "宽窄巷子"}),
        {**said, "鹤鸣茶社": "鶴鳴茶社"},
    )  # type: ignore[typeddict-item]
    (card,) = await places_as_shown([near], [], "", "ja", first=[near["id"]])
    assert "name_pinyin" not in card
    assert place_facts(card, "ja").startswith("鶴鳴茶社 | ")
    assert "寛窄巷子から300 m" in place_facts(card, "ja")
    plain = Place(**{**place("鹤鸣茶社"), "distance_m": 300, "distance_from": "宽窄巷子"})  # type: ignore[typeddict-item]
    (card,) = await places_as_shown([plain], [], "", "ja", first=[plain["id"]])
    assert "宽窄巷子から300 m" in place_facts(card, "ja")
    anchor = Anchor(name="宽窄巷子", wgs84={"lng": 104.0, "lat": 30.6})
    assert await readable(anchor, "ja") == anchor


async def test_a_place_its_list_and_its_centre_have_one_name_for_a_reader() -> None:
    """Places stood near 外滩 before the writer and near Waitan on their cards."""
    far = {
        "distance_m": 300,
        "distance_from": "外滩",
        "further": [Distance(origin="外滩", metres=9)],
    }
    near = place_said(Place(**{**place("甲"), **far}), BUND)  # type: ignore[typeddict-item]
    assert "300 m from the middle of the Bund" in place_facts(near, "en")
    (card,) = with_pinyin([near])
    assert card["distance_from_en"] == "the Bund"
    assert card["further"][0]["origin_en"] == "the Bund"
    anchor = anchor_said(Anchor(name="外滩", wgs84={"lng": 121.5, "lat": 31.2}), BUND)
    shown = await readable(anchor, "en")
    assert shown
    assert shown["name_en"] == "the Bund"


def test_what_a_place_is_far_from_has_no_local_name_behind_the_chinese_one_in_each_line() -> None:
    """Sixteen lines of a prompt had the station's Finnish name, and nothing used it."""
    near = Place(**{**place("甲"), "distance_m": 380})
    named = {
        "赫尔辛基中央车站 (Helsingin päärautatieasema)": "赫尔辛基中央车站",
        "星巴克(王府井店)": "星巴克(王府井店)",
        "万达广场 (B1)": "万达广场 (B1)",
    }
    for origin, told in named.items():
        line = place_facts(Place(**{**near, "distance_from": origin}), "zh")
        assert f"距{told} 380 m" in line


def test_a_way_is_between_places_as_another_search_has_named_them() -> None:
    """“天安门东 → 王府井” stood in an answer that told of Tiananmen East and Wangfujing."""
    begins = Place(**{**place("天安门东(地铁站)"), "name_en": "Tiananmen East"})
    [told] = ways_said([way("天安门东(地铁站)", "王府井")], [begins], "en")
    assert (told["origin_en"], told["destination_en"]) == ("Tiananmen East", "王府井")
    assert "origin_en" not in ways_said([way("天安门东(地铁站)", "王府井")], [begins], "zh")[0]

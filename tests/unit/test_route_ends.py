"""From where to where: the two ends of a way, however the question says how one goes."""

from typing import Any

import pytest

from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.question import asked_by_rules
from agent.configuration import Configuration
from agent.evidence.intent import asks_only_the_way, map_task_by_rules, needs_origin
from agent.evidence.places import route_ends

SAID = {
    "从故宫走路到王府井要多久": ("故宫", "王府井", "walking"),
    "从故宫走到王府井要多久": ("故宫", "王府井", "walking"),
    "从故宫走路去王府井远不远": ("故宫", "王府井", "walking"),
    "从故宫出发步行到景山公园": ("故宫", "景山公园", "walking"),
    "故宫到王府井走路几分钟": ("故宫", "王府井", "walking"),
    "从三里屯步行至工体": ("三里屯", "工体", "walking"),
    "从北京南站坐地铁到天安门怎么走": ("北京南站", "天安门", "transit"),
    "从天安门乘公交去鸟巢": ("天安门", "鸟巢", "transit"),
    "从杭州东站坐高铁到上海虹桥": ("杭州东站", "上海虹桥", "transit"),
    "从西单地铁站走路去北海公园要多久": ("西单地铁站", "北海公园", "walking"),
    "北京南站打车到故宫多少钱": ("北京南站", "故宫", "driving"),
    "从首都机场打的到国贸": ("首都机场", "国贸", "driving"),
    "从虹桥机场开车到外滩要多久": ("虹桥机场", "外滩", "driving"),
    "从西直门骑车到颐和园": ("西直门", "颐和园", "bicycling"),
    "从北京大学骑共享单车去圆明园": ("北京大学", "圆明园", "bicycling"),
    "去王府井从故宫怎么走": ("故宫", "王府井", None),
    "到外滩从人民广场坐地铁几站": ("人民广场", "外滩", "transit"),
    "北京南站到王府井怎么走": ("北京南站", "王府井", None),
    "虹桥火车站到外滩打车要多久": ("虹桥火车站", "外滩", "driving"),
    "天安门离故宫多远": ("天安门", "故宫", None),
    "请问从王府井到三里屯怎么走": ("王府井", "三里屯", None),
    "那从故宫到天坛怎么走": ("故宫", "天坛", None),
    "从故宫到天坛怎么走": ("故宫", "天坛", None),
    "how long does it take to walk from the Forbidden City to Wangfujing": (
        "Forbidden City", "Wangfujing", "walking"),
    "how far is it on foot from Tiananmen Square to the National Museum?": (
        "Tiananmen Square", "National Museum", "walking"),
    "How far is Jing'an Temple from the Bund?": ("Jing'an Temple", "Bund", None),
    "Drive from Hongqiao Airport to the Bund at 8am": ("Hongqiao Airport", "Bund", "driving"),
    "How do I get to Jin Mao Tower from Hongqiao Airport by metro": (
        "Hongqiao Airport", "Jin Mao Tower", "transit"),
    "distance between West Lake and Lingyin Temple": ("West Lake", "Lingyin Temple", None),
    "Pudong Airport to the Bund by taxi": ("Pudong Airport", "Bund", "driving"),
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_both_ends_are_names_without_how_one_goes(text: str) -> None:
    origin, destination, mode = SAID[text]
    ends = route_ends(text)
    assert ends is not None
    assert (ends.origin, ends.destination) == (origin, destination)
    task = map_task_by_rules(text)
    assert task is not None
    assert task["intent"] in ("route", "distance")
    assert (task["origin"], task["destination"]) == (origin, destination)
    assert task["mode"] == mode


@pytest.mark.parametrize(
    "text",
    [
        "走路10分钟以内的咖啡馆",
        "王府井附近适合遛娃的好去处",
        "三里屯的咖啡馆",
        "things to do in Hangzhou",
        "怎么去故宫",
        "How do I get to the Bund?",
    ],
)
def test_a_question_without_two_ends_has_none(text: str) -> None:
    assert route_ends(text) is None


@pytest.mark.parametrize(
    "text", ["从零到一怎么学编程", "从2019年到2023年的销量", "from zero to hero", "从入门到精通"]
)
def test_what_only_sounds_like_a_way_is_no_question_for_the_map(text: str) -> None:
    assert map_task_by_rules(text) is None


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("导航到故宫", True),
        ("带我去天安门", True),
        ("Navigate to the Bund", True),
        ("从杭州东站导航到西湖", False),
        ("Directions to the Forbidden City from Wangfujing", False),
        ("汽车导航系统原理", False),
        ("惯性导航到底是什么", False),
        ("王府井附近适合遛娃的好去处", False),
    ],
)
def test_guidance_to_a_place_without_a_start_asks_where_from(text: str, lacking: bool) -> None:
    assert needs_origin(text) is lacking


def test_the_word_for_navigation_is_no_place_to_start_from() -> None:
    assert route_ends("导航到故宫") is None
    ends = route_ends("从杭州东站导航到西湖")
    assert ends is not None
    assert (ends.origin, ends.destination) == ("杭州东站", "西湖")


WAYS = (
    "walk from the Bund to Yuyuan Garden",
    "从故宫到天坛怎么走",
    "从北京南站坐地铁到天安门要多久？",
    "请问从王府井到三里屯开车大概要多少分钟",
    "How do I get to Jin Mao Tower from Hongqiao Airport by metro",
    "how far is it on foot from Tiananmen Square to the National Museum?",
)
MORE_THAN_WAYS = (
    "北京南站打车到故宫多少钱",
    "从外滩走到豫园，路上有什么咖啡馆",
    "walk from the Bund to Yuyuan Garden with cafés on the way",
    "history of the Bund",
    "王府井附近怎么停车",
    "从西湖到灵隐寺的历史",
)


@pytest.mark.parametrize("text", WAYS)
def test_a_question_about_the_way_alone_is_for_the_map_alone(text: str) -> None:
    assert asks_only_the_way(text)
    turn: Any = {"question": text, "near": None}
    (query,) = asked_by_rules(turn, NO_PREVIOUS, Configuration()).queries
    assert query.get("web") is False


@pytest.mark.parametrize("text", MORE_THAN_WAYS)
def test_a_question_that_asks_more_is_for_the_web_too(text: str) -> None:
    assert not asks_only_the_way(text)

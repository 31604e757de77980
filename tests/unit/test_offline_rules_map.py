"""The offline brain on the map: records told with their markers, and tools called step by step."""

import json
import re
from collections.abc import Iterator

import pytest

from agent.language import Language
from agent.offline.brain import Tool, ToolResult, Turn
from agent.offline.rules import SampleBrain
from tests.support.offline_turns import MARKER, PLACES, ask, cited, text_of

MAP_TOOLS = [
    "maps_geo", "maps_regeocode", "maps_text_search", "maps_around_search", "maps_search_detail",
    "maps_weather", "maps_distance", "maps_direction_walking", "maps_direction_driving",
    "maps_bicycling", "maps_direction_transit_integrated",
]  # fmt: skip


@pytest.mark.parametrize("language", ["zh", "en"])
def test_listed_places_are_named_exactly_with_their_markers(language: Language) -> None:
    turn = ask("amap_research", language, query="王府井 遛娃", places=PLACES)
    text = text_of(SampleBrain().respond(turn))
    assert cited(text) == {"a0-1", "a0-2", "a0-3"}
    assert text.startswith("开心亲子乐园")
    assert set(re.findall(r"\d+(?:\.\d+)?", MARKER.sub("", text))) <= set(
        re.findall(r"\d+(?:\.\d+)?", PLACES)
    )


def test_routes_and_weather_are_told_with_their_markers() -> None:
    turn = ask(
        "amap_research",
        query="q",
        routes="[^a0-0] 步行：王府井 → 东单 · 900 m · 12 分钟",
        weather="[^a0-1] 杭州 2026-11-21 · 晴 · 8–16 °C",
    )
    text = text_of(SampleBrain().respond(turn))
    assert "900 m · 12 分钟。[^a0-0]" in text
    assert "8–16 °C。[^a0-1]" in text


def test_no_records_and_no_tools_is_said_honestly() -> None:
    for language, said in (("zh", "没有"), ("en", "no record")):
        text = text_of(SampleBrain().respond(ask("amap_research", language, query="月球 酒店")))  # type: ignore[arg-type]
        assert said in text
        assert not cited(text)


def loop(query: str, results: dict[str, str]) -> Iterator[list[tuple[str, dict]]]:
    """The calls of each step until the model writes; tools answer from `results`."""
    turn = ask("amap_research", query=query)
    told: tuple[ToolResult, ...] = ()
    for _ in range(6):
        tools = tuple(Tool(name) for name in MAP_TOOLS)
        answer = SampleBrain().respond(Turn(turn.system, turn.user, tools=tools, tool_results=told))
        yield [(call.name, call.args) for call in answer.calls]
        if not answer.calls:
            assert answer.text
            return
        told += tuple(ToolResult(call.name, results.get(call.name, "{}")) for call in answer.calls)
    raise AssertionError("the loop does not end")


def test_without_records_the_tools_are_called_step_by_step() -> None:
    pois = {"pois": [{"id": f"B{i}", "name": f"店{i}"} for i in range(5)]}
    steps = list(
        loop(
            "王府井附近的亲子乐园",
            {
                "maps_geo": json.dumps({"return": [{"location": "116.41,39.91"}]}),
                "maps_around_search": json.dumps(pois),
            },
        )
    )
    names = [[name for name, _ in step] for step in steps]
    details = ["maps_search_detail", "maps_search_detail"]
    assert names == [["maps_geo"], ["maps_around_search"], details, []]
    assert steps[1][0][1]["location"] == "116.41,39.91"
    assert [args["id"] for _, args in steps[2]] == ["B0", "B1"]


@pytest.mark.parametrize(
    "detail",
    [
        '{"id": "B1", "name": "店一", "address": "路1号", "source": "a0-0"}',
        '{"places": [{"name": "店一", "address": "路1号", "cite": "[^a0-0]"}]}',
        "[^a0-0] 店一 | 路1号",
    ],
)
def test_places_found_by_tools_are_cited_by_the_ids_in_their_results(detail: str) -> None:
    turn = ask("amap_research", query="王府井附近的亲子乐园")
    told = tuple(
        ToolResult(name, text)
        for name, text in (
            ("maps_geo", '{"return": [{"location": "116.41,39.91"}]}'),
            ("maps_around_search", '{"pois": [{"id": "B1", "name": "店一"}]}'),
            ("maps_search_detail", detail),
        )
    )
    tools = tuple(Tool(name) for name in MAP_TOOLS)
    answer = SampleBrain().respond(Turn(turn.system, turn.user, tools=tools, tool_results=told))
    assert answer.text == "店一，路1号。[^a0-0]"


def test_a_route_is_asked_between_the_two_ends() -> None:
    geo = json.dumps({"return": [{"location": "116.41,39.91"}]})
    steps = list(loop("从王府井步行到三里屯怎么走", {"maps_geo": geo}))
    assert [name for name, _ in steps[0]] == ["maps_geo", "maps_geo"]
    assert [name for name, _ in steps[1]] == ["maps_direction_walking"]
    assert steps[2] == []


def test_weather_is_one_call() -> None:
    steps = list(loop("杭州明天天气怎么样", {}))
    assert [[name for name, _ in step] for step in steps] == [["maps_weather"], []]


def test_tools_that_only_fail_end_the_loop() -> None:
    steps = list(loop("王府井附近的亲子乐园", {"maps_geo": "Error: request failed"}))
    assert len(steps) == 2

"""Tasks about places: the map's tools are offered, its records are cited, its failures are gaps."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.core.errors import ProviderRefused
from agent.evidence.types import MapTask
from agent.mcp.amap.records import PRESENTATION, AmapReader
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from tests.support.lab import answer_of, told
from tests.support.long_lab import says_json
from tests.support.plan_lab import PlanLab, Planner, World, looks_up, plan_process

QUESTION = "西湖附近有什么好去处"
BRIDGE = {"id": "B1", "name": "断桥", "location": "120.1490,30.2610", "address": "北山街"}


@tool
def maps_around_search(keywords: str) -> str:
    """Places around."""
    return ""


class OneBridge:
    """A map that knows one place, or refuses; `asked` are its calls."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses, self.asked = refuses, list[str]()
        self.opened = 0

    async def tools(
        self, map_result: MapResult, query: str, *, options: MapOptions, meter: Any, on_call: Any
    ) -> "OneBridgeTools":
        self.opened += 1
        if self.refuses:
            raise ProviderRefused("amap", "no key", code="map_key_missing")
        return OneBridgeTools(
            self, MapRecords(map_result, options, presentation=PRESENTATION), on_call
        )


class OneBridgeTools:
    def __init__(self, bridge: OneBridge, records: MapRecords, on_call: Any) -> None:
        self.tools: list[BaseTool] = [maps_around_search]
        self._bridge, self._reader, self._on_call = bridge, AmapReader(records), on_call

    async def call(self, call: ToolCall) -> ToolMessage:
        self._bridge.asked.append(call["name"])
        self._on_call(call["name"])
        place = self._reader.add_place(dict(BRIDGE))
        assert place
        return ToolMessage(f"[^{place['source']}] 断桥", tool_call_id=call["id"], name=call["name"])


class BareNames(OneBridge):
    """A map whose searches name places without a position, as Amap's do."""

    async def tools(self, map_result: MapResult, query: str, **more: Any) -> "OneBridgeTools":
        self.within = query
        tools = await super().tools(map_result, query, **more)
        tools.__class__ = BareNamesTools
        return tools


class BareNamesTools(OneBridgeTools):
    async def call(self, call: ToolCall) -> ToolMessage:
        if call["name"] == "maps_search_detail":
            assert call["args"] == {"id": "B1X"}
            self._bridge.asked.append(call["name"])
            self._reader.add_place({**BRIDGE, "id": "B1X", "open_time": "09:00-17:00"})
            return ToolMessage("ok", tool_call_id=call["id"], name=call["name"])
        self._bridge.asked.append(call["name"])
        return ToolMessage(
            '{"pois": [{"id": "B1X", "name": "断桥"}]}', tool_call_id=call["id"], name=call["name"]
        )


@pytest.fixture
async def lab(shared: World) -> AsyncIterator[PlanLab]:
    shared.clear()
    rule = looks_up("maps_around_search", keywords="公园")
    shared.gemini.llm = Planner("西湖 景点", "西湖 历史", execute_decide=rule)
    async with plan_process(shared) as lab:
        lab.services.maps = OneBridge()
        lab.context = {"geo_routing": "llm"}
        yield lab


async def test_the_maps_places_are_cited_with_ids_of_their_task(lab: PlanLab) -> None:
    state = await lab.ask(QUESTION)
    assert [place["source"] for place in state["places"]] == ["a1000-0"]
    (source,) = [s for s in told(state)["sources"] if s["kind"] == "place"]
    assert source["title"].endswith("断桥")
    assert "断桥" in str(answer_of(state).text)
    assert state["geojson"]
    assert "| 高德地图 | 地图 | 1 | 1 |" in str(answer_of(state).text)


async def test_places_that_a_search_only_names_are_looked_up_and_can_be_cited(
    lab: PlanLab,
) -> None:
    rule = looks_up("maps_around_search", keywords="公园", location="120.1500,30.2600")
    there: Any = {"query": "好去处", "sources": ["map"]}
    llm = lab.world.gemini.llm = Planner(there, execute_decide=rule)
    lab.services.maps = BareNames()
    state = await lab.ask("杭州西湖附近有什么好去处")
    assert lab.services.maps.asked == ["maps_around_search", "maps_search_detail"]
    assert lab.services.maps.within == "杭州西湖附近有什么好去处"
    [place] = state["places"]
    assert (place["source"], place["open_time"]) == ("a1000-0", "09:00-17:00")
    second = llm.asked("execute_decide")[1]
    assert "[^a1000-0]" in str(second.tool_results)
    assert [s["id"] for s in told(state)["sources"] if s["kind"] == "place"] == ["a1000-0"]


def own_words(turn: ModelTurn) -> ModelReply:
    rows = [line.split()[0] for line in lines(turn.user, "statements")]
    return ModelReply(json={"rulings": [{"r": f"{row} o"} for row in rows]})


class KnowsHours(OneBridge):
    """A map that code asks, too: it knows one place with its hours, and one way."""

    async def map_result(
        self, task: MapTask, query: str, *, options: MapOptions, meter: Any, on_call: Any
    ) -> MapResult:
        self.tasks = [*getattr(self, "tasks", []), task]
        result = MapResult(intent=task["intent"])
        reader = AmapReader(MapRecords(result, options, presentation=PRESENTATION))
        reader.add_place({**BRIDGE, "id": "B7", "name": "雷峰塔", "open_time": "08:00-17:30"})
        return result


async def test_a_review_has_a_place_looked_up_on_the_map_and_the_answer_shows_it(
    lab: PlanLab,
) -> None:
    looks = ("map_place: 雷峰塔 | 杭州", "map_way: 断桥 | 雷峰塔 | walking | 杭州")
    found = [{"at": "1", "wrong": "没有钟点和路", "look": look} for look in looks]

    def revises(turn: ModelTurn) -> ModelReply:
        looked = block(turn.user, "looked_up")
        # Each record stands behind its marker, once.
        name, _ = re.findall(r"\[\^(a5\d-0)\]", looked)
        insert = {"after": "1", "text": f"雷峰塔开到17:30[^{name}]。"}
        return ModelReply(json={"edits": [], "inserts": [insert]})

    there: Any = {"query": "西湖 景点", "sources": ["map"]}
    rule = looks_up("maps_around_search", keywords="公园")
    rules = {"execute_decide": rule, "claim_check": own_words, "revise": revises}
    lab.world.gemini.llm = llm = Planner(there, review=says_json(parts=[], findings=found), **rules)
    lab.services.maps = KnowsHours()
    state = await lab.ask(QUESTION)
    assert "map_place: " in block(llm.asked("review")[0].user, "lookups")
    place, way = lab.services.maps.tasks
    assert (place["intent"], place["place"], place["city"]) == ("poi", "雷峰塔", "杭州")
    assert (way["intent"], way["origin"], way["destination"], way["mode"]) == (
        "route", "断桥", "雷峰塔", "walking")  # fmt: skip
    assert "雷峰塔开到17:30[" in str(answer_of(state).text)
    assert "雷峰塔" in [place["name"] for place in told(state)["places"]]


async def test_what_only_own_documents_may_answer_asks_no_map_in_its_revision(lab: PlanLab) -> None:
    there: Any = {"query": "西湖 景点", "sources": ["map"]}
    lab.services.knowledge().put("西湖笔记", "西湖的断桥在北山街。")
    llm = lab.world.gemini.llm = Planner(there, claim_check=own_words)
    await lab.ask(QUESTION, sources="own")
    assert [block(turn.user, "lookups") for turn in llm.asked("review")] == [""]


async def test_a_place_of_the_turn_before_keeps_its_id_where_it_is_found_again(
    lab: PlanLab,
) -> None:
    rule = looks_up("maps_around_search", keywords="公园")
    llm = lab.world.gemini.llm = Planner("西湖 景点", execute_decide=rule)
    first = await lab.ask(QUESTION)
    again = await lab.ask("西湖的断桥怎么样")
    (known,) = again["previous"]["places"]
    assert [place["id"] for place in first["places"]] == [known["id"]]
    assert again["places"] == []
    (result,) = llm.asked("execute_decide")[-1].tool_results
    (name,) = re.findall(r"\[\^([\w-]+)\]", result.text)
    assert f"[^{name}]" in llm.asked("dossier")[-1].user


async def test_the_map_is_offered_once_in_a_task_and_its_calls_are_told(lab: PlanLab) -> None:
    events = await lab.events(QUESTION)
    offered = lab.services.maps.opened - len(lab.services.maps.asked)
    assert offered == 2
    assert lab.services.maps.asked == ["maps_around_search"] * 2
    assert [e["id"] for e in events if e["type"] == "map_call"] in (["T1", "T2"], ["T2", "T1"])


async def test_a_question_without_a_place_is_not_offered_the_map(lab: PlanLab) -> None:
    lab.world.gemini.llm = Planner("钠离子电池 成本")
    await lab.ask("钠离子电池的成本是多少")
    assert lab.services.maps.opened == 0


async def test_the_map_is_offered_where_the_plan_wants_it_and_nowhere_else(lab: PlanLab) -> None:
    rule = looks_up("maps_around_search", keywords="公园")
    there = {"query": "西湖 景点", "sources": ["map", "filings"], "company": "Qinglan"}
    llm = Planner(there, {"query": "西湖 历史", "sources": []}, execute_decide=rule)
    lab.world.gemini.llm = llm
    state = await lab.ask(QUESTION)
    assert lab.services.maps.opened - len(lab.services.maps.asked) == 1
    assert {tool.name for turn in llm.asked("execute_decide") for tool in turn.tools} == {
        "maps_around_search"
    }
    assert [place["source"] for place in state["places"]] == ["a1000-0"]


async def test_a_map_that_cannot_be_had_is_one_gap(lab: PlanLab) -> None:
    lab.services.maps = OneBridge(refuses=True)
    state = await lab.ask(QUESTION)
    assert [gap["code"] for gap in told(state)["gaps"]] == ["map_key_missing"]
    assert state["executor_result"][0]["documents"]


async def test_a_stop_that_is_closed_on_its_day_goes_to_the_revision(
    lab: PlanLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BRIDGE, "open_time", "周二至周日 09:00-17:00")
    rows = "| 周一 10:00 | 断桥 |\n| 周二 18:00 | 断桥 |\n| 周三 10:00 | 断桥 |"
    day = f"# 安排\n\n先看断桥。\n\n| 时间 | 地点 |\n|---|---|\n{rows}"

    def writes(turn: ModelTurn) -> ModelReply:
        name = re.findall(r"\[\^(\S+?)\] 断桥", turn.user)[0]
        return ModelReply(text=day.replace("先看断桥", f"先看断桥[^{name}]"))

    llm = lab.world.gemini.llm = Planner(
        {"query": "西湖 景点", "sources": ["map"]},  # type: ignore[arg-type]
        execute_decide=looks_up("maps_around_search", keywords="公园"),
        claim_check=own_words, dossier=writes,
    )  # fmt: skip
    lab.services.maps = OneBridge()
    await lab.ask(QUESTION)
    told = lines(llm.asked("revise")[0].user, "review")
    assert [line.split(" (")[0].split(": ")[0] for line in told] == ["o1 hours", "o2 hours"]
    assert "closed that day" in told[0]
    assert "09:00–17:00 that day" in told[1]

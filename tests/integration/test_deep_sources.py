"""Searches, pages and the map of a deep research: each failure separate, work bounded."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.listed_places import MOST_TOLD
from agent.assistants.deep_research import write_report
from agent.assistants.deep_research.graph import build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.core.budget import Meter
from agent.core.concurrency import Lazy
from agent.core.errors import ProviderUnavailable
from agent.evidence.types import Leg, Location, Source, Weather
from agent.mcp.new_records import new_place
from agent.mcp.records import MapOptions, MapResult
from agent.reading.reader import Article
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block
from agent.sample.services.search import KEY
from tests.support.deep_lab import (
    ZH,
    DeepLab,
    Researcher,
    change,
    compress,
    deep_laboratory,
    done_calls,
    end,
    planning,
    search,
    shown_urls,
    think,
)
from tests.support.lab import answer_of, laboratory, told
from tests.support.long_lab import Web, says_json
from tests.support.served import serve_in_thread
from tests.support.standins import SerperService

PLACE = "杭州西湖附近有什么好玩的"


@tool
def maps_weather(city: str) -> str:
    """The weather of a city."""
    return city


@dataclass
class FakeMaps:
    """A map that knows the weather, or cannot be had."""

    down: bool = False
    called: list[ToolCall] = field(default_factory=list)
    tools_: list[BaseTool] = field(default_factory=lambda: [maps_weather])

    async def tools(
        self, map_result: MapResult, query: str, *, options: MapOptions, meter: Meter,
        on_call: Callable[[str], None],
    ) -> Any:  # fmt: skip
        if self.down:
            raise ProviderUnavailable("amap", "the map server ended", code="map_server_down")
        return _Tools(self, map_result, options)

    async def walks(self, points: Sequence[Location], **more: Any) -> dict[tuple[int, int], Leg]:
        """Return the way between the first two, which is longer than their line."""
        leg = Leg(mode="walking", distance_m=420, duration_s=350, estimated=False)
        return {(0, 1): leg} if len(points) > 1 else {}

    async def aclose(self) -> None:
        """Nothing is open."""


class _Tools:
    def __init__(self, maps: FakeMaps, map_result: MapResult, options: MapOptions) -> None:
        self.tools, self._maps = maps.tools_, maps
        self._map_result, self._options = map_result, options

    async def call(self, call: ToolCall) -> ToolMessage:
        self._maps.called.append(call)
        name = f"{self._options.prefix}-0"
        self._map_result.sources.append(
            Source(id=name, kind="place", title="天气", url="https://amap.example/w",
                   provider="高德地图", quotes=["晴"])
        )  # fmt: skip
        self._map_result.weather.append(
            Weather(id="w", city="杭州", days=[], source=name, fetched_at="2026-11-21T00:00:00Z")
        )
        return ToolMessage("杭州 晴 [^x]", tool_call_id=call["id"] or "", name=call["name"])


async def with_maps(lab: DeepLab, maps: FakeMaps, question: str) -> dict[str, Any]:
    services: Any = replace(lab.services, maps=maps)  # type: ignore[arg-type]
    graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
    given: Any = {"messages": question}
    state: dict[str, Any] = await graph.ainvoke(
        given,
        {"configurable": {"thread_id": "m"}},
        context=DeepConfiguration(small_topic_tokens=0),
    )
    return state


def asks_the_map(turn: ModelTurn) -> ModelReply:
    names = done_calls(turn)
    if "tavily_search" in names:
        return ModelReply(calls=(think(), end(shown_urls(turn))))
    if not names and "maps_weather" in {offered.name for offered in turn.tools}:
        return ModelReply(calls=(FunctionCall("maps_weather", {"city": "杭州"}),))
    return ModelReply(calls=(think(), search("西湖")))


async def test_the_maps_tools_are_offered_where_the_question_names_a_place() -> None:
    maps = FakeMaps()
    async with deep_laboratory(Researcher(deep_explore=asks_the_map)) as lab:
        state = await with_maps(lab, maps, PLACE)
    assert [call["args"] for call in maps.called] == [{"city": "杭州"}]
    assert [record["city"] for record in told(state)["weather"]] == ["杭州"]
    assert told(state)["checks"]["cited"] > 0


@pytest.mark.parametrize(
    ("question", "helps"), [("Two days in Lyon with a pram", True), (PLACE, False)]
)
async def test_whether_the_map_helps_is_the_plan_s_word(question: str, helps: bool) -> None:
    """A trip to a city that no gazetteer of ours knows had no map.

    So it is with who comes on wheels: places are held against that.
    """
    maps, plan = FakeMaps(), says_json(topics=[{"name": "Lyon"}], map=helps, on_wheels=helps)
    async with deep_laboratory(Researcher(deep_explore=asks_the_map, deep_plan=plan)) as lab:
        state = await with_maps(lab, maps, question)
    assert bool(maps.called) is helps
    demands = {"suits": ["wheelchair"]} if helps else {}
    assert state["turn"].get("constraints", {}) == demands


@tool
def maps_geo(address: str) -> str:
    """A place's position."""
    return address


@tool
def maps_around_search(location: str, keywords: str) -> str:
    """Places around a position."""
    return keywords


@tool
def maps_search_detail(id: str) -> str:
    """A place's record."""
    return id


class Surroundings(FakeMaps):
    """A map that knows three restaurants by name, the record of each, and of its `branches`."""

    def __init__(self, branches: int = 0) -> None:
        super().__init__(tools_=[maps_geo, maps_around_search, maps_search_detail])
        self.branches = branches

    async def tools(self, map_result: MapResult, query: str, **more: Any) -> Any:
        return _Around(self, map_result, more["options"])


class _Around(_Tools):
    async def call(self, call: ToolCall) -> ToolMessage:
        self._maps.called.append(call)
        text = '{"location": "120.148000,30.242000"}'
        if call["name"] == "maps_around_search":
            rows = [f'{{"id": "B00{n}", "name": "餐馆{n}"}}' for n in range(3)]
            text = f'{{"pois": [{", ".join(rows)}]}}'
        if call["name"] == "maps_search_detail":
            name = str(call["args"]["id"])
            branches = getattr(self._maps, "branches", 0)
            for own in (name, *(f"{name}{n:02}" for n in range(branches))):
                self._enter(own)
            text = "record"
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"])

    def _enter(self, name: str) -> None:
        location = Location(lng=120.149, lat=30.242, crs="GCJ-02")
        place = new_place(id=f"amap:{name}", name=f"餐馆{name}", location=location, url="u",
                          open_time="10:00-21:00")  # fmt: skip
        place["source"] = f"{self._options.prefix}-{len(self._map_result.sources)}"
        place["fetched_at"] = "2026-11-21T00:00:00Z"
        self._map_result.places.append(place)
        self._map_result.sources.append(
            Source(id=place["source"], kind="place", title=place["name"], url="u",
                   provider="高德地图", quotes=[place["name"]])
        )  # fmt: skip


def asks_around(turn: ModelTurn) -> ModelReply:
    names = done_calls(turn)
    if "maps_geo" not in names:
        return ModelReply(calls=(FunctionCall("maps_geo", {"address": "西湖"}),))
    if "maps_around_search" not in names:
        around = {"location": "120.148000,30.242000", "keywords": "餐馆"}
        return ModelReply(calls=(FunctionCall("maps_around_search", around),))
    if "tavily_search" not in names:
        return ModelReply(calls=(think(), search("西湖")))
    return ModelReply(calls=(think(), end(shown_urls(turn))))


async def test_places_of_a_search_around_have_an_id_distance_and_hours_f10() -> None:
    maps = Surroundings()
    async with deep_laboratory(Researcher(deep_explore=asks_around)) as lab:
        state = await with_maps(lab, maps, PLACE)
    shown = next(r.text for turn in lab.llm.asked("deep_explore") for r in turn.tool_results
                 if r.name == "maps_around_search")  # fmt: skip
    assert shown.startswith("[^a0-0] 餐馆B000 | 距西湖中心点 96 m | 10:00-21:00\n[^a0-1]")
    assert "地图调用 60 次</left>" in lab.llm.asked("deep_explore")[0].user
    details = [call["args"]["id"] for call in maps.called if call["name"] == "maps_search_detail"]
    assert details == ["B000", "B001", "B002"]
    assert {place["distance_from"] for place in told(state)["places"]} == {"西湖"}
    assert all(f"餐馆B00{n}" in lab.llm.asked("deep_report")[0].user for n in range(3))


async def test_what_the_lead_has_thought_of_stands_in_the_draft_whatever_its_rank() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "maps_around_search" in done_calls(turn):
            return ModelReply(calls=(think("午饭去餐馆B00207。"), end()))
        return asks_around(turn)

    async with deep_laboratory(Researcher(deep_explore=rule, deep_plan=planning())) as lab:
        await with_maps(lab, Surroundings(branches=30), PLACE)
    [report] = lab.llm.asked("deep_report")
    records = block(report.user, "topics")
    assert records.count("| 10:00-21:00") == MOST_TOLD
    assert "餐馆B00207 | 10:00-21:00" in records


async def test_of_a_report_the_places_that_it_names_are_cards_and_its_state_keeps_all() -> None:
    """Two days with five stops came with 86 cards."""
    report = "# 报告\n\n午饭去餐馆B002 [^a0-2]。"
    llm = Researcher(deep_explore=asks_around, deep_report=lambda turn: ModelReply(text=report))
    async with deep_laboratory(llm) as lab:
        state = await with_maps(lab, Surroundings(), PLACE)
    assert [(p["name"], p["number"]) for p in told(state)["places"]] == [("餐馆B002", 1)]
    assert [p["name"] for p in state["places"]] == ["餐馆B002", "餐馆B000", "餐馆B001"]
    assert len(state["previous"]["places"]) == 3


async def test_a_research_that_only_asked_the_map_may_end() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "maps_around_search" in done_calls(turn):
            return ModelReply(calls=(think(), end()))
        return asks_around(turn)

    async with deep_laboratory(Researcher(deep_explore=rule, deep_plan=planning())) as lab:
        state = await with_maps(lab, Surroundings(), PLACE)
    assert told(state)["checks"]["refused_calls"] == 0
    assert len(lab.llm.asked("deep_explore")) == 3


async def test_records_of_a_closed_topic_are_listed_by_their_ids_and_positions_keep_names() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if block(turn.user, "topic") == "餐馆":
            reply = asks_around(turn)
            is_done = "tavily_search" in done_calls(turn)
            return ModelReply(calls=(think(), change("路线"))) if is_done else reply
        return ModelReply(calls=(think(), end()))

    maps = Surroundings()
    async with deep_laboratory(Researcher("餐馆", "路线", deep_explore=rule)) as lab:
        state = await with_maps(lab, maps, PLACE)
    inside, later = lab.llm.asked("deep_explore")[2], lab.llm.asked("deep_explore")[-1]
    assert "餐馆B000" not in block(inside.user, "workspace"), "its messages show it"
    assert "[^a0-0] 餐馆B000" in block(later.user, "workspace")
    assert state["positions"] == {"120.148000,30.242000": "西湖"}


async def test_a_topic_that_only_the_map_answered_is_done_and_stands_in_the_review() -> None:
    def explores(turn: ModelTurn) -> ModelReply:
        names = done_calls(turn)
        if "<topic>餐饮" in turn.user:
            if "maps_geo" not in names:
                return ModelReply(calls=(FunctionCall("maps_geo", {"address": "西湖"}),))
            if "maps_around_search" not in names:
                around = {"location": "120.148000,30.242000", "keywords": "餐馆"}
                return ModelReply(calls=(FunctionCall("maps_around_search", around),))
            return ModelReply(calls=(think(), change("")))
        if "tavily_search" not in names:
            return ModelReply(calls=(think(), search(block(turn.user, "topic"))))
        planned = 'status="planned"' in turn.user
        return ModelReply(calls=(think(), change("") if planned else end(shown_urls(turn)[:1])))

    async with deep_laboratory(Researcher("交通", "餐饮", "门票", deep_explore=explores)) as lab:
        state = await with_maps(lab, Surroundings(), PLACE)
    assert [topic["status"] for topic in state["plan"]] == ["done", "done", "done"]
    (review,) = lab.llm.asked("deep_review")
    assert 'name="地图"' in review.user
    assert "餐馆B000" in review.user
    (report,) = lab.llm.asked("deep_report")
    assert "餐馆B000 → 餐馆B001：步行 420 米，约 6 分钟（直线距离 0 米） [^a" in report.user
    assert "餐馆B000 → 餐馆B002：直线距离 0 米 [^a" in report.user


async def test_words_beside_a_search_are_the_thought_before_it_f4() -> None:
    def explores(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(text="先查成本。", calls=(search("成本"),))
        return ModelReply(text="够了。", calls=(end(shown_urls(turn)[:1]),))

    async with deep_laboratory(Researcher(deep_explore=explores)) as lab:
        state = await lab.ask(ZH)
    checks = told(state)["checks"]
    assert (checks["refused_calls"], checks["rounds"], checks["thoughts"]) == (0, 2, 2)


async def test_no_map_is_offered_for_a_question_without_a_place() -> None:
    maps = FakeMaps()
    async with deep_laboratory(Researcher(deep_explore=asks_the_map)) as lab:
        await with_maps(lab, maps, ZH)
    assert maps.called == []
    offered = {offered.name for offered in lab.llm.asked("deep_explore")[0].tools}
    assert offered == {
        "think_tool", "tavily_search", "explore", "read_page", "run_code",
        "change_research_topic", "end_of_research",
    }  # fmt: skip


async def test_a_map_that_is_down_is_one_gap_and_not_asked_again() -> None:
    async with deep_laboratory(Researcher(deep_explore=asks_the_map)) as lab:
        state = await with_maps(lab, FakeMaps(down=True), PLACE)
    assert [gap["code"] for gap in told(state)["gaps"]] == ["map_server_down"]
    assert told(state)["checks"]["cited"] > 0


async def test_of_several_queries_at_once_one_that_fails_costs_only_itself() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("好一", "坏二", "好三")))
        return ModelReply(calls=(think(), end(shown_urls(turn))))

    async with deep_laboratory(Researcher(deep_explore=rule), search_timeout_seconds=60) as lab:
        lab.tavily.fail("status", status=400, times=None,
                        match=lambda r, body: "坏二" in str(body))  # fmt: skip
        state = await lab.ask(ZH, web_search="tavily")
    shown = lab.llm.asked("deep_explore")[1].tool_results[-1].text
    assert shown.count("<results query=") == 3
    assert "搜索失败" in shown
    assert len(state["search_results"][0]["useful_webpages"]) == 8
    assert [gap["query"] for gap in told(state)["gaps"]] == ["坏二"]


async def test_thirty_pages_of_one_topic_are_read_in_batches_of_twenty() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        count = done_calls(turn).count("tavily_search")
        if count < 4:
            return ModelReply(calls=(think(), search(*(f"甲{count}{n}" for n in range(3)))))
        return ModelReply(calls=(think(), end(shown_urls(turn))))

    async with deep_laboratory(Researcher(deep_explore=rule)) as lab:
        state = await lab.ask(ZH)
    kept = state["search_results"][0]["useful_webpages"]
    assert [len(body["urls"]) for body in lab.calls("/extract")] == [20, 10]
    assert len(kept) == 30


@pytest.mark.parametrize("width", [1, 2])
async def test_topics_are_read_and_compressed_as_many_at_once_as_allowed(width: int) -> None:
    async with deep_laboratory(Researcher(*"甲乙丙")) as lab:
        busy = Concurrency(seconds=0.5)
        lab.tavily.latency = busy.at("/extract")
        await lab.ask(ZH, max_parallel_reads=width)
    assert busy.most == width


async def test_a_closed_topic_is_read_beside_the_exploration_of_the_next() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        state = await lab.ask(ZH)
    paths = [request.path for request in lab.tavily.requests]
    assert paths == ["/search", "/extract", "/search", "/extract"]
    assert all(entry["compressed_content"] for entry in state["search_results"])


async def test_what_a_topic_leaves_open_flows_back_and_may_be_looked_up_once_more() -> None:
    def notes(turn: ModelTurn) -> ModelReply:
        text = str(compress(turn).text)
        return ModelReply(
            text=f"{text}\n**OPEN:** 托管许可多少钱[^t0-0]" if "成本" in text else text
        )

    def reviews(turn: ModelTurn) -> ModelReply:
        topics = [{"name": name, "what_to_find": "价格"} for name in ("许可", "回收", "再多一题")]
        return ModelReply(json={"missing": ["许可的价格"], "topics": topics})

    def explores(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search(block(turn.user, "topic"))))
        planned = 'status="planned"' in turn.user
        urls = shown_urls(turn)[:1]
        return ModelReply(calls=(think("够了"), change("", urls) if planned else end(urls)))

    rules: Any = {"deep_compress": notes, "deep_review": reviews, "deep_explore": explores}
    async with deep_laboratory(Researcher("成本", "安全", "应用", **rules)) as lab:
        state = await lab.ask(ZH)
    assert "OPEN" not in state["search_results"][0]["compressed_content"]
    assert state["search_results"][0]["open"] == "托管许可多少钱"
    shown = [t.user for t in lab.llm.asked("deep_explore") if "<topic>应用" in t.user]
    assert "OPEN：托管许可多少钱" in shown[0]
    (review,) = lab.llm.asked("deep_review")
    assert 'name="成本" open="托管许可多少钱"' in review.user
    names = [entry["topic"] for entry in state["search_results"]]
    assert names == ["成本", "安全", "应用", "许可", "回收"]
    assert len(lab.llm.asked("deep_compress")) == 5


async def test_the_pages_of_a_small_topic_go_to_the_writer_as_they_are_f9() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        await lab.ask(ZH, small_topic_tokens=3000)
    assert lab.llm.asked("deep_compress") == []
    (report,) = lab.llm.asked("deep_report")
    assert re.search(r'<pages>\s*<page id="w[0-9-]+" title="成本 0 0"', report.user)


async def test_a_writer_has_the_beginnings_of_pages_where_to_choose_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A busy machine gave a report of sixty pages none of them, and told nobody."""
    monkeypatch.setattr(write_report, "_SECONDS", 0.0)
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        await lab.ask(ZH, small_topic_tokens=3000)
    (report,) = lab.llm.asked("deep_report")
    assert re.search(r'<pages>\s*<page id="w[0-9-]+" title="成本 0 0"', report.user)


async def test_a_review_opens_nothing_where_the_rounds_are_spent() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        state = await lab.ask(ZH, max_exploration_rounds=5)
    assert lab.llm.asked("deep_review") == []
    assert told(state)["checks"]["cited"] > 0


class Concurrency:
    """How many requests of a path were under way at once, each taking so long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends: list[float] = []
        self.most = 0

    def at(self, path: str) -> Callable[[web.Request, Any], float]:
        def latency(request: web.Request, body: Any) -> float:
            if request.path != path:
                return 0
            now = asyncio.get_running_loop().time()
            self.ends = [*(end for end in self.ends if end > now), now + self.seconds]
            self.most = max(self.most, len(self.ends))
            return self.seconds

        return latency


@dataclass
class FakeReader:
    """Reads the pages with an even number; the others it may not."""

    asked: list[str] = field(default_factory=list)

    async def read(self, url: str, *, meter: Meter) -> Article:
        self.asked.append(url)
        if not url.endswith(("0", "2")):
            raise ProviderUnavailable("reader", "no answer", code="timeout")
        return Article(url, "标题", "全文：成本为41元。", False, "html", url)


async def test_without_tavily_our_own_reader_reads_and_says_what_it_could_not() -> None:
    reader, found = FakeReader(), SerperService(key=KEY, pages=Web())
    with serve_in_thread(found.app) as serper:
        where = {"serper_api_key": KEY, "serper_base_url": serper.url, "tavily_api_key": None}
        async with deep_laboratory(Researcher("成本"), **where) as lab:
            services: Any = replace(lab.services, reader=Lazy(lambda: reader))
            graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
            given: Any = {"messages": ZH}
            where_: Any = {"configurable": {"thread_id": "r"}}
            state: Any = await graph.ainvoke(
                given, where_, context=DeepConfiguration(web_search="serper")
            )
    pages = state["search_results"][0]["useful_webpages"]
    assert {page["url"] for page in pages} <= set(reader.asked)
    assert all(reader.asked.count(url) == 1 for url in reader.asked if url.endswith(("0", "2")))
    assert [page["partial"] for page in pages] == [False, True, False]
    assert [gap["code"] for gap in told(state)["gaps"]] == ["timeout", "page_partial"]
    assert lab.calls("/extract") == []


async def test_a_question_given_up_leaves_nothing_to_the_next_one() -> None:
    async with deep_laboratory() as lab:
        where: Any = {"configurable": {"thread_id": "t"}}
        given: Any = {"messages": ZH}
        async for update in lab.graph.astream(given, where, stream_mode="updates"):
            if "act" in update:
                break
        state = await lab.ask("那回收呢？")
    assert [message.type for message in state["messages"]] == ["human", "human", "ai"]
    assert told(state)["gaps"] == []
    assert "think_tool" not in str(lab.llm.asked("deep_explore")[-1].user)


@pytest.mark.node
@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("西湖一日游：交通、门票、餐饮", "**来源**"),
        ("A day at West Lake: transport, tickets, food", "**Sources**"),
    ],
)
async def test_the_sample_answers_with_at_least_three_topics(question: str, heading: str) -> None:
    async with laboratory() as sample:
        graph = build_graph(lambda: sample.services).compile(checkpointer=InMemorySaver())
        given: Any = {"messages": question}
        state: Any = await graph.ainvoke(given, {"configurable": {"thread_id": "o"}})
    text, kept = str(answer_of(state).text), told(state)
    noted = [entry for entry in state["search_results"] if entry["compressed_content"]]
    assert len(noted) >= 3
    assert heading in text
    assert "[^" not in text
    assert kept["checks"]["cited"] == len(kept["sources"]) >= 1
    assert kept["checks"]["unverified_figures"] == 0
    assert kept["mode"] == "offline"
    assert kept["usage"]["cost_usd"] == 0.0

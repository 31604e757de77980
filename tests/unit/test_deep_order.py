"""The order of exploration, and lengths, without any model."""

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.assistants.common.search import located
from agent.assistants.deep_research.state import TopicResult, add_counts, merge_topics
from agent.assistants.deep_research.tools import (
    ToExplore,
    TopicHistory,
    explored_topics,
    last_thought,
    ruled,
    same_topic,
    thought_since_search,
    thoughtless,
    useful_of,
)
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.markdown import canonical
from agent.mcp.amap.records import PRESENTATION, AmapReader
from agent.mcp.records import MapOptions, MapRecords, MapResult

FRESH = TopicHistory(topic="成本", done=["历史"], thought=False, searched=False)
WORKED = TopicHistory(topic="成本", done=["历史"], thought=False, searched=True)
URLS = {"search_result_of_current_topic": ["https://a.example/1"]}


def call(name: str, **args: object) -> ToolCall:
    return ToolCall(name=name, args=args, id="1", type="tool_call")


THINK = call("think_tool", reflection="还缺数据")
SEARCH = call("tavily_search", queries=["成本"])
CHANGE = call("change_research_topic", new_topic="安全", reason="够了", **URLS)
END = call("end_of_research", **URLS)
CODE = call("run_code", code="print(1)")
EXPLORE = call("explore", topics=["成本 | 电芯 成本 2026"], reflection="分头查")


THOUGHT = {"reflection": "还缺成本"}
THOUGHTFUL = call("tavily_search", queries=["成本"], **THOUGHT)
PLANNED = replace(WORKED, planned={"T1": "应用", "T12": "回收"})
ALL = call("end_of_research", **URLS, reflection="T1、t12都已由这些结果回答")
ONE = call("end_of_research", **URLS, reflection="T12有了")
SPAN = call("end_of_research", **URLS, reflection="T1–T12已回答")
NAMED = call("end_of_research", **URLS, reflection="应用(T1)与回收都有")


@pytest.mark.parametrize(
    ("calls", "history", "refusals"),
    [
        ([SEARCH], FRESH, [None]),
        ([THINK, SEARCH], FRESH, [None, None]),
        ([THINK, SEARCH, SEARCH], FRESH, [None, None, None]),
        ([SEARCH, THINK], FRESH, [None, None]),
        ([THINK, SEARCH, CHANGE], FRESH, [None, None, "unseen"]),
        ([THINK, SEARCH, THINK, CHANGE], FRESH, [None, None, None, "unseen"]),
        ([CHANGE], WORKED, [None]),
        ([THINK, CHANGE], WORKED, [None, None]),
        ([THINK, CHANGE, END], WORKED, [None, None, "moved"]),
        ([END], replace(WORKED, moved=True), ["second_change"]),
        ([SEARCH], replace(WORKED, moved=True), [None]),
        ([CODE, END], replace(WORKED, tools=["run_code", "end_of_research"]), [None, None]),
        ([CODE], WORKED, ["unknown_tool"]),
        ([THINK, EXPLORE, END], WORKED, [None, None, "unseen"]),
        ([EXPLORE], replace(WORKED, tools=["think_tool"]), ["unknown_tool"]),
        ([END], replace(FRESH, answered=True), [None]),
        ([THINK, END, SEARCH], WORKED, [None, "unseen", None]),
        ([THINK, END, END], WORKED, [None, None, "second_change"]),
        ([THINK] * 12 + [CHANGE], WORKED, [None] * 12 + ["too_many"]),
        ([THINK, CHANGE, SEARCH], WORKED, [None, None, "moved"]),
        ([THINK, CHANGE, THINK], WORKED, [None, None, "moved"]),
        ([THINK, END], WORKED, [None, None]),
        ([THOUGHTFUL], FRESH, [None]),
        ([THOUGHTFUL, CHANGE], WORKED, [None, "unseen"]),
        ([{**CHANGE, "args": {**CHANGE["args"], **THOUGHT}}], WORKED, [None]),
        ([THOUGHTFUL, {**END, "args": {**URLS, **THOUGHT}}], WORKED, [None, "unseen"]),
        ([{**END, "args": {**URLS, **THOUGHT}}], WORKED, [None]),
        ([{**END, "args": {**URLS, **THOUGHT}}], PLANNED, ["planned_left"]),
        ([ALL], PLANNED, [None]),
        ([ONE], PLANNED, ["planned_left"]),
        ([NAMED], PLANNED, [None]),
        ([SPAN], PLANNED, [None]),
        ([{**END, "args": {**URLS, **THOUGHT}}], replace(PLANNED, reminded=True), [None]),
        ([THINK, END], FRESH, [None, "search_first"]),
        ([THINK, END], replace(FRESH, answered=True), [None, None]),
        ([call("think_tool", reflection=" ")], FRESH, ["empty_thought"]),
        ([THINK, call("tavily_search", queries=[])], FRESH, [None, "empty_search"]),
        ([call("fetch", url="http://evil/")], FRESH, ["unknown_tool"]),
        ([call("maps_geo", address="杭州")], FRESH, ["unknown_tool"]),
    ],
)
def test_calls_are_ruled_in_their_order(
    calls: list[ToolCall], history: TopicHistory, refusals: list[str | None]
) -> None:
    assert ruled(calls, history) == refusals


@pytest.mark.parametrize(
    ("calls", "history", "asked"),
    [
        ([SEARCH], FRESH, 1),
        ([SEARCH, SEARCH], FRESH, 1),
        ([THINK, SEARCH], FRESH, 0),
        ([THOUGHTFUL], FRESH, 0),
        ([SEARCH], replace(FRESH, thought=True), 0),
        ([SEARCH], replace(WORKED, moved=True), 0),
    ],
)
def test_a_search_without_a_thought_is_made_and_the_thought_asked_for(
    calls: list[ToolCall], history: TopicHistory, asked: int
) -> None:
    assert ruled(calls, history) == [None] * len(calls)
    assert len(thoughtless(calls, history)) == asked


@pytest.mark.parametrize(
    ("topic", "refusal"),
    [("", "no_topic"), ("「成本」", "same_topic"), ("历 史", "done_topic"), ("C++", None)],
)
def test_a_new_topic_must_be_new(topic: str, refusal: str | None) -> None:
    change = call("change_research_topic", new_topic=topic, reason="", **URLS)
    assert ruled([THINK, change], WORKED) == [None, refusal]


def test_the_maps_tools_are_allowed_where_they_are_offered() -> None:
    offered = TopicHistory("成本", [], thought=False, searched=False, tools=["maps_geo"])
    assert ruled([call("maps_geo", address="杭州")], offered) == [None]


def test_names_that_differ_in_a_sign_are_different_topics() -> None:
    assert not same_topic("C++", "C#")
    assert same_topic("Ｃｏｓｔ ", "cost")


def answer(name: str, status: str = "success") -> ToolMessage:
    return ToolMessage("x", tool_call_id="1", name=name, status=status)


def test_only_thoughts_that_counted_since_the_last_search_are_thoughts() -> None:
    messages: list[AnyMessage] = [answer("think_tool"), answer("tavily_search")]
    assert not thought_since_search([])
    assert not thought_since_search(messages)
    assert not thought_since_search([*messages, answer("think_tool", "error")])
    assert thought_since_search([*messages, answer("think_tool")])
    assert thought_since_search([answer("think_tool"), answer("tavily_search", "error")])


def test_the_last_thought_is_found_in_the_calls() -> None:
    assert last_thought([AIMessage("", tool_calls=[THINK, SEARCH])]) == "还缺数据"
    closing: ToolCall = {**CHANGE, "args": {**CHANGE["args"], "reflection": "票价没有查到"}}
    assert last_thought([AIMessage("", tool_calls=[closing, THOUGHTFUL])]) == "票价没有查到"
    assert last_thought([AIMessage("先查交通。", tool_calls=[])]) == "先查交通。"
    assert last_thought([]) == ""


def test_arguments_are_read_tolerantly() -> None:
    assert useful_of(call("end_of_research", search_result_of_current_topic=["[^w1]"])) == ["w1"]
    assert explored_topics(call("explore", topics="a | b | c\na\nd")) == [
        ToExplore("a", ("b", "c")),
        ToExplore("d", ("d",)),
    ]
    assert useful_of(call("end_of_research", search_result_of_current_topic="a\nb")) == ["a", "b"]
    assert useful_of(call("end_of_research", search_result_of_current_topic=None)) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/x/",
        "http://www.a.example/x",
        "https://A.example/x#top",
        "https://a.example/x?utm_source=b",
    ],
)
def test_spellings_of_one_address_are_the_same(url: str) -> None:
    assert canonical(url) == canonical("https://a.example/x")
    assert canonical(url) != canonical("https://a.example/y")


def test_an_address_that_is_none_matches_nothing() -> None:
    assert canonical("not a url") != canonical("https://a.example/x")
    assert canonical("http://[") == canonical("http://[")


def test_an_entry_of_a_known_topic_takes_its_place() -> None:
    first = TopicResult(topic="a", reason="", useful_webpages=[], compressed_content=None)
    second = TopicResult(topic="b", reason="", useful_webpages=[], compressed_content=None)
    noted = TopicResult(topic="a", reason="", useful_webpages=[], compressed_content="x")
    assert merge_topics([first, second], [noted]) == [noted, second]
    assert merge_topics([first], None) == []


def test_counts_add_up_by_name() -> None:
    assert add_counts({"thoughts": 1}, {"thoughts": 2, "invented_urls": 1}) == {
        "thoughts": 3,
        "invented_urls": 1,
    }
    assert add_counts({"thoughts": 1}, None) == {}


def test_chinese_counts_for_more_than_latin_letters() -> None:
    assert estimated_tokens("") == 0
    assert estimated_tokens("abcd" * 10) == 10
    assert estimated_tokens("钠离子") == 3
    assert estimated_tokens("钠离子abcd") == 4


def test_digits_and_signs_count_for_most_as_records_have_them() -> None:
    letters, record = "abcdefghijklmnop" * 4, "116.41,39.91|4.7¥" * 4
    assert len(letters) < len(record) < 1.1 * len(letters)
    assert estimated_tokens(record) > 3 * estimated_tokens(letters)


@pytest.mark.parametrize("text", ["钠离子电池" * 400, "battery " * 400, "钠 ion " * 300])
@pytest.mark.parametrize("tokens", [0, 1, 2, 7, 100])
def test_a_cut_text_fits_and_tells_that_it_was_cut(text: str, tokens: int) -> None:
    cut = cut_to_tokens(text, tokens)
    assert estimated_tokens(cut) <= tokens
    assert not cut or cut.endswith("…")
    assert text.startswith(cut.removesuffix("…").rstrip())


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert cut_to_tokens("钠离子", 3) == "钠离子"


def test_positions_that_the_topic_located_keep_their_names_in_later_steps() -> None:
    located_by = call("maps_geo", address="西湖")
    text = '{"return": [{"location": "120.148,30.242"}]}'
    answered = ToolMessage(text, tool_call_id="1", name="maps_geo")
    names = located([AIMessage("", tool_calls=[located_by]), answered])
    assert names == {"120.148,30.242": "西湖"}


def test_a_way_between_named_positions_is_a_record_however_they_are_written() -> None:
    names = {"120.148,30.242": "西湖", "120.21, 30.25": "杭州东站"}
    result = MapResult(names=names)
    options = MapOptions(prefix="a3", language="zh")
    reader = AmapReader(MapRecords(result, options, presentation=PRESENTATION))
    ends = {"origin": "120.148000,30.242000", "destination": "120.210000,30.250000"}
    path = {"distance": "9000", "duration": "1500", "steps": []}
    text = reader.read("maps_direction_driving", ends, {"route": {"paths": [path]}})
    assert text.startswith("[^a3-0] ")
    assert "西湖" in text.splitlines()[0]
    assert [route["distance_m"] for route in result.routes] == [9000]

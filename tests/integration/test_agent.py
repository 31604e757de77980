"""The assistant `agent` from a question to a cited answer, over the stand-ins."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from agent.core.errors import ConfigurationError
from agent.graph import graph as exported
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, tasks, told

pytestmark = pytest.mark.node
INTERNAL_ID = re.compile(r"\[\^|\b[wap]\d+-\d+\b")


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


async def test_a_chinese_question_gets_a_cited_answer_with_places_on_the_map(lab: Lab) -> None:
    state = await lab.ask(ZH)
    text, kept = str(answer_of(state).text), told(state)
    assert text.startswith("> 示例模式")
    assert "**来源**" in text
    assert kept["checks"]["cited"] == len(kept["sources"]) >= 3
    assert {source["kind"] for source in kept["sources"]} == {"page", "place"}
    assert kept["gaps"] == []
    named = [place for place in kept["places"] if place["mentioned"]]
    assert named
    for place in named:
        assert place["location"]["crs"] == "GCJ-02"
        assert place["distance_m"] is not None
        assert place["name"] in text
    assert not INTERNAL_ID.search(text)


async def test_an_english_question_is_answered_in_english_without_the_map(lab: Lab) -> None:
    state = await lab.ask(EN)
    assert "**Sources**" in str(answer_of(state).text)
    assert told(state)["usage"]["map_calls"] == 0
    assert not lab.amap.requests


async def test_every_number_in_the_text_links_to_the_source_with_that_number(lab: Lab) -> None:
    state = await lab.ask(ZH)
    by_number = {source["number"]: source["url"] for source in told(state)["sources"]}
    links = re.findall(r"\[(\d+)\]\(([^)]+)\)", str(answer_of(state).text))
    assert links
    assert all(by_number[int(number)] == url for number, url in links)
    assert [int(n) for n in dict.fromkeys(number for number, _ in links)] == sorted(by_number)


async def test_what_streams_is_what_is_stored(lab: Lab) -> None:
    streamed: dict[str, str] = {}
    stored = None
    async for mode, part in lab.graph.astream(
        {"messages": ZH},  # type: ignore[arg-type]
        {"configurable": {"thread_id": "s"}},
        stream_mode=["messages", "values"],
    ):
        if mode == "messages" and isinstance(part[0], AIMessageChunk):
            streamed[part[0].id] = streamed.get(part[0].id, "") + str(part[0].text)
        elif mode == "values":
            stored = part["messages"][-1]
    assert stored is not None
    assert streamed == {stored.id: str(stored.text)}
    assert len(streamed[stored.id]) > 100


async def test_d4_the_loops_the_input_asks_for_are_the_loops_that_run(lab: Lab) -> None:
    one = await lab.ask(ZH, "one", max_research_loops=1)
    assert one["research_loop_count"] == 1
    assert "reflection" not in tasks(lab.gemini.requests)
    assert one["is_sufficient"] is None


async def test_d5_d6_no_query_runs_twice_and_each_is_counted_once(lab: Lab) -> None:
    state = await lab.ask(ZH, context={"max_research_loops": 4})
    ran = state["search_query"]
    assert len(ran) == len(set(ran)) == len(state["queries"]) == told(state)["usage"]["searches"]


async def test_d7_d8_d9_d10_a_second_question_starts_clean(lab: Lab) -> None:
    first = await lab.ask(ZH)
    before = len(tasks(lab.gemini.requests))
    second = await lab.ask(EN)
    asked = tasks(lab.gemini.requests)[before:]
    assert asked.count("web_research") == len(second["search_query"])
    assert not set(first["search_query"]) & set(second["search_query"])
    assert second["places"] == []
    assert second["research_loop_count"] == asked.count("reflection") + (
        0 if second["is_sufficient"] else 1
    )
    urls = {source["url"] for source in told(second)["sources"]}
    assert urls
    assert all("sodium" in url for url in urls)
    assert told(second)["usage"]["model_calls"] == len(asked)


async def test_a_follow_up_may_cite_what_the_previous_answer_cited(lab: Lab) -> None:
    await lab.ask(ZH)
    state = await lab.ask("那附近有停车场吗")
    assert told(state)["needs"] is None
    assert any("停车" in place["name"] for place in state["places"])


async def test_what_sample_mode_says_of_itself_is_not_marked_as_a_claim(lab: Lab) -> None:
    await lab.ask("Where can I get good coffee within walking distance of the Bund?")
    state = await lab.ask("and which of them has a pianist at 8 pm on Saturday?")
    assert "Shanghai Disneyland" in answer_of(state).text
    assert told(state)["checks"]["claims"]["marked"] == 0


async def test_near_me_without_a_place_asks_for_it_and_searches_nothing(lab: Lab) -> None:
    state = await lab.ask("我附近有什么好吃的")
    assert told(state)["needs"] == "place"
    assert tasks(lab.gemini.requests) == ["generate_query"]
    assert not lab.amap.requests


async def test_near_me_uses_the_location_the_client_sent(lab: Lab) -> None:
    state = await lab.ask("我附近有什么好吃的", user_location={"lng": 116.404, "lat": 39.908})
    assert told(state)["needs"] is None
    assert state["places"]
    assert all(place["distance_m"] is not None for place in state["places"])


async def test_d21_an_empty_reasoning_model_is_no_model_and_one_does_not_stick(lab: Lab) -> None:
    await lab.ask(EN, reasoning_model="gemini-4-hydrogen")
    used = {r.path.split("/models/")[1].split(":")[0] for r in lab.gemini.requests}
    assert "gemini-4-hydrogen" in used
    lab.gemini.requests.clear()
    await lab.ask(ZH, reasoning_model="")
    used = {r.path.split("/models/")[1].split(":")[0] for r in lab.gemini.requests}
    assert used == {"gemini-3.5-flash-lite", "gemini-3.8-flash"}


@pytest.mark.parametrize(
    ("question", "options", "field"),
    [
        ("", {}, "messages"),
        (" \u0000\u200b ", {}, "messages"),
        ("长" * 1_000_000, {}, "messages"),
        (EN, {"initial_search_query_count": 99}, "initial_search_query_count"),
        (EN, {"max_research_loops": -1}, "max_research_loops"),
        (EN, {"user_location": {"lng": 999, "lat": 1}}, "user_location"),
        (EN, {"user_location": "here"}, "user_location"),
        (EN, {"user_location": {"lng": True, "lat": 1}}, "user_location"),
        (EN, {"initial_search_query_count": True}, "initial_search_query_count"),
        (EN, {"max_research_loops": False}, "max_research_loops"),
        (EN, {"reasoning_model": "nobody:model"}, "reasoning_model"),
        (EN, {"reasoning_model": 5}, "reasoning_model"),
    ],
)
async def test_bad_input_is_one_line_that_names_the_field(
    lab: Lab, question: str, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await lab.ask(question, **options)
    assert caught.value.name == field
    assert "\n" not in str(caught.value)
    assert not lab.gemini.requests


async def test_d25_multimodal_content_is_read_as_its_text(lab: Lab) -> None:
    blocks = [{"role": "user", "content": [{"type": "text", "text": EN}]}]
    state = await lab.ask(blocks)
    assert state["turn"]["question"] == EN


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("max_searches", 1),
        ("max_model_calls", 2),
        ("max_map_calls", 2),
        ("max_run_tokens", 1000),
    ],
)
async def test_a_spent_limit_still_ends_with_an_answer_that_says_so(
    lab: Lab, limit: str, value: int
) -> None:
    state = await lab.ask(ZH, context={limit: value})
    kept = told(state)
    assert str(answer_of(state).text)
    assert any(gap["code"] == f"budget_{limit}" for gap in kept["gaps"])
    spent = kept["usage"].get(limit.removeprefix("max_"))
    assert spent is None or spent <= value


async def test_without_web_search_the_map_alone_answers(lab: Lab) -> None:
    state = await lab.ask(ZH, context={"web_search": "off"})
    assert state["places"]
    assert state["web_research_result"] == []
    assert state["search_query"]
    assert told(state)["usage"]["searches"] == 0


async def test_never_routing_to_the_map_leaves_it_alone(lab: Lab) -> None:
    await lab.ask(ZH, context={"geo_routing": "never"})
    assert not lab.amap.requests


@pytest.mark.parametrize("service", ["tavily", "serper", "bocha"])
async def test_any_search_service_serves_by_choice(lab: Lab, service: str) -> None:
    state = await lab.ask(ZH, context={"web_search": service})
    assert {s["provider"].lower() for s in state["sources_gathered"] if s["kind"] == "page"} == {
        service
    }


async def test_a_question_outside_the_sample_gets_an_honest_answer(lab: Lab) -> None:
    state = await lab.ask("量子色动力学晶格计算的误差来源")
    assert told(state)["sources"] == []
    assert told(state)["checks"]["cited"] == 0


def test_the_drawn_graph_shows_exactly_the_nodes_and_their_edges() -> None:
    drawn = exported.get_graph()
    assert {n for n in drawn.nodes if not n.startswith("__")} == {
        "generate_query",
        "review_plan",
        "web_research",
        "amap_research",
        "document_research",
        "reflection",
        "plan_outing",
        "finalize_answer",
    }
    assert {(e.source, e.target) for e in drawn.edges} == {
        ("__start__", "generate_query"),
        ("generate_query", "web_research"),
        ("generate_query", "amap_research"),
        ("generate_query", "finalize_answer"),
        ("generate_query", "review_plan"),
        ("review_plan", "web_research"),
        ("review_plan", "amap_research"),
        ("review_plan", "finalize_answer"),
        ("review_plan", "__end__"),
        ("web_research", "reflection"),
        ("amap_research", "reflection"),
        *((n, "document_research") for n in ("generate_query", "review_plan", "reflection")),
        ("document_research", "reflection"),
        *((n, "plan_outing") for n in ("generate_query", "review_plan", "reflection")),
        ("plan_outing", "finalize_answer"),
        ("reflection", "web_research"),
        ("reflection", "amap_research"),
        ("reflection", "finalize_answer"),
        ("finalize_answer", "__end__"),
    }


def test_d1_d3_importing_the_graph_needs_no_key_and_its_schemas_are_complete() -> None:
    given = exported.get_input_jsonschema()["properties"]
    assert set(given) == {
        "messages",
        "collections",
        "initial_search_query_count",
        "max_research_loops",
        "reasoning_model",
        "user_location",
        "utc_offset",
    }
    assert all(field.get("description") for field in given.values())


async def test_without_a_call_left_for_the_judge_the_answer_is_told_as_not_checked(
    lab: Lab,
) -> None:
    checked = told(await lab.ask(EN))
    calls = checked["usage"]["model_calls"]
    state = await lab.ask(EN, context={"max_model_calls": calls - 1})
    counts, text = told(state)["checks"]["claims"], str(answer_of(state).text)
    assert checked["checks"]["claims"]["supported"] > 0
    assert counts["unchecked"] == counts["total"] == checked["checks"]["claims"]["total"]
    assert not {"†", "‡"} & set(text)

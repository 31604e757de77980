"""A run that pauses with its plan: what is shown, what goes on, what is never paid twice."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from agent.configuration import configure
from agent.core.errors import ConfigurationError
from agent.evidence.types import MapTask
from agent.graph import build_graph
from agent.runs.threads import open_saver, run_config
from agent.sample.model.request import ModelReply
from tests.integration.faults import MoodyModel, at
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, tasks, told, with_clock
from tests.support.map_fixtures import until
from tests.support.run_fixtures import a_run

pytestmark = pytest.mark.node
REVIEW = {"review_plan": True}
CONFIG: Any = {"configurable": {"thread_id": "t"}}
BOOKS: MapTask = {"intent": "nearby", "place": "王府井", "keywords": ["书店"]}


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


async def paused(lab: Lab, question: str | None = ZH, **context: Any) -> dict[str, Any]:
    """What the run shows when it waits."""
    state = await lab.ask(question, context={**REVIEW, **context})
    (waiting,) = state["__interrupt__"]
    shown: dict[str, Any] = waiting.value
    return shown


async def resumed(lab: Lab, answer: Any) -> dict[str, Any]:
    state: dict[str, Any] = await lab.graph.ainvoke(
        Command(resume=answer), CONFIG, context=configure(REVIEW)
    )
    return state


async def test_the_run_waits_with_its_plan_and_nothing_was_searched(lab: Lab) -> None:
    shown = await paused(lab)
    assert shown["queries"][0]["query"] == ZH
    assert shown["queries"][0]["map"]["place"] == "王府井"
    assert None not in shown["queries"][0]["map"].values()
    assert shown["estimate"]["searches"] == len(shown["queries"])
    assert shown["estimate"]["cost_usd"] == {"low": 0.0, "high": 0.0}, "sample services are free"
    assert tasks(lab.gemini.requests) == ["generate_query"]
    assert lab.amap.requests == []


async def test_it_goes_on_with_exactly_the_plan_it_is_given(lab: Lab) -> None:
    shown = await paused(lab)
    mine = [{"query": "王府井 书店", "map": BOOKS}, {"query": "王府井 老字号"}, shown["queries"][1]]
    state = await resumed(lab, {"queries": mine})
    first = [query for query in told(state)["queries"] if query["round"] == 1]
    assert [query["query"] for query in first] == [query["query"] for query in mine]
    assert [bool(query["map"]) for query in first] == [True, False, False]
    assert state["search_query"][:3] == [query["query"] for query in mine]
    assert tasks(lab.gemini.requests).count("generate_query") == 1
    assert any("书店" in str(dict(request.query)) for request in lab.amap.requests)
    assert "**来源**" in answer_of(state).text


async def test_the_plan_as_it_was_shown_comes_to_the_same_answer_as_without_a_review(
    lab: Lab,
) -> None:
    shown = await paused(lab)
    state = await resumed(lab, {"queries": shown["queries"]})
    plain = await lab.ask(ZH, thread="plain")
    assert told(state)["queries"] == told(plain)["queries"]
    for name in ("model_calls", "searches"):
        assert told(state)["usage"][name] == told(plain)["usage"][name]
    assert {s["url"] for s in told(state)["sources"]} == {s["url"] for s in told(plain)["sources"]}


async def test_a_query_longer_than_may_come_back_is_shown_as_it_may(lab: Lab) -> None:
    llm = MoodyModel(lab.gemini.llm)
    lab.gemini.llm = llm
    written = {"query": [{"query": "王府井\u202e " + "书店" * 300}], "rationale": ""}
    llm.say("generate_query", ModelReply(json=written), None)
    shown = await paused(lab)
    assert len(shown["queries"][0]["query"]) == 400
    state = await resumed(lab, {"queries": shown["queries"]})
    assert told(state)["queries"][0]["query"] == shown["queries"][0]["query"]


async def test_reflection_may_still_ask_follow_ups(lab: Lab) -> None:
    shown = await paused(lab, "故宫博物院门票和开放时间")
    state = await resumed(lab, {"queries": shown["queries"][:1]})
    assert len([q for q in state["queries"] if q["round"] == 1]) == 1
    assert "reflection" in tasks(lab.gemini.requests)


async def test_an_answer_that_cannot_be_used_is_asked_for_again(lab: Lab) -> None:
    shown = await paused(lab)
    for wrong, named in ([{"queries": [" "]}, "queries[0].query"], [[], "the answer"]):
        again = (await resumed(lab, wrong))["__interrupt__"][0].value
        assert again["problem"].startswith((f"{named} ", f"{named}: "))
        assert again["queries"] == shown["queries"]
    assert (await paused(lab, None))["problem"].startswith("the answer must be ")
    assert len((await resumed(lab, {"queries": [EN]}))["search_query"]) >= 1
    assert tasks(lab.gemini.requests).count("generate_query") == 1


async def test_a_plan_edited_in_langchains_form_goes_on_with_the_map_tasks_that_stayed(
    lab: Lab,
) -> None:
    shown = await paused(lab)
    (request,) = shown["action_requests"]
    text = "王府井 老字号\n" + request["args"]["queries"].splitlines()[0]
    edited = {"name": request["name"], "args": {"queries": text}}
    state = await resumed(lab, {"decisions": [{"type": "edit", "edited_action": edited}]})
    first = [query for query in told(state)["queries"] if query["round"] == 1]
    assert [query["query"] for query in first] == text.splitlines()
    assert first[1]["map"]["place"] == shown["queries"][0]["map"]["place"]
    assert "**来源**" in answer_of(state).text


async def test_a_cancelled_plan_ends_honestly_and_calls_nothing(lab: Lab) -> None:
    await paused(lab)
    state = await resumed(lab, {"cancel": True})
    assert "没有搜索" in answer_of(state).text
    assert state["cancelled"]
    assert (told(state)["queries"], told(state)["sources"]) == ([], [])
    assert told(state)["usage"]["model_calls"] == 1
    assert len(lab.gemini.requests) == 1
    assert lab.amap.requests == []
    later = await lab.ask(EN)
    assert not later["cancelled"]
    assert told(later)["sources"]


async def test_a_plan_in_the_users_own_words_can_be_cancelled_too(lab: Lab) -> None:
    lab.gemini.fail(503, times=None, match=at("generate_query"))
    await paused(lab)
    assert "没有搜索" in answer_of(await resumed(lab, {"cancel": True})).text


async def test_a_new_question_drops_a_plan_that_still_waits(lab: Lab) -> None:
    await paused(lab)
    state = await lab.ask(EN)
    assert told(state)["sources"]
    assert all(ZH not in query["query"] for query in state["queries"])


async def test_a_persons_time_is_none_of_the_runs(lab: Lab) -> None:
    late = timedelta()
    services = with_clock(lab.services, lambda: datetime.now().astimezone() + late)
    graph = build_graph(lambda: services).compile(checkpointer=lab.graph.checkpointer)
    context = configure({**REVIEW, "max_run_seconds": 60})
    state = await graph.ainvoke({"messages": EN}, CONFIG, context=context)  # type: ignore[arg-type]
    late = timedelta(days=2)
    answer = {"queries": state["__interrupt__"][0].value["queries"]}
    state = await graph.ainvoke(Command(resume=answer), CONFIG, context=context)
    assert told(state)["sources"]
    assert told(state)["gaps"] == []
    assert told(state)["usage"]["seconds"] < 60


async def test_a_run_without_a_thread_is_refused_before_it_costs_anything(lab: Lab) -> None:
    graph = build_graph(lambda: lab.services).compile()
    with pytest.raises(ConfigurationError, match="review_plan needs a thread"):
        await graph.ainvoke({"messages": EN}, context=configure(REVIEW))  # type: ignore[arg-type]
    assert lab.gemini.requests == []


async def test_without_the_setting_a_run_has_not_a_single_step_more(lab: Lab) -> None:
    await lab.ask(EN, context={"max_research_loops": 1})
    steps = [found.next async for found in lab.graph.aget_state_history(CONFIG)]
    named = [set(step) for step in reversed(steps)]
    assert named == [{"__start__"}, {"generate_query"}, {"web_research"}, {"reflection"},
                     {"finalize_answer"}, set()]  # fmt: skip


async def test_a_process_that_dies_while_waiting_or_afterwards_loses_nothing(
    lab: Lab, tmp_path: Path
) -> None:
    asked = a_run(context=REVIEW)
    answered = a_run(thread_id=asked.thread_id, input=None, context=REVIEW,
                     options={"command": {"resume": {"queries": [EN]}}})  # fmt: skip

    async def one_process(run: Any) -> dict[str, Any]:
        async with open_saver(tmp_path) as saver:
            graph = build_graph(lambda: lab.services).compile(checkpointer=saver)
            state: dict[str, Any] = await graph.ainvoke(
                run.graph_input, run_config(run), context=configure(run.context), durability="sync"
            )
            return state

    for _ in range(2):
        assert "__interrupt__" in await one_process(asked)
    held = lab.gemini.fail("hang", match=at("reflection"))
    broken = asyncio.create_task(one_process(answered))
    await until(lambda: held.times == 0)
    broken.cancel()
    with pytest.raises(asyncio.CancelledError):
        await broken
    state = await one_process(answered)
    assert [query["query"] for query in state["queries"] if query["round"] == 1] == [EN]
    stages = tasks(lab.gemini.requests)
    assert (stages.count("generate_query"), stages.count("web_research")) == (1, 1)

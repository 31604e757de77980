"""The answer is begun while reflection reads: kept where that is enough, given up where not."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.configuration import configure
from agent.graph import build_graph
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import Wish
from agent.sample.model.request import ModelReply
from agent.sample.services.loopback import BODY, Handler
from agent.texts import say
from tests.integration.faults import at, moody
from tests.integration.test_steering import Arriving, requests, steered
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, tasks, told
from tests.support.map_fixtures import until

MORE = {
    "is_sufficient": False,
    "knowledge_gap": "cost",
    "follow_up_queries": [{"query": "sodium-ion battery price, Wangfujing playground hours"}],
}
WEB: dict[str, Any] = {"geo_routing": "never", "claim_check": False}


def hold(lab: Lab, stage: str, *, until_asked: str) -> None:
    """Have every request of a stage wait until one of another stage has come."""
    respond, asked = lab.gemini.respond, asyncio.Event()

    async def held(request: web.Request, handler: Handler) -> web.StreamResponse:
        if at(until_asked)(request, request[BODY]):
            asked.set()
        elif at(stage)(request, request[BODY]):
            await asked.wait()
        return await respond(request, handler)

    lab.gemini.respond = held  # type: ignore[method-assign]


def answers(lab: Lab) -> int:
    return tasks(lab.gemini.requests).count("answer")


async def test_the_answer_is_asked_for_beside_the_verdict_and_only_once() -> None:
    async with laboratory() as lab:
        late = await lab.ask(EN, "late", context={**WEB, "early_answer": False})
        assert tasks(lab.gemini.requests)[-2:] == ["reflection", "answer"]
        lab.gemini.requests.clear()
        hold(lab, "reflection", until_asked="answer")
        early = await lab.ask(EN, "early", context=WEB)
        assert answers(lab) == 1
        assert answer_of(early).text == answer_of(late).text
        without_time = [
            {name: value for name, value in told(state)["usage"].items() if name != "seconds"}
            for state in (early, late)
        ]
        assert without_time[0] == without_time[1]


async def test_nothing_of_the_answer_is_told_before_the_verdict() -> None:
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        told_of = []
        async for mode, part in lab.graph.astream(
            {"messages": EN},  # type: ignore[arg-type]
            {"configurable": {"thread_id": "t"}},
            context=configure(WEB),
            stream_mode=["custom", "messages"],
        ):
            told_of.append("text" if mode == "messages" else part["type"])  # type: ignore[index]
        assert told_of.index("reflection") < told_of.index("answering") < told_of.index("text")


async def test_an_answer_that_came_too_early_is_given_up_and_counted() -> None:
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        moody(lab).say("reflection", ModelReply(json=MORE), None)
        state = await lab.ask(EN, context=WEB)
        assert answers(lab) == 2
        early, late = requests(lab, "answer")
        assert len(early) < len(late)
        assert told(state)["usage"]["model_calls"] == len(lab.gemini.requests)
        assert state["usage"]["model_calls"] == len(lab.gemini.requests)
        assert answer_of(state).text


@pytest.mark.parametrize("context", [{"max_research_loops": 1}, {"outing": "on"},
                                     {"max_model_calls": 10}])  # fmt: skip
async def test_none_is_begun_where_something_may_come_between(context: dict[str, Any]) -> None:
    """Nor where there is no verdict to wait for, nor where calls are few."""
    async with laboratory() as lab:
        moody(lab).say("reflection", ModelReply(json=MORE), None)
        await lab.ask(ZH, context={"claim_check": False, **context})
        assert answers(lab) == 1


@pytest.mark.parametrize(("demands", "is_begun"), [({}, True), ({"max_cost": 200}, True),
                                                   ({"other": ["安静"]}, False)])  # fmt: skip
async def test_none_is_begun_where_no_place_is_known_to_meet_what_is_demanded(
    demands: dict[str, Any], is_begun: bool
) -> None:
    """Three in ten were given up: whether anything fits was what the verdict asked the web for."""
    task = {"intent": "nearby", "place": "王府井", "keywords": ["餐厅"]}
    read = {"query": [{"query": "王府井 餐厅", "map": task, "web": False}], "constraints": demands}
    async with laboratory() as lab:
        voices = moody(lab)
        voices.say("generate_query", ModelReply(json=read), None)
        voices.say("reflection", ModelReply(json=MORE), None)
        await lab.ask("王府井的餐厅", context={"claim_check": False})
        assert answers(lab) == (2 if is_begun else 1)


async def test_none_is_begun_where_a_search_brought_nothing_and_another_will_be_asked_for() -> None:
    refused = {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}
    async with laboratory() as lab:
        respond = lab.gemini.respond

        async def failing(request: web.Request, handler: Handler) -> web.StreamResponse:
            if at("web_research")(request, request[BODY]) and "price" in str(request[BODY]):
                return web.json_response(refused, status=400)
            return await respond(request, handler)

        lab.gemini.respond = failing  # type: ignore[method-assign]
        written = {"query": [{"query": EN}, {"query": f"{EN} price"}]}
        mood = moody(lab)
        mood.say("generate_query", ModelReply(json=written), None)
        mood.say("reflection", ModelReply(json=MORE), None)
        state = await lab.ask(EN, context=WEB)
        assert state["gaps"]
        assert answers(lab) == 1


async def test_an_early_answer_that_fails_is_asked_for_as_usual() -> None:
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        lab.gemini.fail("status", match=at("answer"), status=400, times=1)
        state = await lab.ask(EN, context=WEB)
        assert answers(lab) == 2
        assert told(state)["sources"]
        assert not told(state)["degraded"]


async def test_a_wish_that_comes_while_reflection_reads_is_in_the_answer(tmp_path: Path) -> None:
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        wish = Wish(kind="wish", text="also what they cost")
        box = Arriving(tmp_path, wish, when=lambda: bool(answers(lab)))
        steered(lab, build_graph, box)
        state = await lab.ask(EN, context=WEB)
        early, late = requests(lab, "answer")
        assert wish["text"] not in early
        assert wish["text"] in late
        assert told(state)["usage"]["model_calls"] == len(lab.gemini.requests)
        await box.aclose()


async def test_an_answer_begun_beside_a_verdict_that_fails_is_the_answer() -> None:
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        lab.gemini.fail("status", match=at("reflection"), status=400, times=None)
        state = await lab.ask(EN, context=WEB)
        assert told(state)["sources"]
        assert answers(lab) == 1


async def test_a_run_that_is_cancelled_ends_the_answer_that_it_began() -> None:
    async with laboratory() as lab:
        for stage in ("reflection", "answer"):
            lab.gemini.fail("hang", match=at(stage))
        run = asyncio.create_task(lab.ask(EN, context=WEB))
        await until(lambda: all(fault.times == 0 for fault in lab.gemini.faults))
        (begun,) = (task for task in asyncio.all_tasks() if "ReadAhead" in repr(task.get_coro()))
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert begun.cancelled()


async def test_runs_at_once_have_each_their_own_answer() -> None:
    questions = {"one": EN, "two": "What is a heat pump?", "three": "How do lithium batteries age?"}
    async with laboratory() as lab:
        late = {
            name: await lab.ask(question, f"late {name}", context={**WEB, "early_answer": False})
            for name, question in questions.items()
        }
        hold(lab, "reflection", until_asked="answer")
        early = await asyncio.gather(
            *(lab.ask(question, name, context=WEB) for name, question in questions.items())
        )
        for name, state in zip(questions, early, strict=True):
            assert answer_of(state).text == answer_of(late[name]).text


async def test_a_run_that_goes_on_after_the_verdict_begins_no_answer_for_it(
    tmp_path: Path,
) -> None:
    """The verdict was "not enough" and is kept: the answer begun beside it is not paid again."""
    kept = ReplyCache(tmp_path)
    async with laboratory(reply_cache=kept) as lab:
        moody(lab).say("reflection", ModelReply(json=MORE), None)
        hold(lab, "reflection", until_asked="answer")
        config: Any = {"configurable": {"thread_id": "t"}}
        graph = build_graph(lambda: lab.services).compile(
            checkpointer=lab.graph.checkpointer, interrupt_after=["web_research"]
        )
        await graph.ainvoke({"messages": EN}, config, context=configure(WEB))  # type: ignore[arg-type]
        before = await lab.graph.aget_state(config)
        await lab.graph.ainvoke(None, config, context=configure(WEB), interrupt_after="reflection")
        assert answers(lab) == 1
        # As after a kill that came before the step was saved.
        await lab.graph.ainvoke(None, before.config, context=configure(WEB))
        assert tasks(lab.gemini.requests).count("reflection") == 1
        assert answers(lab) == 2


@pytest.mark.parametrize("task", ["reflection", "answer"])
async def test_a_later_round_s_prompt_begins_as_the_one_before_up_to_the_first_findings(
    task: str,
) -> None:
    """So a service that keeps beginnings has most of it; what is asked for is written last."""
    async with laboratory() as lab:
        hold(lab, "reflection", until_asked="answer")
        price, ageing = ("sodium-ion battery price per kWh", "sodium-ion battery ageing at 45 C")
        for query in (price, ageing):
            row = {**MORE, "knowledge_gap": query, "follow_up_queries": [{"query": query}]}
            moody(lab).say("reflection", ModelReply(json=row), 1)
        state = await lab.ask(EN, context={**WEB, "max_research_loops": 3})
        first, later = [t.user for t in lab.gemini.turns if f"<task>{task}<" in t.system][:2]
        assert len(state["web_research_result"]) > 1
        assert later.startswith(first[: first.index("\n</findings>")])


async def test_the_sources_are_listed_while_the_judge_still_reads() -> None:
    async with laboratory() as lab:
        respond, listed = lab.gemini.respond, threading.Event()

        async def held(request: web.Request, handler: Handler) -> web.StreamResponse:
            if at("claim_check")(request, request[BODY]):
                assert await asyncio.to_thread(listed.wait, 30)
            return await respond(request, handler)

        lab.gemini.respond = held  # type: ignore[method-assign]
        streamed, stored = "", {}
        async for mode, part in lab.graph.astream(
            {"messages": EN},  # type: ignore[arg-type]
            {"configurable": {"thread_id": "t"}},
            context=configure({**WEB, "claim_check": True}),
            stream_mode=["messages", "values"],
        ):
            if mode == "values":
                stored = part  # type: ignore[assignment]
            else:
                streamed += part[0].text  # type: ignore[index]
                if say("answer.sources", "en") in streamed:
                    listed.set()
        assert "claim_check" in tasks(lab.gemini.requests)
        assert listed.is_set()
        assert told(stored)["checks"]["claims"]["total"] > 0


async def test_what_may_be_asked_next_comes_with_the_answer_short_new_and_three_at_most() -> None:
    """In its script: in a Chinese conversation one was English."""
    lines = [
        EN,
        "What do they cost?",
        "What  do they\ncost?",
        "x" * 91,
        "它们多少钱？",
        "Who makes them?",
        "",
        "3?",
    ]
    enough = {"is_sufficient": True, "next_questions": [*lines, "A fourth?"]}
    async with laboratory() as lab:
        moody(lab).say("reflection", ModelReply(json=enough), None)
        state = await lab.ask(EN, "next", context=WEB)
        kept = answer_of(state).additional_kwargs["next_questions"]
        assert kept == ["What do they cost?", "Who makes them?", "3?"]
        assert "Who makes them?" not in answer_of(state).text
        unjudged = await lab.ask(EN, "next", context={**WEB, "max_research_loops": 1})
        assert told(unjudged)["next_questions"] == []


async def test_what_may_be_asked_next_is_kept_where_another_round_follows() -> None:
    lacking = {
        "is_sufficient": False,
        "knowledge_gap": "What a cell costs.",
        "follow_up_queries": [{"query": "price of a sodium-ion cell"}],
        "next_questions": ["Price of a sodium-ion cell?", "Who makes them?"],
    }
    async with laboratory() as lab:
        moody(lab).say("reflection", ModelReply(json=lacking), None)
        state = await lab.ask(EN, "next", context={**WEB, "max_research_loops": 2})
        assert told(state)["queries"][-1]["query"] == "price of a sodium-ion cell"
        assert told(state)["next_questions"] == ["Who makes them?"]

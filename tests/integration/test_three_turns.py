"""A conversation remembers three turns: their lists by number, their sources, the planned day."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.graph import build_graph
from agent.sample.model.request import ModelReply
from agent.sample.model.text import block
from tests.integration.test_question_kept import Spoken, nearby, plan, scripted
from tests.support.lab import Lab, at_noon, laboratory, told, with_clock
from tests.support.rows import by_examples

pytestmark = pytest.mark.node


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


PLACES = {
    "zh": ("王府井附近有什么书店", "附近停车方便吗", "第二家书店几点关门？"),
    "en": (
        "Bookshops near Wangfujing",
        "And where can I park there?",
        "When does the second close?",
    ),
}


def line_of(prompt: str, name: str) -> str:
    return next(line for line in block(prompt, "previous_places").splitlines() if name in line)


@pytest.mark.parametrize("language", PLACES)
async def test_the_second_one_of_the_first_list_is_known_and_cited_in_the_third_turn(
    lab: Lab, language: str
) -> None:
    first, second, third = PLACES[language]
    answers = [
        ModelReply(text="1. 王府井书店[^a0-0]\n2. 涵芬楼书店[^a0-1]"),
        ModelReply(text="可以停在这里[^a0-0]。"),
    ]
    llm = scripted(
        lab,
        generate_query=[
            plan(nearby("王府井", "书店"), question=first),
            plan(nearby("王府井", "停车场"), question=second),
            plan(question=third),
        ],
        answer=answers,
    )
    listed = told(await lab.ask(first))["places"]
    parked = told(await lab.ask(second))["places"]
    assert not {place["id"] for place in listed} & {place["id"] for place in parked}
    known = (await lab.graph.aget_state({"configurable": {"thread_id": "t"}})).values["previous"]
    source = next(p["source"] for p in known["places"] if p["id"] == listed[1]["id"])
    answers[:] = [ModelReply(text=f"{listed[1]['name']}[^{source}]")]
    state = await lab.ask(third)
    for task in ("generate_query", "answer"):
        line = line_of(llm.prompts(task)[-1], listed[1]["name"])
        assert line.startswith(f"[^{source}] ")
        assert line.endswith("no. 2")
        shown = block(llm.prompts(task)[-1], "previous_places")
        assert shown.index(parked[0]["name"]) < shown.index(listed[1]["name"]), "newest first"
    assert [place["id"] for place in told(state)["places"]] == [listed[1]["id"]]
    assert told(state)["sources"][0]["url"] == listed[1]["url"]


async def test_the_second_one_is_the_second_of_the_list_wherever_its_source_stands(
    lab: Lab,
) -> None:
    """What is praised first is cited first; the reader counts the items of the list."""
    first, follow_up = "王府井附近有什么书店", "第二家几点关门？"
    listed = "最推荐涵芬楼书店[^a0-1]。\n\n1. 街边报亭\n2. 王府井书店[^a0-0]\n3. 涵芬楼书店[^a0-1]"
    llm = scripted(
        lab,
        generate_query=[plan(nearby("王府井", "书店"), question=first), plan(question=follow_up)],
        answer=[ModelReply(text=listed), ModelReply(text="不知道。")],
    )
    shown = told(await lab.ask(first))
    await lab.ask(follow_up)
    named = {p["number"]: p["name"] for p in shown["places"] if p["mentioned"]}
    assert list(named) == [2, 3], "pins have the numbers of the list"
    lines = {n: line_of(llm.prompts("generate_query")[-1], named[n]) for n in named}
    assert all(line.endswith(f" | no. {number}") for number, line in lines.items())


SOURCES = {
    "zh": ("钠离子电池的能量密度是多少？", "价格呢？", "最早那篇还说了什么？"),
    "en": ("How do sodium-ion batteries work?", "And the price?", "What else does the first say?"),
}


@pytest.mark.parametrize("language", SOURCES)
async def test_a_source_of_the_first_answer_is_cited_again_by_the_third(
    lab: Lab, language: str
) -> None:
    first, second, third = SOURCES[language]
    query = {"query": "sodium-ion batteries"}
    answers: list[ModelReply] = []
    llm = Spoken(
        generate_query=[
            plan(query, question=first), plan({"query": second}, question=second), plan()
        ],
        answer=answers,
    )  # fmt: skip
    lab.gemini.llm = llm
    state = await lab.ask(first)
    page = next(source for source in told(state)["sources"] if source["kind"] == "page")
    answers[:] = [
        ModelReply(text="Nothing was found on the price." if language == "en" else "没有查到价格。")
    ]
    await lab.ask(second)
    known = (await lab.graph.aget_state({"configurable": {"thread_id": "t"}})).values["previous"]
    name = next(s["id"] for s in known["sources"] if s["url"] == page["url"])
    answers[:] = [ModelReply(text=f"{page['quotes'][0]}[^{name}]")]
    state = await lab.ask(third)
    assert f"[^{name}]" in block(llm.prompts("answer")[-1], "previous_sources")
    assert [source["url"] for source in told(state)["sources"]] == [page["url"]]


@by_examples
async def test_a_planned_day_is_changed_after_another_question(
    lab: Lab, asked: str, between: str, edit: str
) -> None:
    lab = at_noon(lab, "2026-11-27")
    plans = [
        plan(nearby("王府井", "景点", "博物馆"), question=asked, outing={}),
        plan(nearby("王府井", "停车场"), question=between),
    ]
    llm = scripted(lab, generate_query=plans)
    before = told(await lab.ask(asked))["outing"]
    parked = await lab.ask(between)
    assert told(parked)["outing"] is None
    second = [stop for stop in before["stops"] if "place" in stop][1]
    for task in ("generate_query", "answer"):
        assert second["name"] in block(llm.prompts(task)[-1], "planned_day")
    change = {"stop": second["name"], "change": "later"}
    plans[:] = [plan(question=edit, outing={"changes": [change]})]
    after = told(await lab.ask(edit))["outing"]
    assert after["day"] == before["day"]
    moved = {stop["place"]: stop["begins"] for stop in after["stops"] if "place" in stop}
    assert moved[second["place"]] > second["begins"]
    cars = {place["id"] for place in told(parked)["places"]}
    assert not cars & set(moved), "the day is made of the places it was made of"


async def test_the_readers_clock_and_the_places_hold_in_the_next_questions(lab: Lab) -> None:
    lab.graph = build_graph(
        lambda: with_clock(lab.services, lambda: datetime(2026, 11, 22, 2, 0, tzinfo=UTC))
    ).compile(lab.graph.checkpointer, name="agent")
    scripted(lab, generate_query=[plan()], answer=[ModelReply(text="You are welcome.")])
    times: list[Any] = [
        (await lab.ask(question, "web", **options))["turn"]["now"]
        for question, options in (("What is new today?", {"utc_offset": -300}), ("And now?", {}))
    ]
    assert times == ["2026-11-21 Sat 21:00 (UTC-5)"] * 2
    scripted(lab, generate_query=[plan(nearby("王府井", "书店")), plan(), plan()])
    local = [
        (await lab.ask(question, "map", utc_offset=-300))["turn"]["now"]
        for question in ("Bookshops near Wangfujing", "Thanks!", "Which of them is open now?")
    ]
    assert local == ["2026-11-22 Sun 10:00 (UTC+8)"] * 3

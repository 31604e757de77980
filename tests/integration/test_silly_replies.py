"""Valid replies of a weak model: the question unsearched, or searched for with other words."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.core.errors import NothingFound
from agent.sample.model.request import ModelReply
from agent.sample.model.text import task_of
from agent.texts import say
from tests.integration.test_question_kept import plan, scripted
from tests.support.lab import Lab, answer_of, laboratory, told

pytestmark = pytest.mark.node
FACT = "When was the Palace Museum in Beijing founded?"


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


def searched(state: dict[str, object]) -> list[str]:
    return [query["query"] for query in told(state)["queries"]]


@pytest.mark.parametrize("reply", ["", "The Palace Museum was founded in 1925.", "Beijing Palace."])
async def test_a_fact_is_looked_up_though_a_model_says_that_nothing_needs_to_be(
    lab: Lab, reply: str
) -> None:
    scripted(lab, generate_query=[plan(needs_search=False, reply=reply)])
    state = await lab.ask(FACT)
    assert searched(state) == [FACT]
    assert told(state)["checks"]["cited"]


async def test_a_greeting_that_asks_is_replied_to_at_once_and_said_to_rest_on_nothing(
    lab: Lab,
) -> None:
    reply = "I am a research assistant for the web and the map."
    llm = scripted(lab, generate_query=[plan(needs_search=False, reply=reply)])
    state = await lab.ask("Who are you?")
    assert reply in str(answer_of(state).text)
    assert say("answer.not_looked_up", "en").rstrip(".") in str(answer_of(state).text)
    assert [task_of(turn) for turn in llm.turns] == ["generate_query"]


async def test_a_fact_of_a_follow_up_that_was_not_looked_up_is_announced(lab: Lab) -> None:
    thanked = plan(needs_search=False, reply="You are welcome!")
    said = "The capital of Australia is Canberra."
    scripted(
        lab, generate_query=[thanked, plan(needs_search=False)], answer=[ModelReply(text=said)]
    )
    await lab.ask("Thanks!")
    state = await lab.ask("And what is the capital of Australia?")
    assert said in str(answer_of(state).text)
    assert say("answer.not_looked_up", "en").rstrip(".") in str(answer_of(state).text)
    assert [gap["code"] for gap in told(state)["gaps"]] == ["not_looked_up"]


async def test_where_other_queries_find_nothing_the_question_itself_is_searched_once(
    lab: Lab,
) -> None:
    silly = {"query": "Palace of the second floor chairman"}
    scripted(lab, generate_query=[plan(silly)])
    state = await lab.ask(FACT, context={"max_research_loops": 1})
    assert searched(state) == [silly["query"], FACT]
    assert told(state)["checks"]["cited"]


async def test_ids_of_a_way_on_that_is_not_taken_are_counted_nowhere(lab: Lab) -> None:
    said = "Nothing was found on the zorblax. The Vendrith guild chose it in 1871 [^w9-9]."
    llm = scripted(lab, generate_query=[plan({"query": "zorblax"})], answer=[ModelReply(text=said)])
    state = await lab.ask("Which zorblax did the quillomancers of Vendrith prefer?")
    assert task_of(llm.turns[-1]) == "answer"
    assert "1871" not in str(answer_of(state).text)
    assert told(state)["checks"]["unknown_ids_removed"] == 0


async def test_what_was_looked_for_is_told_where_nothing_at_all_was_found(lab: Lab) -> None:
    question = "Which zorblax did the quillomancers of Vendrith prefer?"
    scripted(lab, generate_query=[plan({"query": "Vendrith quillomancers guild"})])
    state = await lab.ask(question, context={"max_research_loops": 3})
    assert searched(state) == ["Vendrith quillomancers guild", question]
    assert f"Nothing was found on “{question.rstrip('?')}”" in str(answer_of(state).text)


ASKED = "Which zorblax did the quillomancers of Vendrith prefer?"
QUERY = {"query": "Vendrith quillomancers guild"}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("No source names it [^none]. Ask the guild itself.", True),
        ("Nothing on it was found. A historian of Vendrith may know.", True),
        ("They preferred the green one. Ask the guild.", False),
        ("No source names it [^none]. It was founded in 1911.", False),
        ("No source names it [^none]. It is green [^w0-0].", False),
        (f"No source names it [^none]. {'Ask the guild. ' * 60}", False),
    ],
)
async def test_where_nothing_was_found_a_model_says_so_and_what_to_do_but_no_fact(
    lab: Lab, text: str, *, taken: bool
) -> None:
    scripted(lab, generate_query=[plan(QUERY)], answer=[ModelReply(text=text)])
    state = await lab.ask(ASKED, context={"max_research_loops": 1})
    shown = str(answer_of(state).text)
    first = text.replace(" [^none]", "")
    assert (first in shown) is taken


async def test_where_the_search_is_down_the_question_is_not_searched_besides(lab: Lab) -> None:
    scripted(lab, generate_query=[plan({"query": "Palace of the second floor chairman"})])
    for name in ("gemini", "tavily", "serper", "bocha"):
        service: Any = lab.standin(name)
        service.fail("status", status=500, times=None, match=is_search)
    with pytest.raises(NothingFound):
        await lab.ask(FACT)
    asked = [str(r.body) for r in lab.gemini.requests if "googleSearch" in str(r.body)]
    assert asked
    assert not any(f"<query>{FACT}" in body for body in asked)


def is_search(request: Any, body: Any) -> bool:
    return "/models/" not in request.path or "googleSearch" in str(body)

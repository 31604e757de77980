"""However long a deep research runs, no prompt passes its limit and nothing archived is lost."""

import json
from typing import Any

import pytest

from agent.core.strings import estimated_tokens
from agent.sample.model.request import ModelReply, ModelTurn
from tests.support.deep_lab import ZH, Researcher, deep_laboratory, search, think
from tests.support.lab import told
from tests.support.long_lab import Web

TOPICS = tuple(f"子题{letter}" for letter in "甲乙丙丁戊己庚辛壬癸")
LIMIT = 8000


def long_page(query: str, number: int) -> str:
    return f"{query}第{number}页，成本{number}.5元。" + "钠离子电池的正极材料有层状氧化物。" * 1100


def tokens_of(turn: ModelTurn) -> int:
    """What a model was sent, counted anew from what arrived."""
    past = "".join(p.text + json.dumps([[c.name, c.args] for c in p.calls], ensure_ascii=False)
                   for p in turn.history)  # fmt: skip
    results = "".join(result.text for result in turn.tool_results)
    return estimated_tokens(turn.system + turn.user + past + results)


async def test_forty_rounds_over_ten_topics_of_long_pages_stay_within_the_limit() -> None:
    assert len(long_page("x", 1).encode()) > 50_000
    llm, web = Researcher(*TOPICS, rounds=1), Web(text=long_page, count=8)
    async with deep_laboratory(llm, web=web) as lab:
        state = await lab.ask(ZH, context_token_limit=LIMIT, max_model_calls=200)
    assert max(tokens_of(turn) for turn in llm.turns) <= LIMIT
    assert [entry["topic"] for entry in state["search_results"]] == list(TOPICS)
    assert all(len(entry["useful_webpages"]) == 3 for entry in state["search_results"])
    assert all(entry["compressed_content"] for entry in state["search_results"])
    assert told(state)["checks"]["rounds"] >= 30
    assert len(state["messages"]) == 2


async def test_a_model_that_never_changes_its_topic_has_it_archived_by_force() -> None:
    count = iter(range(1000))
    many = [f"甲 {letter}" for letter in "abcde"]

    def rule(turn: ModelTurn) -> ModelReply:
        number = next(count)
        return ModelReply(calls=(think("甲" * 400), search(*(f"{q} {number}" for q in many))))

    llm, web = Researcher(deep_explore=rule), Web(text=long_page, count=8)
    async with deep_laboratory(llm, web=web) as lab:
        state = await lab.ask(ZH, context_token_limit=LIMIT, max_exploration_rounds=8)
    assert max(tokens_of(turn) for turn in llm.turns) <= LIMIT
    (entry,) = state["search_results"]
    ids = [page["id"] for page in entry["useful_webpages"]]
    assert len(ids) == len(set(ids)) > 20
    assert told(state)["checks"]["forced_archives"] >= 3
    assert len(state["messages"]) == 2


async def test_what_the_last_calls_brought_is_read_though_the_messages_before_are_cleared() -> None:
    count = iter(range(1000))

    def rule(turn: ModelTurn) -> ModelReply:
        number = next(count)
        return ModelReply(calls=(think("甲" * 400), search(f"甲 {number}", f"乙 {number}")))

    llm, web = Researcher(deep_explore=rule), Web(text=long_page, count=8)
    async with deep_laboratory(llm, web=web) as lab:
        state = await lab.ask(ZH, context_token_limit=LIMIT, max_exploration_rounds=8)
    turns = llm.asked("deep_explore")
    assert told(state)["checks"]["forced_archives"] >= 3
    assert max(tokens_of(turn) for turn in turns) <= LIMIT
    for number, turn in enumerate(turns[1:]):
        read = [result.text for result in turn.tool_results if result.name == "tavily_search"]
        assert f"甲 {number}第" in read[-1]
        assert f"乙 {number}第" in read[-1]
        assert read[-1].count("</results>") == 2


async def test_the_checkpoint_of_a_finished_topic_holds_none_of_its_messages() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        await lab.ask(ZH)
        where: Any = {"configurable": {"thread_id": "t"}}
        states = [kept.values async for kept in lab.graph.aget_state_history(where)]
    begun = [s for s in states if s.get("topic_rounds") == 0 and "intent" in s]
    assert len(begun) > 3
    assert {len(s["messages"]) - bool(s.get("report")) for s in begun} == {1}
    assert {len(s["topic_messages"]) for s in begun} == {0}


@pytest.mark.parametrize("question", ["电" * 19_000, "battery " * 2400])
async def test_a_very_long_question_leaves_room_for_results(question: str) -> None:
    llm = Researcher("成本")
    async with deep_laboratory(llm, web=Web(text=long_page)) as lab:
        state: dict[str, Any] = await lab.ask(question, context_token_limit=LIMIT)
    assert max(tokens_of(turn) for turn in llm.turns) <= LIMIT
    assert told(state)["checks"]["cited"] == 3

"""A search is paid for once in a turn, however it is worded."""

import asyncio

import pytest

from agent.core.errors import ProviderUnavailable
from agent.evidence.queries import drop_seen
from agent.evidence.types import Query
from agent.search.hits import TurnSearches
from tests.support.meters import meter


class Engine:
    """Counts what is sent; fails on the words that it is told to."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.failing: set[str] = set()

    async def __call__(self, words: str) -> str:
        self.sent.append(words)
        await asyncio.sleep(0)
        if words in self.failing:
            raise ProviderUnavailable("engine", "is down")
        return f"results of {words}"


async def test_other_words_for_the_same_get_the_results_that_were_paid_for() -> None:
    engine, searches, account = Engine(), TurnSearches(), meter()
    for query in ("布卢姆 毕业大学是什么", "布卢姆毕业大学", "Restate founder university"):
        await searches.do(query, 8, account, engine)
    again = await searches.do("the restate founder university?", 8, account, engine)
    assert again == "results of Restate founder university"
    assert engine.sent == ["布卢姆 毕业大学是什么", "Restate founder university"]


async def test_a_query_quoted_as_a_whole_is_asked_by_itself() -> None:
    engine, searches, account = Engine(), TurnSearches(), meter()
    for query in ("durable execution engine", '"durable execution engine"'):
        assert await searches.do(query, 8, account, engine) == f"results of {query}"
    without = TurnSearches(operators=False)
    await without.do("durable execution engine", 8, account, engine)
    await without.do("“durable execution engine”", 8, account, engine)
    assert len(engine.sent) == 3, "quotes mean nothing to an engine without operators"


async def test_searches_at_the_same_time_are_one() -> None:
    engine, searches, account = Engine(), TurnSearches(), meter()
    queries = ("苏州 园林 门票", "苏州园林的门票", "苏州 园林 门票?")
    results = await asyncio.gather(*(searches.do(q, 8, account, engine) for q in queries))
    assert engine.sent == [queries[0]]
    assert len(set(results)) == 1


async def test_a_search_that_failed_is_sent_again_and_another_turn_pays_itself() -> None:
    engine, searches, account = Engine(), TurnSearches(), meter()
    engine.failing = {"a b"}
    with pytest.raises(ProviderUnavailable):
        await searches.do("a b", 8, account, engine)
    engine.failing = set()
    assert await searches.do("a b", 8, account, engine) == "results of a b"
    await searches.do("a b", 8, meter(), engine)
    await searches.do("a b", 3, account, engine)
    assert engine.sent == ["a b"] * 4


def test_a_plan_keeps_one_of_two_queries_that_ask_the_same() -> None:
    texts = ["Restate founder university", "restate  founder university?", '"Restate founder"']
    kept = drop_seen([Query(query=text, map=None) for text in texts], [])
    assert [query["query"] for query in kept] == [texts[0], texts[2]]

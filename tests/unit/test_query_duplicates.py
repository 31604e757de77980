"""The rule by which a cached result may stand for a new query: precision first."""

import itertools
from typing import Any

import pytest
from evals.ablate import rows as rules

from agent.evidence.queries import normalised_query, same_search, shares_nothing
from tests.support.rows import rows
from tests.unit.cpu_time import takes_less

PAIRS = rules("query_pairs")
_LEAST_FOUND = 0.5
"""Of the pairs that mean the same: what is missed costs a search, what is mistaken the answer."""


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['a']} | {pair['b']}")
def test_a_query_that_asks_something_else_is_searched(pair: dict[str, Any]) -> None:
    found = same_search(pair["a"], pair["b"])
    assert found == same_search(pair["b"], pair["a"])
    assert pair["same"] or not found


def test_most_queries_that_differ_in_wording_only_are_not_searched_again() -> None:
    same = [pair for pair in PAIRS if pair["same"]]
    found = [pair for pair in same if same_search(pair["a"], pair["b"])]
    assert len(found) >= _LEAST_FOUND * len(same)


def test_a_quote_that_is_never_closed_quotes_nothing() -> None:
    assert normalised_query('durable execution"') == "durable execution"
    assert normalised_query('"durable execution"?') == '"durable execution"'


def test_quotes_mean_nothing_to_an_engine_without_operators() -> None:
    assert same_search("“人工智能法” 草案", "人工智能法 草案", operators=False)
    assert not same_search("“人工智能法” 草案", "人工智能法 草案")
    assert normalised_query("「北京」?", operators=False) == "北京"
    assert not same_search("北京到上海", "上海到北京", operators=False)
    assert not same_search("气温 -5 度", "气温 5 度", operators=False)


def test_a_change_of_any_one_word_makes_another_query() -> None:
    words = ["lake", "district", "walking", "trail", "length", "kilometres"]
    whole = " ".join(words)
    for at, word in itertools.product(range(len(words)), ("tunnel", "museum", "hat")):
        other = " ".join([*words[:at], word, *words[at + 1 :]])
        assert not same_search(whole, other)
        assert not same_search(whole, f"{whole} {word}")
        assert not same_search(whole, " ".join(words[:at] + words[at + 1 :]))


def test_every_query_is_the_same_as_itself_and_comparing_is_quick() -> None:
    texts = [pair[side] for pair in PAIRS for side in ("a", "b")]
    assert all(same_search(text, text) for text in texts)
    long = ("王府井亲子餐厅 family restaurants (paris OR " * 30)[:400]
    others = [f"{long[:380]} {number}" for number in range(200)]
    same: list[str] = []
    assert takes_less(lambda: same.extend(o for o in others if same_search(long, o)), 2)
    assert same == []


@pytest.mark.parametrize("row", rows("unrelated_queries"), ids=lambda row: str(row["query"]))
def test_a_query_that_shares_no_word_with_its_material_is_none(row: dict[str, Any]) -> None:
    found = shares_nothing(row["query"], row["material"], row.get("tag", ""))
    assert found is row["unrelated"]

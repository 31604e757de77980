"""The answer to a plan review, the estimate shown with it, and the conversation on a terminal."""

import io
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.assistants.common.plan_cost import CallSizes, Size, estimate_words, plan_shares, sum_of
from agent.assistants.common.review_plan import plan_words
from agent.assistants.deep_research import reviewed_topics
from agent.assistants.plan_execute import reviewed_tasks
from agent.cli.batch import read_batch_plan
from agent.cli.parser import build_parser
from agent.cli.request import read_request
from agent.cli.review import review
from agent.client.run_result import Pause, pause_of
from agent.configuration import Configuration, configure
from agent.core.budget import no_usage
from agent.core.errors import ConfigurationError, InputError
from agent.evidence.types import MapTask, Query
from agent.nodes.reviewed_queries import QUERIES
from agent.state import Estimate, Turn
from agent.texts import say

NEARBY: MapTask = {"intent": "nearby", "place": "王府井", "keywords": ["书店"], "radius_m": 1000}
NO_MAP = Configuration(geo_routing="never")
NO_GOOGLE = Configuration(web_search="tavily")


def accepted(answer: Any, configuration: Configuration | None = None) -> list[Query]:
    return QUERIES.lines(answer, {"turn": {"near": None}}, configuration or Configuration())


PLAYED = [
    # Topics or tasks, of them searched by Google; calls, tokens in, tokens out of a whole run.
    ("deep_research", 4, 0, 28, 77_891, 7331),
    ("deep_research", 1, 0, 13, 28_932, 2141),
    ("plan_execute", 4, 0, 17, 30_897, 3673),
    ("plan_execute", 1, 2, 11, 15_742, 1860),
    ("plan_execute", 1, 1, 12, 19_667, 2494),
]
"""Runs by hand; a third of deep research's words are its explorers'."""


def sized(assistant: str, count: int, web: int) -> list[CallSizes]:
    """The calls that a plan of so many lines is estimated to make."""
    if assistant == "deep_research":
        return reviewed_topics.planned_calls(count, NO_GOOGLE, "google:gemini-3.8-flash")
    return reviewed_tasks.planned_calls(
        count, NO_GOOGLE, "google:gemini-3.8-flash", web=web, undecided=0, own=2000 * (web > 0)
    )


@pytest.mark.parametrize(("assistant", "count", "web", "calls", "read", "written"), PLAYED)
def test_an_estimate_holds_what_a_run_took_and_is_narrow_enough_to_help(
    assistant: str, count: int, web: int, calls: int, read: int, written: int
) -> None:
    every = sized(assistant, count, web)

    def ends(of: Callable[[Size], float]) -> list[float]:
        return [sum(each.counts[end] * of(each.sizes[end]) for each in every) for end in (0, 1)]

    taken = {calls: lambda _: 1, read: lambda size: size.input, written: lambda size: size.output}
    for took, of in taken.items():
        low, high = ends(of)
        assert low <= took <= high
    low, high = (sum(each.seconds(end, 60) for each in every) for end in (0, 1))
    assert high <= 9 * low


def test_queries_are_taken_as_they_are_with_their_texts_made_clean() -> None:
    (first, second, third) = accepted(
        {"queries": [{"query": "  王府井\u202e 书店\n ", "map": NEARBY}, {"query": "b"}, "c"]}
    )
    assert first["query"] == "王府井 书店"
    assert first["map"] is not None
    assert first["map"]["keywords"] == ["书店"]
    assert (second, third) == (Query(query="b", map=None), Query(query="c", map=None))


def test_a_plan_may_repeat_itself_if_the_person_wants_that() -> None:
    assert len(accepted({"queries": ["a", "a"]})) == 2


def test_a_cancelled_plan_has_no_queries() -> None:
    assert accepted({"cancel": True}) == []
    assert accepted({"cancel": True, "queries": ["a"]}) == []
    assert len(accepted({"cancel": False, "queries": ["a"]})) == 1


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (True, "the answer"),
        ("go on", "the answer"),
        ({"querys": ["a"]}, "querys"),
        ({}, "queries"),
        ({"queries": "a"}, "queries"),
        ({"queries": []}, "queries"),
        ({"queries": ["a"] * 11}, "queries"),
        ({"cancel": "yes"}, "cancel"),
        ({"queries": ["a", " "]}, "queries[1].query"),
        ({"queries": [{"query": "\u200b"}]}, "queries[0].query"),
        ({"queries": [{"query": 5}]}, "queries[0].query"),
        ({"queries": [{"query": "x" * 401}]}, "queries[0].query"),
        ({"queries": [{"query": "x" * 100_000}]}, "queries[0].query"),
        ({"queries": [5]}, "queries[0]"),
        ({"queries": [{"query": "a", "maps": None}]}, "queries[0].maps"),
        ({"queries": [{"query": "a", "map": "here"}]}, "queries[0].map"),
        ({"queries": [{"query": "a", "map": {}}]}, "queries[0].map.intent"),
        ({"queries": [{"query": "a", "map": {"intent": ["poi"]}}]}, "queries[0].map.intent"),
        ({"queries": [{"query": "a", "map": {**NEARBY, "near": 1}}]}, "queries[0].map.near"),
        ({"queries": [{"query": "a", "map": {"intent": "area", "city": "北京"}}]},
         "queries[0].map"),
        ({"queries": [{"query": "a", "map": {"intent": "nearby", "keywords": ["书店"]}}]},
         "queries[0].map"),
        ({"queries": [{"query": "a", "map": {"intent": "route", "destination": "故宫"}}]},
         "queries[0].map"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_that_names_the_field(answer: Any, named: str) -> None:
    with pytest.raises(InputError) as refused:
        accepted(answer)
    assert refused.value.name == named
    assert "\n" not in refused.value.message
    assert len(refused.value.message) < 250


def test_a_place_may_be_missing_where_the_user_said_where_they_are() -> None:
    here = {"intent": "nearby", "keywords": ["书店"]}
    there = {"turn": {"near": {"lng": 116.4, "lat": 39.9}}}
    (query,) = QUERIES.lines({"queries": [{"query": "a", "map": here}]}, there, Configuration())
    assert query["map"]


def test_a_map_task_is_refused_where_the_map_is_off() -> None:
    with pytest.raises(InputError, match="geo_routing=never"):
        accepted({"queries": [{"query": "a", "map": NEARBY}]}, NO_MAP)


def estimated(queries: list[Query], loops: int = 2, **settings: Any) -> Estimate:
    turn = Turn(id="t", question="q", language="zh", today="2026-11-20", started_at=0, count=3,
                loops=loops, reasoning_model=None, near=None)  # fmt: skip
    given = cast(
        Any,
        SimpleNamespace(
            billed=lambda usage: usage, models=SimpleNamespace(speed=lambda model: 50.0)
        ),
    )
    state = {"turn": turn, "usage": no_usage()}
    return QUERIES.estimate(queries, state, configure(settings), given)


WEB = Query(query="a", map=None)
MAP = Query(query="b", map=NEARBY)


def test_the_estimate_counts_the_plan_within_its_limits() -> None:
    found = estimated([WEB, WEB, MAP])
    assert (found["searches"], found["model_calls"]) == (3, 3 + 1 + 2)
    assert found["map_calls"] == 1 + 1 + 2 + 2
    few = estimated([WEB, WEB, MAP], max_searches=1, max_map_calls=2, max_model_calls=4)
    assert (few["searches"], few["map_calls"], few["model_calls"]) == (1, 2, 4)
    assert estimated([MAP], web_search="off")["searches"] == 0
    assert estimated([WEB], loops=1)["model_calls"] == 2


def test_the_cost_is_a_range_around_what_the_docs_say_and_grows_with_the_plan() -> None:
    cost = estimated([WEB, WEB, WEB], loops=1)["cost_usd"]
    assert cost is not None
    # docs/operations.md: one round without the map costs $0.13.
    assert 0.03 < cost["low"] < 0.13 < cost["high"] < 0.26
    more = estimated([WEB, WEB, WEB, MAP])["cost_usd"]
    assert more is not None
    assert more["low"] > cost["low"]
    assert more["high"] > cost["high"]


@pytest.mark.parametrize(
    "settings", [{"answer_model": "openai:some-model"}, {"web_search": "tavily"}]
)
def test_a_cost_with_an_unknown_price_in_it_is_unknown(settings: dict[str, str]) -> None:
    assert estimated([WEB], **settings)["cost_usd"] is None


def test_ceiling_and_cost_of_models_survive_an_edit_where_a_search_has_no_known_price() -> None:
    whole = estimated([WEB, WEB], web_search="tavily", max_run_dollars=1.0)
    (first, _) = plan_shares(
        [WEB, WEB], WEB, lambda lines: estimated([*lines], web_search="tavily", max_run_dollars=1.0)
    )["lines"]
    edited = sum_of(whole, first, -1)
    models = edited["models_usd"]
    words = estimate_words(edited, "en")
    assert whole["cost_usd"] is None
    ends = {end: f"{models[end]:.2f}" for end in ("low", "high")}
    assert say("review.models", "en", **ends) in words
    assert say("review.ceiling", "en", limit="1.00") in words
    assert models["high"] < whole["models_usd"]["high"]


def asked(monkeypatch: pytest.MonkeyPatch, *lines: str, language: Any = "en") -> dict[str, Any]:
    """What `review` gives back to a person who types these lines."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    queries = [{"query": "first", "map": dict(NEARBY)}, {"query": "second", "map": None}]
    cost = {"low": 0.031, "high": 0.158} if language == "zh" else None
    estimate = {"searches": 2, "map_calls": 6, "model_calls": 5, "cost_usd": cost}
    plan: Any = {"queries": queries, "estimate": estimate}
    return review(Pause({**plan, "words": plan_words(plan, language)}), language)


def texts(answer: dict[str, Any]) -> list[str]:
    return [query["query"] for query in answer["queries"]]


def test_after_an_edit_the_estimate_is_that_of_the_plan_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = [Query(query="first", map=NEARBY), Query(query="second", map=None)]
    shares = plan_shares(queries, Query(query="", map=None), estimated)
    plan = {"queries": queries, "most": 9, "estimate": estimated(queries), "shares": shares}

    def told(*lines: str) -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, "", ""])))
        review(Pause({**plan, "words": plan_words(cast(Any, plan), "en")}), "en")
        said = capsys.readouterr().err.splitlines()
        # Each share of the cost is rounded for itself, so that the last digit may differ.
        return [line.partition("; about $0.0")[0] for line in said if line.startswith("Estimate")]

    def words(*queries: Query) -> str:
        return estimate_words(estimated([*queries]), "en").partition("; about $0.0")[0]

    mine = Query(query="x", map=None)
    assert told("+ third", "-1", "^2") == [
        words(*queries), words(*queries, mine), words(queries[1], mine), words(queries[1], mine),
    ]  # fmt: skip
    assert told("1 other", "n") == [words(*queries), words(mine, queries[1])]


def test_the_hint_is_printed_again_after_an_edit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(monkeypatch, "+ third\n-1\n\n")
    assert capsys.readouterr().err.count("Enter goes on") == 3


def test_enter_goes_on_with_the_plan_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(monkeypatch, "")
    assert texts(answer) == ["first", "second"]
    assert answer["queries"][0]["map"] == NEARBY
    said = capsys.readouterr()
    assert "1. first" in said.err
    assert "bookstore within 1 km of Wangfujing (王府井)" in said.err
    assert "web searches 2, map calls 6, model calls 5; cost unknown" in said.err
    assert said.out == ""


def test_queries_are_edited_removed_and_added(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked(monkeypatch, "1", "better", "n", "2 shorter", "+ third", "＋第四", "-2", "")
    assert texts(answer) == ["better", "third", "第四"]
    assert [query["map"] for query in answer["queries"]] == [None, None, None]
    assert asked(monkeypatch, "1 better", "", "")["queries"][0]["map"] == NEARBY
    assert texts(asked(monkeypatch, "1", "", "")) == ["first", "second"]


def test_what_makes_no_sense_is_said_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(monkeypatch, "9", "-0", "what?", "+", "-1 2", "²", "-1", "-1", "")
    assert texts(answer) == ["second"]
    said = capsys.readouterr().err
    assert say("review.none", "en", number=9) in said
    assert "One has to stay" in said
    assert len(texts(asked(monkeypatch, *["+ more"] * 12, ""))) == 10


def test_q_cancels_and_the_end_of_the_input_leaves_the_run_waiting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, "Q", language="zh") == {"cancel": True}
    said = capsys.readouterr().err
    assert "还没有搜索" in said
    assert "约 $0.03 至 $0.16" in said
    with pytest.raises(KeyboardInterrupt):
        asked(monkeypatch)


def test_a_pause_is_read_from_objects_and_from_a_servers_json() -> None:
    plan = {"queries": []}
    for waiting in (SimpleNamespace(value=plan), {"value": plan}):
        found = pause_of({"__interrupt__": [waiting]})
        assert found is not None
        assert found.review == plan
    assert pause_of({"messages": []}) is None


@pytest.mark.parametrize("where", [(), ("--url", "http://127.0.0.1:9")])
@pytest.mark.parametrize("how", [(), ("--json",)])
def test_a_review_nobody_can_give_is_refused_by_name(
    how: tuple[str, ...], where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = build_parser(["ask", "batch"])
    words = ["--set", "review_plan=true", *where]
    with pytest.raises(ConfigurationError) as refused:
        read_request(parser.parse_args(["ask", *how, *words, "q"]))
    assert refused.value.name == "review_plan"
    with pytest.raises(ConfigurationError) as refused:
        read_batch_plan(parser.parse_args(["batch", "none.jsonl", "-o", "a.jsonl", *words]))
    assert refused.value.name == "review_plan"
    if not where:
        monkeypatch.setenv("REVIEW_PLAN", "true")
        with pytest.raises(ConfigurationError, match="review_plan"):
            read_request(parser.parse_args(["ask", *how, "q"]))
        assert read_request(parser.parse_args(["ask", "--set", "review_plan=false", *how, "q"]))


TASKS = [{"id": "T1", "query": "cells", "dep": [], "company": "CATL"},
         {"id": "T2", "query": "prices", "dep": ["T1"]}]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "typed", "answer"),
    [
        ({"steps": ["who", "when"]}, ["^2", "+ where", "＾1"], ["when", "who", "where"]),
        ({"topics": [{"id": "T1", "name": "cost", "what_to_find": "per kWh"}]}, ["1 price"],
         [{"id": "T1", "name": "price", "what_to_find": "per kWh"}]),
        ({"tasks": TASKS}, ["^2", "+ market", "-1"], [TASKS[0], "market"]),
    ],
)  # fmt: skip
def test_the_plans_of_the_long_assistants_are_edited_in_the_same_way(
    plan: dict[str, Any], typed: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in [*typed, ""])))
    assert review(Pause({**plan, "most": 4}), "en") == {next(iter(plan)): answer}


def test_a_task_is_shown_with_the_numbers_of_those_it_waits_for_and_no_more_than_may_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("^2\n+ more\n\n"))
    review(Pause({"tasks": TASKS, "most": 2}), "zh")
    said = capsys.readouterr().err
    assert "子任务" in said
    assert "2. prices ← 1" in said
    assert "1. prices ← 2" in said
    assert "最多 2 条" in said

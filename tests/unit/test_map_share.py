"""A map branch knows its share of the calls, and nothing it was to search is lost silently."""

from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.assistants.common.forms import PlannedMap, WrittenQuery
from agent.assistants.common.map_tasks import plan_queries
from agent.configuration import Configuration
from agent.core.budget import Budget, Limits, no_usage
from agent.core.errors import BudgetExceeded
from agent.evidence.maps import valid_map_task
from agent.evidence.types import MapTask, Query
from agent.nodes.routing import continue_to_research, evaluate_research
from agent.texts import Language

LIMITS = Limits(
    max_searches=9,
    max_model_calls=9,
    max_map_calls=10,
    max_run_tokens=9000,
    max_run_seconds=60,
    answer_seconds=0,
)


def nearby(place: str, *keywords: str) -> MapTask:
    return MapTask(intent="nearby", place=place, keywords=list(keywords))


def written(place: str, *keywords: str) -> WrittenQuery:
    return WrittenQuery(
        query=f"{place} {' '.join(keywords)}",
        map=PlannedMap(intent="nearby", place=place, keywords=list(keywords)),
    )


def shares(sends: list[Send] | str) -> list[int]:
    assert not isinstance(sends, str)
    return [send.arg["map_calls"] for send in sends if send.node == "amap_research"]


def state(*places: str, done: int = 0, spent: int = 0) -> Any:
    queries = [Query(query=place, map=nearby(place, "咖啡")) for place in places]
    return {
        "turn": {"loops": 2, "id": "t"},
        "query_list": queries,
        "follow_up_queries": queries,
        "queries": queries,
        "research_loop_count": done,
        "usage": {**no_usage(), "map_calls": spent},
    }


def test_research_leaves_calls_of_the_map_to_whoever_writes_the_text() -> None:
    budget = Budget("t", replace(LIMITS, kept_map_calls=3))
    research, writing = budget.meter(), budget.meter(answering=True)
    research.reserve("map_calls", 7)
    assert (research.left("map_calls"), writing.left("map_calls")) == (0, 3)
    with pytest.raises(BudgetExceeded):
        research.reserve("map_calls")
    writing.reserve("map_calls", 3)


def test_two_branches_leave_a_third_of_the_calls_to_the_round_after_reflection() -> None:
    runtime = Runtime(context=Configuration())
    assert shares(continue_to_research(state("王府井", "前门"), runtime)) == [10, 10]
    assert shares(evaluate_research(state("王府井", done=1, spent=20), runtime)) == [10]


def test_a_forecast_leaves_its_calls_to_the_searches_beside_it() -> None:
    given = state("外滩", "豫园", "上海")
    given["query_list"][2]["map"] = MapTask(intent="weather", place="上海")
    sends = continue_to_research(given, Runtime(context=Configuration()))
    assert shares(sends) == [8, 8, 4]


def test_a_budget_that_is_nearly_spent_is_parted_evenly() -> None:
    given = state("外滩", "上海", spent=26)
    given["query_list"][1]["map"] = MapTask(intent="weather", place="上海")
    assert shares(continue_to_research(given, Runtime(context=Configuration()))) == [1, 1]


@pytest.mark.parametrize("spent", range(31))
def test_what_branches_are_given_is_never_more_than_the_round_has(spent: int) -> None:
    given = state("外滩", "豫园", "上海", spent=spent)
    given["query_list"][2]["map"] = MapTask(intent="weather", place="上海")
    sends = continue_to_research(given, Runtime(context=Configuration()))
    assert sum(shares(sends)) <= 2 * (30 - spent) // 3


def test_a_branch_knows_the_places_of_earlier_rounds_and_of_the_answer_before() -> None:
    shown = {"places": [{"id": "osm:node/2"}], "sources": []}
    later = {**state("王府井", done=1), "places": [{"id": "osm:node/1"}], "previous": shown}
    sends = evaluate_research(later, Runtime(context=Configuration()))
    [send] = [send for send in sends if isinstance(send, Send) and "known" in send.arg]
    assert [place["id"] for place in send.arg["known"]] == ["osm:node/1", "osm:node/2"]


def test_without_a_second_round_the_branches_have_everything() -> None:
    runtime = Runtime(context=Configuration(max_follow_up_queries=0, max_map_calls=31))
    assert shares(continue_to_research(state("王府井", "前门"), runtime)) == [15, 15]


def test_a_step_cannot_spend_more_than_its_share_nor_than_the_budget_has() -> None:
    budget = Budget("t", LIMITS)
    branch = budget.meter(share={"map_calls": 2})
    branch.reserve("map_calls", 2)
    assert branch.left("map_calls") == 0
    with pytest.raises(BudgetExceeded) as caught:
        branch.reserve("map_calls")
    assert caught.value.code == "budget_max_map_calls"
    other = budget.meter(share={"map_calls": 20})
    assert other.left("map_calls") == 8
    assert budget.meter().left("map_calls") == 8


def test_a_keyword_that_was_planned_but_not_searched_may_be_asked_again() -> None:
    queries = plan_queries(
        [written("迪士尼", "小吃", "咖啡厅", "快餐")],
        Configuration(),
        None,
        searched=[nearby("迪士尼", "快餐", "便利店") | {"city": None, "origin": None,
                  "destination": None, "mode": None}],
    )  # fmt: skip
    assert queries[0]["map"] is not None
    assert queries[0]["map"]["keywords"] == ["小吃", "咖啡厅"]


@pytest.mark.parametrize(
    ("reader", "query", "place"),
    [
        ("zh-Hant", "西湖 停车场", "西湖"),
        ("ja", "西湖 停车场", "西湖"),
        ("en", "西湖 停车场", "West Lake"),
        ("zh", "West Lake parking", "West Lake"),
    ],
)
def test_a_place_is_told_by_its_own_name_to_who_reads_its_characters(
    reader: Language, query: str, place: str
) -> None:
    """`距West Lake 1.0 km` stood in a Chinese answer: the model had written the place so."""
    task = {"intent": "nearby", "place": "West Lake", "keywords": ["停车场"]}
    wish = WrittenQuery.model_validate({"query": query, "map": task})
    (planned,) = plan_queries([wish], Configuration(), None, reader=reader)
    assert planned["map"] is not None
    assert planned["map"]["place"] == place


def test_each_query_keeps_its_own_keywords_and_none_is_searched_twice() -> None:
    queries = plan_queries(
        [
            written("三里屯", "酒吧"),
            written("三里屯", "夜宵", "烧烤", "火锅"),
            written("三里屯", "火锅", "清吧", "酒馆"),
            written("三里屯", "书店"),
        ],
        Configuration(),
        None,
    )
    tasks = [query["map"] for query in queries]
    assert [task and task["keywords"] for task in tasks] == [
        ["酒吧", "清吧", "酒馆"],
        ["夜宵", "烧烤", "火锅"],
        None,
        ["书店"],
    ]


def test_queries_of_one_place_share_a_search_that_has_room_for_all_their_keywords() -> None:
    queries = plan_queries(
        [written("王府井", "博物馆", "公园"), written("王府井", "公园", "儿童剧院")],
        Configuration(),
        None,
    )
    tasks = [query["map"] for query in queries]
    assert [task and task["keywords"] for task in tasks] == [["博物馆", "公园", "儿童剧院"], None]


def test_a_task_keeps_every_stop_and_wish() -> None:
    via, wishes = [f"stop {n}" for n in range(5)], [f"wish {n}" for n in range(5)]
    task = valid_map_task({"intent": "route", "destination": "x", "via": via, "wishes": wishes})
    assert task is not None
    assert (task.get("via"), task.get("wishes")) == (via, wishes)

"""The pause of a plan: ours and LangChain's human-in-the-loop form say the same."""

from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from agent.assistants.common.plan_cost import estimate_words
from agent.assistants.common.review_plan import await_answer, map_task_words, plan_words
from agent.assistants.deep_research.reviewed_topics import TOPICS
from agent.assistants.deep_research.state import DeepConfiguration
from agent.assistants.plan_execute.reviewed_tasks import TASKS as PLAN_OF_TASKS
from agent.assistants.plan_execute.state import PlanConfiguration, Task
from agent.assistants.team_answer.reviewed_steps import STEPS
from agent.assistants.team_answer.state import TeamConfiguration
from agent.core.errors import InputError
from agent.evidence.types import MapTask, PlanPart
from agent.nodes.reviewed_queries import QUERIES as PLAN_OF_QUERIES
from agent.state import Estimate, PlanReview, Query, TimeRange
from agent.texts import say
from tests.support.rows import by_examples

ESTIMATE = Estimate(searches=1, map_calls=0, model_calls=2, cost_usd=None)
MAP = {"intent": "nearby", "place": "王府井", "keywords": ["书店"]}
QUERIES = [{"query": "王府井 书店", "map": MAP}, {"query": "wangfujing shops", "map": None}]
TASKS = [
    {"id": "T1", "query": "cells", "dep": [], "company": "CATL"},
    {"id": "T2", "query": "prices", "dep": ["T1"]},
]


class State(TypedDict, total=False):
    lines: list[Any]


def shown_and_read(part: PlanPart, lines: list[Any], *answers: Any) -> list[Any]:
    """What is shown at first, and what came after each answer: the lines, or what is asked."""

    def review(state: State) -> State:
        plan = PlanReview(**{part: lines, "most": 10, "estimate": ESTIMATE})  # type: ignore[typeddict-item]
        kind: Any = replace(PLAN_OF_QUERIES, part=part, read=lambda lines, *_: [*lines])
        return {"lines": await_answer(kind, plan, lambda a: kind.lines(a, {}, None), "en")}

    graph = StateGraph(State).add_node(review).add_edge(START, "review")
    compiled = graph.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    state = compiled.invoke({}, thread)
    states = [state, *(compiled.invoke(Command(resume=answer), thread) for answer in answers)]
    return [
        left[0].value if (left := state.get("__interrupt__")) else state["lines"]
        for state in states
    ]


def decision(kind: str, part: str = "queries", text: Any = None) -> dict[str, Any]:
    edited = {"edited_action": {"name": "review_plan", "args": {part: text}}}
    return {"decisions": [{"type": kind, **(edited if kind == "edit" else {})}]}


def test_a_plan_is_shown_in_langchains_form_beside_ours() -> None:
    (shown,) = shown_and_read("queries", QUERIES)
    assert shown["queries"] == QUERIES
    lines = "王府井 书店\nwangfujing shops"
    about = f"{say('review.heading_queries', 'en')}\n{shown['words']['estimate']}"
    assert shown["action_requests"] == [
        {"name": "review_plan", "args": {"queries": lines}, "description": about}
    ]
    assert shown["review_configs"] == [
        {"action_name": "review_plan", "allowed_decisions": ["approve", "edit", "reject"]}
    ]


def test_an_approval_goes_on_with_the_plan_as_it_was_shown() -> None:
    assert shown_and_read("queries", QUERIES, decision("approve"))[1] == QUERIES


@by_examples
def test_an_approval_counts_in_whatever_form_a_client_sends_it(answer: Any) -> None:
    assert shown_and_read("queries", QUERIES, answer)[1] == QUERIES


@by_examples
def test_a_rejection_ends_the_plan(answer: Any) -> None:
    assert shown_and_read("queries", QUERIES, answer)[1] == []


def test_an_edit_of_agent_inbox_is_read_as_one() -> None:
    edited = {"action": "review_plan", "args": {"queries": "wangfujing shops"}}
    answers = ({"type": "edit", "args": edited}, [{"type": "edit", "args": edited}])
    assert [shown_and_read("queries", QUERIES, a)[1] for a in answers] == [QUERIES[1:]] * 2


def test_of_an_edit_a_line_that_stayed_keeps_its_map_task() -> None:
    text = "\n bookshops in Beijing \n\n王府井 书店\n"
    _, read = shown_and_read("queries", QUERIES, decision("edit", text=text))
    assert read == ["bookshops in Beijing", QUERIES[0]]


def test_a_line_with_an_id_keeps_what_belongs_to_it_under_new_words() -> None:
    shown, read = shown_and_read(
        "tasks", TASKS, decision("edit", "tasks", "T1 sodium cells\nT2 prices\nmarket")
    )
    assert shown["action_requests"][0]["args"] == {"tasks": "T1 cells\nT2 prices"}
    assert read == [{**TASKS[0], "query": "sodium cells"}, TASKS[1], "market"]


def test_steps_are_lines_themselves() -> None:
    shown, read = shown_and_read("steps", ["who", "when"], decision("edit", "steps", "when\nwho"))
    assert shown["action_requests"][0]["args"] == {"steps": "who\nwhen"}
    assert read == ["when", "who"]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ({"decisions": "approve"}, "decisions"),
        ({"decisions": []}, "decisions"),
        ({"decisions": [{"type": "approve"}, {"type": "approve"}]}, "decisions"),
        ({"decisions": ["approve"]}, "decisions[0].type"),
        ({"decisions": [{"type": "respond"}]}, "decisions[0].type"),
        ("looks nice", "decisions[0].type"),
        ([{"type": "response", "args": "cheaper, please"}], "decisions[0].type"),
        ([{"type": "accept"}, {"type": "accept"}], "decisions"),
        ([], "the answer"),
        (5, "the answer"),
        ({"decisions": [{"type": "edit"}]}, "decisions[0].edited_action.args.queries"),
        (decision("edit", text=5), "decisions[0].edited_action.args.queries"),
        (decision("edit", text=" \n"), "queries"),
        (decision("edit", "topics", "a"), "decisions[0].edited_action.args.queries"),
    ],
)
def test_a_decision_that_cannot_be_used_is_asked_for_again_in_both_forms(
    answer: Any, named: str
) -> None:
    _, again, read = shown_and_read("queries", QUERIES, answer, decision("approve"))
    assert read == QUERIES
    assert again["problem"].startswith((f"{named} ", f"{named}: "))
    assert "\n" not in again["problem"]
    problem, *about = again["action_requests"][0]["description"].splitlines()
    assert problem == say("review.problem", "en", problem=again["problem"])
    assert about[0] == say("review.heading_queries", "en")
    assert again["queries"] == QUERIES


PLANNED = [
    Task(id="T1", query="cells", dep=[], queries=["sodium cells"], company="CATL"),
    Task(id="T2", query="prices", dep=["T1"], sources=["map"]),
    Task(id="T3", query="market", dep=["T1", "T2"]),
]


def read_tasks(tasks: list[Any]) -> list[Task]:
    limited = PlanConfiguration(max_tasks=3)
    return PLAN_OF_TASKS.lines({"tasks": tasks}, {"tasks": PLANNED}, limited)


def read_steps(answer: Any) -> list[str]:
    return STEPS.lines(answer, {}, TeamConfiguration())


def read_topics(topics: list[Any]) -> list[Any]:
    return TOPICS.lines({"topics": topics}, {}, DeepConfiguration(max_topics=3))


def test_tasks_come_back_reordered_with_their_dependencies_under_new_ids() -> None:
    assert read_tasks([*PLANNED]) == PLANNED
    swapped = read_tasks([PLANNED[1], PLANNED[0]])
    assert [(task["id"], task["query"], task["dep"]) for task in swapped] == [
        ("T1", "prices", ["T2"]), ("T2", "cells", []),
    ]  # fmt: skip
    assert swapped[0]["sources"] == ["map"]


def test_a_dropped_task_is_waited_for_by_nobody_and_new_ones_get_an_id() -> None:
    tasks = read_tasks([PLANNED[2], "recycling", {"query": "safety"}])
    assert [(task["id"], task["query"], task["dep"]) for task in tasks] == [
        ("T1", "market", []), ("T2", "recycling", []), ("T3", "safety", []),
    ]  # fmt: skip


def test_a_reworded_task_loses_the_searches_of_its_old_words_only() -> None:
    (task,) = read_tasks([{**PLANNED[0], "query": "potassium"}])
    assert task == {"id": "T1", "query": "potassium", "dep": [], "company": "CATL"}
    mine = {**PLANNED[0], "query": "potassium", "queries": ["potassium cells"]}
    assert read_tasks([mine])[0]["queries"] == ["potassium cells"]


@pytest.mark.parametrize(
    ("tasks", "named"),
    [
        (["a"] * 4, "tasks"),
        ([{"query": "a", "deps": []}], "tasks[0].deps"),
        ([{"query": "x" * 301}], "tasks[0].query"),
        ([{"id": "T1"}], "tasks[0].query"),
        ([{"id": 1, "query": "a"}], "tasks[0].id"),
        ([{"id": "T1", "query": "a"}, {"id": "T1", "query": "b"}], "tasks[1].id"),
        ([{"query": "a", "dep": "T1"}], "tasks[0].dep"),
        (["a", {"query": "b", "dep": [""]}], "tasks[1].dep"),
        ([{"query": "a", "dep": ["T9"]}], "tasks[0].dep"),
        ([{"id": "T1", "query": "a", "dep": ["T1"]}], "tasks[0].dep"),
        ([{"id": "T1", "query": "a", "dep": ["T2"]}, {"id": "T2", "query": "b", "dep": ["T1"]}],
         "tasks[0].dep"),
        ([{"query": "a", "sources": ["bing"]}], "tasks[0].sources"),
        ([{"query": "a", "company": "x" * 201}], "tasks[0].company"),
        ([{"query": "a", "queries": ["1", "2", "3", "4"]}], "tasks[0].queries"),
        ([{"query": "a", "queries": [" "]}], "tasks[0].queries[0]"),
    ],
)  # fmt: skip
def test_tasks_that_cannot_be_used_are_one_line_that_names_the_field(
    tasks: list[Any], named: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_tasks(tasks)
    assert refused.value.name == named
    assert "\n" not in refused.value.message


def test_steps_are_cleaned_and_bounded() -> None:
    assert read_steps({"steps": [" who\n built it? ", "when?"]}) == ["who built it?", "when?"]
    assert read_steps({"cancel": True}) == []
    for wrong, named in (["a"] * 7, "steps"), ([5], "steps[0]"), (["a", " "], "steps[1]"):
        with pytest.raises(InputError) as refused:
            read_steps({"steps": wrong})
        assert refused.value.name == named


def test_topics_keep_the_persons_order_and_what_is_to_be_found() -> None:
    wanted = {"id": "T2", "name": "cost", "what_to_find": "per kWh"}
    assert read_topics([wanted, " safety\n "]) == [
        {"id": "T1", "name": "cost", "what_to_find": "per kWh", "status": "planned"},
        {"id": "T2", "name": "safety", "what_to_find": "", "status": "planned"},
    ]


@pytest.mark.parametrize(
    ("topics", "named"),
    [
        (["a"] * 4, "topics"),
        ([{"name": "a", "status": "done"}], "topics[0].status"),
        ([{"what_to_find": "a"}], "topics[0].name"),
        (["a", "A"], "topics[1].name"),
        ([{"name": "a", "what_to_find": "x" * 301}], "topics[0].what_to_find"),
    ],
)
def test_topics_that_cannot_be_used_are_one_line_that_names_the_field(
    topics: list[Any], named: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_topics(topics)
    assert refused.value.name == named


def test_what_lies_between_two_and_when_a_way_begins_are_told_in_a_plan() -> None:
    """A search between two read "around your location"."""
    between = MapTask(intent="nearby", keywords=["cafe"], origin="Kiasma", destination="Oodi")
    assert map_task_words(between, "en") == "cafe between Kiasma and Oodi"
    way = MapTask(intent="route", origin="Kiasma", destination="Oodi", mode="driving",
                  arrive_by="2026-12-01T09:00")  # fmt: skip
    assert map_task_words(way, "en") == "Way by car: Kiasma → Oodi, there by 2026-12-01 09:00"


@by_examples
def test_a_map_task_reads_as_a_person_would_say_it(task: Any, words: str) -> None:
    assert map_task_words(task, "en") == words


@pytest.mark.parametrize(
    ("keywords", "query", "language", "words"),
    [
        (["公园"], "parks", "en", "park within 2 km of the Bund"),
        (["公园", "猫咖"], "cat cafés", "en", "“cat cafés” within 2 km of the Bund"),
        (["猫咖"], "外滩 猫咖", "de", "places within 2 km of the Bund"),
        (["猫咖"], "cat cafés", "zh", "the Bund周边 2 公里内：猫咖"),
    ],
)
def test_a_plan_says_what_the_map_searches_in_words_that_its_reader_has(
    keywords: list[str], query: str, language: str, words: str
) -> None:
    task = MapTask(intent="nearby", place="the Bund", keywords=keywords)
    review = PlanReview(
        queries=[Query(query=query, map=task)], most=3, estimate=Estimate(**ESTIMATE)
    )
    assert plan_words(review, language)["maps"] == [words]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1, 20, "about 1 minute"), (61, 119, "about 2 minutes"), (30, 400, "1 to 7 minutes")],
)
def test_a_plan_tells_how_long_it_takes(low: float, high: float, words: str) -> None:
    counts = Estimate(**ESTIMATE, seconds=TimeRange(low=low, high=high))
    assert estimate_words(counts, "en").endswith(f"; {words}")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ({"low": 0.031, "high": 0.2}, "about $0.03 to $0.20 (the upper end with follow-ups)"),
        ({"low": 0.0, "high": 0.0}, "free of charge"),
        (None, "cost unknown"),
    ],
)
def test_a_plan_tells_what_it_takes(cost: Any, words: str) -> None:
    review = PlanReview(steps=["A"], most=3, estimate=Estimate(**{**ESTIMATE, "cost_usd": cost}))
    told = plan_words(review, "en")
    assert told["estimate"].endswith(f"web searches 1, map calls 0, model calls 2; {words}")
    assert told["maps"] == []

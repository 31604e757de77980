"""What becomes of a plan: validated, made harmless, bounded."""

import pytest

from agent.assistants.plan_execute.plan import (
    CheckedTasks,
    Plan,
    PlanMode,
    PlannedTask,
    Problem,
    checked,
    depth_of,
    in_order,
    numbered_tasks,
)


def plan(*tasks: tuple[str, str, list[str]]) -> Plan:
    return Plan(tasks=[PlannedTask(id=i, query=q, dep=d) for i, q, d in tasks])


def made(given: Plan, mode: PlanMode = "dag", limit: int = 6) -> list[tuple[str, str, list[str]]]:
    tasks = numbered_tasks(checked(given, mode, limit), limit)
    return [(task["id"], task["query"], task["dep"]) for task in tasks]


def problems(given: Plan, mode: PlanMode = "dag", limit: int = 6) -> list[Problem]:
    return checked(given, mode, limit).problems


def test_a_good_plan_keeps_its_dependencies_under_ids_of_ours() -> None:
    given = plan(("a", "历史", []), ("b", "票价", ["a"]), ("c", "交通", ["a", "b"]))
    assert problems(given) == []
    assert made(given) == [
        ("T1", "历史", []),
        ("T2", "票价", ["T1"]),
        ("T3", "交通", ["T1", "T2"]),
    ]


def test_a_flat_plan_depends_on_nothing() -> None:
    given = plan(("T1", "历史", []), ("T2", "票价", ["T1", "T9"]), ("T2", "交通", ["T2"]))
    assert problems(given, "flat") == []
    assert made(given, "flat") == [("T1", "历史", []), ("T2", "票价", []), ("T3", "交通", [])]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (plan(), "empty"),
        (plan(("T1", "  ", [])), "empty"),
        (plan(("T1", "历史", []), ("T1", "票价", [])), "same_id"),
        (plan(("T1", "历史", []), ("T2", "历史", [])), "same_task"),
        (plan(("T1", "历史", ["T7"])), "unknown_dep"),
        (plan(("T1", "历史", ["T1"])), "cycle"),
        (plan(("T1", "历史", ["T2"]), ("T2", "票价", ["T1"])), "cycle"),
        (plan(*((f"T{n}", f"方面{n}", []) for n in range(100))), "too_many"),
    ],
)
def test_what_is_wrong_with_a_plan_has_a_name(given: Plan, problem: Problem) -> None:
    assert problem in problems(given)


@pytest.mark.parametrize(
    "given",
    [
        plan(("T1", "历史", ["T2"]), ("T2", "票价", ["T1"])),
        plan(("T1", "历史", []), ("T2", "票价", ["T9"])),
        plan(("T1", "历史", []), ("T1", "票价", ["T1"])),
        plan(("T1", "历史", []), ("T2", "票价", ["T3"]), ("T3", "历史", [])),
    ],
)
def test_a_plan_whose_dependencies_make_no_sense_is_flat(given: Plan) -> None:
    assert made(given) == [("T1", "历史", []), ("T2", "票价", [])]


def test_the_same_task_in_other_words_is_carried_out_once() -> None:
    given = plan(("T1", "宁德时代 财务", []), ("T2", "宁德时代的财务", []), ("T3", "同行", []))
    assert [query for _, query, _ in made(given, "flat")] == ["宁德时代 财务", "同行"]


def test_a_hundred_tasks_are_cut_where_nothing_kept_depends_on_what_is_gone() -> None:
    last = [("T99", "总结九九", ["T1"]), ("T1", "开头", [])]
    given = plan(*last, *((f"X{n}", f"方面第{n}", ["T99"]) for n in range(98)))
    tasks = made(given, limit=3)
    assert [query for _, query, _ in tasks] == ["开头", "总结九九", "方面第0"]
    assert [dep for _, _, dep in tasks] == [[], ["T1"], ["T2"]]


def test_ids_and_dependencies_are_read_tolerantly() -> None:
    given = Plan.model_validate(
        {"tasks": [{"id": 1, "query": "历史"}, {"id": 2, "query": "票价", "dep": 1},
                   {"query": "交通", "dep": None}]}
    )  # fmt: skip
    assert made(given) == [("T1", "历史", []), ("T2", "交通", []), ("T3", "票价", ["T1"])]


def test_the_optional_keys_of_a_task_are_read_tolerantly() -> None:
    given = Plan.model_validate({"tasks": [
        {"query": "财务", "sources": ["SEC_EDGAR", "web", "own documents"], "company": ["甲", "乙"],
         "queries": ["甲 财务", "甲的财务", "revenue", "profit", "debt"]},
        {"query": "历史", "sources": None, "company": None, "queries": None},
        {"query": "票价", "sources": "map", "queries": " "},
    ]})  # fmt: skip
    first, second, third = numbered_tasks(checked(given, "flat", 6), 6)
    assert first["sources"] == ["filings", "documents"]
    assert first["company"] == "甲; 乙"
    assert first["queries"] == ["甲 财务", "revenue", "profit"]
    assert second == {"id": "T2", "query": "历史", "dep": []}
    assert third == {"id": "T3", "query": "票价", "dep": [], "sources": ["map"]}


def test_a_query_is_one_clean_line_of_bounded_length() -> None:
    ((_, query, _),) = made(plan(("T1", "历\u202e史\n" + "长" * 900, [])))
    assert query.startswith("历史 长")
    assert len(query) == 300


def test_no_tasks_stay_no_tasks() -> None:
    assert numbered_tasks(CheckedTasks([], ["empty"]), 5) == []


def test_the_depth_of_a_task_is_how_many_stand_before_it() -> None:
    given = plan(("a", "历史", []), ("b", "票价", ["a"]), ("c", "交通", ["b"]))
    tasks = numbered_tasks(checked(given, "dag", 6), 6)
    assert depth_of(tasks) == {"T1": 0, "T2": 1, "T3": 2}
    assert [task["id"] for task in in_order(list(reversed(tasks)))] == ["T1", "T2", "T3"]

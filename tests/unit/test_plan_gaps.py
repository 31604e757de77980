"""What a reader of a dossier is told of tasks that outside sources did not answer."""

from typing import Any, cast

from agent.assistants.common.gaps import gap_lines, reader_note, run_gap
from agent.assistants.plan_execute.state import PlanState
from agent.assistants.plan_execute.write_dossier import task_gaps_told_once
from agent.evidence.types import Gap
from agent.texts import say

COST, LIFE = "澄远储能 成本", "澄远储能 循环寿命"


def state(targets: list[str], statuses: list[str]) -> PlanState:
    turn = {"id": "t", "question": "?", "language": "zh", "today": "2026-11-21"}
    results = [{"task": f"T{n}", "status": status} for n, status in enumerate(statuses)]
    passages = [{"id": f"d{n}-0", "target": target} for n, target in enumerate(targets)]
    found: dict[str, Any] = {"turn": turn, "executor_result": results, "passages": passages}
    return cast(PlanState, found)


def gap(query: str) -> Gap:
    return run_gap("plan_execute.task_empty", "zh", query=query, task=query)


def test_a_reader_learns_that_a_dossier_rests_on_own_documents_alone() -> None:
    gaps = task_gaps_told_once([gap(COST), gap(LIFE)], state([COST, LIFE], ["empty", "empty"]))
    text = "成本为 0.0773 元/kWh。现场的循环寿命没有查到。"
    note = reader_note(gaps, text, "zh")
    assert note == f"*另：{say('plan_execute.gaps.documents_alone', 'zh')}*"


def test_a_task_that_documents_answered_is_no_gap_beside_one_that_pages_answered() -> None:
    gaps = task_gaps_told_once([gap(LIFE)], state([LIFE], ["empty", "done"]))
    assert reader_note(gaps, "寿命取 7,500 次。", "zh") == ""
    assert LIFE in gap_lines(gaps, "zh")


def test_own_documents_that_are_read_whole_leave_no_task_without_material() -> None:
    read = cast(PlanState, {**state([], ["empty", "done"]), "whole_documents": ["own/1"]})
    gaps = task_gaps_told_once([gap(LIFE)], read)
    assert reader_note(gaps, "寿命取 7,500 次。", "zh") == ""
    alone = cast(PlanState, {**state([], ["empty", "empty"]), "whole_documents": ["own/1"]})
    gaps = task_gaps_told_once([gap(COST), gap(LIFE)], alone)
    assert reader_note(gaps, "寿命取 7,500 次。", "zh").count("外部来源") == 1
    assert LIFE not in reader_note(gaps, "寿命取 7,500 次。", "zh")


def test_that_something_else_was_not_found_does_not_hide_a_task_without_material() -> None:
    gaps = task_gaps_told_once([gap(LIFE)], state([], ["empty", "done"]))
    assert LIFE in reader_note(gaps, "违约金的约定没有查到。", "zh")
    assert reader_note(gaps, "澄远储能的循环寿命没有查到。", "zh") == ""

"""The long assistants pause with their plans: what is shown, what goes on, what stops."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.types import Command

from agent.core.errors import ConfigurationError
from agent.sample.model.request import ModelReply
from tests.integration.team_lab import ZH, Team, TeamLab, team_laboratory
from tests.support.deep_lab import DeepLab, Researcher, deep_laboratory
from tests.support.lab import answer_of, told
from tests.support.plan_lab import PlanLab, Planner, plan_laboratory

STEPS = ["青岚大桥在哪里？", "青岚大桥哪一年通车？"]
TASKS = ({"query": "钠离子电池 正极"}, {"query": "钠离子电池 价格", "dep": ["T1"]})
APPROVED = {"decisions": [{"type": "approve"}]}


class Stepping(Team):
    """A team whose question has two steps."""

    def analyze(self, turn: Any) -> ModelReply:
        return ModelReply(json={"asked": ZH, "steps": STEPS})


@pytest.fixture
async def team() -> AsyncIterator[TeamLab]:
    async with team_laboratory(Stepping()) as lab:
        yield lab


@pytest.fixture
async def dossier() -> AsyncIterator[PlanLab]:
    async with plan_laboratory(Planner(*TASKS)) as lab:
        lab.context["plan_mode"] = "dag"
        yield lab


@pytest.fixture
async def report() -> AsyncIterator[DeepLab]:
    async with deep_laboratory(Researcher("成本", "安全", "应用")) as lab:
        yield lab


async def paused(lab: Any) -> dict[str, Any]:
    """What the run shows when it waits."""
    state = await lab.ask(review_plan=True)
    shown: dict[str, Any] = state["__interrupt__"][0].value
    return shown


async def resumed(lab: Any, answer: Any) -> dict[str, Any]:
    state: dict[str, Any] = await lab.graph.ainvoke(
        Command(resume=answer), lab.where(), context=lab.configured(review_plan=True)
    )
    return state


async def test_a_team_waits_with_its_steps_and_goes_on_with_those_it_is_given(
    team: TeamLab,
) -> None:
    shown = await paused(team)
    assert shown["steps"] == STEPS
    assert shown["estimate"]["model_calls"] >= 4
    assert team.llm.asked("team_researcher") == []
    again = (await resumed(team, {"steps": [" "]}))["__interrupt__"][0].value
    assert again["problem"] == "steps[0] is empty."
    state = await resumed(team, {"steps": [STEPS[1], "桥有多长？"]})
    assert state["sub_questions"] == [STEPS[1], "桥有多长？"]
    assert "桥有多长？" in team.llm.asked("team_researcher")[0].user
    assert told(state)["final_answer"] == "1987年"
    assert "paused_at" not in state["turn"]


async def test_a_report_waits_with_its_topics_and_goes_on_with_those_it_is_given(
    report: DeepLab,
) -> None:
    shown = await paused(report)
    assert [topic["name"] for topic in shown["topics"]] == ["成本", "安全", "应用"]
    # Four of the lead, three explorers, the report and its revision, and what checks them.
    assert shown["estimate"]["model_calls"] >= 4 + 3 + 2 + 5
    assert report.llm.asked("deep_explore") == []
    again = (await resumed(report, {"topics": ["成本", "成本"]}))["__interrupt__"][0].value
    assert again["problem"] == "topics[1].name is there twice."
    report.llm.topics = ("回收", "成本")
    state = await resumed(report, {"topics": ["回收", shown["topics"][0]]})
    assert [(topic["id"], topic["name"]) for topic in state["plan"]] == [
        ("T1", "回收"), ("T2", "成本"),
    ]  # fmt: skip
    assert [entry["topic"] for entry in state["search_results"]] == ["回收", "成本"]
    assert told(state)["sources"]


async def test_a_report_that_no_model_planned_is_reviewed_as_one_topic() -> None:
    llm = Researcher("成本", deep_plan=lambda turn: ModelReply(finish="PROMPT_BLOCKED"))
    async with deep_laboratory(llm) as lab:
        (topic,) = (await paused(lab))["topics"]
        assert topic["name"].startswith("钠离子电池")
        state = await resumed(lab, APPROVED)
        assert state["plan"][0]["name"] == topic["name"]


async def test_a_dossier_waits_with_its_tasks_and_goes_on_with_those_it_is_given(
    dossier: PlanLab,
) -> None:
    shown = await paused(dossier)
    assert [task["query"] for task in shown["tasks"]] == [task["query"] for task in TASKS]
    assert shown["tasks"][1]["dep"] == ["T1"]
    assert shown["estimate"]["searches"] >= 2
    assert dossier.world.asked("wikipedia") == 0
    circle = [{**shown["tasks"][0], "dep": ["T2"]}, shown["tasks"][1]]
    again = (await resumed(dossier, {"tasks": circle}))["__interrupt__"][0].value
    assert again["problem"].startswith("tasks[0].dep makes a circle")
    assert again["tasks"] == shown["tasks"]
    state = await resumed(dossier, {"tasks": [shown["tasks"][1], "钠离子电池 安全"]})
    assert [(task["id"], task["query"], task["dep"]) for task in state["tasks"]] == [
        ("T1", "钠离子电池 价格", []), ("T2", "钠离子电池 安全", []),
    ]  # fmt: skip
    assert [result["query"] for result in state["executor_result"]] == [
        "钠离子电池 价格", "钠离子电池 安全",
    ]  # fmt: skip
    assert told(state)["sources"]


async def test_a_plan_approved_in_langchains_form_goes_on_as_it_was_shown(
    team: TeamLab, dossier: PlanLab
) -> None:
    shown = await paused(team)
    assert shown["action_requests"][0]["args"] == {"steps": "\n".join(STEPS)}
    assert (await resumed(team, APPROVED))["sub_questions"] == STEPS
    tasks = (await paused(dossier))["tasks"]
    state = await resumed(dossier, APPROVED)
    assert [task["query"] for task in state["tasks"]] == [task["query"] for task in tasks]


async def test_a_plan_that_is_not_wanted_ends_politely_and_searches_nothing(
    team: TeamLab, dossier: PlanLab, report: DeepLab
) -> None:
    labs: list[Any] = [team, dossier, report]
    for lab in labs:
        await paused(lab)
        state = await resumed(lab, {"cancel": True})
        assert "没有搜索" in answer_of(state).text
        assert state["cancelled"]
        assert told(state)["sources"] == []
        assert told(state)["usage"]["model_calls"] == 1
        assert told(state)["usage"]["searches"] == 0
        later = await lab.ask()
        assert not later["cancelled"]
        assert told(later)["sources"]
    assert told(await team.ask())["answered"]


async def test_without_a_thread_a_review_is_refused_before_anything_is_paid(
    team: TeamLab, dossier: PlanLab, report: DeepLab
) -> None:
    labs: list[Any] = [team, dossier, report]
    for lab in labs:
        graph = lab.graph.builder.compile()
        with pytest.raises(ConfigurationError, match="review_plan needs a thread"):
            await graph.ainvoke({"messages": "?"}, context=lab.configured(review_plan=True))
        assert lab.llm.turns == []


async def test_the_estimate_of_a_report_counts_the_map_where_places_are_asked_for(
    report: DeepLab,
) -> None:
    shown = await paused(report)
    assert shown["estimate"]["map_calls"] == 0
    state = await report.ask("西湖一日游：交通、门票、餐饮", thread="lake", review_plan=True)
    assert state["__interrupt__"][0].value["estimate"]["map_calls"] > 0

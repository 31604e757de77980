"""What a person prefers is a default of the long assistants, too: planned with, kept to, named."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.prompts import render
from agent.runs.person import PersonMemory
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from agent.texts import say
from tests.integration.team_lab import Team, team_laboratory
from tests.support.deep_lab import Researcher, deep_laboratory, planning
from tests.support.lab import answer_of
from tests.support.plan_knowledge import With
from tests.support.plan_lab import Planner, plan_laboratory

PREFERS: Any = {"on": True, "home_city": "北京", "budget": 100, "diet": ["vegan"]}
LABS: Any = {
    "deep_research": (deep_laboratory, Researcher("成本"), "deep_plan", "deep_report"),
    "team_answer": (team_laboratory, Team(), "team_analyze", "team_verifier"),
    "plan_execute": (plan_laboratory, Planner("钠离子电池 正极"), "plan_tasks", "dossier"),
}


def saying(rule: Any, preferred: object) -> Any:
    """A planner's rule, whose reply says what it used."""

    def said(turn: ModelTurn) -> ModelReply:
        reply = rule(turn)
        return replace(reply, json={**reply.json, "preferred": preferred})

    return said


@asynccontextmanager
async def remembering(
    assistant: str, folder: Path, told: Any, preferred: object
) -> AsyncIterator[Any]:
    """A laboratory whose one person prefers this; its planner says that it used `preferred`."""
    laboratory, llm, plans, _ = LABS[assistant]
    rule = planning("成本") if assistant == "deep_research" else llm.rules[plans]
    llm.turns.clear()
    memory = PersonMemory(folder)
    await memory.change("", told)
    async with laboratory(llm) as lab:
        given = lab.services
        services: Any = (
            replace(given, persons=memory) if is_dataclass(given) else With(given, persons=memory)
        )
        build = import_module(f"agent.assistants.{assistant}.graph").build_graph
        lab.graph = build(lambda: services).compile(checkpointer=InMemorySaver())
        llm.rules[plans] = saying(rule, preferred)
        try:
            yield lab
        finally:
            llm.rules[plans] = rule


def prompts(llm: Any, task: str) -> list[ModelTurn]:
    return [turn for turn in llm.turns if task_of(turn) == task]


@pytest.mark.parametrize("assistant", LABS)
async def test_the_plan_is_told_all_the_writer_what_was_used_and_the_answer_names_it(
    assistant: str, tmp_path: Path
) -> None:
    _, llm, plans, writes = LABS[assistant]
    async with remembering(assistant, tmp_path, PREFERS, ["budget", "diet", "nothing"]) as lab:
        state = await lab.ask()
    (planner, *_), (writer, *_) = prompts(llm, plans), prompts(llm, writes)
    assert render("preferences_system") in planner.system
    assert block(planner.user, "preferences").splitlines() == [
        "home_city: 北京", "budget: at most 100 a head", "diet: vegan", "currency: CNY",
    ]  # fmt: skip
    assert render("preferences_kept_system") in writer.system
    assert block(writer.user, "preferences").splitlines() == [
        "budget: at most 100 a head", "diet: vegan", "currency: CNY",
    ]  # fmt: skip
    budget = say("preferred.budget", "zh", value="¥100")
    diet = say("preferred.diet", "zh", value=say("preferred.diets.vegan", "zh"))
    what = say("punctuation.comma", "zh").join([budget, diet])
    assert answer_of(state).text.count(say("preferred.line", "zh", what=what)) == 1
    assert state["turn"]["preferred"] == {"budget": 100, "diet": ["vegan"], "currency": "CNY"}


@pytest.mark.parametrize("assistant", LABS)
async def test_what_its_person_has_not_switched_on_is_told_to_nobody(
    assistant: str, tmp_path: Path
) -> None:
    _, llm, _, _ = LABS[assistant]
    off = {**PREFERS, "on": False}
    async with remembering(assistant, tmp_path, off, ["budget"]) as lab:
        state = await lab.ask()
    assert not any("<preferences>" in turn.user for turn in llm.turns)
    assert "preferred" not in state["turn"]


@pytest.mark.parametrize("assistant", LABS)
async def test_what_the_plan_did_not_use_reaches_no_writer(assistant: str, tmp_path: Path) -> None:
    _, llm, plans, _ = LABS[assistant]
    async with remembering(assistant, tmp_path, PREFERS, "") as lab:
        state = await lab.ask()
    told = {task_of(turn) for turn in llm.turns if "<preferences>" in turn.user}
    assert told == {plans}
    assert "preferred" not in state["turn"]


@pytest.mark.parametrize("assistant", LABS)
async def test_the_language_that_is_preferred_is_the_answers(
    assistant: str, tmp_path: Path
) -> None:
    german = {"on": True, "language": "de"}
    async with remembering(assistant, tmp_path, german, "language") as lab:
        state = await lab.ask()
    assert state["turn"]["answer_language"] == "German (de)"
    what = say("preferred.language", "de")
    assert say("preferred.line", "de", what=what) in answer_of(state).text

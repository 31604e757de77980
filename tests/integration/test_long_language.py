"""The long assistants answer in the language that a model has read the question in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.sample.model.request import ModelReply, ModelTurn
from agent.texts import say
from tests.integration.test_deep_lead import calculating, long_page, research
from tests.integration.test_person_long import LABS, remembering
from tests.support.deep_lab import deep_laboratory, planning
from tests.support.lab import answer_of, told
from tests.support.long_lab import Web

HEADS = dict.fromkeys(LABS, "answer.sources") | {"team_answer": "team_answer.answer.tried"}
GERMAN = "Wie teuer ist ein Akku für die Garage, und was ist besser?"


def naming(rule: Any, language: object) -> Any:
    """A planner's rule, whose reply names a language."""

    def named(turn: ModelTurn) -> ModelReply:
        reply = rule(turn)
        return replace(reply, json={**reply.json, "language": language})

    return named


async def asked(assistant: str, folder: Path, language: object, **context: Any) -> dict[str, Any]:
    _, llm, plans, _ = LABS[assistant]
    async with remembering(assistant, folder, {"on": False}, "") as lab:
        llm.rules[plans] = naming(llm.rules[plans], language)
        state: dict[str, Any] = await lab.ask(GERMAN, **context)
    return state


@pytest.mark.parametrize("assistant", LABS)
async def test_the_plans_word_for_the_language_decides_and_not_the_letters(
    assistant: str, tmp_path: Path
) -> None:
    state = await asked(assistant, tmp_path, "de")
    assert state["turn"]["answer_language"] == "German (de)"
    assert say(HEADS[assistant], "de") in answer_of(state).text
    assert say(HEADS[assistant], "en") not in answer_of(state).text
    papers = (say("plan_execute.sources.papers", tag) for tag in ("de", "en"))
    told = [name in answer_of(state).text for name in papers]
    assert told == [assistant == "plan_execute", False]


@pytest.mark.parametrize("assistant", LABS)
@pytest.mark.parametrize("told", [None, [], "zh", "German, I think"])
async def test_a_word_that_is_no_tag_of_these_letters_decides_nothing(
    assistant: str, told: object, tmp_path: Path
) -> None:
    state = await asked(assistant, tmp_path, told)
    assert GERMAN in state["turn"]["answer_language"]
    assert say(HEADS[assistant], "en") in answer_of(state).text


@pytest.mark.parametrize("assistant", LABS)
async def test_a_language_that_is_set_is_kept_whatever_the_plan_says(
    assistant: str, tmp_path: Path
) -> None:
    state = await asked(assistant, tmp_path, "de", answer_language="fr")
    assert say(HEADS[assistant], "fr") in answer_of(state).text


async def test_the_sums_of_a_german_report_have_german_numbers_alone() -> None:
    program = "print(f'Kosten_gesamt: 417 * 0.5 * 1000 = {417 * 0.5 * 1000} Yuan')\nprint(417)"
    llm = calculating(program, says="Zusammen 208.500 Yuan")
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, answer_language="de")
    (calculation,) = [source for source in told(state)["sources"] if source.get("sums")]
    assert calculation["sums"] == ["a. Kosten gesamt: 417 × 0,5 × 1000 = 208.500 Yuan"]
    assert f"[{calculation['number']}a]" in state["messages"][-1].text


async def test_what_was_not_looked_into_is_said_in_the_language_of_the_report() -> None:
    llm = calculating("print(417)", says="Der Akku kostet 417 Yuan")
    llm.rules["deep_plan"] = planning("成本", "安全")
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, answer_language="de")
    said = say("deep_research.gaps.not_researched", "de", topics="")
    assert said in answer_of(state).text

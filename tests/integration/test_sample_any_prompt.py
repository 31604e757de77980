"""The sample answers whatever the prompts say: it reads their tags only."""

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent import prompts
from agent.assistants.deep_research.graph import build_graph as build_deep
from agent.assistants.deep_research.state import DeepConfiguration
from agent.assistants.plan_execute.graph import build_graph as build_plan
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.assistants.team_answer.graph import build_graph as build_team
from agent.assistants.team_answer.state import TeamConfiguration
from agent.configuration import Configuration
from agent.graph import build_graph
from agent.services import build_services
from agent.settings import read_settings
from agent.texts import say
from tests.support.lab import laboratory

QUESTIONS = {
    "agent": ("杭州西湖的门票", build_graph, Configuration),
    "deep_research": ("西湖一日游：交通、门票、餐饮", build_deep, DeepConfiguration),
    "team_answer": ("外白渡桥建成于哪一年？", build_team, TeamConfiguration),
    "plan_execute": ("宁德时代的技术路线与营收", build_plan, PlanConfiguration),
}
_TAGGED = re.compile(r"^<task>\w+</task>$|^<(\w+)>\s*\{\{\w+\}\}\s*</\1>$", re.MULTILINE)


def reworded(template: str) -> str:
    """The tagged lines of a prompt and not a word of the others."""
    return "\n".join(
        ["Ipsum 乙丙丁.", *(found[0] for found in _TAGGED.finditer(template)), "戊己?"]
    )


@pytest.mark.node
async def test_a_way_that_no_model_asked_for_says_that_wishes_of_it_were_not_read() -> None:
    async with laboratory() as lab:
        state = await lab.ask("开车从三里屯到王府井，不走高速怎么走？")
    assert str(state["messages"][-1].text).count(say("map.unread", "zh")) == 1


@pytest.mark.parametrize("assistant", QUESTIONS)
async def test_the_sample_answers_alike_when_every_prompt_is_reworded(
    assistant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = await answer_of(assistant, tmp_path / "plain")
    for key, template in prompts._TEMPLATES.items():
        monkeypatch.setitem(prompts._TEMPLATES, key, reworded(template))
    assert "Ipsum" in prompts.render("answer_system")
    again = await answer_of(assistant, tmp_path / "again")
    assert plain["sources"]
    assert [s["title"] for s in again["sources"]] == [s["title"] for s in plain["sources"]]
    assert again.get("final_answer") == plain.get("final_answer")


async def answer_of(assistant: str, folder: Path) -> dict[str, Any]:
    question, build, configuration = QUESTIONS[assistant]
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    try:
        graph = build(lambda: services).compile()
        given: Any = {"messages": [HumanMessage(question)]}
        state = await graph.ainvoke(given, context=configuration(geo_routing="never"))
    finally:
        await services.aclose()
    kept: dict[str, Any] = state["messages"][-1].additional_kwargs
    return {**kept, "final_answer": state.get("final_answer")}

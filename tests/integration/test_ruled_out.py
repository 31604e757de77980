"""An answer names the cause where a reader's own rules on web pages leave nothing."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

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

BUILT = {
    "agent": (build_graph, Configuration),
    "deep_research": (build_deep, DeepConfiguration),
    "team_answer": (build_team, TeamConfiguration),
    "plan_execute": (build_plan, PlanConfiguration),
}


async def answer_of(assistant: str, question: str, folder: Path, **context: str) -> str:
    build, configuration = BUILT[assistant]
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    try:
        given: Any = {"messages": [HumanMessage(question)]}
        graph = build(lambda: services).compile()
        state = await graph.ainvoke(given, context=configuration(**context))
    finally:
        await services.aclose()
    return str(state["messages"][-1].text)


@pytest.mark.parametrize("assistant", BUILT)
async def test_an_answer_names_the_rule_that_left_no_page(assistant: str, tmp_path: Path) -> None:
    sites = {"search_sites": "*.gov", "geo_routing": "never"}
    answer = await answer_of(assistant, "外白渡桥建成于哪一年？", tmp_path, **sites)
    assert "*.gov" in answer


async def test_an_answer_whose_rules_leave_nothing_says_that_and_no_other_cause(
    tmp_path: Path,
) -> None:
    sites = {"search_sites": "*.gov", "geo_routing": "never"}
    answer = await answer_of("agent", "钠离子电池是什么", tmp_path, **sites)
    assert say("answer.ruled_out", "zh", rules="*.gov") in answer
    assert answer.count("*.gov") == 1

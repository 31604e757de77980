"""Which tools a discussion is offered, by what is configured and what failed before."""

from dataclasses import replace
from typing import Any

import pytest

from agent.assistants.common.turn import meter_of
from agent.assistants.team_answer.state import TeamConfiguration
from agent.assistants.team_answer.tools import offered_tools, wants_map
from agent.core.budget import no_usage
from tests.integration.team_lab import TeamLab, team_laboratory
from tests.support.rows import by_examples
from tests.support.team_steps import Runner, ScriptedMaps, turn, with_runner

ASKED = {"analysis": {"needs_map": False}, "sub_questions": []}


@pytest.fixture
async def standing() -> Any:
    async with team_laboratory() as lab:
        yield lab


@by_examples
async def test_the_engines_offered_are_those_that_are_set_up(
    context: dict[str, Any], settings: dict[str, Any], names: list[str]
) -> None:
    async with team_laboratory(**settings) as lab:
        services = with_runner(lab.services, Runner())
        configuration = TeamConfiguration(**{"geo_routing": "never", **context})
        state: Any = {"turn": turn(), "usage": no_usage(), **ASKED}
        state["turn"]["started_at"] = services.now().timestamp()
        meter = meter_of(state, configuration, services)
        offered = await offered_tools(state, configuration, services, meter, own=False)
        again = await offered_tools(
            {**state, "gaps": offered.gaps}, configuration, services, meter, own=False
        )
    assert [tool.name for tool in offered.tools] == [
        *names,
        *(["read_page"] if names else []),
        "run_code",
    ]
    assert len(offered.gaps) == (not names)
    assert again.gaps == []


@by_examples
async def test_the_map_is_offered_and_missed_only_where_a_place_is_asked_for(
    standing: TeamLab, question: str, down: str, codes: list[str]
) -> None:
    services: Any = replace(standing.services, maps=ScriptedMaps(down=down))  # type: ignore[arg-type]
    configuration = TeamConfiguration()  # type: ignore[call-arg]
    analysis = {"needs_map": "附近" in question}
    state: Any = {"turn": turn(question), **ASKED, "analysis": analysis}
    state["turn"]["started_at"] = services.now().timestamp()
    meter = meter_of(state, configuration, services)
    offered = await offered_tools(state, configuration, services, meter, own=False)
    assert [gap["code"] for gap in offered.gaps] == codes
    wanted = "附近" in question and not down
    assert ("maps_weather" in [tool.name for tool in offered.tools]) == wanted


@by_examples
def test_rules_are_no_second_opinion_on_what_the_model_read(
    question: str, routing: Any, *, needed: bool
) -> None:
    configuration = TeamConfiguration(geo_routing=routing)  # type: ignore[call-arg]
    state: Any = {"turn": turn(question), **ASKED}
    assert wants_map(state, configuration) is needed

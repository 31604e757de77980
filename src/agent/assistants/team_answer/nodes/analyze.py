"""The first node: checks the input, opens the turn, and reads the question."""

import logging

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.team_answer.analysis import (
    Analyzed,
    analysis_by_rules,
    analysis_of,
    checked_requirement,
)
from agent.assistants.team_answer.state import (
    Analysis,
    TeamState,
    TeamUpdate,
    TraceEntry,
    new_discussion,
)
from agent.assistants.team_answer.toolbox import (
    TeamServices,
    TeamToolbox,
    settings_of,
)
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, ConfigurationError
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.types import Gap
from agent.models.catalogue import DEFAULT_THINKING
from agent.nodes.conversation import conversation, previous_evidence
from agent.nodes.gaps import gap_of
from agent.nodes.opening import open_turn
from agent.nodes.toolbox import open_meter
from agent.progress import event
from agent.prompts import render
from agent.state import Turn, replaced

log = logging.getLogger(__name__)
NODE = "analyze"


async def analyze(
    state: TeamState, runtime: Runtime[Configuration], *, services: TeamServices
) -> TeamUpdate:
    """Opens the turn; a failing model leaves the question as it stands."""
    given, configuration = services(), settings_of(runtime)
    turn = open_turn(state, configuration, given, runtime)
    requirement = checked_requirement(state.get("format_requirement"))
    previous = previous_evidence(state["messages"])
    said = conversation(state["messages"], previous["sources"])
    if notice := given.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, given, spent=None)
    prompt = _prompt(turn, said, requirement, configuration.context_token_limit)
    analysis, gaps = await _read(prompt, turn, requirement, (given, meter, configuration))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    runtime.stream_writer(event("analysis", NODE, text=analysis["asked"]))
    log.info("turn=%s %s: %s, %s", turn["id"], NODE, analysis["answer_type"], analysis["region"])
    opened = new_discussion()
    opened["turn"], opened["previous"], opened["conversation"] = turn, previous, said
    opened["analysis"] = analysis
    opened["reasoning_trace"] = replaced([TraceEntry(step=NODE, text=analysis["asked"])])
    opened["gaps"], opened["usage"] = replaced(gaps), replaced(meter.usage)
    return opened


def _prompt(turn: Turn, said: str, requirement: str, limit: int) -> list[BaseMessage]:
    values = {
        "today": turn["today"],
        "conversation": cut_to_tokens(said, limit // 10),
        "format_requirement": cut_to_tokens(requirement, limit // 10),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    language = turn["language"]
    return [
        SystemMessage(render("team_analyze_system", language)),
        HumanMessage(render("team_analyze", language, **values)),
    ]


async def _read(
    prompt: list[BaseMessage],
    turn: Turn,
    requirement: str,
    asking: tuple[TeamToolbox, Meter, Configuration],
) -> tuple[Analysis, list[Gap]]:
    given, meter, configuration = asking
    question = turn["question"]
    try:
        reply = await given.models.ask(
            configuration.query_generator_model,
            prompt,
            meter=meter,
            schema=Analyzed,
            thinking=DEFAULT_THINKING["query"],
        )
    except ConfigurationError:
        raise
    except AgentError as error:
        return analysis_by_rules(question, requirement), [gap_of("", error, NODE, turn["language"])]
    assert reply.parsed is not None
    return analysis_of(reply.parsed, question, requirement), []

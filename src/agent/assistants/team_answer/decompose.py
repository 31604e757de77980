"""Splits the question into the steps that lead to its answer."""

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import meter_of
from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.services import GetServices
from agent.assistants.team_answer.analyze import SubQuestions, sub_questions_of
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry, configuration_of
from agent.configuration import Configuration
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import render

NODE = "decompose"


async def decompose(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Where the model fails, the question is its own only step."""
    services, configuration = get_services(), configuration_of(runtime)
    meter = meter_of(state, configuration, services)
    asking = services.models.ask(
        configuration.query_generator_model,
        _prompt(state, configuration.context_token_limit),
        meter=meter,
        schema=SubQuestions,
        thinking=DEFAULT_THINKING["query"],
    )
    reply, gaps = await ask_or_gap(asking, state["turn"], NODE)
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    read = (reply and reply.parsed) or SubQuestions(sub_questions=[])
    steps = sub_questions_of(read, state["turn"]["question"])
    told = "\n".join(steps)
    runtime.stream_writer(event("sub_questions", NODE, text=told, count=len(steps)))
    return TeamUpdate(
        sub_questions=steps,
        reasoning_trace=[TraceEntry(step=NODE, text=told)],
        gaps=gaps,
        usage=meter.usage,
    )


def _prompt(state: TeamState, limit: int) -> list[BaseMessage]:
    turn, analysis = state["turn"], state["analysis"]
    language = turn["language"]
    values = {
        "today": turn["today"],
        "asked": cut_to_tokens(analysis["asked"], limit // 10),
        "format_requirement": cut_to_tokens(analysis["format_requirement"], limit // 10),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    return [
        SystemMessage(render("team_decompose_system", language)),
        HumanMessage(render("team_decompose", language, **values)),
    ]

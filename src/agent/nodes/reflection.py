"""Judges web and map results together and asks for what is missing."""

import logging

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import open_meter
from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.services import GetServices
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.progress import event
from agent.evidence.queries import drop_seen
from agent.evidence.types import Query
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Models
from agent.nodes.routing import planned
from agent.prompts import render
from agent.state import OverallState, PlannedQuery, Reflection, Update

log = logging.getLogger(__name__)
NODE = "reflection"


async def reflection(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Counts the round; asks the model only where its verdict can change what happens next."""
    services = get_services()
    configuration = runtime.context or Configuration()
    turn, round_done = state["turn"], state.get("research_loop_count", 0) + 1
    unjudged = Update(
        research_loop_count=round_done,
        is_sufficient=None,
        knowledge_gap="",
        follow_up_queries=[],
        number_of_ran_queries=len(state.get("queries", [])),
    )
    if round_done >= turn["loops"] or not configuration.max_follow_up_queries:
        return unjudged
    meter = open_meter(turn, configuration, services, spent=state.get("usage"))
    asking = _verdict(state, configuration, services.models, meter)
    verdict, gaps = await ask_or_gap(asking, turn, NODE)
    if verdict is None:
        runtime.stream_writer(event("gap", NODE, text=gaps[0]["message"]))
        return Update(**unjudged, gaps=gaps, usage=meter.usage)
    follow_ups = [] if verdict.is_sufficient else _new_queries(state, verdict, configuration)
    log.info("turn=%s %s %d: sufficient=%s, %d follow-ups",
             turn["id"], NODE, round_done, verdict.is_sufficient, len(follow_ups))  # fmt: skip
    runtime.stream_writer(
        event("reflection", NODE, text=verdict.knowledge_gap, count=len(follow_ups))
    )
    return Update(
        research_loop_count=round_done,
        number_of_ran_queries=unjudged["number_of_ran_queries"],
        is_sufficient=verdict.is_sufficient,
        knowledge_gap=verdict.knowledge_gap,
        follow_up_queries=follow_ups,
        queries=[PlannedQuery(**q, round=round_done + 1) for q in follow_ups],
        usage=meter.usage,
    )


async def _verdict(
    state: OverallState, configuration: Configuration, models: Models, meter: Meter
) -> Reflection:
    turn = state["turn"]
    findings = [*state.get("web_research_result", []), *state.get("amap_research_result", [])]
    values = {
        "today": turn["today"],
        "question": turn["question"],
        "asked": "\n".join(q["query"] for q in state.get("queries", [])),
        "findings": "\n\n".join(findings),
        "gaps": "\n".join(f"{g['query']}: {g['message']}" for g in state.get("gaps", [])),
        "limit": str(configuration.max_follow_up_queries),
    }
    reply = await models.ask(
        turn["reasoning_model"] or configuration.reflection_model,
        [
            SystemMessage(render("reflection_system", turn["language"])),
            HumanMessage(render("reflection", turn["language"], **values)),
        ],
        meter=meter,
        schema=Reflection,
        thinking=DEFAULT_THINKING["reflection"],
    )
    assert reply.parsed is not None
    return reply.parsed


def _new_queries(
    state: OverallState, verdict: Reflection, configuration: Configuration
) -> list[Query]:
    """The follow-ups that were not asked before, as many as allowed."""
    done = state.get("queries", [])
    written = [w for w in verdict.follow_up_queries if w.query.strip()]
    near = state["turn"]["near"]
    queries = drop_seen(
        planned(written, configuration, near, done=done), [q["query"] for q in done]
    )
    return queries[: configuration.max_follow_up_queries]

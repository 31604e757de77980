"""The first node: checks the input, opens the turn, writes the search queries."""

import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import open_meter
from agent.assistants.common.conversation import conversation, previous_evidence
from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.records import place_lines, source_lines
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import lacks_place, open_turn, refuse_without_thread
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.progress import event
from agent.evidence.geo import parse_lnglat
from agent.evidence.queries import drop_seen, is_visible
from agent.evidence.types import Gap, Query
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Models
from agent.nodes.routing import map_task, planned
from agent.prompts import render
from agent.state import (
    OverallState,
    PlannedQuery,
    Previous,
    SearchQueryList,
    Turn,
    Update,
    new_turn,
    replaced,
)

log = logging.getLogger(__name__)
NODE = "generate_query"


async def generate_query(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Opens the turn and plans its first round; a failing model leaves the user's own words."""
    services = get_services()
    configuration = runtime.context or Configuration()
    if configuration.review_plan:
        refuse_without_thread()
    turn = open_turn(state, configuration, services, runtime)
    previous = previous_evidence(state["messages"])
    opened = new_turn()
    opened["turn"], opened["previous"] = turn, previous
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    if lacks_place(turn, previous, configuration):
        opened["needs"] = "place"
        return opened
    meter = open_meter(turn, configuration, services, spent=None)
    asked = _prompt(state["messages"], turn, previous)
    queries, gaps = await _write(asked, turn, configuration, services.models, meter)
    runtime.stream_writer(
        event("queries", NODE, text="\n".join(q["query"] for q in queries), count=len(queries))
    )
    log.info("turn=%s %s: %d queries, %d for the map",
             turn["id"], NODE, len(queries), sum(bool(q["map"]) for q in queries))  # fmt: skip
    if configuration.review_plan:
        opened["turn"] = Turn(**{**turn, "paused_at": services.now().timestamp()})
    opened["query_list"] = queries
    opened["queries"] = replaced([PlannedQuery(**q, round=1) for q in queries])
    opened["gaps"] = replaced(gaps)
    opened["usage"] = replaced(meter.usage)
    return opened


def _prompt(messages: Sequence[AnyMessage], turn: Turn, previous: Previous) -> list[BaseMessage]:
    near, language = turn["near"], turn["language"]
    values = {
        "today": turn["today"],
        "count": str(turn["count"]),
        "conversation": conversation(messages, previous["sources"]),
        "previous_sources": source_lines(previous["sources"]),
        "previous_places": place_lines(previous["places"], language),
        "user_location": f"{near['lng']},{near['lat']}" if near else "",
        "question": turn["question"],
    }
    return [
        SystemMessage(render("generate_query_system", language)),
        HumanMessage(render("generate_query", language, **values)),
    ]


async def _write(
    messages: list[BaseMessage],
    turn: Turn,
    configuration: Configuration,
    models: Models,
    meter: Meter,
) -> tuple[list[Query], list[Gap]]:
    asking = models.ask(
        configuration.query_generator_model,
        messages,
        meter=meter,
        schema=SearchQueryList,
        thinking=DEFAULT_THINKING["query"],
    )
    reply, gaps = await ask_or_gap(asking, turn, NODE)
    if reply is None:
        return _own_words(turn, configuration), gaps
    assert reply.parsed is not None
    written = [w for w in reply.parsed.query if is_visible(w.query)][: turn["count"]]
    queries = drop_seen(planned(written, configuration, turn["near"]), [])
    return queries or _own_words(turn, configuration), []


def _own_words(turn: Turn, configuration: Configuration) -> list[Query]:
    question = turn["question"][:400]
    if configuration.geo_routing == "llm":
        configuration = configuration.model_copy(update={"geo_routing": "rules"})
    task = map_task(question, None, configuration)
    if task and not task.get("place") and parse_lnglat(question) is None and not turn["near"]:
        task = task if task.get("city") or task.get("destination") else None
    return [Query(query=question, map=task)]

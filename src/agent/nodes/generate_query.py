"""The first node: checks the input, opens the turn, writes the search queries."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.budget import Meter
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.errors import AgentError, ConfigurationError, InputError
from agent.evidence.geodesy import parse_lnglat
from agent.evidence.intent import needs_place
from agent.evidence.queries import drop_seen
from agent.evidence.types import Gap, Point, Query
from agent.language import detect_language
from agent.models.catalogue import DEFAULT_THINKING, parse
from agent.models.types import Models
from agent.nodes.conversation import (
    conversation,
    get_research_topic,
    last_question,
    previous_evidence,
)
from agent.nodes.evidence_text import place_lines, source_lines
from agent.nodes.routing import map_task, planned
from agent.nodes.toolbox import Services, Toolbox, gap_of, open_meter
from agent.progress import event
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
    state: OverallState, runtime: Runtime[Configuration], *, services: Services
) -> Update:
    """Opens the turn and plans its first round; a failing model leaves the user's own words."""
    given = services()
    configuration = runtime.context or Configuration()
    turn = open_turn(state, configuration, given, runtime)
    previous = previous_evidence(state["messages"])
    opened = new_turn()
    opened["turn"], opened["previous"] = turn, previous
    if notice := given.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    if _lacks_place(turn, previous, configuration):
        opened["needs"] = "place"
        return opened
    meter = open_meter(turn, configuration, given, spent=None)
    asked = _prompt(state["messages"], turn, previous)
    queries, gaps = await _write(asked, turn, configuration, given.models, meter)
    runtime.stream_writer(
        event("queries", NODE, text="\n".join(q["query"] for q in queries), count=len(queries))
    )
    log.info("turn=%s %s: %d queries, %d for the map",
             turn["id"], NODE, len(queries), sum(bool(q["map"]) for q in queries))  # fmt: skip
    opened["query_list"] = queries
    opened["queries"] = replaced([PlannedQuery(**q, round=1) for q in queries])
    opened["gaps"] = replaced(gaps)
    opened["usage"] = replaced(meter.usage)
    return opened


def open_turn(
    state: OverallState,
    configuration: Configuration,
    given: Toolbox,
    runtime: Runtime[Configuration],
) -> Turn:
    """The validated options of this question: input before configuration before defaults."""
    question = get_research_topic(state["messages"])
    options = _checked_input(state, configuration)
    now = given.now()
    language = options.answer_language
    return Turn(
        id=_turn_id(state, runtime),
        question=question,
        language=detect_language(question) if language == "auto" else language,
        today=now.date().isoformat(),
        started_at=now.timestamp(),
        count=options.number_of_initial_queries,
        loops=options.max_research_loops,
        reasoning_model=state.get("reasoning_model") or None,
        near=_checked_location(state.get("user_location")),
    )


def _checked_input(state: OverallState, configuration: Configuration) -> Configuration:
    chosen: dict[str, object] = {
        "number_of_initial_queries": state.get("initial_search_query_count"),
        "max_research_loops": state.get("max_research_loops"),
    }
    for name in MODEL_FIELDS:
        parse(getattr(configuration, name), name)
    if reasoning := state.get("reasoning_model"):
        parse(reasoning, "reasoning_model")
    given = {k: v for k, v in chosen.items() if v is not None and v != ""}
    if not given:
        return configuration
    try:
        return configure({**configuration.model_dump(), **given})
    except ConfigurationError as error:
        field = error.name.replace("number_of_initial_queries", "initial_search_query_count")
        raise InputError(field, error.problem) from None


def _checked_location(where: Any) -> Point | None:
    if not where:
        return None
    try:
        point = Point(lng=float(where["lng"]), lat=float(where["lat"]))
    except (TypeError, KeyError, ValueError):
        raise InputError("user_location", "must be {lng, lat} in degrees") from None
    if not (abs(point["lng"]) <= 180 and abs(point["lat"]) <= 90):
        raise InputError("user_location", "lng must be within ±180 and lat within ±90")
    return point


def _turn_id(state: OverallState, runtime: Runtime[Configuration]) -> str:
    """The same for the same question on the same thread, so that a resumed turn is this turn."""
    info = runtime.execution_info
    place = (info and (info.thread_id or info.run_id)) or ""
    message = last_question(state["messages"]).id or ""
    seen = len(state["messages"])
    return hashlib.sha256(f"{place}\n{message}\n{seen}".encode()).hexdigest()[:32]


def _lacks_place(turn: Turn, previous: Previous, configuration: Configuration) -> bool:
    """Asked for something near the user, who has not said where that is."""
    if turn["near"] or previous["places"] or configuration.geo_routing == "never":
        return False
    return needs_place(turn["question"])


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
    try:
        reply = await models.ask(
            configuration.query_generator_model,
            messages,
            meter=meter,
            schema=SearchQueryList,
            thinking=DEFAULT_THINKING["query"],
        )
    except ConfigurationError:
        raise
    except AgentError as error:
        return _own_words(turn, configuration), [gap_of(turn["question"], error, NODE)]
    assert reply.parsed is not None
    written = [w for w in reply.parsed.query if w.query.strip()][: turn["count"]]
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

"""Begin a turn, the same for every assistant."""

import hashlib
from typing import Any

from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import get_research_topic, last_question
from agent.assistants.common.services import Services
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.errors import ConfigurationError, InputError
from agent.evidence.intent import needs_place
from agent.evidence.types import Point
from agent.models.catalogue import parse
from agent.state import AgentInput, Previous, Turn
from agent.texts.language import detect_language


def open_turn(
    state: AgentInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
) -> Turn:
    """The validated options of this question: input before configuration before defaults."""
    question = get_research_topic(state["messages"])
    options = _checked_input(state, configuration)
    now = services.now()
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


def _checked_input(state: AgentInput, configuration: Configuration) -> Configuration:
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
        if any(isinstance(where[name], bool) for name in ("lng", "lat")):
            raise ValueError
        point = Point(lng=float(where["lng"]), lat=float(where["lat"]))
    except (TypeError, KeyError, ValueError):
        raise InputError("user_location", "must be {lng, lat} in degrees") from None
    if not (abs(point["lng"]) <= 180 and abs(point["lat"]) <= 90):
        raise InputError("user_location", "lng must be within ±180 and lat within ±90")
    return point


def _turn_id(state: AgentInput, runtime: Runtime[Configuration]) -> str:
    """The same for the same question on the same thread, so that a resumed turn is this turn."""
    info = runtime.execution_info
    place = (info and (info.thread_id or info.run_id)) or ""
    message = last_question(state["messages"]).id or ""
    seen = len(state["messages"])
    return hashlib.sha256(f"{place}\n{message}\n{seen}".encode()).hexdigest()[:32]


def refuse_without_thread() -> None:
    """A run that keeps no thread cannot be come back to: raises before anything is paid."""
    if get_config()["configurable"].get(CONFIG_KEY_CHECKPOINTER) is None:
        raise ConfigurationError(
            "review_plan", "needs a thread to come back to, and this run keeps none"
        )


def lacks_place(turn: Turn, previous: Previous, configuration: Configuration) -> bool:
    """Asked for something near the user, who has not said where that is."""
    if turn["near"] or previous["places"] or configuration.geo_routing == "never":
        return False
    return needs_place(turn["question"])

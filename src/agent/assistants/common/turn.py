"""Begin and end a turn, the same for every assistant."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agent.assistants.common.conversation import get_research_topic, last_question
from agent.assistants.common.services import Services
from agent.assistants.common.writer import Gathered, TurnWriter, all_failed
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.budget import Meter, Usage, add_usage
from agent.core.errors import ConfigurationError, InputError, NothingFound
from agent.core.progress import Emit, event
from agent.evidence.citations import with_targets
from agent.evidence.intent import needs_place
from agent.evidence.places import mentioned
from agent.evidence.types import Anchor, Gap, Place, Point, Source
from agent.export.geojson import feature_collection
from agent.models.catalogue import parse
from agent.models.streaming import FinishedText
from agent.state import AgentInput, Previous, Turn, replaced
from agent.texts.language import Language, detect_language


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


log = logging.getLogger(__name__)
_ANSWERED_EMPTY = {
    "no_results", "map_no_results", "map_place_not_found", "map_not_covered", "ungrounded",
}  # fmt: skip


class Closing(TypedDict):
    """What the last node of every assistant leaves in the state."""

    messages: list[Any]
    sources_gathered: list[Source]
    places: list[Place]
    geojson: dict[str, Any] | None
    gaps: list[Gap]
    usage: Usage


@dataclass(frozen=True)
class Ending:
    """Whose turn ends, and with what."""

    node: str
    assistant: str
    services: Services
    configuration: Configuration
    meter: Meter
    emit: Emit


async def close(
    gathered: Gathered, writer: TurnWriter, ending: Ending, *, anchor: Anchor | None = None
) -> Closing:
    """Writes and streams the message, closes the turn, and says so."""
    services, turn = ending.services, gathered["turn"]
    ending.emit(event("answering", ending.node))
    said = await FinishedText(pieces=writer.pieces).ainvoke([])
    text, used = str(said.text), writer.citer.used
    if ending.configuration.resolve_links:
        text, used = with_targets(text, used, await services.links([s["url"] for s in used]))
    places = _with_mentions(writer.places, used, text)
    seconds = round(ending.meter.budget.seconds(), 2)
    usage = services.billed(add_usage(gathered.get("usage"), ending.meter.usage))
    kept = {
        **writer.told(),
        "assistant": ending.assistant,
        "mode": services.mode,
        "sources": used,
        "places": places,
        "anchor": anchor if places else None,
        "usage": {**usage, "seconds": seconds},
        "checks": writer.checks(),
    }
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], ending.node, len(used), len(writer.gaps), seconds)  # fmt: skip
    await services.close_turn(turn["id"])
    ending.emit(event("done", ending.node, count=len(used), seconds=seconds))
    message = AIMessage(content=text, id=said.id, name=ending.assistant, additional_kwargs=kept)
    found = feature_collection(places, anchor=anchor, query=turn["question"]) if places else None
    return Closing(
        messages=[message],
        sources_gathered=replaced(_numbered_ledger(gathered.get("sources_gathered", []), used)),
        places=replaced(places),
        geojson=found,
        gaps=writer.gaps[len(gathered.get("gaps", [])) :],
        usage=ending.meter.usage,
    )


def refuse_if_all_failed(gaps: Sequence[Gap], language: Language) -> None:
    """An empty answer is honest only if some source did answer; raises NothingFound."""
    failures = [g for g in gaps if not g["code"].startswith("budget_")]
    if failures and not any(g["code"] in _ANSWERED_EMPTY for g in gaps):
        raise NothingFound(all_failed(failures, language))


def _numbered_ledger(ledger: list[Source], used: list[Source]) -> list[Source]:
    """The turn's ledger, in which the cited sources carry their numbers."""
    cited = {source["id"]: source for source in used}
    return [cited.get(source["id"], source) for source in ledger]


def _with_mentions(places: list[Place], used: list[Source], text: str) -> list[Place]:
    """The places the answer names or cites are marked, and come first."""
    cited = {source["id"] for source in used}
    named = mentioned(places, text)
    marked = [Place(**{**p, "mentioned": p["id"] in named or p["source"] in cited}) for p in places]
    return sorted(marked, key=lambda p: not p["mentioned"])

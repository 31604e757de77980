"""Begin a turn, and account for its budget; the same for every assistant."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agent.assistants.common.conversation import get_research_topic, last_question
from agent.assistants.common.previous import previous_of
from agent.assistants.common.services import Services
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.budget import Limits, Meter, Spending, Usage, no_usage
from agent.core.errors import ConfigurationError, InputError
from agent.evidence.intent import needs_origin, needs_place
from agent.evidence.outing.wish import (
    Mode,
    changed_wish,
    means_earlier_places,
    read_wish,
    wants_outing,
)
from agent.evidence.places import extract_place, names_chinese_place
from agent.evidence.types import OutingWish, Point
from agent.models.catalogue import parse
from agent.state import AgentInput, Gathered, Previous, Turn
from agent.texts import Language, detect_language, say

_CHINA = timezone(timedelta(hours=8))
_MOST_MINUTES = 14 * 60


def open_turn(
    state: AgentInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
) -> Turn:
    """Return the validated options of this question: input before configuration before defaults."""
    question = get_research_topic(state["messages"])
    options = _checked_input(state, configuration)
    chosen = options.answer_language
    language = detect_language(question) if chosen == "auto" else chosen
    now, previous = services.now(), previous_of(state)
    in_china = names_chinese_place(question) or bool(previous["places"])
    local = _local_time(now, state.get("utc_offset"), in_china=in_china)
    turn = Turn(
        id=_turn_id(state, runtime),
        question=question,
        asked_as=question,
        language=language,
        today=local.date().isoformat(),
        now=_spoken(local, language, in_china=in_china),
        started_at=now.timestamp(),
        count=options.number_of_initial_queries,
        loops=options.max_research_loops,
        reasoning_model=state.get("reasoning_model") or None,
        near=_checked_location(state.get("user_location")) or previous.get("near"),
    )
    return Turn(**{**turn, **_outing(question, previous, options.outing, local)})


class _OutingOptions(TypedDict, total=False):
    outing: OutingWish
    replans: bool


def _outing(question: str, previous: Previous, mode: Mode, local: datetime) -> _OutingOptions:
    """Return what is wanted of a day over the places; nothing where none is to be planned."""
    earlier = previous.get("outing")
    if earlier and mode != "off" and (changed := changed_wish(question, earlier, local)):
        return {"outing": changed, "replans": True}
    if not wants_outing(question, mode):
        return {}
    replans = means_earlier_places(question, previous["places"])
    return {"outing": read_wish(question, local), "replans": replans}


def _local_time(now: datetime, utc_offset: Any, *, in_china: bool) -> datetime:
    """Return the time on the user's clock: the client's, else China's for what is there."""
    if utc_offset is not None and utc_offset != "":
        if isinstance(utc_offset, bool) or not isinstance(utc_offset, int | float):
            raise InputError("utc_offset", "must be minutes ahead of UTC")
        if abs(utc_offset) > _MOST_MINUTES:
            raise InputError("utc_offset", "must be within ±840 minutes")
        return now.astimezone(timezone(timedelta(minutes=int(utc_offset))))
    return now.astimezone(_CHINA) if in_china else now


def _spoken(local: datetime, language: Language, *, in_china: bool) -> str:
    """Return `2026-11-22 周日 18:02 (UTC+8)`, with China's time where that differs and counts."""
    offset = int((local.utcoffset() or timedelta()).total_seconds()) // 60
    hours, minutes = divmod(abs(offset), 60)
    zone = f"UTC{'-' if offset < 0 else '+'}{hours}" + (f":{minutes:02}" if minutes else "")
    now = f"{_with_weekday(local, language)} ({zone})"
    there = local.astimezone(_CHINA)
    if not in_china or there.utcoffset() == local.utcoffset():
        return now
    return say("records.also_in_china", language, now=now, time=_with_weekday(there, language))


def _with_weekday(moment: datetime, language: Language) -> str:
    weekday = say(f"records.weekdays.{moment.isoweekday()}", language)
    return f"{moment:%Y-%m-%d} {weekday} {moment:%H:%M}"


def words_of_user(turn: Turn) -> str:
    """Return the question as it was asked, where a model rewrote it; else nothing."""
    words = turn.get("asked_as", "")
    return words if words != turn["question"] else ""


def _checked_input(state: AgentInput, configuration: Configuration) -> Configuration:
    chosen: dict[str, object] = {
        "number_of_initial_queries": state.get("initial_search_query_count"),
        "max_research_loops": state.get("max_research_loops"),
    }
    for name in MODEL_FIELDS:
        parse(getattr(configuration, name), name)
    if reasoning := state.get("reasoning_model"):
        parse(reasoning, "reasoning_model")
    values = {k: v for k, v in chosen.items() if v is not None and v != ""}
    if not values:
        return configuration
    try:
        return configure({**configuration.model_dump(), **values})
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
    """Return the same id for the same question on the same thread: a resumed turn is this turn."""
    info = runtime.execution_info
    place = (info and (info.thread_id or info.run_id)) or ""
    return turn_id_of(place, last_question(state["messages"]).id or "", len(state["messages"]))


def turn_id_of(place: str, question_id: str, messages: int) -> str:
    """Return the id of the turn of a question on a thread that has so many messages."""
    return hashlib.sha256(f"{place}\n{question_id}\n{messages}".encode()).hexdigest()[:32]


def refuse_without_thread(configuration: Configuration) -> None:
    """Raise ConfigurationError, before anything is paid, where a review has no thread."""
    if not configuration.review_plan:
        return
    if get_config()["configurable"].get(CONFIG_KEY_CHECKPOINTER) is None:
        raise ConfigurationError(
            "review_plan", "needs a thread to come back to, and this run keeps none"
        )


def lacks_place(turn: Turn, previous: Previous, configuration: Configuration) -> bool:
    """Return True where something near the user is asked for, who has not said where that is."""
    if turn["near"] or previous["places"] or configuration.geo_routing == "never":
        return False
    if "outing" in turn and extract_place(turn["question"]) is None:
        return True
    return needs_place(turn["question"])


def lacks_origin(turn: Turn, configuration: Configuration) -> bool:
    """Return whether guidance to a place is wanted by somebody whose position is unknown."""
    if turn["near"] or configuration.geo_routing == "never":
        return False
    return needs_origin(turn["question"])


def meter_of(
    state: Gathered, configuration: Configuration, services: Services, *, answering: bool = False
) -> Meter:
    """Open a node's share of the turn's budget, after what its state says is spent."""
    spent = state.get("usage")
    return open_meter(state["turn"], configuration, services, spent=spent, answering=answering)


def open_meter(
    turn: Turn,
    configuration: Configuration,
    services: Services,
    *,
    spent: Usage | None,
    answering: bool = False,
    map_calls: int | None = None,
) -> Meter:
    """Open this step's share of the turn's budget, also in a process that resumes the turn.

    `map_calls` is what the step may spend of the map's calls; without it, all that is left.
    """
    budget = services.budgets.of(
        turn["id"],
        limits_of(configuration),
        spent=spent,
        elapsed=max(0.0, services.now().timestamp() - turn["started_at"]),
    )
    share: dict[Spending, int] = {} if map_calls is None else {"map_calls": map_calls}
    return budget.meter(answering=answering, share=share)


def limits_of(configuration: Configuration) -> Limits:
    """Return the limits of a run; at most a minute of its time is kept back for the answer."""
    return Limits(
        max_searches=configuration.max_searches,
        max_model_calls=configuration.max_model_calls,
        max_map_calls=configuration.max_map_calls,
        max_run_tokens=configuration.max_run_tokens,
        max_run_seconds=configuration.max_run_seconds,
        answer_seconds=min(60.0, configuration.max_run_seconds / 3),
    )


@dataclass(frozen=True)
class Share:
    """Hold the model calls that must be left, and the usable parts of tokens and seconds."""

    kept_calls: int
    tokens: float
    seconds: float


def share_spent(
    share: Share, spent: Usage | None, configuration: Configuration, meter: Meter
) -> str:
    """Return the limit of which no more than `share` is left; empty while there is none."""
    usage = spent or no_usage()
    if usage["model_calls"] >= configuration.max_model_calls - share.kept_calls:
        return "max_model_calls"
    tokens = usage["input_tokens"] + usage["output_tokens"]
    if tokens >= configuration.max_run_tokens * share.tokens:
        return "max_run_tokens"
    if meter.budget.seconds() >= configuration.max_run_seconds * share.seconds:
        return "max_run_seconds"
    return ""

"""Begin a turn, account for its budget, and keep of it what its thread needs later."""

import asyncio
import hashlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, Self, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER, START
from langgraph.errors import GraphBubbleUp
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.typing import ContextT, InputT, OutputT, StateT

from agent.assistants.common.conversation import get_research_topic, last_question
from agent.assistants.common.own_documents import owner_of
from agent.assistants.common.previous import previous_of, zone_before
from agent.assistants.common.services import Services
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.budget import Limits, Meter, Spending, Usage, no_usage
from agent.core.errors import ConfigurationError, InputError
from agent.core.outside import finite
from agent.core.progress import Emit
from agent.core.strings import json_bytes
from agent.core.telemetry import (
    CANCELLED,
    STEP,
    NodeStep,
    RunEnd,
    RunStatus,
    StepEnd,
    code_of,
    tell_end,
    tell_listeners,
)
from agent.evidence.types import Place, Point, Route, Weather
from agent.evidence.vocabulary import names_chinese_place
from agent.evidence.zones import CHINA, asker_zone, offset_words, zone_at, zone_named
from agent.export.finished import PRINTED_QUOTES, by_mention
from agent.models.catalogue import parse
from agent.runs.workspace_store import Room, room_of_turn
from agent.state import AgentInput, Gathered, Previous, Turn, replaced
from agent.texts import Language, prepare_language, say
from agent.texts.languages import (
    is_tag,
    language_name,
    language_of_answer,
    language_of_setting,
    named_language,
)

_MOST_MINUTES = 14 * 60


async def open_turn(
    state: AgentInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
) -> Turn:
    """Return the validated options of this question: input before configuration before defaults."""
    question = get_research_topic(state["messages"])
    options = _checked_input(state, configuration)
    chosen = options.answer_language
    language = language_of_setting(chosen, question)
    await prepare_language(language)
    now, previous = services.now(), previous_of(state)
    near = _checked_location(state.get("user_location")) or previous.get("near")
    offset = _checked_offset(state.get("utc_offset"))
    offset = previous.get("utc_offset") if offset is None else offset
    clock = asker_zone(offset, question)
    zone = await asyncio.to_thread(_zone, question, previous, near)
    local = now.astimezone(there) if (there := zone or clock) else now
    turn = Turn(
        id=_turn_id(state, runtime),
        question=question,
        asked_as=question,
        language=language,
        reader=language_of_answer(chosen, question),
        answer_language=named_language(question) if chosen == "auto" else language_name(chosen),
        today=local.date().isoformat(),
        now=_spoken(local, language),
        started_at=now.timestamp(),
        count=options.number_of_initial_queries,
        loops=options.max_research_loops,
        reasoning_model=state.get("reasoning_model") or None,
        near=near,
        utc_offset=offset,
        zone=str(zone) if zone else "",
    )
    return turn if chosen == "auto" else in_language(turn, chosen)


def in_language(turn: Turn, tag: str) -> Turn:
    """Return the turn with its answer in the language of a tag."""
    read = Turn(**{**turn, "tag": tag, "answer_language": language_name(tag)})
    read["language"] = language_of_setting(tag, turn["question"])
    read["reader"] = language_of_answer(tag, turn["question"])
    return read


async def in_read_language(turn: Turn, tag: str, configuration: Configuration) -> Turn:
    """Return the turn with its answer in the language that a model has read it in.

    As it was where a setting names one, or the model's word is no tag of these letters.
    """
    if configuration.answer_language != "auto" or not is_tag(tag, turn["question"]):
        return turn
    read = in_language(turn, tag)
    await prepare_language(read["language"])
    return read


def in_china(turn: Turn) -> Turn:
    """Return a turn that the map of China is asked in, on the clock there.

    A question in another script names a place that only the model's plan has in Chinese.
    """
    there = datetime.fromtimestamp(turn["started_at"], CHINA)
    now, zone = _spoken(there, turn["language"]), str(CHINA)
    return Turn(**{**turn, "today": there.date().isoformat(), "now": now, "zone": zone})


def now_there(turn: Turn, places: Iterable[Place], state: Gathered) -> str:
    """Return the time as a model is told it: on the clock that what the map found shares."""
    records: list[Place | Route | Weather] = [
        *places, *state.get("routes", []), *state.get("weather", [])
    ]  # fmt: skip
    zones = {record.get("zone") or str(CHINA) for record in records}
    if len(zones) != 1 or (name := zones.pop()) == turn.get("zone"):
        return turn.get("now", turn["today"])
    # A turn of an earlier release has no zone.
    there = datetime.fromtimestamp(turn["started_at"], zone_named(name))
    return _spoken(there, turn["language"])


def clocks_told(turn: Turn) -> str:
    """Return the time as a plan is told it: with another clock's where that has another day.

    That is the asker's, where the question's place has its own; else, where nobody said what clock
    the asker has, UTC: a question in Chinese may be about Helsinki, where it is still Sunday.
    """
    told, offset, language = turn.get("now", turn["today"]), turn["utc_offset"], turn["language"]
    if offset is None and turn.get("zone"):
        return told
    zone = timezone(timedelta(minutes=offset or 0))
    other = datetime.fromtimestamp(turn["started_at"], zone)
    if other.date().isoformat() == turn["today"]:
        return told
    if offset is None:
        return f"{told} = {other:%d %H:%M} UTC"
    return say("records.asker_clock", language, now=told, other=_spoken(other, language))


def _zone(question: str, previous: Previous, near: Point | None) -> tzinfo | None:
    """Return the zone of what a question is about; None where no place is known yet."""
    if names_chinese_place(question):
        return CHINA
    if name := zone_before(previous):
        return zone_named(name)
    return zone_at(near) if near else None


def _checked_offset(utc_offset: Any) -> int | None:
    if utc_offset is None or utc_offset == "":
        return None
    if isinstance(utc_offset, bool) or not isinstance(utc_offset, int | float):
        raise InputError("utc_offset", "must be minutes ahead of UTC")
    if abs(utc_offset) > _MOST_MINUTES:
        raise InputError("utc_offset", "must be within ±840 minutes")
    return int(utc_offset)


def _spoken(local: datetime, language: Language) -> str:
    """Return `2026-11-22 周日 18:02 (UTC+8)`."""
    return f"{_with_weekday(local, language)} ({offset_words(local)})"


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
        if not isinstance(reasoning, str):
            raise InputError("reasoning_model", "must be a model's name")
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
        lng, lat = finite(where["lng"]), finite(where["lat"])
    except (TypeError, KeyError):
        lng = lat = None
    if lng is None or lat is None:
        raise InputError("user_location", "must be {lng, lat} in degrees")
    if not (abs(lng) <= 180 and abs(lat) <= 90):
        raise InputError("user_location", "must have lng within ±180 and lat within ±90")
    return Point(lng=lng, lat=lat)


def _turn_id(state: AgentInput, runtime: Runtime[Configuration]) -> str:
    """Return the same id for the same question on the same thread: a resumed turn is this turn."""
    info = runtime.execution_info
    place = (info and (info.thread_id or info.run_id)) or ""
    return turn_id_of(place, last_question(state["messages"]).id or "", len(state["messages"]))


def turn_id_of(place: str, question_id: str, messages: int) -> str:
    """Return the id of the turn of a question on a thread that has so many messages."""
    return hashlib.sha256(f"{place}\n{question_id}\n{messages}".encode()).hexdigest()[:32]


async def with_room(turn: Turn, configuration: Configuration, services: Services) -> Turn:
    """Return a turn that knows how much the windows of its models hold, where these are told."""
    models = {getattr(configuration, name) for name in MODEL_FIELDS}
    models |= {turn["reasoning_model"]} - {None}
    rooms = await asyncio.gather(*map(services.models.prompt_room, sorted(models)))
    known = [room for room in rooms if room is not None]
    return Turn(**{**turn, "room": min(known)}) if known else turn


def answer_model(turn: Turn, configuration: Configuration) -> str:
    """Return the model that writes the answer: the one asked for with the question, if any."""
    return turn["reasoning_model"] or configuration.answer_model


def context_limit(turn: Turn, configuration: Configuration) -> int:
    """Return the tokens of a prompt: those of the settings, or what the models' windows hold."""
    return min(configuration.context_token_limit, turn.get("room", sys.maxsize))


def own_limit(turn: Turn, configuration: Configuration) -> int:
    """Return the tokens of own documents that are given whole: at most half of what models hold."""
    return min(configuration.own_token_limit, turn.get("room", sys.maxsize) // 2)


def room_of(turn: Turn, runtime: Runtime[Configuration]) -> Room:
    """Return whose workspace a turn has: its thread's, as far as the run's owner asked on it."""
    info = runtime.execution_info
    return room_of_turn(owner_of(runtime), turn["id"], info.thread_id if info else None)


def refuse_without_thread(configuration: Configuration) -> None:
    """Raise ConfigurationError, before anything is paid, where a review has no thread."""
    if not configuration.review_plan:
        return
    if get_config()["configurable"].get(CONFIG_KEY_CHECKPOINTER) is None:
        raise ConfigurationError(
            "review_plan", "needs a thread to come back to, and this run keeps none"
        )


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
        max_searches=0 if configuration.answer_now else configuration.max_searches,
        max_model_calls=configuration.max_model_calls,
        max_map_calls=0 if configuration.answer_now else configuration.max_map_calls,
        max_run_tokens=configuration.max_run_tokens,
        max_run_seconds=configuration.max_run_seconds,
        answer_seconds=min(60.0, configuration.max_run_seconds / 3),
        max_run_dollars=configuration.max_run_dollars,
        answer_now=configuration.answer_now,
        kept_map_calls=min(configuration.MAP_CALLS_KEPT, configuration.max_map_calls // 4),
    )


@dataclass(frozen=True)
class Share:
    """Hold the model calls that must be left, and the usable parts of tokens, money and seconds."""

    kept_calls: int
    tokens: float
    seconds: float


def share_spent(
    share: Share, spent: Usage | None, configuration: Configuration, meter: Meter
) -> str:
    """Return the first limit that is used up but for what `share` keeps; "" if none is."""
    usage = spent or no_usage()
    if configuration.answer_now:
        return "answer_now"
    if usage["model_calls"] >= configuration.max_model_calls - share.kept_calls:
        return "max_model_calls"
    tokens = usage["input_tokens"] + usage["output_tokens"]
    if tokens >= configuration.max_run_tokens * share.tokens:
        return "max_run_tokens"
    dollars = configuration.max_run_dollars
    if dollars and (usage.get("cost_usd") or 0.0) >= dollars * share.tokens:
        return "max_run_dollars"
    if meter.budget.seconds() >= configuration.max_run_seconds * share.seconds:
        return "max_run_seconds"
    return ""


PROGRESS = "progress"
"""Key of the state, and of a message's additional_kwargs: the events of the turn."""
MOST_BYTES = 8000
_LENGTHS = (240, 120, 60, 30)
_FIELDS = ("type", "id", "text", "speaker", "count", "seconds", "at")
_FLEETING = ("map_found", "withdrawn")
"""Kinds of events that only tell early what the answer has, or has not."""
_CORRECTED = ("repaired", "contradicted")
"""Verdicts of statements whose quote an export prints."""
_MOST_OLD_PLACES = 12
"""Places of an old answer that stay although it does not name them all."""

Node = Callable[..., Awaitable[Mapping[str, Any]]]


class ResearchGraph(StateGraph[StateT, ContextT, InputT, OutputT]):
    """Extend StateGraph: the events that a node sends are in the state, too, so that they last.

    `telemetry` hears of each node, and of runs that a node's error or pause ends.
    """

    assistant = ""

    def add_node(self, node: str, action: Node, **options: Any) -> Self:  # type: ignore[override]
        """Add a node whose events are recorded."""
        super().add_node(node, self._observed(node, _recorded(action)), **options)
        return self

    def compile(self, *args: Any, **options: Any) -> Any:
        """Compile as StateGraph does; the name is the assistant's."""
        self.assistant = options.get("name") or ""
        return super().compile(*args, **options)

    def _observed(self, node: str, action: Node) -> Node:
        async def run(state: Any, runtime: Runtime[Configuration]) -> Mapping[str, Any]:
            step = self._step(node, runtime)
            turn = {} if (START, node) in self.edges else state.get("turn") or {}
            step.turn_id = turn.get("id", "")
            with _telling(step, turn.get("started_at", step.began_at)):
                update = await action(state, runtime)
                step.turn_id = (update.get("turn") or {}).get("id") or step.turn_id
                return update

        return run

    def _step(self, node: str, runtime: Runtime[Configuration]) -> NodeStep:
        info = runtime.execution_info
        return NodeStep(
            self.assistant,
            node,
            owner_of(runtime),
            thread_id=(info and info.thread_id) or "",
            run_id=(info and info.run_id) or "",
        )


@contextmanager
def _telling(step: NodeStep, began: float) -> Iterator[None]:
    """Have what is within know its step, and tell of its end; `began` is the question's time."""
    token, code, status = STEP.set(step), "", ""
    try:
        yield
    except GraphBubbleUp:
        status = "paused"
        raise
    except Exception as error:
        code, status = code_of(error), "error"
        raise
    except BaseException:
        code = status = CANCELLED
        raise
    finally:
        STEP.reset(token)
        tell_listeners(StepEnd(step, code))
        if status:
            tell_end(RunEnd(step, cast(RunStatus, status), time.time() - began))


class Recorder:
    """Send events, and remember them with the time in milliseconds since 1970."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: Any) -> None:
        if isinstance(event, Mapping) and event.get("type") not in _FLEETING:
            lasting = {name: event[name] for name in _FIELDS if name in event}
            self.events.append({**lasting, "at": int(time.time() * 1000)})
        self._emit(event)


def _recorded(action: Node) -> Node:
    async def run(state: Any, runtime: Runtime[Configuration]) -> Mapping[str, Any]:
        recorder = Recorder(runtime.stream_writer)
        update = await action(state, replace(runtime, stream_writer=recorder))
        if not recorder.events and PROGRESS not in update:
            return update
        if PROGRESS not in update:
            return {**update, PROGRESS: recorder.events}
        # The turn's first node empties it, its last one has it in the message.
        return {**update, PROGRESS: replaced(recorder.events if update[PROGRESS] is None else [])}

    return run


def progress_of(state: Gathered, emit: Emit) -> list[dict[str, Any]]:
    """Return the turn's events so far, `at` in milliseconds since its begin, within MOST_BYTES.

    Long texts are cut before events are left out, and those from the end: the last two stay.
    """
    recorded = emit.events if isinstance(emit, Recorder) else []
    events = sorted([*state.get("progress", []), *recorded], key=lambda event: event["at"])
    began = state["turn"]["started_at"] * 1000
    rows = [{name: event[name] for name in _FIELDS if name in event} for event in events]
    for row in rows:
        row["at"] = max(0, round(row["at"] - began))
    for length in _LENGTHS:
        shorter = [_cut(row, length) for row in rows]
        if json_bytes(shorter) <= MOST_BYTES:
            return shorter
    while len(shorter) > 2 and json_bytes(shorter) > MOST_BYTES:
        del shorter[-3]
    return shorter


def _cut(row: Mapping[str, Any], length: int) -> dict[str, Any]:
    text = row.get("text")
    if text is None or len(text) <= length:
        return dict(row)
    return {**row, "text": f"{text[: length - 1]}…"}


def lightened(messages: Sequence[AnyMessage]) -> list[AIMessage]:
    """Return the answers that still have all their evidence, without it.

    What they keep: numbered sources with a quote each, the places that they name and a dozen at
    least, and all that is no evidence. They have their ids, by which they replace what the thread
    has.
    """
    answers = [m for m in messages if isinstance(m, AIMessage) and m.id]
    light = ((message, without_evidence(message.additional_kwargs)) for message in answers)
    return [
        message.model_copy(update={"additional_kwargs": fields})
        for message, fields in light
        if fields != message.additional_kwargs
    ]


def without_evidence(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the additional_kwargs of an answer as an old message has them.

    A client may have sent the message itself: what is not of our form is left as it is.
    """
    light = dict(fields)
    if sources := _rows(fields.get("sources")):
        light["sources"] = [
            {**source, "quotes": _printed(source.get("quotes"))}
            for source in sources
            if source.get("number")
        ]
    if places := _rows(fields.get("places")):
        named = sum(1 for place in places if place.get("mentioned"))
        light["places"] = by_mention(places)[: max(named, _MOST_OLD_PLACES)]
    checks = fields.get("checks")
    if isinstance(checks, Mapping) and (rows := _rows(checks.get("statements"))):
        light["checks"] = {**checks, "statements": [_without_quote(row) for row in rows]}
    return light


def _printed(quotes: Any) -> list[Any]:
    """Return the quotes of a source that an export prints: the file stays what it was."""
    return quotes[:PRINTED_QUOTES] if isinstance(quotes, list) else []


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(row, Mapping) for row in rows) else []


def _without_quote(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement; an export prints the quotes of those that a source corrects."""
    keeps = row.get("verdict") in _CORRECTED
    return {name: value for name, value in row.items() if keeps or name != "quote"}

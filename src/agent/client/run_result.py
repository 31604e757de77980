"""Read a finished run out of its thread's values, of this process or of a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, cast, get_args

from agent.core.errors import AgentError
from agent.core.strings import valid_json, valid_text
from agent.evidence.types import PLAN_TEXTS, Gap, Place, PlanPart, Route, Source, Weather
from agent.evidence.zones import asker_zone, zone_named
from agent.export.finished import FinishedAnswer, without_notice
from agent.export.geojson import feature_collection
from agent.texts import Language, detect_language

_USAGE = ("model_calls", "input_tokens", "output_tokens", "searches", "map_calls")
_PROGRESS = "progress"
"""Who waits for a result has heard the events of its turn."""
_CHECKS = ("cited", "unknown_ids_removed", "places_rejected")
"""Counted by every assistant; each has others besides."""


@dataclass(frozen=True)
class RunResult:
    """Hold a finished run; the fields up to `verified` begin the object that `--json` prints.

    The last three of these are None for assistants that write no bare answer. `further` follows.
    """

    assistant: str
    mode: str
    thread_id: str
    run_id: str
    answer: str
    sources: list[Source]
    places: list[Place]
    routes: list[Route]
    weather: list[Weather]
    gaps: list[Gap]
    queries: list[dict[str, Any]]
    usage: dict[str, Any]
    checks: dict[str, Any]
    degraded: bool
    needs: str | None
    final_answer: str | None = None
    """The bare answer in its form; empty where none was found."""
    answered: bool | None = None
    verified: bool | None = None
    question: str = ""
    language: Language = "en"
    """The answer's."""
    search_entry_points: list[str] = field(default_factory=list)
    geojson: dict[str, Any] | None = None
    further: dict[str, Any] = field(default_factory=dict)
    """All else that the assistant put beside its message, whole."""
    state: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The thread's values, for a trace of the run."""

    def as_json(self) -> dict[str, Any]:
        """Return the object of `--json`: these keys, always all of them, then the assistant's."""
        names = list(self.__dataclass_fields__)
        common = {name: getattr(self, name) for name in names[: names.index("question")]}
        return common | {name: value for name, value in self.further.items() if name not in common}

    @property
    def notice(self) -> str:
        """Return the notice that an answer from sample data begins with."""
        first = self.answer.partition("\n")[0]
        return first.removeprefix("> ") if self.mode == "offline" and first[:2] == "> " else ""

    @property
    def answer_first(self) -> str:
        """Return the answer with its notice behind it, for who shows nothing beside the text."""
        notice = self.notice
        said = without_notice(self.answer, notice)
        return f"{said}\n\n> {notice}" if notice else said

    def finished(self) -> FinishedAnswer:
        """Return the answer as exports take it."""
        return FinishedAnswer(
            question=self.question,
            answer=self.answer,
            language=self.language,
            generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            sources=self.sources,
            places=self.places,
            routes=self.routes,
            notice=self.notice,
            search_entry_points=self.search_entry_points,
            geojson=self.geojson,
            outing=self.further.get("outing"),
            statements=list(self.checks.get("statements") or []),
            claims=self.checks.get("claims") or {},
            clock=_clock(self.state.get("turn") or {}, self.question),
        )


def _clock(turn: Mapping[str, Any], question: str) -> tzinfo:
    """Return the clock that a turn went by, as its prompts told it."""
    if zone := turn.get("zone"):
        return zone_named(zone)
    here = datetime.now().astimezone().tzinfo or UTC
    return asker_zone(turn.get("utc_offset"), question) or here


@dataclass(frozen=True)
class Pause:
    """Hold a run that waits for a person: its question to them, as `state.PlanReview`."""

    review: Mapping[str, Any]

    @property
    def part(self) -> PlanPart:
        """Return the key of the plan's lines."""
        return next((part for part in PLAN_TEXTS if part in self.review), "queries")

    @property
    def lines(self) -> list[Any]:
        """Return the plan's lines as they were shown."""
        return list(self.review.get(self.part) or [])

    @property
    def texts(self) -> list[str]:
        """Return the words of the plan's lines."""
        key = PLAN_TEXTS[self.part]
        return [str(line[key] if key else line) for line in self.lines]


def pause_of(values: Mapping[str, Any]) -> Pause | None:
    """Return the pending interrupt in a thread's values, of either side of a server, or None."""
    interrupts = values.get("__interrupt__")
    if not interrupts:
        return None
    value = _part(interrupts[0], "value")
    return Pause(value if isinstance(value, Mapping) else {})


@dataclass(frozen=True)
class RunName:
    """Name a run, its assistant and its thread."""

    assistant: str
    thread_id: str
    run_id: str


def outcome_of(values: Mapping[str, Any], run: RunName, seconds: float) -> RunResult:
    """Return the outcome in a thread's last values; raise AgentError if no answer is there.

    Messages may be objects (in process) or dicts (from a server); `seconds` counts where the
    run itself did not.
    """
    messages = list(values.get("messages") or [])
    last = messages[-1] if messages else None
    if last is None or _role(last) != "ai" or not (answer := _text(last).strip()):
        raise AgentError("The run ended without an answer; ask again.", code="no_answer")
    answer, metadata = valid_text(answer), valid_json(_part(last, "additional_kwargs") or {})
    turn = values.get("turn") or {}
    question = valid_text(next((_text(m) for m in reversed(messages) if _role(m) == "human"), ""))
    return RunResult(
        assistant=metadata.get("assistant") or run.assistant,
        mode=metadata.get("mode") or "online",
        thread_id=run.thread_id,
        run_id=run.run_id,
        answer=answer,
        sources=list(metadata.get("sources") or []),
        places=list(metadata.get("places") or []),
        routes=list(metadata.get("routes") or []),
        weather=list(metadata.get("weather") or []),
        gaps=list(metadata.get("gaps") or []),
        queries=[_query(query) for query in metadata.get("queries") or []],
        usage=_usage(metadata.get("usage") or {}, seconds),
        checks={**dict.fromkeys(_CHECKS, 0), **(metadata.get("checks") or {})},
        degraded=bool(metadata.get("degraded")),
        needs=metadata.get("needs"),
        final_answer=metadata.get("final_answer"),
        answered=metadata.get("answered"),
        verified=metadata.get("verified"),
        question=question,
        language=language_spoken(metadata, turn, question or answer),
        search_entry_points=list(metadata.get("search_entry_points") or []),
        geojson=valid_json(values.get("geojson")) or _map_of(metadata, question),
        further={name: value for name, value in metadata.items() if name != _PROGRESS},
        state=values,
    )


def language_spoken(
    metadata: Mapping[str, Any], turn: Mapping[str, Any], question: str
) -> Language:
    """Return the language of an answer, as the page reads it, too: its message says it.

    Of an older one it is its turn's, while that is the thread's last, else the question's.
    """
    told = (metadata.get("language"), turn.get("reader"), turn.get("language"))
    known = (cast(Language, tag) for tag in told if tag in get_args(Language))
    return next(known, None) or detect_language(question)


def values_of_answer(
    values: Mapping[str, Any], message_id: str | None = None
) -> tuple[dict[str, Any] | None, bool]:
    """Return a thread's values as of an answer, and whether the answer is its last.

    Without an id it is the last answer. None where there is no such answer.
    """
    messages = list(values.get("messages") or [])
    answers = [n for n, message in enumerate(messages) if _role(message) == "ai"]
    matches = [n for n in answers if message_id in (None, _part(messages[n], "id"))]
    if not matches:
        return None, False
    until = matches[-1] + 1
    until_then = {"messages": messages[:until]}
    # What else the state holds belongs to the turn that came last.
    is_last = until == len(messages)
    return ({**values, **until_then} if is_last else until_then), is_last


def spoken(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (type, text) of what was said on a thread: questions and answers, in their order."""
    messages = [(_role(m), valid_text(_text(m)).strip()) for m in values.get("messages") or []]
    return [(role, text) for role, text in messages if role in ("human", "ai") and text]


def _map_of(metadata: Mapping[str, Any], question: str) -> dict[str, Any] | None:
    """Return a message's places as a collection, for where the thread's is of a later turn."""
    places = list(metadata.get("places") or [])
    if not places:
        return None
    newest = max(place["fetched_at"] for place in places)
    return feature_collection(
        places, anchor=metadata.get("anchor"), query=question, generated_at=newest
    )


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"query": query["query"], "map": query.get("map"), "round": query.get("round", 1)}


def _usage(spent: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    usage: dict[str, Any] = {name: int(spent.get(name) or 0) for name in _USAGE}
    usage["seconds"] = round(float(spent.get("seconds") or seconds), 2)
    usage["cost_usd"] = spent.get("cost_usd")
    return usage


def _part(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _role(message: Any) -> str:
    return str(_part(message, "type"))


def _text(message: Any) -> str:
    """Return a message's text, of a content that is a text or a list of blocks."""
    content = _part(message, "content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(b if isinstance(b, str) else str(b.get("text") or "") for b in blocks)

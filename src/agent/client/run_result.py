"""What one question came to, the same from this process and from a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent.core.errors import AgentError
from agent.core.strings import valid_json, valid_text
from agent.evidence.types import Gap, Place, Route, Source, Weather
from agent.export.finished import FinishedAnswer
from agent.export.geojson import feature_collection
from agent.texts.language import Language, detect_language

_USAGE = ("model_calls", "input_tokens", "output_tokens", "searches", "map_calls")
_CHECKS = ("cited", "unknown_ids_removed", "places_rejected")


@dataclass(frozen=True)
class Outcome:
    """One finished run; the fields up to `verified` are the object `--json` prints.

    The last three of these are None for assistants that write no bare answer.
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
    checks: dict[str, int]
    degraded: bool
    needs: str | None
    final_answer: str | None = None
    """The bare answer in its form; empty where none was found."""
    answered: bool | None = None
    verified: bool | None = None
    question: str = ""
    language: Language = "en"
    search_entry_points: list[str] = field(default_factory=list)
    geojson: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of `--json`: these keys, always all of them."""
        names = list(self.__dataclass_fields__)
        return {name: getattr(self, name) for name in names[: names.index("question")]}

    @property
    def notice(self) -> str:
        """What an answer from sample data says first."""
        first = self.answer.partition("\n")[0]
        return first.removeprefix("> ") if self.mode == "offline" and first[:2] == "> " else ""

    def finished(self) -> FinishedAnswer:
        """The same as what exports take."""
        return FinishedAnswer(
            question=self.question,
            answer=self.answer,
            language=self.language,
            generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            sources=self.sources,
            places=self.places,
            notice=self.notice,
            search_entry_points=self.search_entry_points,
            geojson=self.geojson,
        )


@dataclass(frozen=True)
class Pause:
    """A run that waits for a person: what it shows, as `state.PlanReview`."""

    review: Mapping[str, Any]


def pause_of(values: Mapping[str, Any]) -> Pause | None:
    """What a thread's last values wait for, in process or from a server; None if for nothing."""
    waiting = values.get("__interrupt__")
    if not waiting:
        return None
    shown = _part(waiting[0], "value")
    return Pause(shown if isinstance(shown, Mapping) else {})


@dataclass(frozen=True)
class RunName:
    """Whose run it is, and on which thread."""

    assistant: str
    thread_id: str
    run_id: str


def outcome_of(values: Mapping[str, Any], run: RunName, seconds: float) -> Outcome:
    """The outcome in a thread's last values; raises AgentError if no answer is there.

    Messages may be objects (in process) or dicts (from a server); `seconds` counts where the
    run itself did not.
    """
    messages = list(values.get("messages") or [])
    last = messages[-1] if messages else None
    if last is None or _role(last) != "ai" or not (answer := _text(last).strip()):
        raise AgentError("the run ended without an answer", code="no_answer")
    answer, kept = valid_text(answer), valid_json(_part(last, "additional_kwargs") or {})
    turn = values.get("turn") or {}
    asked = valid_text(next((_text(m) for m in reversed(messages) if _role(m) == "human"), ""))
    return Outcome(
        assistant=kept.get("assistant") or run.assistant,
        mode=kept.get("mode") or "online",
        thread_id=run.thread_id,
        run_id=run.run_id,
        answer=answer,
        sources=list(kept.get("sources") or []),
        places=list(kept.get("places") or []),
        routes=list(kept.get("routes") or []),
        weather=list(kept.get("weather") or []),
        gaps=list(kept.get("gaps") or []),
        queries=[_query(query) for query in kept.get("queries") or []],
        usage=_usage(kept.get("usage") or {}, seconds),
        checks={name: int((kept.get("checks") or {}).get(name) or 0) for name in _CHECKS},
        degraded=bool(kept.get("degraded")),
        needs=kept.get("needs"),
        final_answer=kept.get("final_answer"),
        answered=kept.get("answered"),
        verified=kept.get("verified"),
        question=asked,
        language=turn.get("language") or detect_language(asked or answer),
        search_entry_points=list(kept.get("search_entry_points") or []),
        geojson=valid_json(values.get("geojson")) or _map_of(kept, asked),
    )


def turn_of(
    values: Mapping[str, Any], message_id: str | None = None
) -> tuple[dict[str, Any] | None, bool]:
    """A thread's values as they were when it had this answer last, and whether it still has.

    Without an id it is the last answer. None where there is no such answer.
    """
    messages = list(values.get("messages") or [])
    answers = [n for n, message in enumerate(messages) if _role(message) == "ai"]
    asked = [n for n in answers if message_id in (None, _part(messages[n], "id"))]
    if not asked:
        return None, False
    until = asked[-1] + 1
    kept = {"messages": messages[:until]}
    # What else the state holds belongs to the turn that came last.
    is_last = until == len(messages)
    return ({**values, **kept} if is_last else kept), is_last


def _map_of(kept: Mapping[str, Any], question: str) -> dict[str, Any] | None:
    """The places of a message as a collection, where the thread's own is that of a later turn."""
    places = list(kept.get("places") or [])
    if not places:
        return None
    newest = max(place["fetched_at"] for place in places)
    return feature_collection(
        places, anchor=kept.get("anchor"), query=question, generated_at=newest
    )


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"query": query["query"], "map": query.get("map"), "round": query.get("round", 1)}


def _usage(given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    usage: dict[str, Any] = {name: int(given.get(name) or 0) for name in _USAGE}
    usage["seconds"] = round(float(given.get("seconds") or seconds), 2)
    usage["cost_usd"] = given.get("cost_usd")
    return usage


def _part(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _role(message: Any) -> str:
    return str(_part(message, "type"))


def _text(message: Any) -> str:
    """A message's text, whether its content is a text or a list of blocks."""
    content = _part(message, "content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(b if isinstance(b, str) else str(b.get("text") or "") for b in blocks)

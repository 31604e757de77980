"""The last message of a turn: written, streamed and accounted for, the same for every assistant."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import TypedDict

from agent.assistants.common.budget import meter_of
from agent.assistants.common.gaps import gap_of
from agent.assistants.common.records import (
    place_lines,
    route_lines,
    route_text,
    weather_lines,
    weather_texts,
)
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Usage, add_usage
from agent.core.errors import AgentError, ConfigurationError, NothingFound
from agent.core.progress import Emit, event
from agent.evidence.citations import Citer, inert, references, with_targets
from agent.evidence.figures import FigureMarker
from agent.evidence.markdown import without_urls
from agent.evidence.places import mentioned
from agent.evidence.types import Anchor, Gap, Place, Route, Source, Weather
from agent.export.geojson import feature_collection
from agent.models.streaming import FinishedText
from agent.state import Gathered, Previous, replaced
from agent.texts import say
from agent.texts.language import Language

_SHOWN_QUERY, _SHOWN_QUERIES = 60, 3


def gap_section(gaps: Sequence[Gap], language: Language) -> str:
    """The gaps, each message once, with the queries it concerns; both may be foreign text."""
    asked: dict[str, dict[str, None]] = {}
    for gap in gaps:
        queries = asked.setdefault(inert(gap["message"]).rstrip("。."), {})
        if gap["query"]:
            # Addresses go first: half of one that is cut is not known for one.
            queries.setdefault(inert(without_urls(gap["query"])[0][:_SHOWN_QUERY]))
    if not asked:
        return ""
    lines = [f"- {text}{_concerning(list(queries), language)}" for text, queries in asked.items()]
    return "\n".join([say("answer.gaps", language), *lines])


def _concerning(queries: list[str], language: Language) -> str:
    """The queries a gap concerns, in brackets; of many the first ones and how many there are."""
    if not queries:
        return ""
    shown = say("punctuation.semicolon", language).join(queries[:_SHOWN_QUERIES])
    if len(queries) > _SHOWN_QUERIES:
        shown += say("answer.more_queries", language, count=len(queries))
    return say("punctuation.brackets", language, text=shown)


def all_failed(gaps: Sequence[Gap], language: Language) -> str:
    """That nothing could be looked up, with each source's reason once; else the models'."""
    asked = [gap for gap in gaps if not gap["provider"].startswith("model")]
    reasons = dict.fromkeys(gap["message"].rstrip("。.") for gap in asked or gaps)
    told = say("punctuation.semicolon", language).join(reasons)
    return say("answer.all_failed" if asked else "answer.no_model", language, reasons=told)


def record_sections(
    routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> list[str]:
    """Routes and weather as code prints them, each line with its marker."""
    sections = []
    if routes:
        once = {route["id"]: route for route in routes}.values()
        lines = [f"- {route_text(r, language)} [^{r['source']}]" for r in once]
        sections.append("\n".join([say("answer.routes", language), *lines]))
    if weather:
        lines = [f"- {t} [^{w['source']}]" for w in weather for t in weather_texts(w, language)]
        sections.append("\n".join([say("answer.weather", language), *lines]))
    return sections


def attribution(
    places: Sequence[Place], routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> str:
    """Who owns the map's data, and when it was fetched; nothing where the map gave nothing."""
    fetched = [record["fetched_at"] for record in (*places, *routes, *weather)]
    if not fetched:
        return ""
    when = max(fetched)[:16].replace("T", " ")
    return "*" + say("answer.map_data", language, time=f"{when} UTC") + "*"


log = logging.getLogger(__name__)

_SHOWN_PLACES = 20
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


class Draft:
    """The last message of a turn while it is written: its citations, gaps and records.

    With `texts`, what each source says by its id, the figures of the model's text are checked.
    """

    def __init__(
        self,
        state: Gathered,
        configuration: Configuration,
        services: Services,
        emit: Emit,
        *,
        node: str,
        assistant: str,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.state, self.configuration, self.services = state, configuration, services
        self.emit, self.node, self.assistant = emit, node, assistant
        self.meter = meter_of(state, configuration, services, answering=True)
        self.turn, self.language = state["turn"], state["turn"]["language"]
        self.previous = state.get("previous") or Previous(sources=[], places=[])
        known = [*state.get("sources_gathered", []), *self.previous["sources"]]
        self.sources = {source["id"]: source for source in known}
        self.citer = Citer(self.sources)
        self.marker = None if texts is None else FigureMarker(texts, self.language)
        self.places = distinct_places(state.get("places", []))
        self.gaps: list[Gap] = list(state.get("gaps", []))
        self.degraded = False

    @property
    def notice(self) -> str:
        """That this is sample data, before everything else; or nothing."""
        notice = self.services.notice(self.language)
        return f"> {notice}\n\n" if notice else ""

    def cited(self, marked: str) -> str:
        """Return a whole marked text with its citations numbered."""
        return self.citer.feed(marked) + self.citer.flush()

    def record_sections(self) -> list[str]:
        """Return the map's routes and weather as sections."""
        routes, weather = self.state.get("routes", []), self.state.get("weather", [])
        return [self.cited(section) for section in record_sections(routes, weather, self.language)]

    def record_lines(self) -> str:
        """Return all that the map said, as lines for a model."""
        records = (
            place_lines(self.places[:_SHOWN_PLACES], self.language),
            route_lines(self.state.get("routes", []), self.language),
            weather_lines(self.state.get("weather", []), self.language),
        )
        return "\n".join(filter(None, records))

    def clean(self, chunk: str) -> str:
        """Return what can be shown of a model's text so far, numbered and checked."""
        return self.citer.feed(self.marker.feed(chunk) if self.marker else chunk)

    def rest(self) -> str:
        """Return what `clean` still held back."""
        held = self.citer.feed(self.marker.flush()) if self.marker else ""
        return held + self.citer.flush()


@dataclass(frozen=True)
class MessageParts:
    """What one assistant puts into its message, in the order in which it is asked for."""

    body: Callable[[], AsyncIterator[str]]
    """The text between the notice and the sections that code adds."""
    sections: Callable[[], list[str]]
    """The assistant's own sections, numbered; before those that all messages have."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What a client wants beside the text, besides what all messages have."""
    checks: Mapping[str, int] = field(default_factory=dict)
    """What was counted."""


async def write_message(
    draft: Draft, parts: MessageParts, *, anchor: Anchor | None = None
) -> Closing:
    """Write and stream the message, close the turn, and say so."""
    services, state, turn = draft.services, draft.state, draft.turn
    draft.emit(event("answering", draft.node))
    streamed = await FinishedText(pieces=lambda: _pieces(draft, parts)).ainvoke([])
    text, cited = str(streamed.text), draft.citer.used
    if draft.configuration.resolve_links:
        targets = await services.links([source["url"] for source in cited])
        text, cited = with_targets(text, cited, targets)
    places = _with_mentions(draft.places, cited, text)
    anchor = anchor if places else None
    seconds = round(draft.meter.budget.seconds(), 2)
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], draft.node, len(cited), len(draft.gaps), seconds)  # fmt: skip
    metadata = {
        **_metadata(draft, parts, seconds), "sources": cited, "places": places, "anchor": anchor
    }  # fmt: skip
    await services.close_turn(turn["id"])
    draft.emit(event("done", draft.node, count=len(cited), seconds=seconds))
    message = AIMessage(
        content=text, id=streamed.id, name=draft.assistant, additional_kwargs=metadata
    )
    features = feature_collection(places, anchor=anchor, query=turn["question"]) if places else None
    return Closing(
        messages=[message],
        sources_gathered=replaced(_numbered(state.get("sources_gathered", []), cited)),
        places=replaced(places),
        geojson=features,
        gaps=draft.gaps[len(state.get("gaps", [])) :],
        usage=draft.meter.usage,
    )


async def _pieces(draft: Draft, parts: MessageParts) -> AsyncIterator[str]:
    """Yield the whole message, piece by piece, as it will be stored."""
    if notice := draft.notice:
        yield notice
    async for piece in parts.body():
        yield piece
    state, language = draft.state, draft.language
    routes, weather = state.get("routes", []), state.get("weather", [])
    sections = [
        *parts.sections(),
        attribution(draft.places, routes, weather, language),
        gap_section(draft.gaps, language),
        references(draft.citer.used, language),
    ]
    for section in filter(None, sections):
        yield f"\n\n{section}"


def _metadata(draft: Draft, parts: MessageParts, seconds: float) -> dict[str, Any]:
    """Return what a client gets beside the text, its sources and places apart."""
    state, services = draft.state, draft.services
    usage = services.billed(add_usage(state.get("usage"), draft.meter.usage))
    checks = {
        "cited": len(draft.citer.used),
        "unknown_ids_removed": draft.citer.unknown_ids_removed,
        "places_rejected": 0,
    }
    if draft.marker:
        checks["unverified_figures"] = draft.marker.marked
    return {
        "routes": state.get("routes", []),
        "weather": state.get("weather", []),
        "gaps": draft.gaps,
        "queries": state.get("queries", []),
        "degraded": draft.degraded,
        "needs": None,
        "search_entry_points": [],
        **parts.metadata,
        "assistant": draft.assistant,
        "mode": services.mode,
        "usage": {**usage, "seconds": seconds},
        "checks": {**checks, **parts.checks},
    }


async def write_or_quote(
    draft: Draft,
    prompt: Sequence[BaseMessage],
    material: Callable[[], str],
    *,
    part: str,
    uncited_gap: Callable[[], Gap] | None = None,
) -> AsyncIterator[str]:
    """Yield what the model writes; where that is nothing, the marked material itself.

    With `uncited_gap` the model has to cite, else the material follows its text. `part` names
    what is written in the gap that a failing model leaves.
    """
    written = False
    async for piece in _model_text(draft, prompt, part):
        written = written or bool(piece.strip())
        yield piece
    if written and (draft.citer.used or not (draft.degraded or uncited_gap)):
        return
    draft.degraded = True
    lead = say("answer.extractive", draft.language)
    if written and uncited_gap:
        draft.gaps.append(uncited_gap())
        lead = ""
    if quoted := "\n\n".join(filter(None, [lead, draft.cited(material())])):
        yield f"\n\n{quoted}" if written else quoted


async def _model_text(draft: Draft, prompt: Sequence[BaseMessage], part: str) -> AsyncIterator[str]:
    """Yield what the model writes, made clean; a failure is a gap, after the text there is."""
    configuration, chosen = draft.configuration, draft.turn["reasoning_model"]
    stream = draft.services.models.stream(
        chosen or configuration.answer_model,
        prompt,
        meter=draft.meter,
        fallback=chosen or configuration.reflection_model,
    )
    try:
        async for chunk in stream:
            if piece := draft.clean(chunk):
                yield piece
    except ConfigurationError:
        raise
    except AgentError as error:
        draft.rest()
        log.warning("turn=%s %s: %s", draft.turn["id"], part, error)
        draft.gaps.append(gap_of("", error, part, draft.language))
        draft.degraded = True
    else:
        if rest := draft.rest():
            yield rest


def refuse_if_all_failed(gaps: Sequence[Gap], language: Language) -> None:
    """Raise NothingFound if no source answered: only then an empty answer is not honest."""
    failures = [g for g in gaps if not g["code"].startswith("budget_")]
    if failures and not any(g["code"] in _ANSWERED_EMPTY for g in gaps):
        raise NothingFound(all_failed(failures, language))


def _numbered(sources: list[Source], used: list[Source]) -> list[Source]:
    """The turn's sources, in which the cited sources carry their numbers."""
    cited = {source["id"]: source for source in used}
    return [cited.get(source["id"], source) for source in sources]


def _with_mentions(places: list[Place], used: list[Source], text: str) -> list[Place]:
    """The places the answer names or cites are marked, and come first."""
    cited = {source["id"] for source in used}
    named = mentioned(places, text)
    marked = [Place(**{**p, "mentioned": p["id"] in named or p["source"] in cited}) for p in places]
    return sorted(marked, key=lambda p: not p["mentioned"])


def distinct_places(places: list[Place]) -> list[Place]:
    """One record a place: the more detailed one wins, in order of first appearance."""
    best: dict[str, Place] = {}
    for place in places:
        known = best.get(place["id"])
        if known is None or (place["detailed"] and not known["detailed"]):
            best[place["id"]] = place
    return list(best.values())

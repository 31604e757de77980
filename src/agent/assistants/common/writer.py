"""The last message of a turn: written, streamed and accounted for, the same for every assistant."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import TypedDict

from agent.assistants.common.check_limits import CAUSES
from agent.assistants.common.claims import Checked, led_to_lines, unchecked
from agent.assistants.common.conversation import EXTENT
from agent.assistants.common.draft import Draft
from agent.assistants.common.gaps import (
    answered_empty,
    failures,
    reader_note,
    remarks,
    undated_gap,
)
from agent.assistants.common.preferences import preferred_line
from agent.assistants.common.previous import (
    NO_PREVIOUS,
    Knowledge,
    carried,
)
from agent.assistants.common.remembered import remember
from agent.assistants.common.shown_records import (
    cited_ways,
    days_forecast,
    forecasts_of,
    on_cards,
    places_as_shown,
    readable,
    sources_as_shown,
    ways_of,
)
from agent.assistants.common.told_verdicts import SettledWish
from agent.assistants.common.turn import PROGRESS, lightened, progress_of
from agent.core.budget import Usage, add_usage
from agent.core.concurrency import begin_beside
from agent.core.errors import NothingFound
from agent.core.faults import await_or_else, or_else
from agent.core.processor import compute
from agent.core.progress import event
from agent.core.telemetry import STEP, RunEnd, tell_end
from agent.evidence.mentions import list_numbers, stop_numbers
from agent.evidence.records import attribution, forecasts_reaching
from agent.evidence.references import references
from agent.evidence.types import Anchor, Gap, Place, Route, Source
from agent.export.finished import FinishedAnswer
from agent.export.geojson import feature_collection
from agent.export.markdown import told_in_bullets
from agent.models.streaming import FinishedText
from agent.state import Previous, replaced
from agent.texts import REMEDY, Language, prepare_language, remedy_of, say
from agent.texts.card_words import spoken_fields


def all_failed(gaps: Sequence[Gap], language: Language) -> str:
    """Return that nothing could be looked up, and after an arrow what would help.

    Each source's reason stands there once; where no source was asked, the models' do.
    """
    of_sources = [gap for gap in gaps if not gap["provider"].startswith("model")]
    reasons = dict.fromkeys(gap["message"].rstrip("。.") for gap in of_sources or gaps)
    key = "answer.all_failed" if of_sources else "answer.no_model"
    reason = say(key, language, reasons=say("punctuation.semicolon", language).join(reasons))
    return f"{reason}{REMEDY}{remedy_of([gap['code'] for gap in gaps], language)}"


log = logging.getLogger(__name__)

_NO_VERDICT = ("version", "total", *CAUSES)


class Closing(TypedDict):
    """The update of the last node of every assistant."""

    messages: list[Any]
    sources_gathered: list[Source]
    places: list[Place]
    geojson: dict[str, Any] | None
    gaps: list[Gap]
    usage: Usage
    progress: list[dict[str, Any]]
    previous: Previous


@dataclass(frozen=True)
class MessageParts:
    """Hold the parts of an assistant's message, in the order in which they are needed."""

    body: Callable[[], AsyncIterator[str]]
    """The text between the notice and the sections that code adds."""
    sections: Callable[[], list[str]]
    """The assistant's own sections, numbered; before those that all messages have."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What a client wants beside the text, besides what all messages have."""
    checks: Mapping[str, int] = field(default_factory=dict)
    """What was counted."""
    verdict: str | None = None
    """What a model that read all evidence says is missing; None where none judged."""
    notes: Sequence[str] = ()
    """Marked texts that the next turn can go on from."""
    order: Sequence[str] = ()
    """Ids of places that come before all others, in this order."""
    is_report: bool = False
    """Whether the text is shown only when it was checked and revised."""
    settle: Callable[[frozenset[SettledWish]], bool] = lambda settled: False
    """Takes out of the sections what pages tell of places; returns whether it stood there."""
    located: Mapping[str, str] = field(default_factory=dict)
    """Names of positions ("lng,lat") that calls of the map located."""


async def write_message(
    draft: Draft, parts: MessageParts, *, anchor: Anchor | None = None
) -> Closing:
    """Write and stream the message, close the turn, and say so.

    Once the text is there nothing can lose it: what comes after it and breaks is left out.
    """
    state, turn = draft.state, draft.turn
    draft.emit(event("answering", draft.node))
    # A run that goes on in another process begins here.
    await prepare_language(draft.language)
    if parts.is_report:
        # Those have sections of numbers.
        await asyncio.to_thread(lambda: draft.number_form)
    try:
        write = _revised_first if parts.is_report and draft.is_judged_beside else _streamed
        streamed, checked = await write(draft, parts)
    finally:
        if draft.claims is not None:
            draft.claims.stop()
    cited, seconds = checked.used, round(draft.meter.budget.seconds(), 2)
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], draft.node, len(cited), len(draft.gaps), seconds)  # fmt: skip
    in_order = places_as_shown(
        draft.shown_places, cited, checked.text, draft.language, first=parts.order,
        known=draft.known_places, routes=_ways_of_report(draft, parts), stops=draft.joined,
        ruled_out=checked.ruled_out, told=checked.told, settled=checked.settled,
        is_report=parts.is_report,
    )  # fmt: skip
    places = await await_or_else("the places", in_order, lambda: draft.shown_places)
    weather = draft.state.get("weather", [])
    used = partial(
        sources_as_shown, cited, places, draft.language, draft.state.get("routes", []),
        weather=weather, days=days_forecast(turn, weather),
    )  # fmt: skip
    cited = or_else("the records' quotes", used, lambda: cited)
    checked = replace(checked, used=cited)
    cards = await compute(lambda: _cards(draft, parts, checked, places), otherwise=lambda: places)
    centre = readable(anchor if places else None, draft.language, draft.known_places)
    anchor = await await_or_else("the anchor", centre, lambda: None)
    metadata = {
        **or_else("the metadata", lambda: _metadata(draft, parts, checked, seconds), dict),
        **await _records(draft, checked, cards, anchor, is_report=parts.is_report),
    }
    remembered = remember(turn, draft.services, cited, places, draft.texts)
    await await_or_else("what is cited", remembered, lambda: None)
    await await_or_else("the turn's end", draft.services.close_turn(turn["id"]), lambda: None)
    draft.emit(event("done", draft.node, count=len(cited), seconds=seconds))
    metadata[PROGRESS] = or_else("the progress", lambda: progress_of(state, draft.emit), list)
    _tell_end(draft, checked, seconds)
    message = AIMessage(
        content=checked.text, id=streamed.id, name=draft.assistant, additional_kwargs=metadata
    )
    return await _closing(draft, parts, checked, message, places)


def _ways_of_report(draft: Draft, parts: MessageParts) -> Sequence[Route]:
    return draft.state.get("routes", []) if parts.is_report else ()


def _cards(
    draft: Draft, parts: MessageParts, checked: Checked, places: Sequence[Place]
) -> list[Place]:
    """Return the places as the message shows them, in the bullets of its text and below it."""
    cards = on_cards(places, draft.language, is_report=parts.is_report, is_day=bool(parts.order))
    answer = FinishedAnswer(
        question="", answer=checked.text, language=draft.language, generated_at="",
        sources=checked.used, places=cards, outing=parts.metadata.get("outing"),
    )  # fmt: skip
    return told_in_bullets(answer)


async def _streamed(draft: Draft, parts: MessageParts) -> tuple[BaseMessage, Checked]:
    """Return the message as it streamed, and what its check made of it."""
    streamed = await FinishedText(pieces=lambda: _pieces(draft, parts)).ainvoke([])
    return streamed, await _settled(draft, parts, draft.without_withdrawn(str(streamed.text)))


async def _revised_first(draft: Draft, parts: MessageParts) -> tuple[BaseMessage, Checked]:
    """Return the same, which streams after its check; as it was written where that takes long."""
    written = "".join([piece async for piece in _pieces(draft, parts)])
    written = draft.without_withdrawn(written)
    check, late = begin_beside(_settled(draft, parts, written)), begin_beside(draft.late.wait())
    try:
        await asyncio.wait([check, late], return_when=asyncio.FIRST_COMPLETED)
        shown = check.result().text if check.done() else written
        streamed = await FinishedText(pieces=lambda: _lines(shown)).ainvoke([])
        return streamed, await check
    finally:
        check.cancel()
        late.cancel()


async def _lines(text: str) -> AsyncIterator[str]:
    for line in text.splitlines(keepends=True):
        yield line


async def _records(
    draft: Draft,
    checked: Checked,
    places: list[Place],
    anchor: Anchor | None,
    *,
    is_report: bool,
) -> dict[str, Any]:
    """Return what a client gets of the text's sources and the map; of a report's ways the cited."""
    weather = draft.state.get("weather", [])
    forecasts = forecasts_of(weather, draft.turn)
    routes = draft.state.get("routes", [])
    if is_report:
        routes = cited_ways(routes, checked.used)
    ways = ways_of(routes, draft.language, draft.known_places)
    return {
        "sources": checked.used,
        "places": places,
        "anchor": anchor,
        "routes": await await_or_else("the ways", ways, lambda: routes),
        "weather": await await_or_else("the forecasts", forecasts, lambda: weather),
        EXTENT: checked.extent,
    }


async def _closing(
    draft: Draft,
    parts: MessageParts,
    checked: Checked,
    message: AIMessage,
    places: list[Place],
) -> Closing:
    state, question = draft.state, draft.turn["question"]
    cited = checked.used
    shown, anchor = (message.additional_kwargs[key] for key in ("places", "anchor"))

    def features() -> dict[str, Any] | None:
        return feature_collection(shown, anchor=anchor, query=question) if shown else None

    messages = cast(Mapping[str, Any], state).get("messages", [])
    earlier = or_else("earlier answers", lambda: lightened(messages), list[AIMessage])
    numbers = stop_numbers(parts.order) or or_else(
        "its numbers", lambda: list_numbers(places, checked.text), dict[str, tuple[int, str]]
    )
    previous = _carried(draft, parts, cited, places, numbers=numbers, answer=message.id or "")
    return Closing(
        messages=[*earlier, message],
        sources_gathered=replaced(_with_numbers(_gathered(draft, cited), cited)),
        places=replaced(places),
        geojson=or_else("the map", features, lambda: None),
        gaps=draft.gaps[len(state.get("gaps", [])) :],
        usage=draft.meter.usage,
        progress=replaced([]),
        previous=await await_or_else("the next turn's knowledge", previous, lambda: NO_PREVIOUS),
    )


def _tell_end(draft: Draft, checked: Checked, seconds: float) -> None:
    if (step := STEP.get()) is not None:
        codes = [gap["code"] for gap in draft.gaps]
        claims = {name: count for name, count in checked.counts.items() if name not in _NO_VERDICT}
        tell_end(RunEnd(step, "success", seconds, codes, claims))


async def _carried(
    draft: Draft,
    parts: MessageParts,
    cited: Sequence[Source],
    places: Sequence[Place],
    *,
    numbers: Mapping[str, tuple[int, str]],
    answer: str,
) -> Previous:
    """Return what this turn leaves to the next one, with what those before it showed."""
    gathered = _gathered(draft, cited)
    citing = draft.claims.citing if draft.claims else {}
    knowledge = Knowledge(
        cited, gathered, places, parts.notes, draft.texts, citing, parts.located,
        listed=numbers, earlier=draft.earlier,
    )  # fmt: skip
    limit = draft.configuration.max_previous_bytes
    # Long pages are gone through for what bears the answer.
    cited_only = replace(knowledge, gathered=cited, texts={}, notes=(), citing={})
    return await compute(
        lambda: carried(knowledge, draft.turn, answer=answer, limit=limit),
        otherwise=lambda: carried(cited_only, draft.turn, answer=answer, limit=limit),
    )


async def _pieces(draft: Draft, parts: MessageParts) -> AsyncIterator[str]:
    """Yield the whole message, piece by piece, as it will be stored."""
    or_else("the check of claims", draft.begin_check, lambda: None)
    if notice := draft.notice:
        yield notice
    body = ended = ""
    async for piece in parts.body():
        # Line ends wait for what follows them: a list of sources may have stood there.
        text = f"{ended}{piece}".rstrip("\n")
        ended = f"{ended}{piece}"[len(text) :]
        body += text
        if text:
            draft.watch(text)
            yield text
    draft.body = draft.without_withdrawn(body)
    draft.gaps += remarks(draft.meter, draft.language)
    since, found = draft.configuration.search_since, draft.citer.used
    draft.gaps += or_else("undated pages", lambda: undated_gap(found, since, draft.language), list)
    draft.below = await _sections(draft, parts)
    if draft.below:
        yield draft.below
    used = await await_or_else("links", draft.led(draft.citer.used), lambda: draft.citer.used)
    if sources := or_else("the sources", lambda: references(used, draft.language), str):
        yield f"\n\n{sources}"


async def _sections(draft: Draft, parts: MessageParts) -> str:
    """Return what stands below the text: what was preferred, of the assistant, what is missing."""
    state, language, used = draft.state, draft.language, draft.citer.used
    routes, weather = state.get("routes", []), state.get("weather", [])
    # What reaches no day that was asked for is not told.
    weather = forecasts_reaching(days_forecast(draft.turn, weather), weather)

    def note() -> str:
        return reader_note(
            draft.settled_gaps(),
            draft.body,
            language,
            verdict=parts.verdict if used else None,
            unfinished=draft.unfinished,
            marked=draft.said_missing(),
            mapped=draft.mapped,
        )

    sections = [
        preferred_line(draft.turn.get("preferred", {}), language),
        *await compute(parts.sections, otherwise=list[str]),
        await compute(
            lambda: attribution(draft.shown_places, routes, weather, language, cited=used),
            otherwise=str,
        ),
        await compute(note, otherwise=str),
    ]
    return "".join(f"\n\n{section}" for section in sections if section)


async def _settled(draft: Draft, parts: MessageParts, streamed: str) -> Checked:
    """Return the message as it is stored, each citation led to the line of a calculation."""
    checked = await _corrected(draft, parts, streamed)
    if not any(source.get("sums") for source in checked.used):
        return checked
    return await compute(lambda: led_to_lines(checked), otherwise=lambda: checked)


async def _corrected(draft: Draft, parts: MessageParts, streamed: str) -> Checked:
    """Return the message as its check has left it: with its claims checked, links led on."""
    used, language = draft.citer.used, draft.language
    claims = await await_or_else("the check of claims", draft.check(), lambda: None)
    as_written = partial(unchecked, streamed, draft.body, used, language)
    if claims is None:
        return as_written()
    ends = streamed.find(claims.body) + len(claims.body)
    is_new = await compute(lambda: draft.take_up(claims), otherwise=lambda: False)
    if parts.settle(claims.settled) or is_new:
        # What the draft told and the text tells no more stands below it, and the other way round.
        below, after = await _sections(draft, parts), streamed[ends:].removeprefix(draft.below)
        streamed = f"{streamed[:ends]}{below}{after}"
        claims.used[:] = draft.citer.used
    await await_or_else("links", draft.led(claims.used), list[Source])
    targets = {**draft.targets}
    finished = await compute(lambda: claims.finished(streamed, targets), otherwise=as_written)
    return or_else("the label", lambda: draft.conclude(finished), lambda: finished)


def _metadata(
    draft: Draft, parts: MessageParts, checked: Checked, seconds: float
) -> dict[str, Any]:
    """Return what a client gets beside the text, its sources and places apart."""
    state, services = draft.state, draft.services
    usage = services.billed(add_usage(state.get("usage"), draft.meter.usage))
    rejected = len(state.get("places_rejected", []))
    checks: dict[str, Any] = {
        "cited": len(checked.used),
        "unknown_ids_removed": draft.citer.unknown_ids_removed,
        "unverified_figures": checked.missing,
        "claims": checked.counts,
        "statements": checked.statements,
        **({"revision": draft.revision} if draft.revision else {}),
    }
    return {
        "gaps": draft.settled_gaps(),
        "queries": state.get("queries") or [],
        "degraded": draft.degraded,
        **spoken_fields(draft.language),
        "needs": None,
        "search_entry_points": [],
        **parts.metadata,
        "assistant": draft.assistant,
        "mode": services.mode,
        "usage": {**usage, "seconds": seconds},
        "checks": {**checks, **parts.checks, "places_rejected": rejected},
    }


def refuse_if_all_failed(gaps: Sequence[Gap], language: Language) -> None:
    """Raise NothingFound if no source answered: only then an empty answer is not honest."""
    failed = failures(gaps)
    if failed and not answered_empty(gaps):
        raise NothingFound(all_failed(failed, language))


def _gathered(draft: Draft, cited: Iterable[Source]) -> list[Source]:
    """Return the turn's sources, with those of all that was read that are cited."""
    sources = draft.state.get("sources_gathered", [])
    known = {source["id"] for source in sources}
    read = (source for source in cited if source["id"] in draft.read)
    return [*sources, *(source for source in read if source["id"] not in known)]


def _with_numbers(sources: list[Source], used: Sequence[Source]) -> list[Source]:
    """Return the turn's sources, in which the cited sources carry their numbers."""
    cited = {source["id"]: source for source in used}
    return [cited.get(source["id"], source) for source in sources]

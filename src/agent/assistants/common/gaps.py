"""Gaps: what a failure cost a run, and the one line of it that a reader is told."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, KeyRefused
from agent.core.strings import cut_at_break
from agent.evidence.citations import inert
from agent.evidence.grounding import says_not_found
from agent.evidence.language import sentence_spans, words
from agent.evidence.records import forecast_city, map_title, not_reached, reached
from agent.evidence.references import day_of
from agent.evidence.types import Gap, Query, Source, Weather
from agent.mcp.records import REMARKS
from agent.models.catalogue import DEFAULT_THINKING, Role, parse, successor_of
from agent.models.client import ModelClient
from agent.search.hits import LABELS, RULED_OUT, since_text
from agent.search.rules import published_on, today_here
from agent.state import Gathered, Turn
from agent.texts import Language, has_text, is_written_in, reason_of, say

T = TypeVar("T")
S = TypeVar("S", bound=BaseModel)
log = logging.getLogger(__name__)


NOT_LOOKED_UP, STOPPED_EARLY = "not_looked_up", "stopped_early"
TASK_GAPS = frozenset({"task_empty"})
"""Codes of what was found out on one task; each task has its own."""
_FOUND_NOTHING = frozenset({
    "no_results", "map_no_results", "map_place_not_found", "map_not_covered", "map_no_route",
    "map_place_too_wide", "map_wrong_city", "map_cannot", "no_pages", "map_forecast_short",
    *TASK_GAPS,
})  # fmt: skip
_ANSWERED_EMPTY = {
    "no_results", "map_no_results", "map_place_not_found", "map_not_covered", "ungrounded",
    "search_since", "none_to_read", RULED_OUT,
}  # fmt: skip
_FORECAST = "map_forecast_short"
"""Code of a forecast that ends before the days asked for: of what else a text found nothing tells
nothing of it."""
_IN_OWN_WORDS = _FOUND_NOTHING | {
    "search_off", "topics_spent", "not_researched", "notes_lack", "page_partial",
    "answer_unsupported",
    "outing_too_few", "outing_impossible", "search_sites", "search_since", "search_undated",
    "documents_alone", *REMARKS, "no_documents", "none_to_read",
    "attachments_unread", "model_weak", "model_no_tools", NOT_LOOKED_UP, STOPPED_EARLY, RULED_OUT,
}  # fmt: skip
_NO_SOURCE = {
    "no_documents", "attachments_unread", "model_weak", "model_no_tools", STOPPED_EARLY,
}  # fmt: skip
"""Codes of what is told of a run, though nothing was asked in vain."""
_GENERAL = ("limit", "max_searches", "max_map_calls", "web")
"""What a model that has all it needs may leave unsaid; a map that failed is said."""
_SAID_FIRST = {"map_unmet", "map_no_timetables", "map_ambiguous", "map_between"}
"""Codes of what the map cannot do of what was wished, or took for granted: before the text."""
_BY_WRITER = "map_wished"
"""Code of what only who writes the text can say: what of it is met, and what is not."""
_MAP_ASKS = {"map_needs_place"}
"""Codes of a map that was not asked for want of a place."""
_WEB = frozenset({"web", *LABELS})
_TAKEN = "map_taken"
"""Code of what was taken for what was asked: told once, where the answer has records of it."""
_KEPT = (_TAKEN, RULED_OUT)
"""Codes of what is told beside a model's word on what is missing: it knows nothing of them."""
_ALWAYS_SAID = {
    "model_weak", "notes_lack", "outing_too_few", "outing_impossible", *{*REMARKS} - {_TAKEN},
    "no_documents", "none_to_read", "attachments_unread", NOT_LOOKED_UP, STOPPED_EARLY,
}  # fmt: skip
_IN_LINE, _LONGEST_NOTE, _LONGEST_LIST = 2, 360, 600
_SAID, _SAID_THING, _SAID_MISSING = 0.6, 0.3, 0.25
_ENOUGH_WORDS, _LEAST_WORDS, _SHORT_TEXT = 5, 3, 200


def gap_lines(
    gaps: Sequence[Gap], language: Language, *, mapped: bool = True, written: bool = True
) -> str:
    """Return for a model what could not be found out, a line each, with the query it concerns.

    What a run only did otherwise is left out: a model would copy it into its text. `mapped` says
    whether the map brought anything, `written` whether the lines are for who writes the text.
    """
    told = ((gap, _content(gap, language, mapped, written=written)) for gap in gaps)
    lines = (
        words if gap["code"] in _SAID_FIRST else ": ".join(filter(None, (gap["query"], words)))
        for gap, words in told
        if words
    )
    return "\n".join(dict.fromkeys(lines))


def brought_by_map(state: Gathered) -> bool:
    """Return whether the map has answered this turn with any record."""
    return bool(state.get("places") or state.get("routes") or state.get("weather"))


def _content(gap: Gap, language: Language, mapped: bool, *, written: bool) -> str:
    """Return what a gap says of the matter itself; of one of several searches its query counts."""
    # The forecasts themselves say which days they do not reach.
    is_told = gap["code"] == _FORECAST
    if gap["code"].startswith("model_") or is_told:
        return ""
    if gap["code"] in _SAID_FIRST and written:
        return say("missing.said", language, text=inert(gap["message"]))
    if gap["code"] == _BY_WRITER and written:
        return say("missing.wished", language, text=inert(gap["message"]))
    if len(things := gap.get("missing", [])) > 1:
        listed = "".join(f"\n- {inert(thing)}" for thing in things)
        return say("deep_research.gaps.notes_lack", language, missing=listed)
    return gap["message"] if gap["code"] in _FOUND_NOTHING else _note(gap, language, mapped=mapped)


def said_first(gaps: Sequence[Gap], language: Language) -> str:
    """Return in a sentence each what the map could not do or took for granted; else nothing."""
    told = [inert(gap["message"]).rstrip("。. ") for gap in gaps if gap["code"] in _SAID_FIRST]
    sentences = (
        say("answer.first", language, text=text[:1].upper() + text[1:])
        for text in dict.fromkeys(told)
    )
    return say("punctuation.space", language).join(sentences)


def answered_empty(gaps: Sequence[Gap]) -> bool:
    """Return whether a source was asked and had nothing, besides those that failed."""
    return any(gap["code"] in _ANSWERED_EMPTY for gap in gaps)


def failures(gaps: Sequence[Gap]) -> list[Gap]:
    """Return the gaps of what was asked and did not answer; a limit that was reached is none."""
    return [g for g in gaps if not g["code"].startswith("budget_") and g["code"] not in _NO_SOURCE]


def readers_gaps(gaps: Sequence[Gap]) -> list[Gap]:
    """Return the gaps without sources that are not set up: doctor and the log tell of those."""
    return [g for g in gaps if g["code"] != "source_off" or g["provider"] in _WEB]


def with_recovered(
    gaps: Sequence[Gap], queries: Sequence[Query], cited: Sequence[Source], language: Language
) -> list[Gap]:
    """Return the gaps, those marked as recovered that cost the reader of this answer nothing.

    That is one search of several that found nothing, a web without pages on what the map tells, a
    place that only the map does not know: the answer cites a page that tells of it, and what
    concerns places that it does not cite.
    """
    used = {source["id"] for source in cited}
    lost = [gap for gap in gaps if gap["code"].startswith("map_") and gap["code"] not in REMARKS]
    missed = {gap["query"] for gap in lost}
    on_map = {query["query"] for query in queries if query.get("map")} - missed
    answered = on_map if any(source["kind"] == "place" for source in cited) else set()
    one_of_several = say("search.no_results", language) if cited else None
    pages = {source["id"].partition("-")[0] for source in cited if source["kind"] == "page"}
    of_pages = {query["query"] for number, query in enumerate(queries) if f"w{number}" in pages}
    return [
        Gap(**{**gap, "recovered": True})
        if (
            gap["code"] == "no_results"
            and (gap["message"] == one_of_several or gap["query"] in answered)
        )
        or (gap["code"] == "map_place_not_found" and gap["query"] in of_pages)
        or (gap["code"] == RULED_OUT and pages)
        or ("concerns" in gap and used.isdisjoint(gap["concerns"]))
        else gap
        for gap in gaps
    ]


def reader_note(
    gaps: Sequence[Gap],
    text: str,
    language: Language,
    *,
    verdict: str | None = None,
    unfinished: bool = False,
    mapped: bool = True,
    marked: Sequence[str] = (),
) -> str:
    """Return one line on what the reader misses; empty where nothing is or the text says it.

    Search strings, settings and codes are not the reader's: the gaps themselves carry them.
    `marked` are the statements that the text marks as saying what was not found.
    `verdict` is what a model that read all evidence says is missing: "" is nothing. A failure of
    the map is told beside it, with its cause where it brought nothing (not `mapped`).
    """
    said = [*marked, *filter(says_not_found, _sentences(text))]
    untold = [
        gap
        for gap in _untold_things(readers_gaps(gaps), said, language)
        if gap["code"] not in {*_SAID_FIRST, _BY_WRITER}
        and not (said and gap["code"] in _FOUND_NOTHING - TASK_GAPS - {_FORECAST})
        and not (gap["code"] in TASK_GAPS and _is_told(gap["query"], said))
        and not (gap["code"] == _FORECAST and _is_told(gap["message"], said))
        and not (gap["code"] == "notes_lack" and _is_told(gap["message"], said, _SAID))
    ]
    # What the notes lack a writer may state from memory, in the same words; and whoever asked for
    # a day reads that there is none, whatever the text says of the places.
    always = {_note(gap, language) for gap in untold if gap["code"] in _ALWAYS_SAID}
    noted = [(gap, _note(gap, language, mapped=mapped)) for gap in untold]
    notes = dict.fromkeys(note for _, note in noted if note)
    if verdict and is_written_in(verdict, language):
        dead = [note for gap, note in noted if note and (_map_failed(gap) or gap["code"] in _KEPT)]
        is_told = _is_told(verdict, said) or _is_spoken_of(text, verdict)
        own = [] if is_told else [_in_line(verdict)]
        notes = dict.fromkeys([*dead, *own])
    elif verdict == "":
        general = {say(f"missing.{part}", language) for part in _GENERAL}
        notes = dict.fromkeys(note for note in notes if note not in general)
    missing = [note for note in notes if note in always or not _repeats(text, note)]
    missing.sort(key=lambda note: note not in always)
    if unfinished:
        missing.insert(0, say("missing.unfinished", language))
    if not missing:
        return ""
    line = say("punctuation.semicolon", language).join(missing[:_IN_LINE])
    return say("answer.missing", language, text=line)


def taken_sources(gaps: Sequence[Gap]) -> set[str]:
    """Return the sources of what was found by a place that was taken for the one meant."""
    return {name for gap in gaps if gap["code"] == _TAKEN for name in gap.get("concerns", [])}


def _map_failed(gap: Gap) -> bool:
    """Return whether the map itself could not be asked, in whole or in part."""
    return gap["code"].startswith("map_") and gap["code"] not in _IN_OWN_WORDS | _MAP_ASKS


def _note(gap: Gap, language: Language, *, mapped: bool = True) -> str:
    """Return what this gap costs the reader, in words without settings or reasons.

    A map that brought nothing at all (not `mapped`) is told with its cause.
    """
    code, provider = gap["code"], gap["provider"]
    if gap.get("recovered") or gap["message"] == say("search.no_results", language):
        # One of several searches: whoever learns nothing at all reads that instead of an answer.
        return ""
    if things := gap.get("missing", []):
        whole = [inert(thing) for thing in _with_room(things, _LONGEST_LIST)]
        return lacking(whole, language)["message"].rstrip("。. ")
    if code in _IN_OWN_WORDS and gap["message"] != say("search.unsupported", language):
        return _in_line(gap["message"])
    if code.startswith("budget_"):
        limit = f"missing.{code.removeprefix('budget_')}"
        return say(limit if has_text(limit) else "missing.limit", language)
    if provider in _WEB:
        return say("missing.web", language)
    if _map_failed(gap) and not mapped:
        keys = (f"missing.map_causes_of.{provider}.{code}", f"missing.map_causes.{code}")
        key = next(filter(has_text, keys), "missing.map_causes.map_failed")
        cause = say(key, language, map=map_title(provider, language))
        return say("missing.map_dead", language, cause=cause)
    if code.startswith("map_"):
        return say("missing.map", language)
    if has_text(f"plan_execute.sources.{provider}"):
        source = say(f"plan_execute.sources.{provider}", language)
        return say("missing.source", language, source=source)
    return ""


def _with_room(things: Sequence[str], longest: int) -> list[str]:
    """Return the things, each whole, that have room in so many characters: one at least."""
    kept = list[str]()
    for thing in things:
        longest -= len(thing)
        if not kept or longest >= 0:
            kept.append(thing)
    return kept


def _in_line(text: str) -> str:
    return cut_at_break(inert(text), _LONGEST_NOTE).rstrip("。. ")


def lacking(things: Sequence[str], language: Language) -> Gap:
    """Return the gap of things that all notes lack, each of which a text may tell by itself."""
    missing = say("punctuation.semicolon", language).join(things)
    gap = run_gap("deep_research.notes_lack", language, missing=missing)
    return Gap(**{**gap, "missing": [*things]})


def _untold_things(gaps: Sequence[Gap], said: Sequence[str], language: Language) -> Iterator[Gap]:
    """Yield the gaps, without the things that a text tells at their place."""
    for gap in gaps:
        things = gap.get("missing", [])
        left = [thing for thing in things if not _is_said(thing, said)]
        if left == things:
            yield gap
        elif left:
            yield lacking(left, language)


def _is_told(missing: str, said: Sequence[str], share: float = _SAID_MISSING) -> bool:
    """Return True if one of what is said not to be found tells of the same thing.

    `share` of the words of what is missing have to stand in it, and two where it has as many.
    """
    about = words(missing)
    least = max(min(2, len(about)), share * len(about))
    return bool(about) and any(len(about & words(one)) >= least for one in said)


def _is_said(thing: str, said: Sequence[str]) -> bool:
    """Return whether one of what is said not to be found tells of a thing, each in its own words.

    Some of the words of the shorter one have to stand in both: a sentence may list several things,
    and a thing may say more than its sentence.
    """
    about = words(thing)
    for one in said:
        told = words(one)
        least = max(min(2, len(about)), _SAID_THING * min(len(about), len(told)))
        if about and len(about & told) >= least:
            return True
    return False


def _is_spoken_of(text: str, verdict: str) -> bool:
    """Return whether a short answer has the figures and most words of what is said to be missing.

    Its reader has the matter before them: the line below would say it again in other words.
    """
    about, said = words(verdict), words(text)
    if len(said) > _SHORT_TEXT or not {w for w in about if w.isdigit()} <= said:
        return False
    return len(about & said) >= max(_ENOUGH_WORDS, _SAID * len(about))


def _repeats(text: str, note: str) -> bool:
    """Return True if most words of the note stand in a paragraph; of a short one, in a sentence.

    A report of a thousand words has most words of any note somewhere.
    """
    about = words(note)
    parts = text.split("\n\n") if len(about) >= _ENOUGH_WORDS else _sentences(text)
    most = max(_LEAST_WORDS, _SAID * len(about))
    return any(len(about & words(part)) >= most for part in parts)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def gap_of(query: str, error: AgentError, part: str, language: Language) -> Gap:
    """Return the error of one part of a run as a gap; its own text goes to the log."""
    log.info("%s failed: %s (%s)", part, error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", part),
        code=error.code,
        message=say(f"gaps.{part}", language, reason=reason_of(error, language)),
    )


def run_gap(
    key: str, language: Language, *, query: str = "", provider: str = "", **values: object
) -> Gap:
    """Return what a run did not do, or did otherwise: `plan_execute.task_empty` and its values.

    The provider is the assistant that the key begins with, unless another one is named.
    """
    assistant, _, code = key.partition(".")
    message = say(f"{assistant}.gaps.{code}", language, **values)
    return Gap(query=query, provider=provider or assistant, code=code, message=message)


def stopped_early(language: Language) -> Gap:
    """Return that somebody wanted the answer of what was found so far."""
    message = say("answer.stopped_early", language)
    return Gap(query="", provider="run", code=STOPPED_EARLY, message=message)


def with_early_stop(gaps: Sequence[Gap], language: Language) -> list[Gap]:
    """Return the gaps of a run that was to answer at once: what it no longer did follows."""
    others = [g for g in gaps if not g["code"].startswith("budget_")]
    stop = stopped_early(language)
    return [*(g for g in others if g != stop), stop]


def forecast_gaps(weather: Sequence[Weather], days: Sequence[str], language: Language) -> list[Gap]:
    """Return the gap of each forecast that reaches none of the days that were asked for."""
    return [
        Gap(query=forecast_city(each, language), provider=each["id"].partition(":")[0],
            code=_FORECAST, message=not_reached(each, language, days))
        for each in weather if days and not reached(each, days)
    ]  # fmt: skip


def undated_gap(used: Sequence[Source], since: str, language: Language) -> list[Gap]:
    """Return the gap of cited pages whose date nobody knows, where it matters; else none."""
    if not since:
        return []
    pages = [source for source in used if source["kind"] == "page"]
    if all(day_of(page) or published_on(page.get("published"), today_here()) for page in pages):
        return []
    message = say("search.search_undated", language, since=since_text(since, language))
    return [Gap(query="", provider="web", code="search_undated", message=message)]


def model_gaps(turn: Turn) -> list[Gap]:
    """Return the note that the chosen model is retired, where its successor answers for it."""
    if not (chosen := turn["reasoning_model"]):
        return []
    named = parse(chosen)
    if (name := successor_of(named)) == named:
        return []
    message = say("gaps.model_retired", turn["language"], model=named.id, successor=name.id)
    return [Gap(query="", provider="model", code="model_retired", message=message, recovered=True)]


_REMARKS = {"model_weak": 2, "model_no_tools": 1}
"""How often a run must see something of its models before it says so."""


def remarks(meter: Meter, language: Language) -> list[Gap]:
    """Return what the run has to say of its models as a whole, each once."""
    counts = meter.budget.remarks
    return [
        Gap(query="", provider="model", code=code, message=say(f"gaps.{code}", language))
        for code, least in _REMARKS.items()
        if counts[code] >= least
    ]


async def ask_or_gap(
    asking: Awaitable[T], turn: Turn, part: str, gap: Callable[[str], Gap] | None = None
) -> tuple[T | None, list[Gap]]:
    """Return a model's reply; where it fails, None and the gap that says what that costs.

    `gap` makes one of the reason; the default is `gap_of` the part. A setting that cannot work
    raises ConfigurationError: the next call would fail as well. So does a key that is refused at
    the first call.
    """
    try:
        return await asking, []
    except ConfigurationError:
        raise
    except AgentError as error:
        language = turn["language"]
        if isinstance(error, KeyRefused) and error.at_once:
            # Servers tell the asker what a run failed with as it was raised.
            problem = say("faults.key_refused", language)
            raise ConfigurationError(error.variable, problem, fault="key_refused") from error
        log.warning("turn=%s %s: %s", turn["id"], part, error)
        if isinstance(error, BudgetExceeded) and not error.value:
            reason = reason_of(error, language)
            return None, [Gap(query="", provider=part, code=error.code, message=reason)]
        if gap is None:
            return None, [gap_of("", error, part, language)]
        return None, [gap(reason_of(error, language))]


async def parsed_or_gap(
    models: ModelClient,
    model: str,
    prompt: Sequence[BaseMessage],
    schema: type[S],
    *,
    meter: Meter,
    turn: Turn,
    part: str,
    failed: str = "",
    thinks: Role = "query",
    **values: str,
) -> tuple[S | None, list[Gap]]:
    """Return what a model replies in the form of a schema, as hard as a role `thinks`.

    Where it fails, None and the gap: that of the key `failed` with its values, else `gap_of` the
    part. See `ask_or_gap` for what it raises.
    """
    asking = models.ask(
        model, prompt, meter=meter, schema=schema, thinking=DEFAULT_THINKING[thinks]
    )

    def gap(reason: str) -> Gap:
        return run_gap(failed, turn["language"], reason=reason, **values)

    reply, gaps = await ask_or_gap(asking, turn, part, gap if failed else None)
    return (reply.parsed if reply else None), gaps

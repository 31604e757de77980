"""Write the answer with numbered citations, and everything a client shows beside it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.answer_text import write_or_quote, written_early
from agent.assistants.common.conversation import conversation
from agent.assistants.common.draft import Draft
from agent.assistants.common.excerpts import excerpt_lines, sentences_by_id, sentences_of
from agent.assistants.common.gaps import NOT_LOOKED_UP, brought_by_map, gap_lines
from agent.assistants.common.listed_places import found_lines
from agent.assistants.common.previous import NO_PREVIOUS, planned_before, shown_lines
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.shown_records import days_forecast, forecast_lines
from agent.assistants.common.steering import new_wishes, wished, with_wishes
from agent.assistants.common.turn import Share, now_there, share_spent, words_of_user
from agent.assistants.common.writer import MessageParts, refuse_if_all_failed, write_message
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit
from agent.evidence.feasts import shared_feast
from agent.evidence.grounding import says_not_found
from agent.evidence.mentions import day_ends, mentioned, places_of
from agent.evidence.ordering import grouped_lines, none_known_to_fit
from agent.evidence.outing.text import (
    day_lines,
    outing_lines,
    outing_remarks,
    outing_section,
    settle,
)
from agent.evidence.records import (
    one_a_city,
    place_facts,
    route_text,
    weather_text,
    with_weekday,
)
from agent.evidence.references import findings_of
from agent.evidence.types import Anchor, Gap, Outing, Place
from agent.evidence.unsearched import asks, needs_word
from agent.models.streaming import EarlyReply
from agent.models.types import ModelAnswer
from agent.prompts import task_prompt
from agent.state import OverallState, Update, answer_language, reader_language
from agent.texts import say

NODE = "finalize_answer"
ASSISTANT = "agent"
_LEFT_FOR_RESEARCH = Share(kept_calls=8, tokens=0.5, seconds=0.5)
"""Of a run's limits, for more rounds after an answer that was begun too early."""
_ISO_DATE = len("2026-12-06")
_WAY_ON_TOKENS, _LONGEST_WAY_ON = 200, 500


async def finalize_answer(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Write the answer from the evidence; raise NothingFound where every source failed."""
    wishes = await new_wishes(state, get_services(), runtime.stream_writer, NODE)
    state = wished(state, wishes)
    # Its open questions may be answered by a page that the answer cites.
    outing = Outing(**planned) if (planned := state.get("outing")) else None
    draft = Draft(
        state,
        runtime.context or Configuration(),
        get_services(),
        runtime.stream_writer,
        node=NODE,
        assistant=ASSISTANT,
        known=_told_by_code(state),
    )
    # Who judges a count knows of what it is one.
    draft.known = [*draft.known, *filter(None, [_found(draft, state)])]
    if _was_searched(state) and not _has_evidence(draft, state):
        refuse_if_all_failed(draft.gaps, draft.language)
    parts = MessageParts(
        body=lambda: _body(draft, state),
        sections=lambda: [
            *_outing_section(draft, outing),
            *draft.record_sections(),
        ],
        metadata={
            "needs": state.get("needs"),
            "next_questions": state.get("next_questions", []),
            "search_entry_points": state.get("search_entry_points", []),
            "outing": outing,
        },
        verdict=_verdict(state),
        notes=state.get("web_research_result", []),
        order=places_of(outing),
        settle=lambda settled: outing is not None and settle(outing, settled),
    )
    anchor = _day_starts(outing) or next(iter(state.get("anchors", [])), None)
    closing = await write_message(draft, parts, anchor=anchor)
    if outing:
        closing["previous"]["outing"] = outing
    return cast(Update, {**closing, "wishes": wishes})


def _day_starts(outing: Outing | None) -> Anchor | None:
    """Return the named place where a planned day begins: its stops lie around that."""
    start, _ = day_ends(outing)
    return Anchor(name=start["name"], wgs84=start["wgs84"]) if start else None


def early_answer(
    state: OverallState,
    configuration: Configuration,
    services: Services,
    emit: Emit,
    meter: Meter,
) -> AbstractAsyncContextManager[EarlyReply | None]:
    """Hold the answer as it may be begun while reflection reads the same findings.

    None where it may not, or where something may still come between: a planned day, another search
    in place of one that brought nothing, or for places of which one is known to fit.
    """
    spent = share_spent(_LEFT_FOR_RESEARCH, state.get("usage"), configuration, meter)
    between = "outing" in state["turn"] or bool(state.get("gaps"))
    if not configuration.early_answer or between or spent:
        return nullcontext()
    draft = Draft(state, configuration, services, emit, node=NODE, assistant=ASSISTANT)
    if not _has_evidence(draft, state) or none_known_to_fit(draft.places):
        return nullcontext()
    return written_early(draft, _prompt(draft, state), meter)


def _told_by_code(state: OverallState) -> list[str]:
    """Return what code itself says of the matter: the planned day, and what could not be had.

    The day is the one that was planned last, where no other is now.
    """
    outing, language = state.get("outing"), reader_language(state["turn"])
    before = planned_before(state.get("previous") or NO_PREVIOUS, language)
    told = [day_lines(outing, language), outing_remarks(outing, language)] if outing else [before]
    gaps, mapped = state.get("gaps", []), brought_by_map(state)
    return [*told, gap_lines(gaps, language, mapped=mapped, written=False)]


def _outing_section(draft: Draft, outing: Outing | None) -> list[str]:
    return [draft.cited(outing_section(outing, draft.language))] if outing else []


def _verdict(state: OverallState) -> str | None:
    """Return what reflection says is missing, "" where enough is there; None without its word."""
    return "" if state.get("is_sufficient") else state.get("knowledge_gap") or None


def _was_searched(state: OverallState) -> bool:
    """Return whether anything was looked up: not for thanks, nor where the user is asked first."""
    return bool(state.get("queries")) and not state.get("needs")


def _findings(state: OverallState) -> list[str]:
    return [*state.get("web_research_result", []), *state.get("amap_research_result", [])]


def _has_evidence(draft: Draft, state: OverallState) -> bool:
    return bool(_findings(state) or draft.places or draft.previous["sources"])


async def _body(draft: Draft, state: OverallState) -> AsyncIterator[str]:
    if needs := state.get("needs"):
        yield draft.by_code(say(f"answer.needs_{needs}", draft.language))
    elif reply := draft.turn.get("reply"):
        # Thanks state nothing that could be judged.
        yield draft.by_code(reply)
        if asks(draft.turn["question"]):
            draft.gaps.append(_not_looked_up(draft))
    elif _was_searched(state) and not _has_evidence(draft, state):
        tried = [query["query"] for query in state["queries"]]
        has_to_end = draft.is_ruled_out or draft.configuration.answer_now
        way_on = "" if has_to_end else await _way_on(draft, state)
        yield way_on or draft.nothing_found(tried)
    else:
        prompt = _prompt(draft, state)
        async for piece in write_or_quote(
            draft,
            prompt,
            lambda: _material(draft, state),
            part="answer",
            must_cite=lambda text: _must_cite(text, draft, state),
        ):
            yield piece
        if _is_from_memory(draft, state):
            draft.gaps.append(_not_looked_up(draft))


async def _way_on(draft: Draft, state: OverallState) -> str:
    """Return what a model says where nothing was found: that, and what the person can do.

    It has no material, so it may state no fact: a text with figures of its own, with citations, or
    that does not begin with what was not found, is not taken. Empty where no model says it.
    """
    try:
        reply: ModelAnswer[BaseModel] = await draft.services.models.ask(
            draft.model, _prompt(draft, state), meter=draft.meter, text_tokens=_WAY_ON_TOKENS
        )
    except AgentError:
        return ""
    # What is not taken is counted nowhere.
    citer = draft.citer.beside()
    text = citer.feed(reply.message.text.strip()) + citer.flush()
    first = next(iter(sentences_of(text)), "")
    refuses = citer.not_found or says_not_found(first)
    figures = _figures(text) - _figures(draft.turn["question"])
    is_fact = citer.used or citer.unknown_ids_removed or figures
    too_long = len(text) > _LONGEST_WAY_ON
    return "" if is_fact or too_long or not refuses else draft.by_code(text)


def _figures(text: str) -> set[str]:
    return {*"".join(char if char.isdigit() else " " for char in text).split()}


def _is_from_memory(draft: Draft, state: OverallState) -> bool:
    """Return whether nothing was looked up for a text that may state facts, and that cites none."""
    planned = state.get("outing")
    rests = _was_searched(state) or draft.citer.used or draft.quoted or planned
    return not rests and needs_word(draft.turn["question"], draft.written)


def _not_looked_up(draft: Draft) -> Gap:
    message = say("answer.not_looked_up", draft.language)
    return Gap(query="", provider=ASSISTANT, code=NOT_LOOKED_UP, message=message)


def _must_cite(text: str, draft: Draft, state: OverallState) -> bool:
    """Return whether a text without citations needs some: not thanks, a sum, or "not found".

    Places that it names get their citations afterwards.
    """
    first = next(iter(sentences_of(text)), "")
    if not _was_searched(state) or says_not_found(first):
        return False
    return not mentioned(draft.places, text)


def _prompt(draft: Draft, state: OverallState) -> list[BaseMessage]:
    language, previous = draft.language, draft.earlier
    share = draft.configuration.context_token_limit // 10
    found, gathered = state.get("web_research_result", []), state.get("sources_gathered", [])
    findings, sources = findings_of(gathered, found, cited=True)
    values = {
        "today": _today(draft, state),
        "conversation": conversation(state["messages"], previous["sources"]),
        "asked_as": words_of_user(draft.turn),
        "question": draft.turn["question"],
        "findings": findings,
        "sources": sources,
        "places": _place_lines(draft, state),
        "routes": draft.way_lines(),
        "weather": forecast_lines(draft.turn, state.get("weather", []), language),
        "outing": outing_lines(outing, language) if (outing := state.get("outing")) else "",
        "gaps": gap_lines(draft.gaps, language, mapped=draft.mapped),
        "previous_sources": previous_lines(previous, share, draft.turn["question"]),
        "planned_day": "" if state.get("outing") else planned_before(previous, language),
        "previous_places": shown_lines(previous, _again(draft.listed), language, share),
        "about_places": "yes" if _is_about_places(draft, state) else "",
    }
    prompt = task_prompt("answer", answer_language(draft.turn), **values)
    return with_wishes(prompt, state)


def _today(draft: Draft, state: OverallState) -> str:
    """Return the time there, and the day that is asked about: it may be a feast."""
    now, day = now_there(draft.turn, draft.places, state), draft.turn.get("day")
    told = now
    if day and not now.startswith(day):
        named = with_weekday(day, draft.language)
        told = say("records.day_meant", draft.language, now=now, day=named)
    is_feast = shared_feast(draft.places, day or now[:_ISO_DATE])
    return say("records.feast", draft.language, day=told) if is_feast else told


def _is_about_places(draft: Draft, state: OverallState) -> bool:
    """Return whether the answer may list places: of the map, of a plan, or asked for by demands."""
    mapped = any(query["map"] for query in state.get("queries", []))
    known = draft.places or draft.previous["places"] or state.get("routes")
    return bool(mapped or known or state.get("outing") or draft.turn.get("constraints"))


def _again(places: Sequence[Place]) -> dict[str, str]:
    """Return the sources of the places that the prompt shows as found now, by the places' ids."""
    return {place["id"]: place["source"] for place in places}


def _place_lines(draft: Draft, state: OverallState) -> str:
    """Return the places that are listed, below of how many they are some."""
    found = _found(draft, state)
    order = draft.turn.get("constraints", {}).get("sort_by")
    return "\n".join(filter(None, [found, grouped_lines(draft.listed, draft.language, order)]))


def _found(draft: Draft, state: OverallState) -> str:
    """Return of how many places the listed ones are some."""
    return found_lines(state.get("map_searched", []), draft.listed, draft.language)


def _material(draft: Draft, state: OverallState) -> str:
    """Return the evidence itself, for when no model can write: records, and what pages say."""
    language, lines = draft.language, list[str]()
    for place in draft.listed:
        lines.append(f"{place_facts(place, language).replace(' | ', ' · ')} [^{place['source']}]")
    for route in {route["id"]: route for route in state.get("routes", [])}.values():
        lines.append(f"{route_text(route, language)} [^{route['source']}]")
    for forecast in one_a_city(state.get("weather", [])):
        days = days_forecast(draft.turn, [forecast])
        lines.append(f"{weather_text(forecast, language, days)} [^{forecast['source']}]")
    titles = {source["id"]: f"{source['title']}: " for source in state.get("sources_gathered", [])}
    found = {
        name: [sentence.removeprefix(titles.get(name, "")) for sentence in said]
        for name, said in sentences_by_id(state.get("web_research_result", [])).items()
    }
    quoted = excerpt_lines(found, draft.turn["question"], language)
    return "\n".join([*(f"- {line}" for line in lines), *quoted])

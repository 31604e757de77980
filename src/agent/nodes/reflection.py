"""Judge web and map results together and ask for what is missing."""

import logging

from langgraph.runtime import Runtime

from agent.assistants.common.conversation import conversation
from agent.assistants.common.forms import Reflection, ReflectionOnDay, WebReflection
from agent.assistants.common.gaps import answered_empty, ask_or_gap, brought_by_map, gap_lines
from agent.assistants.common.listed_places import listed_places, said_by_pages
from agent.assistants.common.map_tasks import plan_queries
from agent.assistants.common.previous import NO_PREVIOUS, shown_lines
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.question import question_as_query
from agent.assistants.common.services import GetServices
from agent.assistants.common.shown_records import distinct_places, forecast_lines, ways_said
from agent.assistants.common.steering import dropped, new_wishes, wished, with_wishes
from agent.assistants.common.turn import now_there, open_meter, words_of_user
from agent.configuration import Configuration
from agent.core.budget import Meter, no_usage
from agent.core.faults import await_or_else
from agent.core.progress import event
from agent.core.strings import one_line
from agent.evidence.ordering import grouped_lines, judged
from agent.evidence.queries import drop_seen, same_search
from agent.evidence.records import route_lines
from agent.evidence.references import findings_of
from agent.evidence.types import Query
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.client import ModelClient
from agent.models.streaming import EarlyReply
from agent.nodes.finalize_answer import early_answer
from agent.nodes.named_places import complete_places, spent, with_update
from agent.nodes.routing import left_by_map
from agent.prompts import task_prompt
from agent.state import OverallState, PlannedQuery, Turn, Update, answer_language, reader_language
from agent.texts.languages import may_be

log = logging.getLogger(__name__)
NODE = "reflection"
_SHOWN_ANSWER = 600
"""Characters of the last answer: the question stands alone already."""
_PREVIOUS_SHARE = 20
"""The part of a prompt (one in …) for what the last turn knew."""
_LEAST_MAP_CALLS = 2
_MOST_NEXT, _LONGEST_NEXT = 3, 90


async def reflection(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Count the round; ask the model only where its verdict can change what happens next."""
    services, configuration = get_services(), runtime.context or Configuration()
    turn, finished = state["turn"], state.get("research_loop_count", 0) + 1
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = wished(state, wishes)
    completing = complete_places(state, runtime, services)
    found = await await_or_else("what pages name", completing, Update)
    state = with_update(state, found)
    unjudged = Update(
        research_loop_count=finished,
        is_sufficient=None,
        knowledge_gap=_still_missing(state, finished),
        follow_up_queries=[],
        number_of_ran_queries=len(state.get("queries", [])),
        wishes=wishes,
    )
    unjudged = Update(**{**unjudged, **found})
    if queries := left_by_map(state, configuration) or _the_question(state, configuration):
        return _in_this_round(unjudged, queries, finished)
    # A new wish is worth one round beyond those that were planned.
    if (finished >= turn["loops"] and not wishes) or not _can_search(state, configuration):
        return unjudged
    meter = open_meter(turn, configuration, services, spent=state.get("usage"))
    async with early_answer(state, configuration, services, runtime.stream_writer, meter) as early:
        asking = _verdict(state, configuration, services.models, meter, early)
        verdict, gaps = await ask_or_gap(asking, turn, NODE)
        follow_ups = _new_queries(state, verdict, configuration) if verdict else []
        if early and not follow_ups:
            early.keep()
    if verdict is None:
        runtime.stream_writer(event("gap", NODE, text=gaps[0]["message"]))
        return Update(**{**unjudged, "gaps": gaps, "usage": spent(found, meter)})
    log.info("turn=%s %s %d: sufficient=%s, %d follow-ups",
             turn["id"], NODE, finished, verdict.is_sufficient, len(follow_ups))  # fmt: skip
    runtime.stream_writer(event("reflection", NODE, text=_missing(verdict), count=len(follow_ups)))
    judged_now = Update(
        is_sufficient=verdict.is_sufficient,
        knowledge_gap=verdict.knowledge_gap,
        follow_up_queries=follow_ups,
        next_questions=_next_questions(verdict, turn, follow_ups),
        chosen_stops=_chosen_stops(verdict),
        search_query=[query["query"] for query in follow_ups],
        queries=[PlannedQuery(**q, round=finished + 1) for q in follow_ups],
        usage=spent(found, meter),
    )
    return Update(**{**unjudged, **judged_now})


def _still_missing(state: OverallState, finished: int) -> str:
    """Return what the last verdict missed, where the round that was to bring it brought nothing."""
    prefixes = {source["id"].partition("-")[0] for source in state.get("sources_gathered", [])}
    rounds = [query["round"] for query in state.get("queries", [])]
    branches = {f"{kind}{n}" for n, of in enumerate(rounds) if of == finished for kind in "wad"}
    return "" if branches & prefixes else state.get("knowledge_gap", "")


def _the_question(state: OverallState, configuration: Configuration) -> list[Query]:
    """Return the question itself where nothing at all was found for other queries than it.

    A weak model writes queries that have nothing to do with it; where the sources failed, the
    question would find no more.
    """
    turn, asked = state["turn"], state.get("queries", [])
    found = state.get("sources_gathered") or not answered_empty(state.get("gaps", []))
    if found or not _can_search(state, configuration):
        return []
    own = question_as_query(turn, configuration)
    return [] if any(same_search(own["query"], one["query"]) for one in asked) else [own]


def _in_this_round(unjudged: Update, queries: list[Query], finished: int) -> Update:
    """Return the same round, not counted yet, with these queries besides."""
    return Update(
        **{
            **unjudged,
            "research_loop_count": finished - 1,
            "follow_up_queries": queries,
            "queries": [PlannedQuery(**query, round=finished) for query in queries],
        }
    )


def _map_calls_left(state: OverallState, configuration: Configuration) -> int:
    """Return the calls that are left for follow-ups; 0 where they are too few for any task."""
    spent = state.get("usage") or no_usage()
    left = configuration.max_map_calls - spent["map_calls"]
    return left if left >= _LEAST_MAP_CALLS else 0


def _may_ask_map(state: OverallState, configuration: Configuration) -> bool:
    """Return whether a further search may ask the map: it helped with this question, or may.

    Who read the question told that. Nobody pays for its form where it does not help.
    """
    previous = state.get("previous") or NO_PREVIOUS
    is_asked = any(query["map"] for query in state.get("queries", []))
    is_on = configuration.geo_routing != "never" and _map_calls_left(state, configuration) > 0
    return is_on and (is_asked or bool(previous["places"]))


def _can_search(state: OverallState, configuration: Configuration) -> bool:
    """Return whether a follow-up could find anything within what is left of the limits."""
    spent = state.get("usage") or no_usage()
    web = configuration.web_search != "off" and spent["searches"] < configuration.max_searches
    maps = configuration.geo_routing != "never" and _map_calls_left(state, configuration) > 0
    inside = state["turn"].get("own_only", False) or configuration.answer_now
    return bool(configuration.max_follow_up_queries) and not inside and (web or maps)


def _missing(verdict: Reflection) -> str:
    """Return what the verdict says is missing; empty only where it says that enough was found."""
    return "" if verdict.is_sufficient else verdict.knowledge_gap or "–"


async def _verdict(
    state: OverallState,
    configuration: Configuration,
    models: ModelClient,
    meter: Meter,
    early: EarlyReply | None,
) -> Reflection:
    """Return the model's verdict; the answer is begun once it is asked for."""
    turn = state["turn"]
    prompt = task_prompt("reflection", answer_language(turn), **_material(state, configuration))
    is_day, maps = "outing" in turn, _may_ask_map(state, configuration)
    reply = await models.ask(
        turn["reasoning_model"] or configuration.reflection_model,
        with_wishes(prompt, state),
        meter=meter,
        schema=ReflectionOnDay if is_day else Reflection if maps else WebReflection,
        thinking=DEFAULT_THINKING["reflection"],
        when_sent=early.begin if early else None,
    )
    assert reply.parsed is not None
    return reply.parsed


def _material(state: OverallState, configuration: Configuration) -> dict[str, str]:
    """Return what the verdict is over: the web's findings and the map's own records."""
    turn = state["turn"]
    language = reader_language(turn)
    previous = state.get("previous") or NO_PREVIOUS
    places = judged(distinct_places(state.get("places", [])), turn.get("constraints", {}), language)
    share = configuration.context_token_limit // _PREVIOUS_SHARE
    gathered, found = state.get("sources_gathered", []), state.get("web_research_result", [])
    findings, sources = findings_of(gathered, found, cited=False)
    places = listed_places(places, said_by_pages(gathered, [turn["question"], *found]))
    again = {place["id"]: place["source"] for place in places}
    return {
        "today": now_there(turn, places, state),
        "conversation": conversation(state["messages"], previous["sources"], longest=_SHOWN_ANSWER),
        "asked_as": words_of_user(turn),
        "question": turn["question"],
        "asked": "\n".join(dict.fromkeys(q["query"] for q in state.get("queries", []))),
        "previous_sources": previous_lines(previous, share, turn["question"], brief=True),
        "previous_places": shown_lines(previous, again, language, share, brief=True),
        "findings": findings,
        "sources": sources,
        "places": grouped_lines(places, language, turn.get("constraints", {}).get("sort_by")),
        "routes": route_lines(ways_said(state.get("routes", []), places, language), language),
        "weather": forecast_lines(turn, state.get("weather", []), language),
        "gaps": gap_lines(state.get("gaps", []), language, mapped=brought_by_map(state)),
        "map_calls_left": str(_map_calls_left(state, configuration))
        if _may_ask_map(state, configuration)
        else "",
        "limit": str(configuration.max_follow_up_queries),
    }


def _chosen_stops(verdict: Reflection) -> list[str]:
    """Return the ids that were chosen for a day.

    They hold while something better is looked for: after the last round nobody is asked again.
    """
    if not isinstance(verdict, ReflectionOnDay):
        return []
    return [name.strip("[^] ") for name in verdict.stops]


def _next_questions(verdict: Reflection, turn: Turn, asked: list[Query]) -> list[str]:
    """Return what the reader could ask next: a few short questions, none of which was asked.

    In the script of the answer: a model writes some in English.
    After the last round nobody is asked for them again.
    """
    lines = (one_line(text, longest=_LONGEST_NEXT + 1) for text in verdict.next_questions)
    language = reader_language(turn)
    short = [line for line in lines if may_be(language, line) and 0 < len(line) <= _LONGEST_NEXT]
    new = drop_seen(
        [Query(query=line, map=None) for line in short],
        [Query(query=turn["question"], map=None), *asked],
    )
    return [query["query"] for query in new[:_MOST_NEXT]]


def _new_queries(
    state: OverallState, verdict: Reflection, configuration: Configuration
) -> list[Query]:
    """Return the follow-ups that ask something new, as many as allowed; none where it suffices."""
    if verdict.is_sufficient:
        return []
    if verdict.knowledge_gap and same_search(verdict.knowledge_gap, state.get("knowledge_gap", "")):
        return []
    earlier = state.get("queries", [])
    dropping = state.get("wishes", [])
    written = [
        w for w in verdict.follow_up_queries if w.query.strip() and not dropped(dropping, w.query)
    ]
    near = state["turn"]["near"]
    searched = state.get("map_searched", [])
    reader = reader_language(state["turn"])
    planned = plan_queries(
        written, configuration, near, reader=reader, searched=searched,
        asked=f"{words_of_user(state['turn'])}\n{state['turn']['question']}",
    )  # fmt: skip
    if not _map_calls_left(state, configuration):
        planned = [Query(query=query["query"], map=None) for query in planned]
    return drop_seen(planned, earlier)[: configuration.max_follow_up_queries]

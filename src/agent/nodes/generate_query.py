"""Open the turn, rewrite the question so that it stands alone, and write its queries."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import conversation
from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.own_documents import readable_collections
from agent.assistants.common.previous import opened_previous, previous_lines, previous_of
from agent.assistants.common.review import waiting
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import (
    in_china,
    lacking,
    open_meter,
    open_turn,
    refuse_without_thread,
)
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage
from agent.core.errors import AgentError
from agent.core.progress import event
from agent.evidence.constraints import constraints_by_rules, keeps_subject, valid_constraints
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import asks_only_the_way, extract_place
from agent.evidence.queries import clean_text, drop_seen, is_visible, shares_nothing
from agent.evidence.records import place_lines
from agent.evidence.types import Constraints, Gap, Query
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.client import ModelClient
from agent.nodes.routing import lost_place, map_task, plan_queries
from agent.prompts import task_prompt
from agent.state import (
    Needs,
    OverallState,
    PlannedQuery,
    Previous,
    SearchQueryList,
    Turn,
    Update,
    WrittenQuery,
    new_turn,
    replaced,
)
from agent.texts import prepare, say
from agent.texts.languages import TAG, language_name, language_of_setting, may_be

log = logging.getLogger(__name__)
NODE = "generate_query"
_LONGEST_QUESTION = 1000
_LONGEST_QUERY = 400
_LONGEST_REPLY = 300
_DISTRICT_SECONDS = 5
_PREVIOUS_SHARE = 20
"""The part of a prompt (one in …) for what the last turn knew: the answer's has the double."""


@dataclass(frozen=True)
class _Plan:
    """Hold the plan of a turn; `question` is empty where no model rewrote it."""

    queries: list[Query]
    question: str = ""
    language: str = ""
    """A tag, in the model's word."""
    reply: str = ""
    """All there is to say to thanks or a greeting."""
    constraints: Constraints | None = None
    """What a model read of them; None where none did."""
    needs: Needs | None = None
    is_read: bool = False
    """A model has read the question; else rules do."""
    gaps: list[Gap] = field(default_factory=list)


async def generate_query(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Open the turn and plan its first round; a failing model leaves the user's own words."""
    services = get_services()
    configuration = runtime.context or Configuration()
    refuse_without_thread(configuration)
    turn = await open_turn(state, configuration, services, runtime)
    previous = opened_previous(previous_of(state), turn)
    readable = await readable_collections(state, configuration, services, runtime, turn=turn)
    opened = new_turn()
    opened["turn"], opened["previous"] = turn, previous
    opened["owner"], opened["readable"] = readable.owner, readable.names
    opened["gaps"] = replaced(readable.gaps)
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    if turn.get("replans"):
        return opened
    meter = open_meter(turn, configuration, services, spent=None)
    position = await _position(turn, configuration, services, meter)
    prompt = _prompt(state["messages"], turn, previous, position, configuration)
    answered = bool(previous["sources"])
    plan = await _write(prompt, turn, configuration, services.models, meter, answered=answered)
    needs = plan.needs if plan.is_read else lacking(turn, previous, configuration)
    turn = _with_plan(turn, plan, previous.get("constraints", Constraints()), configuration)
    await prepare(turn["language"])
    queries = [] if needs else plan.queries
    if queries:
        text = "\n".join(query["query"] for query in queries)
        runtime.stream_writer(event("queries", NODE, text=text, count=len(queries)))
    log.info("turn=%s %s: %d queries, %d for the map",
             turn["id"], NODE, len(queries), sum(bool(q["map"]) for q in queries))  # fmt: skip
    turn = waiting(turn, configuration, services, "agent") if queries else turn
    opened["turn"], opened["needs"] = turn, needs
    opened["gaps"] = replaced([*readable.gaps, *plan.gaps])
    opened["usage"] = Usage(**meter.usage, first=True)
    opened.update(_first_round(queries))
    return opened


def _first_round(queries: list[Query]) -> Update:
    return Update(
        query_list=queries,
        search_query=replaced([query["query"] for query in queries]),
        queries=replaced([PlannedQuery(**query, round=1) for query in queries]),
    )


def _prompt(
    messages: Sequence[AnyMessage],
    turn: Turn,
    previous: Previous,
    position: str,
    configuration: Configuration,
) -> list[BaseMessage]:
    language, share = turn["language"], configuration.context_token_limit // _PREVIOUS_SHARE
    values = {
        "today": turn.get("now", turn["today"]),
        "count": str(turn["count"]),
        "conversation": conversation(messages, previous["sources"]),
        "previous_sources": previous_lines(previous, share, turn["question"]),
        "previous_places": place_lines(previous["places"], language),
        "user_location": position,
        "question": turn["question"],
    }
    return task_prompt("generate_query", **values)


async def _position(
    turn: Turn, configuration: Configuration, services: Services, meter: Meter
) -> str:
    """Return where the user is, with the district where the map knows it in time."""
    near, language = turn["near"], turn["language"]
    if near is None:
        return ""
    district = ""
    if configuration.geo_routing != "never":
        try:
            async with asyncio.timeout(_DISTRICT_SECONDS):
                district = await services.maps.district(near, language, meter=meter)
        except (AgentError, TimeoutError) as error:
            log.info("turn=%s %s: no district: %s", turn["id"], NODE, error or "too slow")
    key = "records.position_in" if district else "records.position"
    return say(key, language, district=district, **near)


async def _write(
    messages: list[BaseMessage],
    turn: Turn,
    configuration: Configuration,
    models: ModelClient,
    meter: Meter,
    *,
    answered: bool,
) -> _Plan:
    """Return the plan of a model; `answered` says that an earlier turn may have answered it."""
    asking = models.ask(
        configuration.query_generator_model,
        messages,
        meter=meter,
        schema=SearchQueryList,
        thinking=DEFAULT_THINKING["query"],
    )
    reply, gaps = await ask_or_gap(asking, turn, NODE)
    if reply is None:
        return _Plan(_own_words(turn, configuration), gaps=gaps)
    assert reply.parsed is not None
    written = [w for w in reply.parsed.query if is_visible(w.query)][: turn["count"]]
    material, tag = _material(messages), reply.parsed.language
    written = [w for w in written if not shares_nothing(w.query, material, tag)]
    queries = drop_seen(plan_queries(written, configuration, turn["near"]), [])
    may_skip = answered or not reply.parsed.needs_search
    if not queries and (reply.parsed.query or not may_skip):
        queries = _own_words(turn, configuration)
    stated = reply.parsed.constraints
    constraints = valid_constraints(stated.model_dump()) if stated else Constraints()
    said = "" if queries or constraints else clean_text(reply.parsed.reply, _LONGEST_REPLY)
    return _Plan(
        queries=queries,
        reply=said,
        question=clean_text(reply.parsed.question, _LONGEST_QUESTION),
        language=tag if TAG.fullmatch(tag) and may_be(tag, turn["question"]) else "",
        constraints=constraints,
        needs=_needs(reply.parsed, written, queries, configuration, turn),
        is_read=True,
    )


def _needs(
    parsed: SearchQueryList,
    written: Sequence[WrittenQuery],
    queries: Sequence[Query],
    configuration: Configuration,
    turn: Turn,
) -> Needs | None:
    """Return what the user has to say first, in the model's word; whose position is known, nothing.

    A map task without a place is a question for the place, too.
    """
    if lost_place(written, queries, configuration, turn["near"]):
        return "place"
    if turn["near"] or configuration.geo_routing == "never" or parsed.needs not in get_args(Needs):
        return None
    return cast(Needs, parsed.needs)


def _material(messages: Sequence[BaseMessage]) -> str:
    """Return what the model was shown to write queries for, without our tags and short values."""
    lines = messages[-1].text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("<"))


def _with_plan(turn: Turn, plan: _Plan, earlier: Constraints, configuration: Configuration) -> Turn:
    """Return the turn with its question as it stands alone, and what a place has to meet."""
    question = plan.question or turn["question"]
    constraints = plan.constraints
    if constraints is None:
        constraints = _constraints_by_rules(turn["question"], earlier)
    planned = Turn(**{**turn, "question": question, "constraints": constraints})
    if plan.reply:
        planned["reply"] = plan.reply
    if plan.language and configuration.answer_language == "auto":
        planned["answer_language"] = language_name(plan.language)
        planned["language"] = language_of_setting(plan.language, question)
    if plan.is_read and any(query["map"] for query in plan.queries):
        return in_china(planned)
    return planned


def _constraints_by_rules(words: str, earlier: Constraints) -> Constraints:
    """Return what plain words demand, where no model read them; a follow-up keeps the rest."""
    carried = keeps_subject(words) or extract_place(words) is None
    return Constraints(**{**(earlier if carried else {}), **constraints_by_rules(words)})


def _own_words(turn: Turn, configuration: Configuration) -> list[Query]:
    question = turn["question"][:_LONGEST_QUERY]
    if configuration.geo_routing == "llm":
        configuration = configuration.model_copy(update={"geo_routing": "rules"})
    task = map_task(question, None, configuration)
    if task and not task.get("place") and parse_lnglat(question) is None and not turn["near"]:
        task = task if task.get("city") or task.get("destination") else None
    query = Query(query=question, map=task)
    if task and asks_only_the_way(question):
        query["web"] = False
    return [query]

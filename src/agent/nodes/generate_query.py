"""Open the turn, rewrite the question so that it stands alone, and write its queries."""

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import conversation
from agent.assistants.common.forms import SearchQueryList
from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.own_documents import documents_asked_for, readable_collections
from agent.assistants.common.preferences import person_of, with_preferences
from agent.assistants.common.previous import planned_before, shown_lines
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.question import Asked, FirstQueryList, asked, asked_by_rules, turn_of
from agent.assistants.common.remembered import begun_previous
from agent.assistants.common.review_plan import waiting
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import (
    clocks_told,
    in_china,
    open_meter,
    open_turn,
    refuse_without_thread,
)
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage
from agent.core.errors import AgentError
from agent.core.progress import event
from agent.evidence.types import Gap
from agent.models.client import ModelClient
from agent.nodes.reviewed_queries import taken
from agent.prompts import task_prompt
from agent.runs.person import Person
from agent.state import OverallState, Previous, Turn, Update, new_turn, replaced
from agent.texts import prepare_language, say

log = logging.getLogger(__name__)
NODE = "generate_query"
_DISTRICT_SECONDS = 5
_PREVIOUS_SHARE = 20
"""The part of a prompt (one in …) for what the last turn knew: the answer's has the double."""


async def generate_query(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Open the turn and plan its first round; a failing model leaves the user's own words."""
    services = get_services()
    configuration = runtime.context or Configuration()
    refuse_without_thread(configuration)
    turn = await open_turn(state, configuration, services, runtime)
    previous = await begun_previous(state, turn, services, runtime, last_only=True)
    readable = await readable_collections(state, configuration, services, runtime, turn=turn)
    opened = new_turn()
    opened["turn"], opened["previous"] = turn, previous
    opened["owner"] = readable.owner
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, services, spent=None)
    position = await _position(turn, configuration, services, meter)
    person = await person_of(readable.owner, services, configuration)
    prompt = _prompt(state["messages"], turn, previous, position, configuration)
    prompt = with_preferences(prompt, person)
    read, gaps = await _read(
        prompt, turn, previous, configuration, person=person, models=services.models, meter=meter
    )
    turn = turn_of(turn, read, configuration)
    asks = "only" if read.only_own_documents else ""
    readable, turn, lacking = await documents_asked_for(
        state, configuration, services, runtime, turn=turn, readable=readable, asks=asks
    )
    gaps = [*gaps, *lacking]
    tasks = [query["map"] for query in read.queries if query["map"]]
    if read.by_model and any((task.get("country") or "cn") == "cn" for task in tasks):
        turn = in_china(turn)
    await prepare_language(turn["language"])
    queries = [] if read.needs else read.queries
    log.info("turn=%s %s: %d queries, %d for the map",
             turn["id"], NODE, len(queries), sum(bool(q["map"]) for q in queries))  # fmt: skip
    turn = waiting(turn, configuration, services, "agent") if queries else turn
    opened["turn"], opened["needs"] = turn, read.needs
    opened["readable"] = readable.names
    opened["gaps"] = replaced([*readable.gaps, *gaps])
    opened["usage"] = Usage(**meter.usage, first=True)
    opened.update(taken(queries, runtime.stream_writer, NODE))
    return opened


def _prompt(
    messages: Sequence[AnyMessage],
    turn: Turn,
    previous: Previous,
    position: str,
    configuration: Configuration,
) -> list[BaseMessage]:
    language, share = turn["language"], configuration.context_token_limit // _PREVIOUS_SHARE
    values = {
        "today": clocks_told(turn),
        "count": str(turn["count"]),
        "conversation": conversation(messages, previous["sources"]),
        "previous_sources": previous_lines(previous, share, turn["question"], brief=True),
        "previous_places": shown_lines(previous, {}, language, share, brief=True),
        "planned_day": planned_before(previous, language),
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
    if configuration.geo_routing != "never" and configuration.sources != "own":
        try:
            async with asyncio.timeout(_DISTRICT_SECONDS):
                district = await services.maps.district(near, language, meter=meter)
        except (AgentError, TimeoutError) as error:
            log.info("turn=%s %s: no district: %s", turn["id"], NODE, error or "too slow")
    key = "records.position_in" if district else "records.position"
    return say(key, language, district=district, **near)


async def _read(
    messages: list[BaseMessage],
    turn: Turn,
    previous: Previous,
    configuration: Configuration,
    *,
    person: Person,
    models: ModelClient,
    meter: Meter,
) -> tuple[Asked, list[Gap]]:
    """Return what a model read of the question; by rules where it gave no reply."""
    is_first = not (previous["places"] or previous.get("outing"))
    schema = FirstQueryList if is_first else SearchQueryList
    model = configuration.query_generator_model
    read, gaps = await parsed_or_gap(
        models, model, messages, schema, meter=meter, turn=turn, part=NODE
    )
    if read is None:
        return asked_by_rules(turn, previous, configuration), gaps
    material = _material(messages)
    return asked(read, material, turn, previous, configuration, person=person), []


def _material(messages: Sequence[BaseMessage]) -> str:
    """Return what the model was shown to write queries for, without our tags and short values."""
    lines = messages[-1].text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("<"))

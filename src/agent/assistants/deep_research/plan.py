"""Open the turn with an empty archive, the first node, and plan the topics it looks into."""

import logging
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.conversation import conversation
from agent.assistants.common.document_tools import listed_documents
from agent.assistants.common.forms import NamesLanguage, Words
from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.own_documents import (
    AsksForDocuments,
    Readable,
    documents_asked_for,
    readable_collections,
)
from agent.assistants.common.preferences import (
    UsesPreferences,
    person_of,
    preferring,
    with_preferences,
)
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.remembered import begun_previous
from agent.assistants.common.review_plan import waiting
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import dropped
from agent.assistants.common.turn import (
    Share,
    context_limit,
    in_read_language,
    meter_of,
    open_turn,
    own_limit,
    refuse_without_thread,
    share_spent,
    with_room,
)
from agent.assistants.common.whole_documents import read_documents_whole
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    PlannedTopic,
    TopicStatus,
    configuration_of,
    new_research,
)
from agent.assistants.deep_research.tools import same_topic
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage, no_usage
from agent.core.progress import Emit, event
from agent.core.strings import cut_at_break, cut_to_tokens
from agent.evidence.queries import clean_text
from agent.evidence.records import with_weekday
from agent.evidence.types import Constraints, Gap
from agent.knowledge.types import Scope
from agent.prompts import Raw, element, task_prompt
from agent.runs.person import NOBODY, Person
from agent.runs.run_log import Wish
from agent.state import Turn, answer_language, replaced
from agent.texts import Language, say

log = logging.getLogger(__name__)
NODE = "begin"


async def begin(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> DeepUpdate:
    """Open the turn and plan it; without a plan the model names its topics one by one."""
    services, configuration = get_services(), configuration_of(runtime)
    refuse_without_thread(configuration)
    abandoned = _abandoned_messages(state)
    gone = {message.id for message in abandoned}
    messages = [message for message in state["messages"] if message.id not in gone]
    thread = cast(DeepState, {**state, "messages": messages})
    turn = await open_turn(thread, configuration, services, runtime)
    turn = await with_room(turn, configuration, services)
    previous = await begun_previous(thread, turn, services, runtime)
    readable = await readable_collections(state, configuration, services, runtime, turn=turn)
    opened = new_research()
    opened["turn"] = waiting(turn, configuration, services, "deep_research")
    opened["previous"] = previous
    opened["conversation"] = conversation(messages, previous["sources"])
    opened["owner"] = readable.owner
    opened["base"] = len(messages)
    opened["messages"] = cast(
        list[AnyMessage], [RemoveMessage(id=message.id or "") for message in abandoned]
    )
    opened["topic"] = ""
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    log.info("turn=%s %s: %d characters asked", turn["id"], NODE, len(turn["question"]))
    meter = meter_of(opened, configuration, services)
    titles = await _titles(readable, services, turn["language"])
    person = await person_of(readable.owner, services, configuration)
    planned, gaps = await planned_topics(
        opened, configuration, services, meter, titles, person=person
    )
    opened["plan"] = with_topics([], planned.topics, configuration.max_topics)
    opened["turn"] = await in_read_language(opened["turn"], planned.language, configuration)
    if planned.map is not None:
        opened["turn"] = Turn(**{**opened["turn"], "map_helps": planned.map})
    if planned.on_wheels:
        opened["turn"]["constraints"] = Constraints(suits=["wheelchair"])
    readable, opened["turn"], lacking = await documents_asked_for(
        state,
        configuration,
        services,
        runtime,
        turn=preferring(opened["turn"], planned.preferred, person),
        readable=readable,
        asks=planned.asks(turn["question"], opened["conversation"]),
    )
    opened["readable"] = readable.names
    if opened["turn"].get("own_only"):
        opened["own_whole"] = await _has_room(readable, configuration, services, turn)
    opened["gaps"] = replaced([*readable.gaps, *gaps, *lacking])
    opened["usage"] = Usage(**meter.usage, first=True)
    tell_topics(opened["plan"], runtime.stream_writer, NODE)
    return opened


def _abandoned_messages(state: DeepState) -> list[AnyMessage]:
    """Return the messages of a question that was given up, in a thread of an earlier version."""
    if not state.get("exploring"):
        return []
    nudges = {say("deep_research.nudge", "zh"), say("deep_research.nudge", "en")}
    return [
        message
        for message in state["messages"][state["base"] :]
        if not isinstance(message, HumanMessage) or str(message.text) in nudges
    ]


async def _titles(readable: Readable, services: Services, language: Language) -> str:
    """Return the titles of the own documents that are to be read, for the planner."""
    if not readable.names:
        return ""
    scope = Scope(tuple(readable.names), readable.owner)
    return await listed_documents(scope, services, language)


async def _has_room(
    readable: Readable, configuration: Configuration, services: Services, turn: Turn
) -> bool:
    """Return whether the writer has room for all of these documents."""
    if not readable.names:
        return False
    scope, limit = Scope(tuple(readable.names), readable.owner), own_limit(turn, configuration)
    whole = await read_documents_whole(scope, services, turn["language"], tokens=limit)
    return bool(whole.read) and not whole.unread


MAX_NAME, MAX_WANTED, _LONGEST_WANTED = 120, 300, 1200
_LEFT_TO_OTHERS = Share(4, 0.7, 0.6)
"""Nothing is planned where little more than the report could be paid."""


class TopicToPlan(BaseModel):
    """One topic of a research."""

    name: Words = Field(description="A few words that make sense alone.")
    what_to_find: Words = Field("", description="The facts the answer needs of it.")


class TopicPlan(NamesLanguage, AsksForDocuments, UsesPreferences):
    """The topics to look into, in their order."""

    topics: list[TopicToPlan] = Field(description="At least one, at most <limit>.")
    map: bool | None = Field(
        None, description="Whether places, ways or weather have to be looked up on a map."
    )
    on_wheels: bool | None = Field(
        None, description="Whether somebody comes in a wheelchair or with a pram."
    )


async def planned_topics(
    opened: DeepState,
    configuration: Configuration,
    services: Services,
    meter: Meter,
    titles: str = "",
    *,
    person: Person = NOBODY,
) -> tuple[TopicPlan, list[Gap]]:
    """Ask the model for a plan; none where it fails, as topics are then named one by one.

    `titles` are those of own documents.
    """
    if share_spent(_LEFT_TO_OTHERS, no_usage(), configuration, meter):
        return TopicPlan(topics=[]), []
    turn = opened["turn"]
    limit = context_limit(turn, configuration)
    values = {
        "today": with_weekday(turn["today"], "en"),
        "conversation": cut_to_tokens(opened["conversation"], limit // 10),
        "previous": previous_lines(
            opened["previous"], limit // 10, turn["question"], places_in=turn["language"]
        ),
        "collections": cut_to_tokens(titles, limit // 10),
        "limit": str(configuration.max_topics),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    prompt = with_preferences(task_prompt("deep_plan", answer_language(turn), **values), person)
    planned, gaps = await parsed_or_gap(
        services.models, configuration.query_generator_model, prompt, TopicPlan,
        meter=meter, turn=turn, part=NODE, failed="deep_research.plan_failed",
    )  # fmt: skip
    gaps = [Gap(**{**gap, "recovered": True}) for gap in gaps]
    return planned or TopicPlan(topics=[]), gaps


def tell_topics(plan: Sequence[PlannedTopic], emit: Emit, node: str) -> None:
    """Emit the plan as people read it."""
    if plan:
        lines = [f"{topic['id']} {topic['name']}" for topic in plan]
        emit(event("tasks", node, text="\n".join(lines), count=len(plan)))


def with_topics(
    plan: Sequence[PlannedTopic], topics: Sequence[TopicToPlan], most: int
) -> list[PlannedTopic]:
    """Return the plan with more topics, each named once, at most `most` in all."""
    longer = list(plan)
    for topic in topics:
        name = clean_text(topic.name, MAX_NAME)
        if name and not topic_named(longer, name) and len(left_in(longer)) < most:
            wanted = clean_text(topic.what_to_find, _LONGEST_WANTED)
            wanted = cut_at_break(wanted, MAX_WANTED)
            longer.append(
                PlannedTopic(
                    id=f"T{len(longer) + 1}", name=name, what_to_find=wanted, status="planned"
                )
            )
    return longer


def topic_named(plan: Sequence[PlannedTopic], name: str) -> PlannedTopic | None:
    """Return the topic of this name or id."""
    return next((t for t in plan if same_topic(name, t["name"]) or name == t["id"]), None)


def left_in(plan: Sequence[PlannedTopic]) -> list[PlannedTopic]:
    """Return the topics that were not dropped."""
    return [topic for topic in plan if topic["status"] != "dropped"]


def next_planned(plan: Sequence[PlannedTopic]) -> PlannedTopic | None:
    """Return the first topic that nobody has looked into yet."""
    return next((topic for topic in plan if topic["status"] == "planned"), None)


def with_status(plan: Sequence[PlannedTopic], name: str, status: TopicStatus) -> list[PlannedTopic]:
    """Return the plan with the status of one topic changed."""
    topic = topic_named(plan, name)
    return [
        cast(PlannedTopic, {**each, "status": status}) if each is topic else each for each in plan
    ]


def without(plan: Sequence[PlannedTopic] | None, wishes: Sequence[Wish]) -> list[PlannedTopic]:
    """Return the plan with the topics marked that are not wanted any more; done ones stay so."""
    return [
        cast(PlannedTopic, {**topic, "status": "dropped"})
        if topic["status"] != "done"
        and dropped(wishes, topic["name"], topic["id"], topic["id"].removeprefix("T"))
        else topic
        for topic in plan or []
    ]


def begun(plan: Sequence[PlannedTopic], name: str) -> list[PlannedTopic]:
    """Return the plan with this topic under way, at its end where it was not planned."""
    longer = list(plan)
    if plan and not topic_named(plan, name):
        longer = with_topics(plan, [TopicToPlan(name=name)], len(plan) + 1)
    return with_status(longer, name, "active")


def plan_elements(plan: Sequence[PlannedTopic], tokens: int) -> str:
    """Return the plan as a model reads it."""
    rows: list[Any] = [
        element("planned", topic["what_to_find"], id=topic["id"], name=topic["name"],
                status=topic["status"])
        for topic in plan
    ]  # fmt: skip
    text = "\n".join(rows)
    return Raw(text) if cut_to_tokens(text, tokens) == text else Raw("\n".join(
        element("planned", "", id=t["id"], name=t["name"], status=t["status"]) for t in plan
    ))  # fmt: skip

"""Show the topics to a person before anything is searched, and go on with those they want."""

import logging
from collections.abc import Sequence
from typing import Any, Literal, NotRequired, cast

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agent.assistants.common.review import (
    NODE,
    WEB_CALL,
    Calls,
    Size,
    answer_lines,
    answer_schema,
    await_answer,
    check_waiting,
    checked_object,
    checked_text,
    continued,
    estimate,
    plan_shares,
    searched_by_google,
    write_stop,
)
from agent.assistants.common.services import GetServices, Services
from agent.assistants.deep_research.explore import topic_name
from agent.assistants.deep_research.plan import MAX_NAME, MAX_WANTED, tell_topics, topic_named
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    PlannedTopic,
    configuration_of,
)
from agent.assistants.deep_research.tools import offers_maps
from agent.assistants.deep_research.write_report import ASSISTANT
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.state import Estimate, PlanReview, Reviewed

log = logging.getLogger(__name__)
_EXPLORED = (Size(4000, 600), Size(10_000, 1500))
_COMPRESSED = (Size(3000, 800), Size(20_000, 2500))
_WRITTEN = (Size(5000, 2000), Size(30_000, 6000))


class ReviewedTopic(TypedDict):
    """A topic as a person wants it."""

    name: str
    what_to_find: NotRequired[str]
    id: NotRequired[str]


class ReviewedTopics(Reviewed, total=False):
    """The answer to a review of `deep_research`."""

    topics: list[ReviewedTopic]
    """1 to `max_topics`, in the order in which they are looked into."""


_MAP_CALLS = 5
"""Of a topic, where the question is about places."""
_SCHEMA = answer_schema(ReviewedTopics)
_FIELDS = frozenset(ReviewedTopic.__annotations__)


def after_begin(state: DeepState) -> Literal["review_plan", "explore"]:
    """Route to a person first, where that is wanted."""
    return "review_plan" if "paused_at" in state["turn"] else "explore"


def after_review(state: DeepState) -> Literal["explore", "__end__"]:
    """Route to the research, unless the plan was not wanted."""
    return "__end__" if state.get("cancelled") else "explore"


def read_topics(answer: Any, limit: int) -> list[PlannedTopic]:
    """Return the topics of an answer as `T1`…, none if cancelled; raise InputError naming a field.

    Their order is the person's.
    """
    topics: list[PlannedTopic] = []
    for place, line in enumerate(answer_lines(answer, "topics", limit)):
        topic = _topic(line, f"topics[{place}]", number=place + 1)
        if topic_named(topics, topic["name"]):
            raise InputError(f"topics[{place}].name", "is there twice")
        topics.append(topic)
    return topics


def _topic(value: Any, where: str, *, number: int) -> PlannedTopic:
    fields = checked_object({"name": value} if isinstance(value, str) else value, where, _FIELDS)
    name = checked_text(fields.get("name"), f"{where}.name", MAX_NAME)
    goal = fields.get("what_to_find") or ""
    if goal:
        goal = checked_text(goal, f"{where}.what_to_find", MAX_WANTED)
    return PlannedTopic(id=f"T{number}", name=name, what_to_find=goal, status="planned")


async def review_plan(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> DeepUpdate:
    """Pause the run until the topics are answered; pause again where the answer is invalid."""
    check_waiting(state["turn"], ASSISTANT)
    services, configuration = get_services(), configuration_of(runtime)
    planned, emit = _shown(state), runtime.stream_writer

    def estimate_of(topics: Sequence[Any]) -> Estimate:
        return _estimate(topics, state, configuration, services)

    review = PlanReview(
        topics=planned,
        most=configuration.max_topics,
        estimate=estimate_of(planned),
        shares=plan_shares(planned, {}, estimate_of),
    )
    topics = await_answer(
        review,
        "topics",
        lambda answer: read_topics(answer, configuration.max_topics),
        _SCHEMA,
        state["turn"]["language"],
    )
    turn = continued(state["turn"], services)
    log.info("turn=%s %s: %d topics", turn["id"], NODE, len(topics))
    if not topics:
        stopped = cast(DeepState, {**state, "turn": turn})
        closing = await write_stop(stopped, configuration, services, emit, assistant=ASSISTANT)
        ended = {"turn": turn, "cancelled": True, "exploring": False, "plan": []}
        return cast(DeepUpdate, {**closing, **ended})
    tell_topics(topics, emit, NODE)
    return DeepUpdate(turn=turn, plan=topics)


def _shown(state: DeepState) -> list[dict[str, Any]]:
    """Return the plan as it may come back; the question itself where no model planned it."""
    topics = [
        {"id": each["id"], "name": each["name"], "what_to_find": each["what_to_find"]}
        for each in state.get("plan", [])
    ]
    return topics or [{"id": "T1", "name": topic_name(state), "what_to_find": ""}]


def _estimate(
    topics: Sequence[Any], state: DeepState, configuration: Configuration, services: Services
) -> Estimate:
    model = state["turn"]["reasoning_model"] or configuration.answer_model
    calls = planned_calls(len(topics), configuration, model)
    return estimate(
        calls, state["turn"], configuration, services, state.get("usage"),
        searches=2 * len(topics),
        map_calls=_MAP_CALLS * len(topics) if offers_maps(state, configuration) else 0,
    )  # fmt: skip


def planned_calls(count: int, configuration: Configuration, model: str) -> list[Calls]:
    """Return the calls of so many topics: their exploration and notes, then the report."""
    rounds = configuration.max_exploration_rounds
    web = (2 * count, 5 * count) if searched_by_google(configuration) else (0, 0)
    explored = (min(2 * count, rounds), min(4 * count + 2, rounds))
    return [
        Calls(configuration.research_model, _EXPLORED, explored),
        Calls(configuration.research_model, WEB_CALL, web),
        Calls(configuration.reflection_model, _COMPRESSED, (count, count)),
        Calls(model, _WRITTEN, (1, 1)),
    ]

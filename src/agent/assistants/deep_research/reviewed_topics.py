"""The topics as a person reviews them before anything is searched."""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from agent.assistants.common.plan_cost import (
    AT_ONCE,
    WEB_CALL,
    CallSizes,
    PlanCost,
    Size,
    searched_by_google,
    written_in_rounds,
)
from agent.assistants.common.review_plan import (
    NODE,
    PlanKind,
    checked_object,
    checked_text,
    review_step,
)
from agent.assistants.common.services import Services
from agent.assistants.common.turn import answer_model
from agent.assistants.deep_research.explore import topic_name
from agent.assistants.deep_research.plan import MAX_NAME, MAX_WANTED, tell_topics, topic_named
from agent.assistants.deep_research.state import (
    DeepConfiguration,
    DeepState,
    DeepUpdate,
    PlannedTopic,
)
from agent.assistants.deep_research.tools import offers_maps
from agent.assistants.deep_research.write_report import ASSISTANT
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.core.progress import Emit
from agent.state import Reviewed

_LED = (Size(4000, 300), Size(15_000, 800))
_FOUND = (Size(2500, 200), Size(8000, 800))
_WRITTEN = (Size(8000, 700), Size(20_000, 2500))
_PER_TOPIC = (0, 8000)
"""Tokens of passages that the draft is shown of each topic."""


class ReviewedTopic(TypedDict):
    """A topic as a person wants it."""

    name: str
    what_to_find: NotRequired[str]
    id: NotRequired[str]


class ReviewedTopics(Reviewed, total=False):
    """The answer to a review of `deep_research`."""

    topics: list[ReviewedTopic]
    """1 to `max_topics`, in the order in which they are looked into."""


_SEARCHES, _MAP_CALLS = 3, 5
"""Of a topic: two queries and what is open after them; where the question is about places."""
_FIELDS = frozenset(ReviewedTopic.__annotations__)


def after_begin(state: DeepState) -> Literal["review_plan", "explore", "__end__"]:
    """Route to a person first, where that is wanted; then to the research."""
    return review_step(state) or "explore"


def _read(
    lines: Sequence[Any], state: DeepState, configuration: DeepConfiguration
) -> list[PlannedTopic]:
    """Return the topics as `T1`…, in the person's order."""
    topics: list[PlannedTopic] = []
    for place, line in enumerate(lines):
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


def _shown(state: DeepState) -> list[dict[str, Any]]:
    """Return the plan as it may come back; the question itself where no model planned it."""
    topics = [
        {"id": each["id"], "name": each["name"], "what_to_find": each["what_to_find"]}
        for each in state.get("plan", [])
    ]
    return topics or [{"id": "T1", "name": topic_name(state), "what_to_find": ""}]


def _cost(
    topics: Sequence[Any], state: DeepState, configuration: DeepConfiguration, services: Services
) -> PlanCost:
    model = answer_model(state["turn"], configuration)
    return PlanCost(
        planned_calls(len(topics), configuration, model),
        searches=_SEARCHES * len(topics) + 1,
        map_calls=_MAP_CALLS * len(topics) if offers_maps(state, configuration) else 0,
    )


def planned_calls(count: int, configuration: Configuration, model: str) -> list[CallSizes]:
    """Return the calls of so many topics: the lead's and its explorers', then the report's.

    A report is written, checked, revised, and what is new in it checked again.
    """
    rounds = configuration.max_exploration_rounds
    web = (2 * count, 5 * count) if searched_by_google(configuration) else (0, 0)
    written = [
        size.with_input(each * count) for size, each in zip(_WRITTEN, _PER_TOPIC, strict=True)
    ]
    led = (min(count, rounds), min(2 * count + 3, rounds))
    return [
        CallSizes(configuration.lead_model or model, _LED, led),
        CallSizes(configuration.research_model, WEB_CALL, web, AT_ONCE),
        CallSizes(configuration.research_model, _FOUND, (count, 2 * count), AT_ONCE),
        *written_in_rounds((written[0], written[1]), configuration, model),
    ]


def _taken(topics: list[PlannedTopic], emit: Emit) -> DeepUpdate:
    tell_topics(topics, emit, NODE)
    return DeepUpdate(plan=topics)


TOPICS = PlanKind(
    assistant=ASSISTANT,
    part="topics",
    answer=ReviewedTopics,
    configuration=DeepConfiguration,
    most=lambda configuration: configuration.max_topics,
    shown=_shown,
    read=_read,
    cost=_cost,
    own={},
    taken=_taken,
    stopped={"exploring": False, "plan": []},
)

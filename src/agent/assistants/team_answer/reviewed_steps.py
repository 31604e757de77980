"""The steps as a person reviews them before anybody searches."""

from collections.abc import Sequence
from typing import Any, Literal

from agent.assistants.common.plan_cost import (
    AT_ONCE,
    WEB_CALL,
    CallSizes,
    PlanCost,
    Size,
    searched_by_google,
)
from agent.assistants.common.review_plan import NODE, PlanKind, checked_text, review_step
from agent.assistants.common.services import Services
from agent.assistants.common.turn import answer_model
from agent.assistants.team_answer.analyze import MAX_ASKED, MAX_STEPS
from agent.assistants.team_answer.format_answer import ASSISTANT
from agent.assistants.team_answer.state import TeamConfiguration, TeamState, TeamUpdate, TraceEntry
from agent.assistants.team_answer.tools import wants_map
from agent.configuration import Configuration
from agent.core.progress import Emit, event
from agent.state import Reviewed

_SPOKEN = (Size(2500, 500), Size(8000, 1500))
"""One call of a speaker."""
_SETTLED = (Size(3000, 700), Size(8000, 2000))
"""Only where the verifier's verdict cannot be taken as it is."""
_JUDGED = (Size(1200, 100), Size(4000, 400))


class ReviewedSteps(Reviewed, total=False):
    """The answer to a review of `team_answer`."""

    steps: list[str]
    """1 to 6 questions that lead to the answer, in order."""


_MAP_CALLS = 4
"""Of a question about places or ways."""


def after_decompose(state: TeamState) -> Literal["review_plan", "group_chat", "__end__"]:
    """Route to a person first, where that is wanted; then to the discussion."""
    return review_step(state) or "group_chat"


def _read(lines: Sequence[Any], state: TeamState, configuration: Configuration) -> list[str]:
    return [checked_text(line, f"steps[{place}]", MAX_ASKED) for place, line in enumerate(lines)]


def _cost(
    steps: Sequence[str], state: TeamState, configuration: Configuration, services: Services
) -> PlanCost:
    model = answer_model(state["turn"], configuration)
    return PlanCost(
        planned_calls(len(steps), configuration, model),
        searches=len(steps) + 1,
        map_calls=_MAP_CALLS if wants_map(state, configuration) else 0,
    )


def planned_calls(count: int, configuration: Configuration, model: str) -> list[CallSizes]:
    """Return the calls of so many steps: a researcher's and the verifier's turns, with lookups."""
    web = (count + 1, 3 * count + 2) if searched_by_google(configuration) else (0, 0)
    return [
        CallSizes(configuration.research_model, _SPOKEN, (count, 4 + 2 * count)),
        CallSizes(configuration.reflection_model, _SPOKEN, (1, 4 + count)),
        CallSizes(configuration.research_model, WEB_CALL, web, AT_ONCE),
        CallSizes(model, _SETTLED, (0, 1)),
        CallSizes(configuration.judge_model or model, _JUDGED, (1, 3)),
    ]


def _taken(steps: list[str], emit: Emit) -> TeamUpdate:
    text = "\n".join(steps)
    emit(event("sub_questions", NODE, text=text, count=len(steps)))
    return TeamUpdate(sub_questions=steps, reasoning_trace=[TraceEntry(step=NODE, text=text)])


STEPS = PlanKind(
    assistant=ASSISTANT,
    part="steps",
    answer=ReviewedSteps,
    configuration=TeamConfiguration,
    most=lambda configuration: MAX_STEPS,
    shown=lambda state: state["sub_questions"],
    read=_read,
    cost=_cost,
    own="",
    taken=_taken,
    stopped={},
    metadata={"final_answer": "", "answered": False, "outcome": None, "verified": False},
)

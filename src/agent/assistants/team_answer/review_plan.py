"""Show the steps to a person before anybody searches, and go on with those they want."""

import logging
from collections.abc import Sequence
from typing import Any, Literal, cast

from langgraph.runtime import Runtime

from agent.assistants.common.review import (
    NODE,
    WEB_CALL,
    Calls,
    Size,
    answer_lines,
    answer_schema,
    await_answer,
    check_waiting,
    checked_text,
    continued,
    estimate,
    plan_shares,
    searched_by_google,
    write_stop,
)
from agent.assistants.common.services import GetServices, Services
from agent.assistants.team_answer.analyze import MAX_ASKED, MAX_STEPS
from agent.assistants.team_answer.format_answer import ASSISTANT
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry, configuration_of
from agent.assistants.team_answer.tools import wants_map
from agent.configuration import Configuration
from agent.core.progress import event
from agent.state import Estimate, PlanReview, Reviewed

log = logging.getLogger(__name__)
_SPOKEN = (Size(2500, 500), Size(8000, 1500))
"""One call of a speaker."""
_SETTLED = (Size(3000, 700), Size(8000, 2000))


class ReviewedSteps(Reviewed, total=False):
    """The answer to a review of `team_answer`."""

    steps: list[str]
    """1 to 6 questions that lead to the answer, in order."""


_MAP_CALLS = 4
"""Of a question about places or ways."""
_SCHEMA = answer_schema(ReviewedSteps)


def after_decompose(state: TeamState) -> Literal["review_plan", "group_chat"]:
    """Route to a person first, where that is wanted."""
    return "review_plan" if "paused_at" in state["turn"] else "group_chat"


def after_review(state: TeamState) -> Literal["group_chat", "__end__"]:
    """Route to the discussion, unless the plan was not wanted."""
    return "__end__" if state.get("cancelled") else "group_chat"


def read_steps(answer: Any) -> list[str]:
    """Return the steps of an answer, none if cancelled; raise InputError naming a field."""
    lines = answer_lines(answer, "steps", MAX_STEPS)
    return [checked_text(line, f"steps[{place}]", MAX_ASKED) for place, line in enumerate(lines)]


async def review_plan(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Pause the run until the steps are answered; pause again where the answer is invalid."""
    check_waiting(state["turn"], ASSISTANT)
    services, configuration = get_services(), configuration_of(runtime)
    written, emit = state["sub_questions"], runtime.stream_writer

    def estimate_of(steps: Sequence[str]) -> Estimate:
        return _estimate(steps, state, configuration, services)

    review = PlanReview(
        steps=written,
        most=MAX_STEPS,
        estimate=estimate_of(written),
        shares=plan_shares(written, "", estimate_of),
    )
    steps = await_answer(review, "steps", read_steps, _SCHEMA, state["turn"]["language"])
    turn = continued(state["turn"], services)
    log.info("turn=%s %s: %d steps", turn["id"], NODE, len(steps))
    if not steps:
        nothing = {"final_answer": "", "answered": False, "outcome": None, "verified": False}
        stopped = cast(TeamState, {**state, "turn": turn})
        closing = await write_stop(
            stopped, configuration, services, emit, assistant=ASSISTANT, metadata=nothing
        )
        return cast(TeamUpdate, {**closing, "turn": turn, "cancelled": True})
    text = "\n".join(steps)
    emit(event("sub_questions", NODE, text=text, count=len(steps)))
    return TeamUpdate(
        turn=turn, sub_questions=steps, reasoning_trace=[TraceEntry(step=NODE, text=text)]
    )


def _estimate(
    steps: Sequence[str], state: TeamState, configuration: Configuration, services: Services
) -> Estimate:
    model = state["turn"]["reasoning_model"] or configuration.answer_model
    calls = planned_calls(len(steps), configuration, model)
    return estimate(
        calls, state["turn"], configuration, services, state.get("usage"),
        searches=len(steps) + 1,
        map_calls=_MAP_CALLS if wants_map(state, configuration) else 0,
    )  # fmt: skip


def planned_calls(count: int, configuration: Configuration, model: str) -> list[Calls]:
    """Return the calls of so many steps: a researcher's and the verifier's turns, with lookups."""
    web = (count + 1, 3 * count + 2) if searched_by_google(configuration) else (0, 0)
    return [
        Calls(configuration.research_model, _SPOKEN, (1 + count, 5 + 2 * count)),
        Calls(configuration.reflection_model, _SPOKEN, (2, 5 + count)),
        Calls(configuration.research_model, WEB_CALL, web),
        Calls(model, _SETTLED, (1, 1)),
    ]

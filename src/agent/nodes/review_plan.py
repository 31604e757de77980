"""Shows the plan to a person before anything is searched, and goes on with what comes back."""

import logging
from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import TypeAdapter

from agent.configuration import Configuration
from agent.errors import InputError
from agent.evidence.queries import clean_text
from agent.evidence.types import MapTask, Query
from agent.nodes.plan_estimate import estimate_of
from agent.nodes.reviewed import MAX_QUERY, read_review
from agent.nodes.toolbox import Services
from agent.progress import event
from agent.state import (
    OverallState,
    PlannedQuery,
    PlanReview,
    ReviewedPlan,
    Turn,
    Update,
    replaced,
)

log = logging.getLogger(__name__)
NODE = "review_plan"
ANSWER_SCHEMA: dict[str, Any] = TypeAdapter(ReviewedPlan).json_schema()
"""For clients that render a form; what comes back is checked by us, not by it."""


async def review_plan(
    state: OverallState, runtime: Runtime[Configuration], *, services: Services
) -> Update:
    """Pauses the run until the plan is answered; asks again, saying why, where it cannot be used.

    Executed again from its beginning at every answer, so nothing here may cost anything.
    """
    given = services()
    configuration = runtime.context or Configuration()
    turn, written = state["turn"], state["query_list"]
    review = PlanReview(
        queries=[_shown(query) for query in written],
        estimate=estimate_of(written, turn, configuration, given, state.get("usage")),
    )
    queries = _answered(review, turn, configuration)
    given.budgets.close(turn["id"])
    log.info("turn=%s %s: %d queries", turn["id"], NODE, len(queries))
    update = Update(
        turn=_without_the_wait(turn, given.now().timestamp()),
        cancelled=not queries,
        query_list=queries,
        queries=replaced([PlannedQuery(**q, round=1) for q in queries]),
    )
    if queries:
        text = "\n".join(query["query"] for query in queries)
        runtime.stream_writer(event("queries", NODE, text=text, count=len(queries)))
    return update


def _answered(review: PlanReview, turn: Turn, configuration: Configuration) -> list[Query]:
    """The queries of the first answer that can be used; none where the person cancelled."""
    while True:
        answer = interrupt(review, response_schema=ANSWER_SCHEMA)
        try:
            return read_review(answer, configuration, turn["near"])
        except InputError as error:
            review = PlanReview(**{**review, "problem": error.message})


def _shown(query: Query) -> Query:
    """The query as it may come back, with what its map task says, without what it leaves open."""
    text, task = clean_text(query["query"], MAX_QUERY), query["map"]
    if task is None:
        return Query(query=text, map=None)
    said = {name: value for name, value in task.items() if value not in (None, [])}
    return Query(query=text, map=cast(MapTask, said))


def _without_the_wait(turn: Turn, now: float) -> Turn:
    """The turn as if it had begun later: a person's time is none of the run's."""
    waiting_since = turn.get("paused_at", now)
    kept = {name: value for name, value in turn.items() if name != "paused_at"}
    return cast(Turn, {**kept, "started_at": turn["started_at"] + max(0.0, now - waiting_since)})

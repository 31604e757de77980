"""Show the queries to a person before anything is searched, and continue with the answer.

The sizes are those of the prompts and of typical replies, output with its thinking; prices are the
catalogue's. Google's free quota is not subtracted.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args, get_type_hints

from langgraph.runtime import Runtime

from agent.assistants.common.map_tasks import has_place
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
)
from agent.assistants.common.services import GetServices, Services
from agent.configuration import Configuration
from agent.core.budget import Usage
from agent.core.errors import InputError
from agent.core.progress import event
from agent.evidence.maps import valid_map_task
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, Point, Query
from agent.nodes.routing import goes_to_web
from agent.state import (
    Estimate,
    OverallState,
    PlannedQuery,
    PlanReview,
    ReviewedPlan,
    Turn,
    Update,
    replaced,
)

_MAP = (Size(2500, 400), Size(20_000, 1500))
"""A whole branch: one call over the places found, or several rounds of tools."""
_REFLECTION = (Size(800, 200), Size(1200, 1500))
_ANSWER = (Size(800, 800), Size(1500, 4000))
_FINDING = (300, 1200)
"""Tokens that one branch's result adds to the prompts of reflection and answer."""


def estimate_of(
    queries: Sequence[Query],
    turn: Turn,
    configuration: Configuration,
    services: Services,
    spent: Usage | None,
) -> Estimate:
    """Count the calls of a plan without follow-ups, within the limits, and estimate their cost."""
    asked_of_web = sum(goes_to_web(query) for query in queries)
    web = asked_of_web if configuration.web_search != "off" else 0
    tasks = [query["map"] for query in queries if query["map"]]
    calls = planned_calls(
        web, len(tasks), configuration, loops=turn["loops"], chosen=turn["reasoning_model"]
    )
    return estimate(
        calls,
        turn,
        configuration,
        services,
        spent,
        searches=web,
        map_calls=sum(_map_calls(task, turn, configuration) for task in tasks),
    )


def planned_calls(
    web: int, maps: int, configuration: Configuration, *, loops: int, chosen: str | None = None
) -> list[Calls]:
    """Return the calls of a plan's branches; follow-ups are taken to be like them."""
    research = configuration.research_model
    rounds = loops - 1 if configuration.max_follow_up_queries else 0
    more = configuration.max_follow_up_queries * (loops - 1)
    given_up = rounds if configuration.early_answer else 0
    webs, branches = (web, web + (more if web else 0)), (maps, maps + (more if maps else 0))
    added = [_FINDING[end] * (webs[end] + branches[end]) for end in (0, 1)]
    read = (_REFLECTION[0].with_input(added[0]), _REFLECTION[1].with_input(added[1]))
    written = (_ANSWER[0].with_input(added[0]), _ANSWER[1].with_input(added[1]))
    return [
        Calls(research, WEB_CALL, webs),
        Calls(research, _MAP, branches),
        Calls(chosen or configuration.reflection_model, read, (min(rounds, 1), rounds)),
        Calls(chosen or configuration.answer_model, written, (1, 1 + given_up)),
    ]


def _map_calls(task: MapTask, turn: Turn, configuration: Configuration) -> int:
    """Return the calls of the prefetch of one task, without those a model may add."""
    looked_up = configuration.map_details + configuration.map_more_details
    words = min(len(task.get("keywords") or []), configuration.map_keywords) or 1
    lookups = 0 if turn["near"] and not task.get("place") else 1
    match task["intent"]:
        case "nearby":
            return lookups + words + looked_up
        case "area":
            return words + looked_up
        case "poi":
            return 2
        case "route" | "distance":
            return 3 - (task.get("origin") is None)
        case "regeo":
            return lookups + 1
    return 1


MAX_QUERIES = 10
MAX_QUERY = 400
"""Characters."""
_QUERY_FIELDS = frozenset(("query", "map", "web"))
_TASK_FIELDS = frozenset(get_type_hints(MapTask))


def read_review(answer: Any, configuration: Configuration, near: Point | None) -> list[Query]:
    """Return the queries of an answer, none if cancelled; raise InputError naming a field."""
    lines = answer_lines(answer, "queries", MAX_QUERIES)
    return [
        _query(line, f"queries[{place}]", configuration, near) for place, line in enumerate(lines)
    ]


def _query(value: Any, where: str, configuration: Configuration, near: Point | None) -> Query:
    value = {"query": value} if isinstance(value, str) else value
    fields = checked_object(value, where, _QUERY_FIELDS)
    text = checked_text(fields.get("query"), f"{where}.query", MAX_QUERY)
    task_value = fields.get("map")
    task = None if task_value is None else _task(task_value, f"{where}.map", configuration, near)
    web = fields.get("web", True)
    if not isinstance(web, bool):
        raise InputError(f"{where}.web", "must be true or false")
    return Query(query=text, map=task) if web else Query(query=text, map=task, web=False)


def _task(value: Any, where: str, configuration: Configuration, near: Point | None) -> MapTask:
    fields = checked_object(value, where, _TASK_FIELDS)
    if configuration.geo_routing == "never":
        raise InputError(where, "the map is off (geo_routing=never); leave it out")
    intents = get_args(MapIntent)
    if fields.get("intent") not in intents:
        raise InputError(f"{where}.intent", f"must be one of {', '.join(intents)}")
    task = valid_map_task(fields)
    if task is None:
        raise InputError(where, f"lacks what {fields['intent']} needs ({_needs(fields)})")
    if not has_place(task, near):
        raise InputError(where, f"says not where ({_needs(fields)})")
    return task


def _needs(fields: Mapping[str, Any]) -> str:
    match fields["intent"]:
        case "route" | "distance":
            return "origin and destination"
        case "area":
            return "place or city, and keywords"
        case "nearby":
            return "place, and keywords"
    return "place or city"


log = logging.getLogger(__name__)
_SCHEMA = answer_schema(ReviewedPlan)


async def review_plan(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Pause the run until the plan is answered; pause again where the answer is invalid.

    Executed again from its beginning at every answer, so nothing here may cost anything.
    """
    check_waiting(state["turn"], "agent")
    services = get_services()
    configuration = runtime.context or Configuration()
    turn, written = state["turn"], state["query_list"]

    def estimate_of_lines(queries: Sequence[Query]) -> Estimate:
        return estimate_of(queries, turn, configuration, services, state.get("usage"))

    review = PlanReview(
        queries=[_reviewable(query) for query in written],
        most=MAX_QUERIES,
        estimate=estimate_of_lines(written),
        shares=plan_shares(written, Query(query="", map=None), estimate_of_lines),
    )
    queries = await_answer(
        review,
        "queries",
        lambda answer: read_review(answer, configuration, turn["near"]),
        _SCHEMA,
        turn["language"],
    )
    log.info("turn=%s %s: %d queries", turn["id"], NODE, len(queries))
    update = Update(
        turn=continued(turn, services),
        cancelled=not queries,
        query_list=queries,
        search_query=replaced([query["query"] for query in queries]),
        queries=replaced([PlannedQuery(**q, round=1) for q in queries]),
    )
    if queries:
        text = "\n".join(query["query"] for query in queries)
        runtime.stream_writer(event("queries", NODE, text=text, count=len(queries)))
    return update


def _reviewable(query: Query) -> Query:
    """Return the query as it may come back, its map task without empty fields."""
    text, task = clean_text(query["query"], MAX_QUERY), query["map"]
    if task is None:
        return Query(query=text, map=None)
    stated = cast(MapTask, {name: value for name, value in task.items() if value not in (None, [])})
    if goes_to_web(query):
        return Query(query=text, map=stated)
    return Query(query=text, map=stated, web=False)

"""The queries of `agent` as a person reviews them before anything is searched.

The sizes are those of the prompts and of typical replies, output with its thinking; prices are the
catalogue's. Google's free quota is not subtracted.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args, get_type_hints

from agent.assistants.common.map_tasks import has_place
from agent.assistants.common.plan_cost import AT_ONCE, WEB_CALL, CallSizes, PlanCost, Size
from agent.assistants.common.review_plan import (
    NODE,
    PlanKind,
    checked_object,
    checked_text,
    map_task_words,
)
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.core.progress import Emit, event
from agent.core.strings import has_han
from agent.evidence.maps import valid_map_task
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, Point, Query
from agent.nodes.routing import goes_to_web
from agent.state import OverallState, PlannedQuery, ReviewedPlan, Turn, Update, replaced
from agent.texts import Language, reads_han

_MAP = (Size(2500, 400), Size(20_000, 1500))
"""A whole branch: one call over the places found, or several rounds of tools."""
_REFLECTION = (Size(800, 200), Size(1200, 1500))
_ANSWER = (Size(800, 800), Size(1500, 4000))
_FINDING = (300, 1200)
"""Tokens that one branch's result adds to the prompts of reflection and answer."""


def _cost(
    queries: Sequence[Query], state: OverallState, configuration: Configuration, services: Services
) -> PlanCost:
    """Return what a plan takes without follow-ups."""
    turn = state["turn"]
    asked_of_web = sum(goes_to_web(query) for query in queries)
    web = asked_of_web if configuration.web_search != "off" else 0
    tasks = [query["map"] for query in queries if query["map"]]
    return PlanCost(
        planned_calls(
            web, len(tasks), configuration, loops=turn["loops"], chosen=turn["reasoning_model"]
        ),
        searches=web,
        map_calls=sum(_map_calls(task, turn, configuration) for task in tasks),
    )


def planned_calls(
    web: int, maps: int, configuration: Configuration, *, loops: int, chosen: str | None = None
) -> list[CallSizes]:
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
        CallSizes(research, WEB_CALL, webs, AT_ONCE),
        CallSizes(research, _MAP, branches, AT_ONCE),
        CallSizes(chosen or configuration.reflection_model, read, (min(rounds, 1), rounds)),
        CallSizes(chosen or configuration.answer_model, written, (1, 1 + given_up)),
    ]


def _map_calls(task: MapTask, turn: Turn, configuration: Configuration) -> int:
    """Return the calls of the prefetch of one task, without those a model may add."""
    looked_up = configuration.map_details + configuration.map_more_details
    words = min(len(task.get("keywords") or []), configuration.map_keywords) or 1
    lookups = 0 if turn["near"] and not task.get("place") else 1
    match task["intent"]:
        case "nearby":
            # Between two, both are located, and the walks from both are measured.
            return lookups + words + looked_up + 3 * bool(task.get("destination"))
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


def _read(lines: Sequence[Any], state: OverallState, configuration: Configuration) -> list[Query]:
    near = state["turn"]["near"]
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
        raise InputError(where, "The map is off (geo_routing=never); leave it out")
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


def _reviewable(query: Query, language: Language) -> Query:
    """Return the query as it may come back, its map task without empty fields.

    One that the map alone is asked is told as the task is, where its reader cannot read it.
    """
    text, task = clean_text(query["query"], MAX_QUERY), query["map"]
    if task is None:
        return Query(query=text, map=None)
    stated = cast(MapTask, {name: value for name, value in task.items() if value not in (None, [])})
    if goes_to_web(query):
        return Query(query=text, map=stated)
    if has_han(text) and not reads_han(language):
        text = clean_text(map_task_words(stated, language), MAX_QUERY)
    return Query(query=text, map=stated, web=False)


def taken(queries: list[Query], emit: Emit, node: str = NODE) -> Update:
    """Return the update that asks these queries first, and tell them."""
    texts = [query["query"] for query in queries]
    if queries:
        emit(event("queries", node, text="\n".join(texts), count=len(queries)))
    return Update(
        query_list=queries,
        search_query=replaced(texts),
        queries=replaced([PlannedQuery(**query, round=1) for query in queries]),
    )


QUERIES = PlanKind(
    assistant="agent",
    part="queries",
    answer=ReviewedPlan,
    configuration=Configuration,
    most=lambda configuration: MAX_QUERIES,
    shown=lambda state: [
        _reviewable(query, state["turn"]["language"]) for query in state["query_list"]
    ],
    read=_read,
    cost=_cost,
    own=Query(query="", map=None),
    taken=taken,
    stopped={"query_list": [], "search_query": None, "queries": None},
    metadata={"needs": None, "search_entry_points": [], "outing": None},
)

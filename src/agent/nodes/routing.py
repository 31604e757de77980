"""Route a run between its nodes, and queries to the map."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.configuration import Configuration
from agent.core.budget import no_usage
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import map_task_by_rules, valid_map_task
from agent.evidence.types import MapTask, Point, Query
from agent.state import (
    AmapSearchState,
    DocumentSearchState,
    OverallState,
    WebSearchState,
    WrittenQuery,
)

_NEEDS_NO_PLACE = {"route", "distance"}
_MOST_KEYWORDS = 3
"""Of one map task."""


def review_or_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | Literal["review_plan", "plan_outing", "finalize_answer"]:
    """Route to a person first, where that is wanted, else to the research."""
    if "paused_at" in state["turn"]:
        return "review_plan"
    return continue_to_research(state, runtime)


Closing = Literal["plan_outing", "finalize_answer"]


def continue_to_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | Closing:
    """Send every query to the web, to the map where it helps, to own documents that are named."""
    if state.get("needs"):
        return "finalize_answer"
    return _sends(state, state["query_list"], runtime) or _closing(state)


def evaluate_research(state: OverallState, runtime: Runtime[Configuration]) -> list[Send] | Closing:
    """Send the follow-up queries of reflection; without any, route to the answer."""
    return _sends(state, state["follow_up_queries"], runtime) or _closing(state)


def _closing(state: OverallState) -> Closing:
    """Return the node after the research: a day is planned first where one is wanted."""
    wanted = "outing" in state["turn"] and not state.get("cancelled")
    return "plan_outing" if wanted else "finalize_answer"


def _sends(
    state: OverallState, queries: Sequence[Query], runtime: Runtime[Configuration]
) -> list[Send]:
    configuration = runtime.context or Configuration()
    turn, spent = state["turn"], state.get("usage") or no_usage()
    first = len(state.get("queries", [])) - len(queries)
    share = _map_share(state, configuration, sum(bool(query["map"]) for query in queries))
    maps: list[Send] = []
    sends: list[Send] = []
    for number, query in enumerate(queries, start=first):
        text, branch = query["query"], str(number)
        web = configuration.web_search != "off" and goes_to_web(query)
        if web:
            payload = WebSearchState(search_query=text, id=branch, turn=turn, spent=spent)
            sends.append(Send("web_research", payload))
        if readable := state.get("readable"):
            own = DocumentSearchState(
                search_query=text, id=branch, turn=turn, spent=spent,
                owner=state["owner"], readable=readable,
            )  # fmt: skip
            sends.append(Send("document_research", own))
        if query["map"]:
            task = AmapSearchState(
                search_query=text, id=branch, task=query["map"], turn=turn, spent=spent,
                map_calls=share,
            )  # fmt: skip
            maps.append(Send("amap_research", task))
    return sends + maps


def _map_share(state: OverallState, configuration: Configuration, branches: int) -> int:
    """Return the map calls of one branch; each later round is to have half of what this one has."""
    spent = (state.get("usage") or no_usage())["map_calls"]
    rounds = state["turn"]["loops"] - state.get("research_loop_count", 0)
    if not configuration.max_follow_up_queries:
        rounds = 1
    left = max(0, configuration.max_map_calls - spent)
    return 2 * left // (max(1, branches) * (1 + max(1, rounds)))


def goes_to_web(query: Query) -> bool:
    """Return whether the web is asked at once: always, unless the map alone shall answer."""
    return query.get("web", True) or not query["map"]


def left_by_map(state: OverallState, configuration: Configuration) -> list[Query]:
    """Return the queries that the map alone was asked and found nothing for: the web is next."""
    if configuration.web_search == "off":
        return []
    queries = state.get("queries", [])
    prefixes = {source["id"].partition("-")[0] for source in state.get("sources_gathered", [])}
    searched = {query["query"] for query in queries if goes_to_web(query)}
    return [
        Query(query=query["query"], map=None)
        for number, query in enumerate(queries)
        if query["query"] not in searched and f"a{number}" not in prefixes
    ]


def plan_queries(
    written: Sequence[WrittenQuery],
    configuration: Configuration,
    near: Point | None,
    *,
    searched: Sequence[MapTask] = (),
) -> list[Query]:
    """Return what a model wrote, with checked map tasks, each place and keyword once in a turn.

    A query for the map alone whose keywords an earlier query takes along is left out.
    `searched` are the tasks that the map has answered, with the keywords it was asked for.
    """
    answered: dict[tuple[object, ...], set[str]] = {}
    for task in searched:
        answered.setdefault(_where(task), set()).update(task.get("keywords", []))
    tasks_at = defaultdict[tuple[object, ...], list[MapTask]](list)
    queries: list[Query] = []
    for each in written:
        proposal = _proposal(each, configuration)
        fresh = _fresh(proposal, answered) if proposal and has_place(proposal, near) else None
        query = Query(query=each.query, map=_merge(fresh, tasks_at))
        if fresh and not query["map"] and not each.web:
            continue
        if query["map"] and not each.web:
            query["web"] = False
        queries.append(query)
    return queries


def lost_place(
    written: Sequence[WrittenQuery],
    queries: Sequence[Query],
    configuration: Configuration,
    near: Point | None,
) -> bool:
    """Return whether the map's part of a plan was lost because nobody said where."""
    if any(query["map"] for query in queries):
        return False
    tasks = [task for each in written if each.map and (task := _proposal(each, configuration))]
    return any(not has_place(task, near) for task in tasks)


def _proposal(written: WrittenQuery, configuration: Configuration) -> MapTask | None:
    return map_task(written.query, written.map.model_dump() if written.map else None, configuration)


def map_task(
    query: str, proposal: dict[str, object] | None, configuration: Configuration
) -> MapTask | None:
    """Return the map task of one query by `geo_routing`; rules replace an invalid proposal."""
    routing = configuration.geo_routing
    if routing == "never":
        return None
    if routing == "llm" and proposal is None and not parse_lnglat(query):
        return None
    checked = valid_map_task(proposal) if proposal and routing != "rules" else None
    task = checked or map_task_by_rules(query)
    if task is None and routing == "always":
        return MapTask(intent="poi", place=query)
    return task


def has_place(task: MapTask, near: Point | None) -> bool:
    """Return whether there is a place, a city, two ends or the user's position to begin from."""
    if task["intent"] in _NEEDS_NO_PLACE:
        return bool(task.get("destination") and (task.get("origin") or near))
    return bool(task.get("place") or task.get("city") or near)


def _where(task: MapTask) -> tuple[object, ...]:
    """Return what a task is about, apart from its keywords."""
    return tuple(
        task.get(key) for key in ("intent", "place", "city", "origin", "destination", "mode")
    )


def _fresh(task: MapTask, earlier_words: dict[tuple[object, ...], set[str]]) -> MapTask | None:
    """Return the task with the keywords no earlier round searched; None if there are none."""
    earlier = earlier_words.get(_where(task))
    if earlier is None:
        return task
    words = [word for word in task.get("keywords", []) if word not in earlier]
    return MapTask(**{**task, "keywords": words}) if words else None


def _merge(
    task: MapTask | None, tasks_at: defaultdict[tuple[object, ...], list[MapTask]]
) -> MapTask | None:
    """Return the task with its own keywords that no earlier query of this round has.

    None where an earlier task of the same place has room to take all of them along.
    """
    if task is None:
        return None
    earlier = tasks_at[_where(task)]
    taken = {word for each in earlier for word in each.get("keywords", [])}
    words = [word for word in task.get("keywords", []) if word not in taken]
    for each in earlier:
        if len(shared := [*each.get("keywords", []), *words]) <= _MOST_KEYWORDS:
            if words:
                each["keywords"] = shared
            return None
    if words:
        task["keywords"] = words
    earlier.append(task)
    return task

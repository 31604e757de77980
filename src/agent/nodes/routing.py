"""Where a run goes next, and whether a query goes to the map."""

from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.configuration import Configuration
from agent.core.budget import no_usage
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import map_task_by_rules, valid_map_task
from agent.evidence.types import MapTask, Point, Query
from agent.state import AmapSearchState, OverallState, WebSearchState, WrittenQuery

_NEEDS_NO_PLACE = {"route", "distance"}


def review_or_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | Literal["review_plan", "finalize_answer"]:
    """After the queries are written: to a person first, where that is wanted."""
    if "paused_at" in state["turn"]:
        return "review_plan"
    return continue_to_research(state, runtime)


def continue_to_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | Literal["finalize_answer"]:
    """With the queries settled: every query to the web, and to the map where it helps."""
    if state.get("needs"):
        return "finalize_answer"
    return _sends(state, state["query_list"], runtime) or "finalize_answer"


def evaluate_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | Literal["finalize_answer"]:
    """After reflection: its follow-up queries, or the answer when there are none."""
    return _sends(state, state["follow_up_queries"], runtime) or "finalize_answer"


def _sends(
    state: OverallState, queries: Sequence[Query], runtime: Runtime[Configuration]
) -> list[Send]:
    configuration = runtime.context or Configuration()
    turn, spent = state["turn"], state.get("usage") or no_usage()
    first = len(state.get("queries", [])) - len(queries)
    web, maps = configuration.web_search != "off", []
    sends: list[Send] = []
    for number, query in enumerate(queries, start=first):
        text, branch = query["query"], str(number)
        if web:
            payload = WebSearchState(search_query=text, id=branch, turn=turn, spent=spent)
            sends.append(Send("web_research", payload))
        if query["map"]:
            task = AmapSearchState(
                search_query=text, id=branch, task=query["map"], turn=turn, spent=spent,
                alone=not web,
            )  # fmt: skip
            maps.append(Send("amap_research", task))
    return sends + maps


def planned(
    written: Sequence[WrittenQuery],
    configuration: Configuration,
    near: Point | None,
    *,
    done: Sequence[Query] = (),
) -> list[Query]:
    """What a model wrote, with checked map tasks, each place and keyword asked once in a turn."""
    queries = [
        Query(
            query=w.query,
            map=map_task(w.query, w.map.model_dump() if w.map else None, configuration),
        )
        for w in written
    ]
    asked = {_where(q["map"]): set(q["map"].get("keywords", [])) for q in done if q["map"]}
    seen: dict[tuple[object, ...], MapTask] = {}
    for query in queries:
        task = query["map"]
        if task and not placed(task, near):
            query["map"] = None
        elif task:
            query["map"] = _merged(_fresh(task, asked), seen)
    return queries


def map_task(
    query: str, proposed: dict[str, object] | None, configuration: Configuration
) -> MapTask | None:
    """The map task of one query by `geo_routing`; rules stand in for an invalid proposal."""
    routing = configuration.geo_routing
    if routing == "never":
        return None
    if routing == "llm" and proposed is None and not parse_lnglat(query):
        return None
    checked = valid_map_task(proposed) if proposed and routing != "rules" else None
    task = checked or map_task_by_rules(query)
    if task is None and routing == "always":
        return MapTask(intent="poi", place=query)
    return task


def placed(task: MapTask, near: Point | None) -> bool:
    """Whether there is anything to begin from: a place, a city, two ends, or where the user is."""
    if task["intent"] in _NEEDS_NO_PLACE:
        return bool(task.get("destination") and (task.get("origin") or near))
    return bool(task.get("place") or task.get("city") or near)


def _where(task: MapTask) -> tuple[object, ...]:
    """What a task is about, apart from its keywords."""
    return tuple(
        task.get(key) for key in ("intent", "place", "city", "origin", "destination", "mode")
    )


def _fresh(task: MapTask, asked: dict[tuple[object, ...], set[str]]) -> MapTask | None:
    """The task with only the keywords an earlier round did not search; None if there are none."""
    earlier = asked.get(_where(task))
    if earlier is None:
        return task
    words = [word for word in task.get("keywords", []) if word not in earlier]
    return MapTask(**{**task, "keywords": words}) if words else None


def _merged(task: MapTask | None, seen: dict[tuple[object, ...], MapTask]) -> MapTask | None:
    """The task, or None where an earlier query of this round takes its keywords along."""
    if task is None or (first := seen.setdefault(_where(task), task)) is task:
        return task
    words = dict.fromkeys([*first.get("keywords", []), *task.get("keywords", [])])
    first["keywords"] = list(words)[:3]
    return None

"""Route a run between its nodes."""

from collections.abc import Mapping, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.review_plan import review_step
from agent.configuration import Configuration
from agent.core.budget import no_usage
from agent.evidence.mentions import fails_a_demand, source_ids
from agent.evidence.ordering import judged
from agent.evidence.types import MapIntent, Query
from agent.state import (
    AmapSearchState,
    DocumentSearchState,
    OverallState,
    WebSearchState,
)

LastNode = Literal["plan_outing", "finalize_answer"]


def continue_to_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | LastNode | Literal["review_plan", "__end__"]:
    """Route to a person first, where that is wanted; then send every query where it helps.

    To the web, to the map, to own documents that are named.
    """
    if step := review_step(state):
        return step
    if state.get("needs"):
        return "finalize_answer"
    return _sends(state, state["query_list"], runtime) or _closing(state)


def evaluate_research(
    state: OverallState, runtime: Runtime[Configuration]
) -> list[Send] | LastNode:
    """Send the follow-up queries of reflection; without any, route to the answer."""
    return _sends(state, state["follow_up_queries"], runtime) or _closing(state)


def _closing(state: OverallState) -> LastNode:
    """Return the node after the research: a day is planned first where one is wanted."""
    return "plan_outing" if "outing" in state["turn"] else "finalize_answer"


def _sends(
    state: OverallState, queries: Sequence[Query], runtime: Runtime[Configuration]
) -> list[Send]:
    configuration = runtime.context or Configuration()
    turn, spent = state["turn"], state.get("usage") or no_usage()
    first = len(state.get("queries", [])) - len(queries)
    tasks = [query["map"]["intent"] for query in queries if query["map"]]
    shares = iter(_map_shares(state, configuration, tasks))
    known = [*state.get("places", []), *(state.get("previous") or NO_PREVIOUS)["places"]]
    maps: list[Send] = []
    sends: list[Send] = []
    for number, query in enumerate(queries, start=first):
        text, branch = query["query"], str(number)
        own_only = turn.get("own_only", False)
        web = configuration.web_search != "off" and goes_to_web(query) and not own_only
        if web:
            payload = WebSearchState(search_query=text, id=branch, turn=turn, spent=spent)
            sends.append(Send("web_research", payload))
        if query["map"] and not own_only:
            task = AmapSearchState(
                search_query=text, id=branch, task=query["map"], turn=turn, spent=spent,
                map_calls=next(shares), known=known,
            )  # fmt: skip
            maps.append(Send("amap_research", task))
    readable = state.get("readable")
    if readable and queries:
        own = DocumentSearchState(
            queries=[query["query"] for query in queries], first=first, turn=turn, spent=spent,
            owner=state["owner"], readable=readable,
        )  # fmt: skip
        sends.append(Send("document_research", own))
    return sends + maps


_FEW_CALLS: Mapping[MapIntent, int] = {"weather": 4, "regeo": 4}
"""What a task of one answer takes at most, with a place that has to be looked for."""


def _map_shares(
    state: OverallState, configuration: Configuration, tasks: Sequence[MapIntent]
) -> list[int]:
    """Return the map calls of each task; each later round is to have half of what this one has.

    What needs only a few leaves the rest of its share to the others.
    """
    spent = (state.get("usage") or no_usage())["map_calls"]
    rounds = state["turn"]["loops"] - state.get("research_loop_count", 0)
    if not configuration.max_follow_up_queries:
        rounds = 1
    left = 2 * max(0, configuration.max_map_calls - spent) // (1 + max(1, rounds))
    even = left // max(1, len(tasks))
    few = {each: min(even, _FEW_CALLS[each]) for each in tasks if each in _FEW_CALLS}
    others = sum(each not in few for each in tasks)
    share = (left - sum(few.get(each, 0) for each in tasks)) // max(1, others)
    return [few.get(each, share) for each in tasks]


def goes_to_web(query: Query) -> bool:
    """Return whether the web is asked at once: always, unless the map alone shall answer."""
    return query.get("web", True) or not query["map"]


def left_by_map(state: OverallState, configuration: Configuration) -> list[Query]:
    """Return the queries that the map alone was asked and cannot answer: the web is next.

    It found nothing, or tells of none of the places what is demanded: when they are open; and where
    the map has no ratings and prices at all, these.
    """
    if configuration.web_search == "off" or state["turn"].get("own_only"):
        return []
    queries = state.get("queries", [])
    prefixes = {source["id"].partition("-")[0] for source in state.get("sources_gathered", [])}
    searched = {query["query"] for query in queries if goes_to_web(query)}
    return [
        Query(query=query["query"], map=None)
        for number, query in enumerate(queries)
        if query["query"] not in searched
        and (f"a{number}" not in prefixes or _is_untold(state, number))
    ]


_WHEN = frozenset({"open_at", "open_until", "open_on", "not_on"})
_RATED = frozenset({"min_rating", "max_cost", "min_cost", "total_cost"})


def _is_untold(state: OverallState, number: int) -> bool:
    """Return whether no record of a query that fits says if the place meets such a demand."""
    demands = state["turn"].get("constraints", {})
    own = [
        place
        for place in state.get("places", [])
        if any(id.startswith(f"a{number}-") for id in source_ids(place))
    ]
    is_rated = any(place["rating"] or place["cost"] for place in own)
    asked = (_WHEN if is_rated else _WHEN | _RATED).intersection(demands)
    fitting = [
        place.get("verdicts", [])
        for place in judged(own, demands, "en")
        if not fails_a_demand(place)
    ]
    return bool(fitting) and all(
        any(v["constraint"] in asked and v["verdict"] == "unknown" for v in of) for of in fitting
    )

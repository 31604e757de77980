"""Bring together, once web and map have answered, what each of them knows of a place.

Places that a search of the map found and that pages name are entered whatever their rank; those
that were looked up by name have their distance measured from where the question asks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.runtime import Runtime

from agent.assistants.common.listed_places import said_by_pages
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.services import Services
from agent.assistants.common.shown_records import OF_ITS_ORIGIN, sources_as_shown
from agent.assistants.common.turn import open_meter
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage, add_usage, no_usage
from agent.core.strings import letters_of
from agent.evidence.geo import metres_apart
from agent.evidence.intent import says_walks
from agent.evidence.mentions import source_ids
from agent.evidence.names import own_distance
from agent.evidence.types import Anchor, Place, Source
from agent.mcp.prefetch import FAR_ON_FOOT_M
from agent.mcp.records import has_name
from agent.nodes.amap_research import KEYWORD_INTENTS, look_up_named
from agent.state import (
    AmapSearchState,
    OverallState,
    PlannedQuery,
    Update,
    extend,
    reader_language,
    replaced,
)

_CALLS, _KEPT_CALLS = 3, 2
"""Of the map for what pages name, for each query; and those that are left for another round."""
_SAME_TOWN_M = 50_000
"""Within which a place is far from another by so many metres, and not by a journey."""


async def complete_places(
    state: OverallState, runtime: Runtime[Configuration], services: Services
) -> Update:
    """Return what is new of the places: those that pages name, and distances as asked for."""
    update = await _named_by_pages(state, runtime, services)
    language = reader_language(state["turn"])
    places = [*state.get("places", []), *update.get("places", [])]
    sources = [*state.get("sources_gathered", []), *update.get("sources_gathered", [])]
    # Of what lies between two it is known how far both are.
    apart = [place for place in places if "detour_m" not in place]
    asked = [place for place in apart if _is_by_name(place, state.get("queries", []))]
    origins = _origins(state)
    measured = {
        place["source"]: told for place in asked if (told := _measured(place, origins)) is not place
    }
    if not measured:
        return update
    usage = await _add_walks(measured, origins, state, runtime, services)
    return Update(
        **{
            **update,
            "usage": add_usage(update.get("usage"), usage),
            "places": replaced([measured.get(place["source"], place) for place in places]),
            "sources_gathered": replaced(sources_as_shown(sources, measured.values(), language)),
        }
    )


async def _add_walks(
    measured: dict[str, Place],
    origins: Sequence[Anchor],
    state: OverallState,
    runtime: Runtime[Configuration],
    services: Services,
) -> Usage:
    """Add how far it is on foot, where walking is spoken of, from each origin; return what it cost.

    A day's ways are measured from stop to stop, once these are known.
    """
    configuration, turn = runtime.context or Configuration(), state["turn"]
    spent = state.get("usage") or no_usage()
    left = configuration.max_map_calls - spent["map_calls"] - _KEPT_CALLS
    meter = open_meter(
        turn, configuration, services, spent=spent, map_calls=max(0, min(_CALLS, left))
    )
    walks = "outing" not in turn and says_walks(turn["question"])
    for origin in origins if walks else ():
        near = [
            place
            for place in measured.values()
            if place["distance_from"] == origin["name"]
            and (place["distance_m"] or 0) <= FAR_ON_FOOT_M
        ]
        if not near or "location" not in origin:
            continue
        points = [place["location"] for place in near]
        legs = await services.maps.walks_from(
            origin["location"], points, meter=meter, on_call=lambda call: None
        )
        for at, leg in legs.items():
            walked = {"walk_m": leg["distance_m"], "walk_s": leg["duration_s"]}
            measured[near[at]["source"]] = cast(Place, {**near[at], **walked})
    return meter.usage


def with_update(state: OverallState, update: Update) -> OverallState:
    """Return the state as it is after that."""
    after = cast(dict[str, Any], {**state})
    for key in ("places", "sources_gathered"):
        if key in update:
            after[key] = extend(after.get(key), cast(Mapping[str, Any], update)[key])
    if "usage" in update:
        after["usage"] = add_usage(state.get("usage"), update["usage"])
    return cast(OverallState, after)


def spent(update: Update, meter: Meter) -> Usage:
    """Return what both have cost."""
    return add_usage(update.get("usage"), meter.usage)


async def _named_by_pages(
    state: OverallState, runtime: Runtime[Configuration], services: Services
) -> Update:
    """Return the places of the searches of the map that pages name and nobody has looked up."""
    configuration, turn = runtime.context or Configuration(), state["turn"]
    gathered = state.get("sources_gathered", [])
    pages = said_by_pages(gathered, state.get("web_research_result", []))
    places, before = list(state.get("places", [])), state.get("usage") or no_usage()
    new, sources, own = list[Place](), list[Source](), no_usage()
    queries = state.get("queries", [])
    for number in searches_to_hold(queries, gathered) if pages else []:
        query = queries[number]
        task, prefix = query["map"], f"a{number}-"
        first = sum(source["id"].startswith(prefix) for source in gathered)
        if not (task and first and task["intent"] in KEYWORD_INTENTS):
            continue
        left = configuration.max_map_calls - before["map_calls"] - own["map_calls"] - _KEPT_CALLS
        branch = AmapSearchState(
            search_query=query["query"], id=str(number), task=task, turn=turn,
            spent=add_usage(before, own), map_calls=max(0, min(_CALLS, left)),
            known=_known_then(state, query),
        )  # fmt: skip
        entered = frozenset(place["id"] for place in [*places, *new])
        result, usage = await look_up_named(
            branch, runtime, services, pages=pages, entered=entered, first=first
        )
        new, sources = [*new, *result.places], [*sources, *result.sources]
        own = add_usage(own, usage)
    if not new and own == no_usage():
        return Update()
    return Update(places=new, sources_gathered=sources, usage=own)


def searches_to_hold(queries: Sequence[PlannedQuery], gathered: Sequence[Source]) -> list[int]:
    """Return the numbers of the searches to hold against pages: each once against the same ones.

    Those of the last round, and all where that has brought pages, too: each search is made again
    for it, of what is known, which takes the processor.
    """
    last = max((query["round"] for query in queries), default=0)
    branches = {source["id"].partition("-")[0] for source in gathered if source["kind"] != "place"}
    fresh = [number for number, query in enumerate(queries) if query["round"] == last]
    has_pages = any(f"{kind}{number}" in branches for number in fresh for kind in "wd")
    return [*range(len(queries))] if has_pages else fresh


def _known_then(state: OverallState, query: PlannedQuery) -> list[Place]:
    """Return the places that were known when a query was asked: the same calls are made again."""
    earlier = {
        f"a{number}"
        for number, each in enumerate(state.get("queries", []))
        if each["round"] < query["round"]
    }
    places = [
        place for place in state.get("places", []) if place["source"].partition("-")[0] in earlier
    ]
    return [*places, *(state.get("previous") or NO_PREVIOUS)["places"]]


def _is_by_name(place: Place, queries: Sequence[PlannedQuery]) -> bool:
    """Return whether a place was looked up by its name, not found around somewhere."""
    branches = {id.partition("-")[0] for id in source_ids(place)}
    tasks = (query["map"] for number, query in enumerate(queries) if f"a{number}" in branches)
    by_name = any(task["intent"] == "poi" for task in tasks if task)
    return by_name or any(has_name(place, word) for word in place["keywords"])


def _origins(state: OverallState) -> list[Anchor]:
    """Return what was searched around: first what the question names, then in its order."""
    question = letters_of(state["turn"]["question"])

    def is_unnamed(anchor: Anchor) -> bool:
        names = (anchor["name"], anchor.get("name_en", ""))
        return not any(own in question for name in names if (own := letters_of(name)))

    return sorted(state.get("anchors", []), key=is_unnamed)


def _measured(place: Place, origins: Sequence[Anchor]) -> Place:
    """Return a place with how far it is from the first of the origins that is in its town."""
    far = ((metres_apart(place["wgs84"], each["wgs84"]), each) for each in origins)
    near = next(((metres, each) for metres, each in far if metres <= _SAME_TOWN_M), None)
    if (
        near is None
        or near[1]["name"] == place["distance_from"]
        or has_name(place, near[1]["name"])
    ):
        return place
    metres, origin = near
    told = {key: value for key, value in place.items() if key not in OF_ITS_ORIGIN}
    told |= {"distance_m": round(metres), "distance_from": origin["name"]}
    if english := origin.get("name_en"):
        told["distance_from_en"] = english
    if place["distance_from"] and place["distance_m"] is not None:
        own = own_distance(place)
        further = [each for each in place.get("further", []) if each["origin"] != origin["name"]]
        told["further"] = [own, *further]
    return cast(Place, told)

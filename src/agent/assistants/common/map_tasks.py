"""Give queries their map tasks: a model's, checked, or those of rules; each keyword once."""

from collections import defaultdict
from collections.abc import Sequence

from agent.assistants.common.forms import WrittenQuery
from agent.configuration import Configuration
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import extract_place, map_task_by_rules
from agent.evidence.maps import WAY_TIMES, valid_map_task
from agent.evidence.said import with_said
from agent.evidence.types import MapTask, Point, Query
from agent.texts import Language, reads_han

_NEEDS_NO_PLACE = {"route", "distance"}
_MOST_KEYWORDS = 3
"""Of one map task."""


def plan_queries(
    written: Sequence[WrittenQuery],
    configuration: Configuration,
    near: Point | None,
    *,
    reader: Language = "en",
    searched: Sequence[MapTask] = (),
    asked: str = "",
) -> list[Query]:
    """Return what a model wrote, with checked map tasks, each place and keyword once in a turn.

    A query for the map alone whose keywords an earlier query takes along is left out.
    `searched` are the tasks that the map has answered, with the keywords it was asked for.
    Who reads Chinese characters reads a place's own name, also where the model wrote another;
    others read the word that they have `asked` with.
    """
    answered: dict[tuple[object, ...], set[str]] = {}
    for task in searched:
        answered.setdefault(_where(task), set()).update(task.get("keywords", []))
    tasks_at = defaultdict[tuple[object, ...], list[MapTask]](list)
    queries: list[Query] = []
    for each in written:
        proposal = _proposal(each, configuration)
        proposal = with_said(proposal, asked) if proposal else None
        if proposal and reads_han(reader):
            proposal = _by_own_name(proposal, each.query)
        fresh = _fresh(proposal, answered) if proposal and has_place(proposal, near) else None
        query = Query(query=each.query, map=_merge(fresh, tasks_at))
        if fresh and not query["map"] and not each.web:
            continue
        if query["map"] and not each.web:
            query["web"] = False
        queries.append(query)
    return queries


def _by_own_name(task: MapTask, query: str) -> MapTask:
    """Return the task with its place as the query names it: West Lake is 西湖 in `西湖 停车场`."""
    place, named = task.get("place"), extract_place(query)
    if not (place and place.isascii() and named) or named[0].isascii():
        return task
    return MapTask(**{**task, "place": named[0]})


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
    is_way = bool(task.get("destination") and (task.get("origin") or near))
    if task["intent"] in _NEEDS_NO_PLACE:
        return is_way
    return is_way or bool(task.get("place") or task.get("city") or near)


def _where(task: MapTask) -> tuple[object, ...]:
    """Return what a task is about, apart from its keywords."""
    keys = ("intent", "place", "city", "origin", "destination", "mode", *WAY_TIMES)
    return (*(task.get(key) for key in keys), *task.get("via", []),
            *task.get("avoid", []), *task.get("wishes", []))  # fmt: skip


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
    earlier = tasks_at[(*_where(task), str(task.get("demands")))]
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

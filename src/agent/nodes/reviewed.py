"""The answer to a plan review as a plan: checked like what a model writes, but never repaired."""

from collections.abc import Collection, Mapping
from typing import Any, get_args, get_type_hints

from agent.configuration import Configuration
from agent.errors import InputError
from agent.evidence.intent import valid_map_task
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, Point, Query
from agent.nodes.routing import placed

MAX_QUERIES = 10
MAX_QUERY = 400
"""Characters."""
_TASK_FIELDS = frozenset(get_type_hints(MapTask))


def read_review(answer: Any, configuration: Configuration, near: Point | None) -> list[Query]:
    """The queries to go on with, none if the person cancelled; raises InputError naming a field."""
    fields = _object(answer, "the answer", {"queries", "cancel"})
    cancel = fields.get("cancel", False)
    if not isinstance(cancel, bool):
        raise InputError("cancel", "must be true or false")
    if cancel:
        return []
    given = fields.get("queries")
    if not isinstance(given, list):
        raise InputError("queries", "must be a list of {query, map}, or answer {cancel: true}")
    if not given:
        raise InputError("queries", "is empty; to stop, answer {cancel: true}")
    if len(given) > MAX_QUERIES:
        raise InputError("queries", f"has {len(given)} entries; at most {MAX_QUERIES} are allowed")
    return [
        _query(one, f"queries[{place}]", configuration, near) for place, one in enumerate(given)
    ]


def _query(given: Any, where: str, configuration: Configuration, near: Point | None) -> Query:
    fields = _object({"query": given} if isinstance(given, str) else given, where, {"query", "map"})
    text = fields.get("query")
    if not isinstance(text, str):
        raise InputError(f"{where}.query", "must be a text")
    # More is read than may stay, so that what is cleaned away is not counted.
    cleaned = clean_text(text[: 4 * MAX_QUERY], MAX_QUERY + 1)
    if not cleaned:
        raise InputError(f"{where}.query", "is empty")
    if len(cleaned) > MAX_QUERY:
        raise InputError(f"{where}.query", f"is longer than {MAX_QUERY} characters")
    asked = fields.get("map")
    task = None if asked is None else _task(asked, f"{where}.map", configuration, near)
    return Query(query=cleaned, map=task)


def _task(given: Any, where: str, configuration: Configuration, near: Point | None) -> MapTask:
    fields = _object(given, where, _TASK_FIELDS)
    if configuration.geo_routing == "never":
        raise InputError(where, "the map is off (geo_routing=never); leave it out")
    intents = get_args(MapIntent)
    if fields.get("intent") not in intents:
        raise InputError(f"{where}.intent", f"must be one of {', '.join(intents)}")
    task = valid_map_task(fields)
    if task is None:
        raise InputError(where, f"lacks what {fields['intent']} needs ({_needs(fields)})")
    if not placed(task, near):
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


def _object(given: Any, where: str, known: Collection[str]) -> Mapping[str, Any]:
    """A JSON object with no other fields than these; a misspelt one would be lost silently."""
    if not isinstance(given, Mapping):
        raise InputError(where, f"must be an object with {', '.join(sorted(known))}")
    for name in given:
        if name not in known:
            place = where if where.startswith("queries") else ""
            full = clean_text(f"{place}.{name}".lstrip("."), 100)
            raise InputError(full, f"is not known here; known: {', '.join(sorted(known))}")
    return given

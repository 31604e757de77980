"""Check what a model or a rule proposes to ask the map: only what can be run of it is taken."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, get_args

from agent.evidence.constraints import valid_clock, valid_constraints
from agent.evidence.names import name_of_place
from agent.evidence.queries import clean_text
from agent.evidence.types import (
    AvoidedRoad,
    Constraints,
    MapIntent,
    MapTask,
    TravelMode,
    WayTime,
    WayWish,
)

_OWN = ("open_at", "open_on", "suits", "max_cost")
"""Demands that a search has of its own."""
_MAX_NAME, _MAX_KEYWORDS, _MAX_WISHES = 80, 3, 8
WAYS = ("route", "distance")
WAY_TIMES: Sequence[WayTime] = get_args(WayTime)
WITHOUT_TRAFFIC = frozenset({"walking", "bicycling"})
"""Ways that take as long at any hour."""
_DEFAULT_RADIUS_M, _MIN_RADIUS_M, _MAX_RADIUS_M = 2000, 100, 50_000


def valid_map_task(candidate: Mapping[str, Any]) -> MapTask | None:
    """Return a runnable task from a model's proposal; None if something needed lacks.

    A search nearby may lack its place: the user's own location can stand for it.
    """
    intent: MapIntent | None = candidate.get("intent")
    if intent is None or intent not in get_args(MapIntent):
        return None
    task = MapTask(intent=intent, radius_m=_clamp(candidate.get("radius_m")))
    names = {key: _name(candidate.get(key)) for key in ("place", "city", "origin", "destination")}
    task["city"] = names["city"]
    if intent not in WAYS and names["origin"] == names["destination"]:
        # Nothing lies between a place and itself.
        names = {**names, "place": names["place"] or names["origin"], "origin": None}
        names["destination"] = None
    task["place"] = names["place"]
    task["origin"], task["destination"] = names["origin"], names["destination"]
    task["keywords"] = _words(candidate.get("keywords"))
    if country := _country(candidate.get("country")):
        task["country"] = country
    if intent in WAYS and (via := _names(candidate.get("via"))):
        task["via"] = via
    mode, asked = candidate.get("mode"), _words(candidate.get("avoid"))
    if mode in ("no_motorway", "no_toll"):
        # One word of the model's form says both, as another field costs tokens of every question.
        mode, asked = "driving", [*asked, mode.removeprefix("no_")]
    if intent in WAYS and (roads := [r for r in get_args(AvoidedRoad) if r in asked]):
        task["avoid"] = roads
    for key in WAY_TIMES if intent in WAYS else ():
        if moment := _moment(candidate.get(key)):
            task[key] = moment
    if "via" in task and (order := candidate.get("any_order")):
        # A form says only that; a task that was checked, whether its end may come in turn, too.
        task["any_order"] = "via" if task["destination"] and order != "all" else "all"
        task["destination"] = task["destination"] or task["via"].pop()
    if wishes := _words(candidate.get("wishes"), _MAX_WISHES):
        task["wishes"] = wishes
    if own := _own_demands(candidate):
        task["demands"] = own
    task["mode"] = mode if mode in get_args(TravelMode) else None
    return task if _is_complete(task) else None


def way_wishes(task: MapTask) -> list[WayWish]:
    """Return what is wished of a way that not every map can do; on foot no hour matters."""
    times = WAY_TIMES if task.get("mode") not in WITHOUT_TRAFFIC else ()
    return [*task.get("avoid", []), *(key for key in times if key in task)]


def dated(task: MapTask, day: str) -> MapTask:
    """Return a task whose times are those of a day; one that has its own keeps it."""
    told = MapTask(**task)
    for key in WAY_TIMES:
        if day and "T" not in (moment := task.get(key) or "T"):
            told[key] = f"{day}T{moment}"
    return told


def _moment(value: object) -> str:
    """Return a time `HH:MM`, behind its ISO date where that is told; empty where it is none."""
    day, _, told = value.strip().rpartition("T") if isinstance(value, str) else ("", "", "")
    clock = valid_clock(told)
    try:
        return f"{date.fromisoformat(day)}T{clock}" if clock else ""
    except ValueError:
        return clock


def _own_demands(candidate: Mapping[str, Any]) -> Constraints:
    """Return what is demanded of this task's places alone: of a model's form, or of a task."""
    own = candidate.get("demands")
    if not isinstance(own, Mapping):
        own = {key: candidate.get(key) for key in _OWN}
    return valid_constraints(own)


def _is_complete(task: MapTask) -> bool:
    where = task.get("place") or task.get("city")
    match task["intent"]:
        case "nearby":
            return bool(task.get("keywords") or where)
        case "area":
            return bool(where and task.get("keywords"))
        case "poi":
            return bool(where or task.get("keywords"))
        case "route" | "distance":
            return bool(task.get("destination"))
    # Where the asker is there is weather, and an address.
    return True


def _clamp(radius: object) -> int:
    if isinstance(radius, bool) or not isinstance(radius, int | float) or radius != radius:
        return _DEFAULT_RADIUS_M
    return int(min(max(radius, _MIN_RADIUS_M), _MAX_RADIUS_M))


def _name(value: object) -> str | None:
    return name_of_place(value) or None


def _names(value: object) -> list[str]:
    return [*dict.fromkeys(filter(None, map(name_of_place, _words(value, _MAX_WISHES))))]


def _country(value: object) -> str | None:
    """Return the two letters of a country, in lower case; None for anything else."""
    code = value.strip().casefold() if isinstance(value, str) else ""
    return code if len(code) == 2 and code.isascii() and code.isalpha() else None


def _words(value: object, most: int = _MAX_KEYWORDS) -> list[str]:
    items = value if isinstance(value, list | tuple) else [value]
    cleaned = [clean_text(item, _MAX_NAME) for item in items if isinstance(item, str)]
    return list(dict.fromkeys(word for word in cleaned if word))[:most]

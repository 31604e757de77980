"""Hold how far off a place is against how far somebody wants to go."""

from agent.evidence.geo import distance_text, duration_text
from agent.evidence.kinds import DemandOutcome
from agent.evidence.names import is_from_middle, origin_text, own_distance
from agent.evidence.types import Constraints, Place, PlaceVerdict
from agent.texts import Language, say

_JUST_OVER = 1.1
"""Times a limit, up to which what is beyond it is only just so."""
_AREA_REACHES_M = 1500
"""From the map's point of a lake or a park to its edge, at most."""
_FASTEST_M = 100
"""Metres that hardly anybody walks in less than a minute."""
_ODD_TIMES, _ODD_WITHIN_M = 4, 300
"""Times a straight line from which on a way to what is so near is none that one walks."""


def beyond(value: float, limit: float, language: Language) -> dict[str, str]:
    """Return the word for how a value lies beyond a limit: somebody may well take 510 m for 500."""
    key = "just_beyond" if value <= limit * _JUST_OVER else "beyond"
    return {"beyond": say(f"constraints.{key}", language)}


def walk_limit_m(demands: Constraints) -> int | None:
    """Return the metres beyond which, also in a straight line, no walk is as short as demanded."""
    minutes = demands.get("max_walk_min")
    return minutes * _FASTEST_M if minutes else demands.get("max_walk_m")


def walk_limit_text(metres: int | None, minutes: int | None, language: Language) -> str:
    """Return the longest walk as it was asked for, in minutes or metres; empty where none was."""
    if minutes:
        return duration_text(minutes * 60, language)
    return say("records.metres", language, metres=metres) if metres else ""


def walk_verdict(place: Place, demands: Constraints, language: Language) -> PlaceVerdict | None:
    """Return whether the way on foot is short enough, minutes by minutes and metres by metres.

    It is never shorter than the straight line, and often much longer.
    """
    minutes, limit = demands.get("max_walk_min"), walk_limit_m(demands)
    if limit is None:
        return None
    constraint = "max_walk_min" if minutes else "max_walk_m"
    bound = walk_limit_text(limit, minutes, language)
    seconds, metres = place.get("walk_s"), place.get("walk_m")
    # As minutes are told: 25 min 20 s are 25 minutes.
    walk = metres if not minutes else None if seconds is None else max(1, round(seconds / 60))
    if walk is not None:
        is_met, most = walk <= (minutes or limit), minutes or limit
        if not is_met and is_odd_way(place["distance_m"], metres):
            return PlaceVerdict(
                constraint=constraint,
                verdict="unknown",
                field="distance_m",
                text=_odd_way_text(place, bound, language),
            )
        key = "max_walk_m.satisfied" if is_met else "walked_further"
        told = walk_limit_text(walk, walk if minutes else None, language)
        text = say(f"constraints.{key}", language, walk=told, limit=bound,
                   **beyond(walk, most, language))  # fmt: skip
        return PlaceVerdict(
            constraint=constraint,
            verdict="satisfied" if is_met else "violated",
            field="walk_s" if minutes else "walk_m",
            text=text,
        )
    if (within := _within_area(place, limit, constraint, bound, language)) is not None:
        return within
    line = place["distance_m"]
    outcome: DemandOutcome = "violated" if line is not None and line > limit else "unknown"
    return PlaceVerdict(
        constraint=constraint,
        verdict=outcome,
        field="distance_m",
        text=say(f"constraints.max_walk_m.{outcome}", language, metres=str(line or 0), limit=bound),
    )


def is_odd_way(line: int | None, way: int | None) -> bool:
    """Return whether a measured way is so many times its short straight line that one looks again.

    The router may have begun it across the street, or in an inner court.
    """
    return (
        line is not None and way is not None and line <= _ODD_WITHIN_M and way > _ODD_TIMES * line
    )


def _odd_way_text(place: Place, limit: str, language: Language) -> str:
    line, way = (
        distance_text(metres, language) for metres in (place["distance_m"], place["walk_m"])
    )
    return say("constraints.max_walk_m.odd", language, line=line, walk=way, limit=limit)


def near_verdict(place: Place, limit: int | None, language: Language) -> PlaceVerdict | None:
    """Return whether a place is near enough in a straight line."""
    if limit is None:
        return None
    metres, bound = place["distance_m"], str(limit)
    outcome: DemandOutcome = (
        "unknown" if metres is None else "satisfied" if metres <= limit else "violated"
    )
    if outcome == "violated" and (
        within := _within_area(place, limit, "max_distance_m", bound, language)
    ):
        return within
    values = {"metres": str(metres or 0), "limit": bound, **beyond(metres or 0, limit, language)}
    return PlaceVerdict(
        constraint="max_distance_m",
        verdict=outcome,
        field="distance_m",
        text=say(f"constraints.max_distance_m.{outcome}", language, **values),
    )


def _within_area(
    place: Place, limit: int, constraint: str, bound: str, language: Language
) -> PlaceVerdict | None:
    """Return that a distance to an area says too little; None where it does say enough."""
    near = own_distance(place)
    metres = near["metres"]
    if metres is None or metres > limit + _AREA_REACHES_M or not is_from_middle(near):
        return None
    key = "max_distance_m" if constraint == "max_distance_m" else "max_walk_m"
    origin = origin_text(near, language)
    text = say(f"constraints.{key}.of_area", language, origin=origin, limit=bound)
    return PlaceVerdict(constraint=constraint, verdict="unknown", field="distance_m", text=text)

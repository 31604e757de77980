"""The ways of a planned day: measured or estimated, on foot or ridden, and which are too long."""

import math
from collections.abc import Mapping
from itertools import pairwise

from agent.evidence.geo import metres_apart
from agent.evidence.hours import minutes_of
from agent.evidence.mentions import places_of
from agent.evidence.types import Leg, Outing, OutingWish, Point

HERE, THERE = "", "|"
"""Stand for where the day begins, and for where it ends elsewhere, among the ids of places."""
Legs = Mapping[tuple[str, str], Leg]
"""Measured ways by the ids of their ends."""
WALKABLE_S = 25 * 60
STEP = 5
"""Minutes: a timetable to the minute would promise too much."""
_WALKING, _RIDING, _WAITING_S = 1.25, 5.0, 600
"""Metres a second on foot and in a bus or train, and seconds to reach and await that."""
_DETOUR = 1.3
_ABOUT_M = 50
"""An estimate to the metre would promise too much."""


def estimated_leg(
    start: Point, end: Point, longest_walk: float = math.inf, walkable_s: float = WALKABLE_S
) -> Leg:
    """Return the way from the straight line: on foot where that is short, else by bus or train."""
    line = metres_apart(start, end)
    metres = max(1, round(line * _DETOUR / _ABOUT_M)) * _ABOUT_M
    on_foot = round(metres / _WALKING)
    if on_foot <= walkable_s and metres <= longest_walk:
        return Leg(mode="walking", distance_m=metres, duration_s=on_foot, estimated=True)
    seconds = round(_WAITING_S + metres / _RIDING)
    return Leg(mode="transit", distance_m=metres, duration_s=seconds, estimated=True)


def leg_between(start: Point, end: Point, measured: Leg | None, wish: OutingWish) -> Leg:
    """Return the measured way; one that is too long to walk only where it is not ridden."""
    if wish.get("on_foot"):
        on_foot = measured is not None and measured["mode"] == "walking"
        return measured if measured and on_foot else estimated_leg(start, end, walkable_s=math.inf)
    longest, minutes = wish.get("max_walk_m", math.inf), wish.get("max_walk_min")
    walkable = minutes * 60 if minutes else WALKABLE_S
    estimated = estimated_leg(start, end, longest, walkable)
    if measured is None:
        return estimated
    is_walk = measured["mode"] == "walking"
    too_long = is_walk and measured["duration_s"] > walkable
    if is_walk and (measured["distance_m"] > longest or (minutes and too_long)):
        return estimated_leg(start, end, 0)
    return estimated if too_long and estimated["mode"] == "transit" else measured


def is_near_wanted(wish: OutingWish) -> bool:
    """Return whether stops that lie too far to walk are none: others of their kind are nearer.

    Who names neither an order nor that all is walked rides there.
    """
    is_limited = not {"max_walk_min", "max_walk_m"}.isdisjoint(wish)
    return is_limited and not {"on_foot", "order"}.isdisjoint(wish)


def is_beyond(leg: Leg, wish: OutingWish) -> bool:
    """Return whether a way on foot is longer than the day's limit on walks."""
    seconds = wish.get("max_walk_min", math.inf) * 60
    is_long = leg["distance_m"] > wish.get("max_walk_m", math.inf) or leg["duration_s"] > seconds
    return leg["mode"] == "walking" and is_long


def timed(leg: Leg) -> int:
    """Return the minutes of a way as the timetable counts them, in whole steps."""
    return max(1, math.ceil(leg["duration_s"] / 60 / STEP)) * STEP


def idle_minutes(outing: Outing) -> int:
    """Return how many minutes of the hours that somebody gave both ends have nothing in them."""
    wish, busy = outing["wish"], 0
    for stop in outing["stops"]:
        busy += minutes_of(stop["ends"]) - minutes_of(stop["begins"])
        busy += timed(stop["leg"]) if "leg" in stop else 0
    busy += timed(outing["back"]) if "back" in outing else 0
    if not ("begins" in wish and "back_by" in wish):
        return 0
    return minutes_of(wish["back_by"]) - minutes_of(wish["begins"]) - busy


def used_legs(outing: Outing) -> list[tuple[str, str]]:
    """Return the ids of the ends of each way that the plan goes, in its order."""
    ids = [HERE] * ("leg" in outing["stops"][0]) + places_of(outing)
    if "back" in outing:
        ids.append(THERE if "end" in outing else HERE)
    return list(pairwise(ids))

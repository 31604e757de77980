"""Stops that may come in any order come in the shortest one."""

from dataclasses import dataclass
from typing import Any

import pytest

from agent.evidence.geo import location_at
from agent.evidence.maps import valid_map_task
from agent.evidence.stop_order import MOST_STOPS, shortest_order
from agent.evidence.types import Leg, Location


@dataclass(frozen=True)
class Spot:
    name: str
    location: Location


def row(names: str) -> list[Spot]:
    """Stops along a street, `a` at its beginning, in the order given."""
    spots = [(name, location_at(120.2 + ord(name) / 1000, 30.2, "WGS-84")) for name in names]
    return [Spot(name, at) for name, at in spots if at]


@pytest.mark.parametrize(
    ("stops", "is_end_named", "best"),
    [
        ("acbd", False, "abcd"),
        ("adbc", True, "abdc"),
        ("adcb", False, "abcd"),
        ("ca", False, ""),
        ("abc", True, ""),
        ("abcdefghijk"[: MOST_STOPS + 1], False, ""),
    ],
)
def test_the_order_with_the_shortest_straight_lines_begins_where_one_is(
    stops: str, is_end_named: bool, best: str
) -> None:
    found = shortest_order(row(stops), None, is_end_named=is_end_named)
    assert "".join(spot.name for spot in found or []) == best


def test_measured_ways_decide_and_one_that_is_lacking_decides_nothing() -> None:
    """A river between two makes the nearest one the farthest."""
    metres = {(0, 1): 900, (0, 2): 100, (1, 2): 100, (1, 0): 900, (2, 0): 100, (2, 1): 100}
    legs = {
        ends: Leg(mode="walking", distance_m=far, duration_s=60, estimated=False)
        for ends, far in metres.items()
    }
    found = shortest_order(row("abc"), legs, is_end_named=False)
    assert [spot.name for spot in found or []] == ["a", "c", "b"]
    del legs[1, 2]
    assert shortest_order(row("abc"), legs, is_end_named=False) is None


@pytest.mark.parametrize(
    ("asked", "order", "via", "end", "wishes"),
    [
        ({"destination": "丁"}, "via", ["乙", "丙"], "丁", []),
        ({}, "all", ["乙"], "丙", []),
        ({"wishes": ["no stairs"]}, "all", ["乙"], "丙", ["no stairs"]),
    ],
)
def test_a_way_in_any_order_needs_no_destination_and_keeps_one_that_is_named(
    asked: dict[str, Any], order: str, via: list[str], end: str, wishes: list[str]
) -> None:
    way = {"intent": "route", "origin": "甲", "via": ["乙", "丙"], "any_order": True}
    task = valid_map_task({**way, **asked})
    assert task is not None
    told = [task.get(key) for key in ("any_order", "via", "destination")]
    assert told == [order, via, end]
    assert task.get("wishes", []) == wishes
    assert valid_map_task(task) == task

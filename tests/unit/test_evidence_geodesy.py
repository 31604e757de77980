import math
import random

import pytest

from agent.evidence.geo import (
    distance_m,
    gcj02_to_wgs84,
    in_china_box,
    name_at,
    parse_lnglat,
    wgs84_to_gcj02,
)
from tests.support.rows import by_examples

TIANANMEN = (116.397455, 39.909187)


def test_the_shift_in_beijing_is_half_a_kilometre_to_the_north_east() -> None:
    lng, lat = wgs84_to_gcj02(116.391, 39.907)
    assert lng == pytest.approx(116.397244, abs=2e-5)
    assert lat == pytest.approx(39.908403, abs=2e-5)


def test_there_and_back_lands_within_a_hundredth_of_a_millimetre() -> None:
    pick = random.Random(7)
    for _ in range(3000):
        point = (pick.uniform(74, 135), pick.uniform(4, 53))
        back = gcj02_to_wgs84(*wgs84_to_gcj02(*point))
        assert distance_m(point, back) < 1e-5


def test_outside_china_both_systems_are_the_same() -> None:
    paris = (2.3522, 48.8566)
    assert wgs84_to_gcj02(*paris) == paris
    assert gcj02_to_wgs84(*paris) == paris
    assert not in_china_box(*paris)
    assert in_china_box(*TIANANMEN)


def test_distance_is_in_metres_on_the_mean_sphere() -> None:
    assert distance_m((0, 0), (1, 0)) == pytest.approx(111_195.08, abs=0.1)
    assert distance_m(TIANANMEN, TIANANMEN) == 0
    assert distance_m((0, 90), (0, -90)) == pytest.approx(math.pi * 6_371_008.8)


@pytest.mark.parametrize(
    "text",
    ["116.41,39.91", " 116.41 , 39.91 ", "116.41，39.91", "(116.41, 39.91)", "39.91,116.41",
     "116.41 39.91"],
)  # fmt: skip
def test_a_coordinate_pair_is_read_in_either_order_in_china(text: str) -> None:
    assert parse_lnglat(text) == (116.41, 39.91)


@pytest.mark.parametrize(
    "text",
    ["", "116.41", "abc", "116.41,", "200,10", "1,2,3", "nan,inf", "116.41,139.9", "9" * 999],
)
def test_what_is_no_coordinate_pair_is_none(text: str) -> None:
    assert parse_lnglat(text) is None


def test_a_pair_abroad_keeps_its_order() -> None:
    assert parse_lnglat("2.35,48.85") == (2.35, 48.85)
    assert parse_lnglat("-33.86,151.2") == (151.2, -33.86)


@by_examples
def test_a_position_is_called_as_what_it_is_rounded_from_not_as_what_is_nearest(
    position: str, name: str | None
) -> None:
    assert name_at(position, {"24.939753,60.170605": "bicycles"}) == name

"""Where one could eat or rest beside a planned day, and how far that is from its stops."""

from typing import Any

import pytest

from agent.evidence.outing.beside import beside_lines
from agent.evidence.types import Leg, Outing, Place
from tests.unit.planned_days import Days, spot, stops, told

MUSEUM, GALLERY = spot(1, "自然博物馆"), spot(4, "美术馆", "美术馆")
CAFE, FAR_CAFE = spot(6, "近咖", "咖啡厅"), spot(9, "远咖", "咖啡厅")
MEASURED = Leg(mode="walking", distance_m=420, duration_s=330, estimated=False)


def day(*places: Place, **wish: Any) -> Outing:
    made: Any = {"stops": [{"place": each["id"]} for each in places], "wish": wish}
    return made


def test_the_way_to_the_nearest_cafe_is_the_measured_one_else_said_to_be_about_so() -> None:
    found = [MUSEUM, GALLERY, CAFE, FAR_CAFE]
    legs = {(GALLERY["id"], CAFE["id"]): MEASURED}
    [line] = beside_lines(day(MUSEUM, GALLERY), found, legs, "zh")
    assert all(told in line for told in ("近咖", "从美术馆", "420 m"))
    assert "约" not in line
    [estimated] = beside_lines(day(MUSEUM, GALLERY), found, {}, "zh")
    assert "约 250 m" in estimated


@pytest.mark.parametrize(
    ("others", "wish"),
    [
        ([spot(300, "远咖", "咖啡厅")], {}),
        ([CAFE], {"without": [CAFE["id"]]}),
        ([{**CAFE, "verdicts": [{"constraint": "max_cost", "verdict": "violated"}]}], {}),
        ([spot(6, "书店", "书店")], {}),
    ],
)
def test_nothing_is_told_that_is_far_unwanted_unfit_or_another_stop(
    others: list[Place], wish: Any
) -> None:
    assert not [*beside_lines(day(MUSEUM, GALLERY, **wish), [MUSEUM, GALLERY, *others], {}, "zh")]


def test_a_day_with_a_rest_needs_no_other() -> None:
    assert not [*beside_lines(day(MUSEUM, CAFE), [MUSEUM, CAFE, FAR_CAFE], {}, "zh")]


def test_a_cafe_for_which_a_day_has_no_room_is_told_with_its_way() -> None:
    """A writer recommended it, and nobody had measured how far it is."""
    outing = Days().ask("逛自然博物馆和美术馆", [MUSEUM, GALLERY, CAFE], outing={"stops": 2})
    assert stops(outing) == ["自然博物馆", "美术馆"]
    assert "近咖" in told(outing)

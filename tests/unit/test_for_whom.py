"""Of which places is asked whom they suit: of what is looked for, not of what lies beside it."""

from typing import Any

import pytest

from agent.evidence.constraints import check
from agent.evidence.ordering import judged
from agent.evidence.types import Constraints, Place, PlaceKind
from tests.unit.test_evidence_mentions import place
from tests.unit.test_question import MAP, read

FOR_CHILDREN = Constraints(suits=["children"])


def of_category(category: str, **fields: Any) -> Place:
    return Place(**{**place("甲"), "category": category, "distance_m": 300, **fields})


def asked(category: str, demanded: Constraints, /, **fields: Any) -> list[tuple[str, str]]:
    found = check(of_category(category, **fields), demanded, "zh")
    return [(each["constraint"], each["verdict"]) for each in found]


def test_a_station_that_one_comes_by_need_suit_no_child_and_cost_nothing() -> None:
    """Its card had "? not known whether suitable for children"."""
    demand = Constraints(suits=["children"], max_cost=100, min_rating=4, max_distance_m=500)
    station, shop = of_category("地铁站"), of_category("玩具店")
    told = [each["constraint"] for each in check(station, demand, "zh")]
    assert told == ["max_distance_m"]
    assert {each["constraint"] for each in check(shop, demand, "zh")} == {
        "children", "max_cost", "min_rating", "max_distance_m",
    }  # fmt: skip
    lift = Constraints(kind="station", suits=["wheelchair"])
    assert {each["constraint"] for each in check(station, lift, "zh")} == {"wheelchair", "kind"}


@pytest.mark.parametrize(
    ("category", "told"),
    [
        ("药店", []),
        ("中餐厅", []),
        ("亲子餐厅", [("children", "satisfied")]),
        ("酒吧", [("children", "violated")]),
        ("公园", [("children", "unknown")]),
        ("购物中心", [("children", "unknown")]),
        ("书店", [("children", "unknown")]),  # It is a stop as a museum is: one reads there.
    ],
)
def test_lunch_on_a_day_with_a_child_is_no_open_question_and_a_stop_is(
    category: str, told: list[tuple[str, str]]
) -> None:
    """Each restaurant of a day was "not known whether suitable for children, please check"."""
    assert asked(category, FOR_CHILDREN) == told


def test_what_is_asked_for_or_searched_for_as_such_is_told_to_be_unknown() -> None:
    unknown = ("children", "unknown")
    assert unknown in asked("中餐厅", Constraints(suits=["children"], kind="restaurant"))
    assert unknown in asked("中餐厅", Constraints(), demands=FOR_CHILDREN)
    assert asked("书店", Constraints(suits=["wheelchair"])) == [("wheelchair", "unknown")]


def test_a_place_to_play_stands_before_lunch_for_who_asks_for_children() -> None:
    play, meal = of_category("滑梯", name="乙"), of_category("中餐厅")
    assert [each["name"] for each in judged([meal, play], FOR_CHILDREN, "zh")] == ["乙", "甲"]


@pytest.mark.parametrize(
    ("keywords", "kind"),
    [(["咖啡馆"], "cafe"), (["咖啡馆", "公园"], None), (["亲子乐园"], None)],
)
def test_who_asks_for_cafes_alone_asks_whom_these_suit(
    keywords: list[str], kind: PlaceKind | None
) -> None:
    query = {"query": "王府井", "map": {**MAP, "keywords": keywords}}
    found = read("王府井适合老人的", query=[query], constraints={"suits": ["elderly"]})
    assert found.demands.get("kind") == kind


@pytest.mark.parametrize(
    ("own", "is_kept"),
    [
        ({"open_at": "01:45", "open_on": [2]}, False),
        ({"open_at": "22:30"}, False),
        ({"open_at": "20:00"}, True),
        ({"open_on": [2]}, True),
    ],
)
def test_what_one_search_wants_after_the_questions_hour_need_not_stay_open_until_that(
    own: Constraints, is_kept: bool
) -> None:
    """A grill that opens at 20:00 was "open until Tue 22:00" for who asked for 01:45."""
    grill = of_category("烧烤", open_time="周一至周日 20:00-05:00", demands=own)
    [told] = check(grill, {"open_until": "22:00", "open_on": [1]}, "zh")
    assert ("22:00" in told["text"]) is is_kept

"""Places stand in the order that a question wishes, or it is told that nobody knows it."""

from typing import Any

import pytest

from agent.assistants.common.forms import PlannedConstraints
from agent.evidence.constraints import valid_constraints
from agent.evidence.ordering import grouped_lines, judged
from agent.evidence.types import Place, SortKey
from agent.texts import Language, say
from tests.unit.test_constraints import record

FOUND = [
    record("A", source="a0-0", distance_m=300, distance_from="Zoo", walk_m=900, rating=4.1),
    record("B", source="a0-1", distance_m=500, distance_from="Zoo", walk_m=600, cost=40.0),
    record("C", source="a1-0", distance_m=400, distance_from="Zoo", rating=4.8, cost=0.0),
]


def names(places: list[Place], order: SortKey | None, language: Language = "en") -> list[str]:
    lines = grouped_lines(places, language, order).splitlines()
    rows = (line.split("] ", 1) for line in lines if "] " in line)
    return [row[1].partition(" | ")[0] for row in rows]


@pytest.mark.parametrize(
    ("order", "told"), [("distance", "ACB"), ("walk", "BAC"), ("rating", "CAB"), ("price", "CBA")]
)
def test_places_of_all_searches_stand_in_the_order_that_is_wished(
    order: SortKey, told: str
) -> None:
    """The three nearest on foot stood by their straight lines, and the order was "unknown"."""
    asked = judged(FOUND, {"sort_by": order}, "en")
    assert "".join(place["name"] for place in asked) == told
    assert "".join(names(asked, order)) == told
    first = grouped_lines(asked, "zh", order).splitlines()[0]
    assert first == say(f"map.sorted.{order}", "zh")
    assert not any("verdicts" in place for place in asked), "it is no demand on any of them"


def test_what_fails_a_demand_stands_behind_the_others_in_any_order() -> None:
    asked = judged(FOUND, {"sort_by": "rating", "max_cost": 50}, "en")
    assert "".join(names(asked, "rating")) == "CBA"
    assert "".join(place["name"] for place in asked) == "CBA", "the price of A is unknown"


def test_an_order_that_no_record_tells_is_said_to_be_unknown() -> None:
    [first, *_] = grouped_lines([record("A"), record("B")], "en", "rating").splitlines()
    assert first == say("map.unsorted.rating", "en")


CAFE, PARKING = {"keywords": ["咖啡馆"], "category": "咖啡厅"}, {"keywords": ["停车场"]}
QUIET = {"kind": "cafe", "other": ["quiet"]}


@pytest.mark.parametrize(
    ("others", "is_of_all"),
    [
        ([record("C", **CAFE)], True),
        ([record("P", category="停车场", **PARKING)], False),
        ([record("C", **CAFE), record("P", category="停车场", **PARKING)], False),
    ],
)
def test_what_is_said_of_all_that_are_listed_was_asked_of_all(
    others: list[Place], is_of_all: bool
) -> None:
    """Above cafés and a car park stood "of every place: not known whether quiet"."""
    found = [record("A", **CAFE), record("B", **CAFE), *others]
    lines = grouped_lines(judged(found, valid_constraints(QUIET), "en"), "en").splitlines()
    quiet = say("constraints.other.unknown", "en", demand="quiet")
    assert (say("constraints.groups.of_all", "en", demands=quiet) in lines) is is_of_all
    told = [line for line in lines if "] " in line and quiet in line]
    assert len(told) == (0 if is_of_all else sum(each["name"] != "P" for each in found))
    # Nobody could know it of any: it rules none out.
    assert not any(say("constraints.groups.unknown", "en", count=n) in lines for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("cities", "of_all"),
    [
        (["上海市"] * 3, "上海市"),
        (["上海市", "上海市", "苏州市"], ""),
        (["上海市", "上海市", None], ""),
    ],
)
def test_a_city_that_all_places_are_in_stands_once(cities: list[str | None], of_all: str) -> None:
    found = [record(str(at), city=city, address="路1号") for at, city in enumerate(cities)]
    first, *lines = grouped_lines(found, "zh").splitlines()
    assert (first == say("constraints.groups.of_all", "zh", demands=of_all)) is bool(of_all)
    assert any("上海市" in line for line in lines) is not bool(of_all)


@pytest.mark.parametrize("word", ["beauty", "", None, ["walk"]])
def test_an_order_by_something_else_is_none(word: Any) -> None:
    assert PlannedConstraints.model_validate({"sort_by": word}).sort_by is None
    assert valid_constraints({"sort_by": word}) == {}

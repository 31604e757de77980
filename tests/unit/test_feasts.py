"""Weekly hours speak of no public holidays: on one they are told as those of ordinary days."""

from typing import Any

import pytest

from agent.evidence.constraints import check
from agent.evidence.feasts import shared_feast
from agent.evidence.ordering import grouped_lines, judged
from agent.evidence.types import Constraints, Place
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.test_constraints import record
from tests.unit.test_outing_stops import MUSEUM, PARK, planned

FINLAND = {"zone": "Europe/Helsinki"}
DEC_6 = Constraints(open_on=[7], day="2026-12-06")


def verdict(hours: str, demands: Constraints = DEC_6) -> Any:
    osm = {"hours_osm": hours, "fetched_at": "2026-11-28T10:00:00+00:00"}
    [found] = check(record(open_time=hours, **osm, **FINLAND), demands, "en")
    return found


@by_examples
def test_on_a_public_holiday_only_a_record_that_speaks_of_those_tells(
    hours: str, expected: str
) -> None:
    """Museums were "open Sunday" on 6 December, Finland's Independence Day."""
    found = verdict(hours)
    assert found["verdict"] == expected
    is_told = "a public holiday" in found["text"] or "by ordinary hours" in found["text"]
    assert is_told is (hours not in ("Mo-Fr 10:00-20:00", "24/7"))


def test_that_ordinary_hours_may_not_hold_is_told_once_for_all_places() -> None:
    osm = {"fetched_at": "2026-11-28T10:00:00+00:00", **FINLAND}
    rows = [
        record(name, open_time=hours, hours_osm=hours, **osm)
        for name, hours in (("A", "Mo-Su 10:00-20:00"), ("B", "Mo-Su 09:00-18:00"))
    ]
    text = say("constraints.feast.unknown", "en", when="Sun")
    lines = grouped_lines(judged(rows, DEC_6, "en"), "en").splitlines()
    assert lines[0] == say("constraints.groups.of_all", "en", demands=text)
    assert text not in "\n".join(lines[1:])


def test_who_would_fit_on_an_ordinary_day_is_told_apart_from_whose_hours_nobody_knows() -> None:
    """Of twenty places none met or failed anything, and all stood in one list by distance."""
    osm = {"fetched_at": "2026-11-28T10:00:00+00:00", **FINLAND}
    rows = [
        record("Unknown", **osm, distance_m=10),
        record("Ordinary", open_time="x", hours_osm="Mo-Su 13:00-22:00", **osm, distance_m=300),
        record("Closed", open_time="x", hours_osm="Mo-Sa 13:00-22:00", **osm, distance_m=20),
    ]
    found = judged(rows, Constraints(**{**DEC_6, "open_at": "20:00"}), "en")
    assert [place["name"] for place in found] == ["Ordinary", "Unknown", "Closed"]
    lines = grouped_lines(found, "en")
    heads = [
        say(f"constraints.groups.{name}", "en", count=1)
        for name in ("ordinarily", "unknown", "violated")
    ]
    assert [line for line in lines.splitlines() if line in heads] == heads
    assert lines.index(heads[0]) < lines.index("Ordinary") < lines.index(heads[1])
    assert lines.count("public holiday") == 1, "once, above those that it is about"
    assert "by ordinary hours" not in lines.split("Ordinary")[1].splitlines()[0]


def test_a_search_with_a_day_of_its_own_is_not_about_the_question_s() -> None:
    found = verdict("Mo-Su 10:00-20:00", Constraints(open_on=[1], day="2026-12-06"))
    assert found["verdict"] == "satisfied"


@pytest.mark.parametrize(("at", "expected"), [("13:00", "satisfied"), ("18:00", "violated")])
def test_an_hour_of_a_public_holiday_is_held_against_its_own_rule(at: str, expected: str) -> None:
    demands = Constraints(**{**DEC_6, "open_at": at})
    assert verdict("Mo-Su 10:00-20:00; PH 12:00-16:00", demands)["verdict"] == expected


@by_examples
def test_a_holiday_is_one_of_the_country_where_the_place_is(
    zone: str | None, day: str, is_feast: bool
) -> None:
    place: Place = record(**({"zone": zone} if zone else {}))
    assert shared_feast([place], day) is is_feast
    assert not shared_feast([], day)


def test_a_planned_day_that_is_one_says_so() -> None:
    for day, is_told in (("2026-10-01", True), ("2026-10-13", False)):
        told = planned(MUSEUM, PARK, day=day).get("told", [])
        assert any(day in each for each in told) is is_told

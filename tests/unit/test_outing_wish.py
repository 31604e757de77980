"""What is wanted of a day, as a model wrote it: only what can be planned of it is taken."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.evidence.outing.text import outing_remarks
from agent.evidence.outing.wish import dated_wish, valid_wish, with_found_places
from agent.evidence.types import LeftOut, Outing, OutingWish, Stop
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.test_constraints import record

MORNING = datetime(2026, 11, 23, 8, 10, tzinfo=UTC)
EVENING = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
SUNDAY = 7


def test_a_day_that_is_not_named_is_today_in_the_morning_and_else_tomorrow() -> None:
    assert dated_wish({}, MORNING) == {"day": "2026-11-23", "begins": "09:30"}
    assert dated_wish({}, EVENING) == {"day": "2026-11-24"}


@by_examples
def test_no_plan_begins_in_the_past(
    wish: OutingWish, hour: int, minute: int, day: str, begins: str
) -> None:
    found = dated_wish(wish, MORNING.replace(hour=hour, minute=minute))
    assert (found["day"], found["begins"]) == (day, begins)


def test_a_weekday_that_is_ruled_out_is_not_the_day_that_nobody_named() -> None:
    saturday_evening = datetime(2026, 11, 28, 18, tzinfo=UTC)
    assert dated_wish({}, saturday_evening, [SUNDAY])["day"] == "2026-11-30"
    assert dated_wish({"day": "2026-11-29"}, saturday_evening, [SUNDAY])["day"] == "2026-11-29"


def test_an_end_that_is_over_stays_one_so_that_no_plan_goes_beyond_it() -> None:
    wish = dated_wish({"day": "2026-11-23", "back_by": "12:00"}, MORNING.replace(hour=13))
    assert wish == {"day": "2026-11-23", "begins": "13:45", "back_by": "12:00"}


def test_a_change_to_a_plan_of_yesterday_makes_one_for_the_next_day_that_may_still_begin() -> None:
    yesterday: OutingWish = {"day": "2026-11-22", "begins": "10:00"}
    assert dated_wish(yesterday, MORNING)["day"] == "2026-11-23"
    assert dated_wish(yesterday, EVENING)["day"] == "2026-11-24"


def test_a_wish_is_taken_as_far_as_it_can_be_planned() -> None:
    stated = {"begins": "9:30", "back_by": "17:00", "meals": ["dinner", "tea", "lunch"]}
    expected = {
        "day": "2026-11-28",
        "begins": "09:30",
        "back_by": "17:00",
        "meals": ["lunch", "dinner"],
    }
    assert valid_wish(stated, "2026-11-28", None, []) == expected
    odd = {"begins": "soon", "back_by": "25:00", "meals": "lunch", "changes": None}
    assert valid_wish(odd, "", None, []) == {}
    assert valid_wish({"begins": "10:00", "back_by": "09:00"}, "", None, []) == {"begins": "10:00"}
    assert valid_wish({}, "", None, []) == {}


def an_outing() -> Outing:
    stops = [
        Stop(place="amap:A", name="妇女儿童博物馆", source="a0-0", begins="09:30", ends="11:30"),
        Stop(name="附近自选", begins="11:30", ends="12:30", meal="lunch"),
        Stop(place="amap:B", name="和平菓局", source="a0-1", begins="12:40", ends="14:40"),
        Stop(place="amap:C", name="乐高品牌旗舰店(北京王府井店)", source="a0-2", begins="15:00",
             ends="15:45"),
    ]  # fmt: skip
    left = LeftOut(place="amap:D", name="景山公园", source="a0-3", reason="unwanted", text="…")
    return Outing(
        wish={"day": "2026-11-24", "without": ["amap:D"]}, day="2026-11-24", begins="09:30",
        ends="15:45", stops=stops, left_out=[left], url="",
    )  # fmt: skip


def changed(stop: str, change: str, time: str | None = None) -> OutingWish:
    stated = {"changes": [{"stop": stop, "change": change, "time": time}]}
    return valid_wish(stated, "", an_outing(), [])


@by_examples
def test_a_change_names_a_stop_and_says_what_becomes_of_it(
    stop: str, change: str, time: str | None, key: str, expected: Any
) -> None:
    wish: Any = changed(stop, change, time)
    assert wish[key] == expected
    assert wish["day"] == "2026-11-24"


@pytest.mark.parametrize(
    ("change", "time", "begins"),
    [("later", None, "10:30"), ("earlier", None, "09:00"), ("later", "11:00", "11:00")],
)
def test_a_change_without_a_stop_moves_the_whole_day(
    change: str, time: str | None, begins: str
) -> None:
    assert changed("", change, time) == {
        "day": "2026-11-24", "without": ["amap:D"], "begins": begins
    }  # fmt: skip


def test_a_stop_that_nobody_knows_is_told_once() -> None:
    wish = changed("动物园", "leave_out")
    outing = Outing(**{**an_outing(), "wish": wish})
    said = say("outing.unknown_stops", "zh", names="动物园")
    assert said in outing_remarks(outing, "zh")
    assert "unknown" not in valid_wish({"begins": "11:00"}, "", outing, [])
    assert "unknown" not in changed("动物园", "add")


def test_a_place_that_was_left_out_comes_back_by_its_name() -> None:
    wish = changed("景山公园", "add", "14:00")
    assert wish["without"] == []
    assert wish["not_before"] == {"amap:D": "14:00"}


@pytest.mark.parametrize(("stops", "kept"), [(3, 3), (0, None), (-2, None), (99, None)])
def test_a_number_of_stops_is_kept_until_a_change_says_which_there_are(
    stops: int, kept: int | None
) -> None:
    wish = valid_wish({"stops": stops}, "", None, [])
    assert wish.get("stops") == kept
    outing = Outing(**{**an_outing(), "wish": wish})
    assert valid_wish({"begins": "14:00"}, "", outing, []).get("stops") == kept
    add = {"changes": [{"stop": "景山公园", "change": "add"}]}
    assert "stops" not in valid_wish(add, "", outing, [])


def test_of_an_order_and_a_number_of_stops_the_one_said_last_holds() -> None:
    """Two stops of the plan before capped an order of four without a word."""
    before = Outing(**{**an_outing(), "wish": {"stops": 2}})
    four = ["a", "b", "c", "d"]
    assert "stops" not in (ordered := valid_wish({"order": four}, "", before, []))
    assert ordered["order"][:4] == four
    after = Outing(**{**an_outing(), "wish": {"order": four}})
    fewer = valid_wish({"stops": 3}, "", after, [])
    assert (fewer["stops"], "order" in fewer) == (3, False)
    assert valid_wish({"stops": 2, "order": four}, "", None, []) == {"order": four}


def test_a_meal_in_an_order_is_had() -> None:
    wish = valid_wish({"order": ["museum", "Lunch", "park"]}, "", None, [])
    assert wish["meals"] == ["lunch"]


def test_an_order_of_stops_is_kept_until_a_change_says_which_there_are() -> None:
    wish = valid_wish({"order": ["café", " ", "museum"]}, "", None, [])
    assert wish["order"] == ["café", "museum"]
    outing = Outing(**{**an_outing(), "wish": wish})
    assert "order" in valid_wish({"begins": "14:00"}, "", outing, [])
    add = {"changes": [{"stop": "景山公园", "change": "add"}]}
    assert "order" not in valid_wish(add, "", outing, [])
    assert "order" not in valid_wish({"order": ["café"]}, "", None, [])


@pytest.mark.parametrize("stop", ["0", "9", "99999999999999999999", "长城", "²"])
def test_a_stop_that_is_not_there_is_told_and_changes_nothing(stop: str) -> None:
    assert changed(stop, "later") == {**an_outing()["wish"], "unknown": [stop]}


def test_a_change_of_the_day_or_the_hours_keeps_the_rest_of_the_wish() -> None:
    wish = valid_wish({"begins": "11:00"}, "2026-11-29", an_outing(), [])
    assert wish == {"day": "2026-11-29", "without": ["amap:D"], "begins": "11:00"}


def test_a_first_plan_leaves_out_a_shown_place_by_its_name() -> None:
    places: Any = [{"id": "amap:C", "name": "乐高品牌旗舰店(北京王府井店)"}]
    stated = {"changes": [{"stop": "乐高品牌旗舰店", "change": "leave_out"}]}
    assert valid_wish(stated, "", None, places)["without"] == ["amap:C"]


def test_a_stop_is_known_by_the_map_s_name_too_where_the_plan_has_the_reader_s() -> None:
    outing = an_outing()
    stop = next(stop for stop in outing["stops"] if "place" in stop)
    places = [record(id=stop["place"], name=stop["name"])]
    stop["name"] = "Shanghai Museum"
    change = {"stop": places[0]["name"], "change": "leave_out"}
    assert valid_wish({"changes": [change]}, "", outing, places)["without"][-1] == stop["place"]


def test_what_is_found_for_a_meal_is_had_at_its_time_whatever_else_it_is() -> None:
    """A bakery for lunch at one was planned as an evening's stop."""
    bakery, diner = record(id="amap:F", category="糕饼店"), record(id="amap:G", category="中餐厅")
    named = {"stop": "午饭：便宜的小吃", "change": "add", "time": "13:00"}
    wish = valid_wish({"meals": ["lunch"], "changes": [named]}, "", an_outing(), [])
    found = with_found_places(wish, [bakery])
    assert found["eats"] == {"amap:F": "lunch"}
    assert found["not_before"] == {"amap:F": "13:00"}
    assert "incoming" not in found
    both = {"changes": [{"stop": "湖", "change": "add"}, {"stop": "dinner", "change": "replace"}]}
    assert with_found_places(valid_wish(both, "", an_outing(), []), [bakery, diner])["eats"] == {
        "amap:G": "dinner"
    }

"""What a question says of a day: that one is wanted, when, and what is to change of a plan."""

from datetime import UTC, datetime

import pytest

from agent.evidence.outing.wish import (
    changed_wish,
    means_earlier_places,
    read_wish,
    wants_outing,
)
from agent.evidence.types import LeftOut, Outing, Stop

MORNING = datetime(2026, 11, 23, 8, 10, tzinfo=UTC)
EVENING = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "把这些排成一日游",
        "西湖一日游怎么安排？",
        "帮我规划一天的行程",
        "北京一日游",
        "plan a day at West Lake",
        "Make a day of it",
        "Can you plan me a day in Beijing?",
        "a one-day itinerary for the Bund",
        "A day at West Lake with lunch",
        "西湖一日游，中午吃饭",
        "在西湖玩一天",
    ],
)
def test_a_question_that_asks_for_a_day_wants_one(question):
    assert wants_outing(question, "auto")


@pytest.mark.parametrize(
    "question",
    [
        "王府井附近适合遛娃的好去处",
        "西湖一日游多少钱",
        "北京一日游骗局有哪些",
        "杭州三日游怎么安排",
        "what happened on this day in 1925?",
        "plan a three-day trip to Beijing",
        "how do I plan a sprint?",
        "a day in the life of a panda",
    ],
)
def test_other_questions_want_none(question):
    assert not wants_outing(question, "auto")


def test_the_setting_decides_where_it_is_not_auto():
    assert wants_outing("咖啡馆", "on")
    assert not wants_outing("把这些排成一日游", "off")


def test_these_places_are_the_last_answers():
    places = [object(), object()]
    assert means_earlier_places("把这些排成一日游", places)
    assert means_earlier_places("Make a day of it", places)
    assert not means_earlier_places("plan a day at West Lake", places)
    assert not means_earlier_places("把这些排成一日游", places[:1])


def test_a_day_that_is_not_named_is_today_in_the_morning_and_else_tomorrow():
    assert read_wish("一日游", MORNING) == {"day": "2026-11-23", "begins": "09:30"}
    assert read_wish("一日游", EVENING) == {"day": "2026-11-24"}


@pytest.mark.parametrize(
    ("question", "hour", "minute", "day", "begins"),
    [
        ("今天一日游", 12, 5, "2026-11-23", "12:45"),
        ("今天一日游，9点出发", 12, 5, "2026-11-23", "12:45"),
        ("今天一日游，15点出发", 12, 5, "2026-11-23", "15:00"),
        ("plan a day, starting at 8am", 10, 20, "2026-11-24", "08:00"),
        ("plan a day, starting at 11am", 10, 20, "2026-11-23", "11:00"),
        ("今天一日游", 23, 50, "2026-11-23", "23:59"),
        ("一日游", 0, 10, "2026-11-23", "09:30"),
        ("2026-11-20 一日游", 8, 10, "2026-11-23", "09:30"),
    ],
)
def test_no_plan_begins_in_the_past(question, hour, minute, day, begins):
    wish = read_wish(question, MORNING.replace(hour=hour, minute=minute))
    assert (wish["day"], wish["begins"]) == (day, begins)


def test_an_end_that_is_over_stays_one_so_that_no_plan_goes_beyond_it():
    wish = read_wish("今天一日游，中午12点前回来", MORNING.replace(hour=13))
    assert wish == {"day": "2026-11-23", "begins": "13:45", "back_by": "12:00"}


def test_a_change_to_a_plan_of_yesterday_makes_one_for_the_next_day_that_may_still_begin():
    yesterday = {**an_outing(), "day": "2026-11-22"}
    yesterday["wish"] = {"day": "2026-11-22", "begins": "10:00"}
    assert changed_wish("第一个晚一点去", yesterday, MORNING)["day"] == "2026-11-23"
    assert changed_wish("第一个晚一点去", yesterday, EVENING)["day"] == "2026-11-24"


@pytest.mark.parametrize(
    ("question", "meals"),
    [
        ("A day at West Lake with lunch", ["lunch"]),
        ("西湖一日游，晚饭在湖边吃", ["dinner"]),
        ("plan a day with lunch and dinner", ["lunch", "dinner"]),
        ("西湖一日游", None),
    ],
)
def test_a_meal_that_is_named_is_the_one_that_is_wished_for(question, meals):
    assert read_wish(question, EVENING).get("meals") == meals


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("周六西湖一日游，十点出发，下午五点前回来", ("2026-11-28", "10:00", "17:00")),
        ("周六西湖一日游，10点半出发，5点前回酒店", ("2026-11-28", "10:30", "17:00")),
        (
            "plan a day on Saturday, starting at 10am, back by 6 pm",
            ("2026-11-28", "10:00", "18:00"),
        ),
        ("plan a day tomorrow, home by 17:30", ("2026-11-24", None, "17:30")),
    ],
)
def test_day_begin_and_end_are_read_from_the_question(question, expected):
    wish = read_wish(question, EVENING)
    assert (wish["day"], wish.get("begins"), wish.get("back_by")) == expected


def an_outing():
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


@pytest.mark.parametrize(
    ("question", "key", "expected"),
    [
        ("第二个晚一点", "not_before", {"amap:B": "13:40"}),
        ("the second one later", "not_before", {"amap:B": "13:40"}),
        ("第二个晚一点去，5点之前回来", "not_before", {"amap:B": "13:40"}),
        ("和平菓局下午三点以后去", "not_before", {"amap:B": "15:00"}),
        ("乐高品牌旗舰店早一点", "not_after", {"amap:C": "14:30"}),
        ("最后一个提前", "not_after", {"amap:C": "14:30"}),
        ("不去第一站了", "without", ["amap:D", "amap:A"]),
        ("skip the last one", "without", ["amap:D", "amap:C"]),
        ("10点出发", "begins", "10:00"),
        ("I have to be back by 5 pm", "back_by", "17:00"),
        ("改到周六", "day", "2026-11-28"),
    ],
)
def test_a_follow_up_changes_the_plan(question, key, expected):
    wish = changed_wish(question, an_outing(), EVENING)
    assert wish is not None
    assert wish[key] == expected


def test_a_place_that_was_left_out_comes_back_by_its_name():
    wish = changed_wish("景山公园下午两点去", an_outing(), EVENING)
    assert wish is not None
    assert wish["without"] == []
    assert wish["not_before"] == {"amap:D": "14:00"}


@pytest.mark.parametrize(
    "question", ["那附近有停车场吗", "谢谢", "第二个有什么好吃的", "上海明天天气"]
)
def test_other_follow_ups_change_nothing(question):
    assert changed_wish(question, an_outing(), EVENING) is None

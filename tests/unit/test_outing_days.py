"""Days as people ask for them and change them: the table and what is told below it."""

from typing import Any

import pytest

from agent.evidence.geo import metres_apart
from agent.evidence.types import Place, Point
from agent.nodes.plan_outing import coming_in
from agent.texts import say
from tests.unit.planned_days import Days, spot, stops, told

MUSEUM = spot(5, "自然博物馆", "自然博物馆", rating=4.8)
PARK = spot(7, "中山公园", "公园", open_time="06:00-22:00")
AQUARIUM = spot(9, "海洋馆", "海洋馆", cost=60.0)
SIGHTS = [MUSEUM, PARK, AQUARIUM]
FOR_FOUR = {"total_cost": 600, "people": 4}


def eatery(number: int, name: str, cost: float | None = 80.0, **more: Any) -> Place:
    return spot(number, name, more.pop("kind", "中餐厅"), cost=cost, **more)


NOODLES, DUCK = eatery(1, "张记面馆", 30.0), eatery(2, "李家烤鸭", 80.0)
LUNCHES = [eatery(1, "贵宾楼", 150.0), eatery(2, "中和楼", 90.0), eatery(3, "便宜坊", 40.0)]


def change(stop: str, kind: str, **more: str) -> dict[str, Any]:
    return {"outing": {"changes": [{"stop": stop, "change": kind, **more}]}}


def reasons(outing: Any) -> dict[str, str]:
    return {left["name"]: left["reason"] for left in outing["left_out"]}


def test_one_lunch_leaves_half_of_the_budget_to_the_other_stops() -> None:
    """A lunch of ¥150 for each of four took all the ¥600 of their day."""
    day = Days().ask(
        "四个人总共600元玩一天，要吃午饭", [*LUNCHES, *SIGHTS], constraints=FOR_FOUR,
        outing={"meals": ["lunch"]},
    )  # fmt: skip
    assert {"便宜坊", "海洋馆"} <= {*stops(day)}
    assert say("outing.prices", "zh", sum="4 × ¥100 = ¥400", total="600") in told(day)
    assert say("outing.prices_not_known", "zh", names="自然博物馆，中山公园") in told(day)


def test_both_meals_that_are_asked_for_are_in_the_budget_before_an_entry() -> None:
    day = Days().ask(
        "四个人总共600元玩一天，要吃午饭和晚饭", [*LUNCHES, *SIGHTS], constraints=FOR_FOUR,
        outing={"meals": ["lunch", "dinner"]},
    )  # fmt: skip
    assert {"便宜坊", "中和楼", "自然博物馆"} <= {*stops(day)}
    assert "海洋馆" not in stops(day)


def test_what_is_wanted_and_costs_too_much_with_the_others_is_told_so() -> None:
    day = Days().ask(
        "两个人200元去海洋馆、自然博物馆和李家烤鸭", [DUCK, *SIGHTS],
        constraints={"total_cost": 200, "people": 2},
    )  # fmt: skip
    assert [*reasons(day).values()] == ["dear"]
    assert say("outing.left_out.dear", "zh", total="200") in told(day)


def test_a_sum_for_nobody_knows_how_many_is_told_by_the_head() -> None:
    day = Days().ask("预算600元玩一天", [DUCK, *SIGHTS], constraints={"total_cost": 600})
    assert say("outing.prices", "zh", sum="人均 ¥140", total="600") in told(day)


def test_a_day_of_free_stops_is_told_no_sum_of_nothing() -> None:
    """It read "4 × ¥0 = ¥0"."""
    free: Any = [{**MUSEUM, "cost": 0.0}, {**PARK, "cost": 0.0}]
    text = told(Days().ask("四个人500元玩半天", free, constraints={**FOR_FOUR, "total_cost": 500}))
    assert "¥0" not in text


def test_a_better_place_a_hundred_metres_on_comes_before_a_nearer_one() -> None:
    near, better = eatery(1, "近店", rating=4.1), eatery(2, "好店", rating=4.8)
    day = Days().ask("玩一天", [near, better, MUSEUM], outing={"meals": ["lunch"]})
    assert "好店" in stops(day)
    cafes = [spot(6, "近咖", "咖啡厅", rating=3.4), spot(8, "好咖", "咖啡厅", rating=4.9)]
    assert coming_in(cafes, [MUSEUM, PARK]) == [cafes[1]]
    assert coming_in(cafes, [MUSEUM, PARK], {cafes[1]["id"]}) == [cafes[0]]


def test_two_children_have_in_half_a_day_what_is_made_for_them() -> None:
    gallery, play = spot(1, "画廊", "美术馆"), spot(3, "儿童乐园", "亲子乐园", rating=4.4)
    meal = eatery(4, "亲子餐厅", kind="亲子餐厅")
    day = Days().ask(
        "带两个孩子玩半天，总共600元", [DUCK, gallery, play, MUSEUM, meal, PARK],
        constraints={"suits": ["children"], **FOR_FOUR}, outing={"back_by": "14:00"},
    )  # fmt: skip
    assert {"儿童乐园", "自然博物馆", "亲子餐厅"} == {*stops(day)}


def test_many_restaurants_leave_room_for_the_sights_found_behind_them() -> None:
    """The first twelve places were restaurants: two meals, and nothing between them."""
    many = [eatery(n, f"{n}号店") for n in range(20, 34)]
    day = Days().ask("玩一天", [*many, *SIGHTS])
    assert {"自然博物馆", "中山公园", "海洋馆"} <= {*stops(day)}


ORDER = {"order": ["中山公园", "自然博物馆", "海洋馆"]}


def test_three_stops_stand_in_the_order_that_was_named() -> None:
    day = Days().ask("先去中山公园，再去自然博物馆，最后海洋馆", SIGHTS, outing=ORDER)
    assert [name for name in stops(day) if name != say("outing.own_choice", "zh")] == ORDER["order"]


def test_a_named_stop_for_which_an_order_has_no_time_is_told() -> None:
    words = "先去中山公园，再去自然博物馆，最后海洋馆，12点前回来"
    day = Days().ask(words, SIGHTS, outing={**ORDER, "back_by": "12:00"})
    assert reasons(day) == {"海洋馆": "time"}


def test_a_stop_that_is_closed_comes_in_on_a_day_on_which_it_is_open() -> None:
    closed = spot(5, "自然博物馆", "自然博物馆", open_time="周二至周日 09:00-17:00")
    days = Days()
    monday = days.ask("去自然博物馆、中山公园和海洋馆", [closed, PARK, AQUARIUM], day="2026-11-30")
    assert reasons(monday) == {"自然博物馆": "closed"}
    tuesday = days.ask("改到周二", [], day="2026-12-01", outing={})
    assert "自然博物馆" in stops(tuesday)
    assert tuesday["left_out"] == []


def test_unknown_hours_and_prices_are_told_and_keep_nothing_out() -> None:
    museum, shop = {**MUSEUM, "open_time": None}, eatery(1, "无价店", None)
    day = Days().ask(
        "500元两人逛自然博物馆和中山公园，要吃饭", [museum, PARK, shop, DUCK],  # type: ignore[list-item]
        constraints={"total_cost": 500, "people": 2},
    )  # fmt: skip
    assert {"自然博物馆", "中山公园", "无价店", "李家烤鸭"} == {*stops(day)}
    assert say("outing.hours_not_known", "zh", names="自然博物馆") in told(day)
    assert "2 × ¥80 = ¥160" in told(day)


@pytest.mark.parametrize(
    ("wish", "first", "last"),
    [({"begins": "11:00"}, "11:00", "21:00"), ({"back_by": "15:00"}, "09:30", "15:00")],
)
def test_a_day_is_within_its_hours_and_has_its_lunch(wish: Any, first: str, last: str) -> None:
    day = Days().ask("玩自然博物馆、中山公园、海洋馆", [DUCK, *SIGHTS], outing=wish)
    assert first <= day["begins"] < day["ends"] <= last
    assert {"自然博物馆", "中山公园", "海洋馆", "李家烤鸭"} == {*stops(day)}
    is_squeezed = say("outing.stays_shorter", "zh") in told(day)
    assert is_squeezed == (last == "15:00")


def test_a_restaurant_that_is_named_is_had_beside_the_usual_hours_and_another_is_not() -> None:
    words, hours = "下午两点到五点，去李家烤鸭和自然博物馆", {"begins": "14:00", "back_by": "17:00"}
    day = Days().ask(words, [NOODLES, {**DUCK, "open_time": None}, MUSEUM], outing=hours)  # type: ignore[list-item]
    assert stops(day) == ["李家烤鸭", "自然博物馆"]
    assert day["left_out"] == []


def test_on_a_rainy_day_one_is_indoors() -> None:
    street = spot(3, "步行街", "步行街")
    day = Days().ask(
        "下雨去哪玩一天", [PARK, street, *SIGHTS[::2]], constraints={"suits": ["indoor"]}
    )
    assert {"中山公园", "步行街"}.isdisjoint(stops(day))
    assert day["left_out"] == []


def test_who_wants_to_walk_all_the_way_rides_nowhere() -> None:
    far, words = spot(30, "远博物馆"), "逛自然博物馆、海洋馆和远博物馆"
    ways = [
        {stop["leg"]["mode"] for stop in day["stops"] if "leg" in stop}
        for wish in ({}, {"on_foot": True})
        for day in [Days().ask(words, [MUSEUM, AQUARIUM, far], outing=wish)]
    ]
    assert ways == [{"walking", "transit"}, {"walking"}]


def test_a_day_from_a_hotel_ends_there_in_time() -> None:
    near = Point(lng=116.395, lat=39.91)
    day = Days().ask("从酒店出发再回酒店", [DUCK, *SIGHTS], near=near, outing={"back_by": "18:00"})
    row = told(day).splitlines()[-3]
    assert say("outing.back", "zh") in row
    assert day["ends"] <= "18:00"


def test_estimated_ways_and_free_hours_are_in_round_figures() -> None:
    day = Days().ask("逛自然博物馆，两顿饭", [NOODLES, DUCK, MUSEUM])
    legs = [stop["leg"]["distance_m"] for stop in day["stops"] if "leg" in stop]
    assert all(metres % 50 == 0 for metres in legs)
    [free] = [line for line in told(day).splitlines() if say("outing.free", "zh") in line]
    assert {clock[-1] for clock in free.split("|")[1].strip().split("–")} <= {"0", "5"}


def planned() -> Days:
    days = Days()
    first = days.ask(
        "玩自然博物馆、中山公园、海洋馆，吃张记面馆和李家烤鸭", [NOODLES, DUCK, *SIGHTS]
    )
    assert len(stops(first)) == 5
    return days


def test_a_stop_that_goes_is_told_as_long_as_it_is_gone() -> None:
    days = planned()
    without = days.ask("不去中山公园了", [], **change("中山公园", "leave_out"))
    assert reasons(without) == {"中山公园": "unwanted"}
    sunday = days.ask("改到周日", [], day="2026-11-29", outing={})
    assert reasons(sunday) == {"中山公园": "unwanted"}
    assert "中山公园：按您的要求\n" in told(sunday), "it has no source, and so no pin"


def test_what_comes_in_for_another_leaves_the_others_in_their_order() -> None:
    """A café for the aquarium made a lunch of the dinner, and a dinner of the lunch."""
    days = planned()
    assert days.previous
    before = stops(days.previous["outing"])
    changes = [{"stop": "海洋馆", "change": "leave_out"}, {"stop": "咖啡馆", "change": "add"}]
    cafe = spot(8, "猫咖", "咖啡厅", keywords=["咖啡馆"])
    day = days.ask("海洋馆换成咖啡馆", [cafe], outing={"changes": changes})
    assert reasons(day) == {"海洋馆": "unwanted"}
    kept = [name for name in before if name != "海洋馆"]
    assert [name for name in stops(day) if name != "猫咖"] == kept
    assert "猫咖" in stops(day)


def test_a_shown_place_that_is_added_by_its_number_and_finds_no_time_is_told() -> None:
    days = Days()
    days.ask(
        "逛自然博物馆和海洋馆", [MUSEUM, AQUARIUM, PARK], outing={"back_by": "14:00", "stops": 2}
    )
    day = days.ask("把第三个加上", [], **change("3", "add"))
    assert len(stops(day)) + len(day["left_out"]) >= 3
    assert "中山公园" in {*stops(day), *reasons(day)}


@pytest.mark.parametrize(
    ("time", "kind", "first", "last", "meal"),
    [
        ("10:30", "earlier", "09:30", "10:30", "lunch"),
        ("14:30", "later", "14:30", "15:30", "lunch"),
        ("20:30", "later", "20:30", "21:00", "dinner"),
    ],
)
def test_a_meal_that_is_moved_stays_in_the_plan(
    time: str, kind: str, first: str, last: str, meal: str
) -> None:
    """A lunch that was to be earlier was left out: no meal had room for it."""
    days = Days()
    days.ask("逛自然博物馆，在李家烤鸭吃饭", [{**DUCK, "open_time": "09:00-23:00"}, MUSEUM])  # type: ignore[list-item]
    day = days.ask("李家烤鸭换个时间", [], **change("李家烤鸭", kind, time=time))
    [stop] = [stop for stop in day["stops"] if stop["name"] == "李家烤鸭"]
    assert first <= stop["begins"] <= last
    assert stop["meal"] == meal
    assert day["left_out"] == []


def test_a_stop_that_is_moved_lets_the_others_go_before_it() -> None:
    days = Days()
    order = {"order": ["自然博物馆", "海洋馆"]}
    days.ask("逛自然博物馆和海洋馆", [MUSEUM, AQUARIUM], outing=order)
    day = days.ask("自然博物馆改到15点", [], **change("自然博物馆", "later", time="15:00"))
    assert [name for name in stops(day) if "自选" not in name] == ["海洋馆", "自然博物馆"]


def test_a_dinner_that_comes_in_keeps_the_lunch() -> None:
    days = Days()
    lunch = {"meals": ["lunch"]}
    first = days.ask("逛自然博物馆和中山公园，在李家烤鸭吃午饭", [DUCK, MUSEUM, PARK], outing=lunch)
    assert [stop["name"] for stop in first["stops"] if "meal" in stop] == ["李家烤鸭"]
    add = {"meals": ["dinner"], **change("面馆", "add")["outing"]}
    day = days.ask("晚上加一家面馆", [{**NOODLES, "keywords": ["面馆"]}], outing=add)  # type: ignore[list-item]
    meals = {stop["name"]: stop["meal"] for stop in day["stops"] if "meal" in stop}
    assert meals == {"李家烤鸭": "lunch", "张记面馆": "dinner"}


def test_who_names_the_first_stops_of_a_plan_drops_none_of_the_others() -> None:
    days = planned()
    day = days.ask("先去自然博物馆再去海洋馆", [], outing={"order": ["自然博物馆", "海洋馆"]})
    first, second, *_ = (name for name in stops(day) if "自选" not in name)
    assert (first, second) == ("自然博物馆", "海洋馆")
    assert len({*stops(day), *reasons(day)}) >= 5


def test_a_day_that_ends_earlier_tells_each_stop_that_goes_and_has_them_back_later() -> None:
    days = planned()
    short = days.ask("13点前结束", [], outing={"back_by": "13:00"})
    assert len(stops(short)) + len(short["left_out"]) == 5
    assert {*reasons(short).values()} <= {"time", "meals"}
    again = days.ask("还是晚上九点结束", [], outing={"back_by": "21:00"})
    assert len(stops(again)) == 5
    assert again["left_out"] == []


def test_a_budget_holds_when_the_day_is_changed() -> None:
    days = Days()
    demands = {"total_cost": 200, "people": 2}
    days.ask("两个人200元，逛自然博物馆和海洋馆", [MUSEUM, AQUARIUM], constraints=demands)
    day = days.ask("加一顿烤鸭", [{**DUCK, "keywords": ["烤鸭"]}], **change("烤鸭", "add"))  # type: ignore[list-item]
    assert "dear" in reasons(day).values()
    assert "¥200" in told(day)


def test_a_day_is_told_in_its_reader_s_language() -> None:
    sights = [{**MUSEUM, "name_en": "Natural History Museum"}, {**PARK, "name_en": "City Park"}]
    day = Days("en").ask("A day for 4 with ¥600", sights, constraints=FOR_FOUR)  # type: ignore[arg-type]
    text = told(day, "en")
    assert "Known prices" not in text
    assert "Price not known: Natural History Museum, City Park." in text


def test_a_meal_in_an_order_comes_when_it_is_time_for_it() -> None:
    """From two on, it is no lunch any more behind two museums, however short the stay."""
    day = Days("en").ask(
        "from two: a museum, another museum, lunch", [MUSEUM, spot(6, "美术馆"), NOODLES],
        outing={"order": ["museum", "museum", "lunch"], "begins": "14:00", "back_by": "19:30"},
    )  # fmt: skip
    lunch, second, _ = day["stops"]
    assert lunch.get("meal") == "lunch"
    told_why = say(
        "outing.reordered.until", "en", first=lunch["name"], second=second["name"], time="15:30"
    )
    assert told_why in told(day, "en")
    assert "lacks" not in day


def test_a_museum_whose_hours_are_known_comes_before_one_of_unknown_hours_a_bit_nearer() -> None:
    unknown = spot(1, "无时间博物馆", open_time=None)
    day = Days().ask("去一个博物馆", [unknown, MUSEUM], outing={"stops": 1})
    assert stops(day) == ["自然博物馆"]


def test_a_meal_is_had_where_an_earlier_answer_showed_a_place_that_is_open_then() -> None:
    """No place fitted lunch on a Sunday, though three restaurants shown before were open."""
    sights = [spot(1, "甲馆"), spot(2, "乙馆")]
    closed = spot(3, "工作日饭馆", "中餐厅", open_time="周一至周五 11:00-21:00")
    others = [
        spot(9, "远饭馆", "中餐厅", open_time="11:00-21:00"),
        spot(4, "近饭馆", "中餐厅", open_time="11:00-21:00"),
        spot(2, "夜饭馆", "中餐厅", open_time="18:00-23:00", id="amap:night"),
        spot(3, "贵饭馆", "中餐厅", open_time="11:00-21:00", id="amap:dear", cost=300.0),
    ]
    days = Days()
    wish: Any = {"meals": ["lunch"], "order": ["甲馆", "工作日饭馆", "乙馆"]}
    first = days.ask(
        "周一在甲馆、乙馆玩，工作日饭馆吃午饭", [*sights, closed, *others], outing=wish
    )
    assert "工作日饭馆" in stops(first)
    dear: Any = {"max_cost": 100}
    moved = days.ask("换成周日", [], query=[], day="2026-11-29", outing={}, constraints=dear)
    assert "近饭馆" in stops(moved), "the nearest is too dear"
    assert "远饭馆" not in stops(moved)
    assert not moved.get("lacks")


def test_a_landmark_that_lunch_is_to_be_near_to_is_no_stop_that_there_is_no_time_for() -> None:
    far = spot(9, "Design Museum", open_time="09:00-10:00")
    sights = [spot(1, "City Museum"), spot(2, "Park Museum")]
    day = Days("en").ask("Lunch near the Design Museum, the City Museum", [*sights, far])
    assert "Design Museum" not in reasons(day)
    named = Days("en").ask("The Design Museum and the City Museum", [*sights, far])
    assert "Design Museum" in reasons(named)


def test_the_forecast_is_asked_for_where_the_first_stop_s_record_has_no_city() -> None:
    days = Days()
    found = [spot(1, "儿童公园", "公园", city=None), spot(2, "国家博物馆", city="北京市")]
    days.ask("周二去公园和博物馆", found, day="2026-11-24")
    assert days.maps.forecasts == ["北京市"]


def test_a_stop_s_distance_from_where_the_day_begins_is_the_measured_way() -> None:
    """The card said 327 m, a straight line, beside the plan's walk of 426 m."""
    days, start = Days(), spot(0, "中央车站", "火车站", distance_m=0)
    far = round(metres_apart(start["wgs84"], spot(1, "甲")["wgs84"]))
    found = [spot(1, "国家博物馆", distance_m=far), spot(2, "东单公园", "公园", distance_m=900)]
    days.on_map = [start]
    leg = {"mode": "walking", "distance_m": 150, "duration_s": 120, "estimated": False}
    days.measured = {(0, 1): leg, (0, 2): leg}
    days.ask("周二从中央车站出发", found, day="2026-11-24", outing={"from_place": "中央车站"})
    # The other's distance is told from elsewhere.
    assert [place.get("walk_m") for place in days.told] == [150, None]

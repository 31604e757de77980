"""A day over places: their hours, meals and ways, and why a place is left out."""

import json
from importlib.resources import files
from typing import Any

import pytest

from agent.evidence.hours import minutes_of
from agent.evidence.kinds import is_break, is_for_evenings, is_meal, is_spot, is_stop, stay
from agent.evidence.outing.aim import Aim
from agent.evidence.outing.legs import HERE, estimated_leg, used_legs
from agent.evidence.outing.plan import plan_day
from agent.evidence.outing.text import leg_text, outing_lines, outing_section
from agent.evidence.types import Leg, Place, PlaceVerdict, Point
from agent.nodes.plan_outing import coming_in
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.export_samples import place as sample_place

TUESDAY, MONDAY = "2026-11-24", "2026-11-23"
KINDS_OF_MAP = [
    row
    for row in json.loads(files("agent.mcp.osm").joinpath("kinds.json").read_text("utf-8"))
    if not row["tag"].startswith("cuisine=")
]
NEAR = Point(lng=116.40, lat=39.91)


def place(
    number: int, name: str, kind: str = "博物馆", hours: str | None = None, **more: Any
) -> Place:
    changed: dict[str, Any] = {
        "id": f"amap:{number}", "source": f"a0-{number}", "category": kind, "open_time": hours,
        "wgs84": Point(lng=116.40 + number / 1000, lat=39.91),
    }  # fmt: skip
    return sample_place(number, name, **{**changed, **more})


MUSEUM = place(1, "国家博物馆", hours="周二至周日 09:00-17:00")
PARK = place(2, "东单公园", "公园", "周一至周日 06:00-22:00")
HOTPOT = place(3, "海底捞", "火锅店", "周一至周日 10:00-22:00")
NOODLES = place(4, "老北京炸酱面", "中餐厅", "周一至周日 10:00-22:00")
DUCK = place(5, "全聚德", "中餐厅", "周一至周日 10:00-22:00")


def planned(*places: Place, day: str = TUESDAY, near: Point | None = None, **wish: Any):
    legs, wanted = wish.pop("legs", {}), wish.pop("wanted", ())
    read = {key: wish.pop(key, ()) for key in ("chosen", "unsaid")}
    aim = Aim({"day": day, **wish}, "zh", near, wanted, **read)  # type: ignore[typeddict-item]
    outing = plan_day(places, aim, legs)
    assert outing is not None
    return outing


def names(outing) -> list[str]:
    return [stop["name"] for stop in outing["stops"]]


def reasons(outing) -> dict[str, str]:
    return {left["name"]: left["reason"] for left in outing["left_out"]}


@pytest.mark.parametrize("order", [["咖啡馆", "博物馆", "café"], ["甲咖啡", "博物馆", "乙咖啡"]])
def test_a_day_in_a_given_order_has_its_kinds_and_names_in_turn(order: list[str]):
    """Two cafés with a museum between were planned as three museums."""
    cafes = [
        place(n, name, "咖啡厅", keywords=["咖啡馆"]) for n, name in ((6, "甲咖啡"), (7, "乙咖啡"))
    ]
    outing = planned(MUSEUM, PARK, *cafes, order=order, begins="13:00", back_by="19:00")
    first, middle, last = names(outing)
    assert middle == MUSEUM["name"]
    assert {first, last} == {"甲咖啡", "乙咖啡"}
    assert order[0] == "咖啡馆" or first == "甲咖啡"


def test_a_meal_has_its_place_in_an_order_and_the_stops_after_it_are_there():
    order = ["博物馆", "火锅店", "公园"]
    wish = {"order": order, "meals": ["lunch"], "begins": "10:00"}
    hotpot = {**HOTPOT, "keywords": ["火锅店"]}
    assert names(planned(MUSEUM, PARK, hotpot, **wish)) == [  # type: ignore[arg-type]
        MUSEUM["name"], HOTPOT["name"], PARK["name"],
    ]  # fmt: skip
    lunch_beside = planned(MUSEUM, PARK, HOTPOT, **{**wish, "order": ["博物馆", "公园"]})
    assert {*names(lunch_beside)} == {MUSEUM["name"], HOTPOT["name"], PARK["name"]}


def test_many_places_of_the_other_kinds_leave_room_for_the_one_of_a_kind_that_was_asked_for() -> (
    None
):
    """A dozen museums and cafés with hours took the places that a day is tried with."""
    many = [
        place(10 + at, f"店{at}", kind, "周一至周日 09:00-22:00")
        for at, kind in enumerate(["博物馆", "中餐厅", "咖啡厅"] * 5)
    ]
    park = place(2, "东单公园", "儿童乐园", rating=None)
    order = ["博物馆", "午餐", "儿童乐园", "咖啡"]
    assert "东单公园" in names(planned(*many, park, order=order, on_foot=True))


def test_where_hours_are_left_it_is_no_lack_of_them_that_a_stop_is_missing():
    outing = planned(MUSEUM, PARK, stops=3, back_by="20:00")
    told = outing_section(outing, "en")
    assert say("outing.fewer_found", "en", count=2, wanted=3) in told
    assert say("outing.fewer", "en", count=2, wanted=3) not in told


@pytest.mark.parametrize(
    ("chosen", "unsaid", "stop"),
    [
        (["amap:8"], ["公园"], "儿童乐园"),
        (["amap:8"], [], "东单公园"),  # A park was said.
        (["amap:8", "amap:2"], ["公园"], "东单公园"),  # One that can be it was chosen.
        ([], ["公园"], "东单公园"),
    ],
)
def test_what_was_chosen_stands_for_a_word_that_nobody_said(
    chosen: list[str], unsaid: list[str], stop: str
) -> None:
    """ "Something outdoors" was searched as a park, and a playground chosen: a park came in."""
    playground = place(8, "儿童乐园", "游乐场")
    wish = {"order": ["博物馆", "公园"], "any_order": True}
    outing = planned(MUSEUM, PARK, playground, chosen=chosen, unsaid=unsaid, **wish)
    assert {*names(outing)} == {MUSEUM["name"], stop}


def test_what_no_place_can_be_leaves_no_hole_in_an_order():
    outing = planned(MUSEUM, PARK, order=["公园", "水族馆", "动物园", "博物馆"])
    assert names(outing) == [PARK["name"], MUSEUM["name"]]


def test_in_half_a_day_one_long_stop_that_fits_comes_before_short_ones_of_which_nobody_knows():
    """Two children had three small parks in their morning, and not the museum made for them."""
    verdicts = {
        outcome: [PlaceVerdict(constraint="children", verdict=outcome, field="category", text="")]
        for outcome in ("satisfied", "unknown")
    }
    museum = Place(**{**MUSEUM, "verdicts": verdicts["satisfied"]})
    parks = [
        place(at, f"{at}号公园", "公园", "周一至周日 06:00-22:00", verdicts=verdicts["unknown"])
        for at in (2, 12, 22)
    ]
    assert "国家博物馆" in names(planned(*parks, museum, begins="09:00", back_by="12:30"))


def test_a_place_that_is_closed_on_the_day_is_left_out_with_its_hours():
    outing = planned(MUSEUM, PARK, HOTPOT, day=MONDAY)
    assert reasons(outing) == {"国家博物馆": "closed"}
    assert outing["left_out"][0]["text"] == "周一不开放（周二至周日 09:00-17:00）"


def test_restaurants_are_lunch_and_dinner_and_a_third_has_no_meal_left():
    outing = planned(MUSEUM, HOTPOT, NOODLES, DUCK)
    assert [stop.get("meal") for stop in outing["stops"]] == [None, "lunch", "dinner"]
    assert reasons(outing) == {"全聚德": "meals"}


def test_where_one_meal_is_asked_for_the_day_has_one_restaurant_and_no_hole():
    outing = planned(MUSEUM, HOTPOT, NOODLES, meals=["lunch"])
    assert [stop.get("meal") for stop in outing["stops"]] == [None, "lunch"]
    assert reasons(outing) == {"老北京炸酱面": "meals"}
    assert f"{outing['ends']} 之后没有安排" in outing_section(outing, "zh")


def test_hours_without_a_stop_are_told_to_be_free():
    outing = planned(MUSEUM, HOTPOT, NOODLES)
    lunch, dinner = outing["stops"][1:]
    for text in (outing_section(outing, "zh"), outing_lines(outing, "zh")):
        row = next(line for line in text.splitlines() if "自由活动" in line)
        assert f"{lunch['ends']}–" in row
        assert row.strip("| ")[6:11] <= dinner["begins"]


def test_a_day_over_noon_without_a_restaurant_has_lunch_somewhere():
    outing = planned(MUSEUM, place(6, "科技馆"), place(7, "美术馆"))
    lunch = next(stop for stop in outing["stops"] if "meal" in stop)
    assert lunch["name"] == say("outing.own_choice", "zh")
    assert "place" not in lunch


def test_who_has_to_be_back_early_sees_less_and_is_back_in_time():
    outing = planned(MUSEUM, PARK, place(6, "科技馆"), near=NEAR, begins="10:00", back_by="13:30")
    assert outing["ends"] <= "13:30"
    assert "back" in outing
    assert "time" in reasons(outing).values()


def test_a_stop_is_moved_and_another_dropped_as_wished():
    outing = planned(MUSEUM, PARK, HOTPOT, not_before={"amap:1": "14:00"}, without=["amap:2"])
    stop = next(stop for stop in outing["stops"] if stop["name"] == "国家博物馆")
    assert stop["begins"] >= "14:00"
    assert reasons(outing) == {"东单公园": "unwanted"}


def test_a_place_that_is_wanted_is_missed_for_no_number_of_others():
    short = [place(n, f"书店{n}", "书店") for n in (6, 7, 8)]
    outing = planned(*short, MUSEUM, begins="14:00", back_by="16:00", wanted=["amap:1"])
    assert names(outing) == ["国家博物馆"]


def test_one_stays_shorter_where_that_makes_room_for_all_that_is_wanted():
    """Asked for three it planned two: each took as long as such a place usually does."""
    three = [place(n, f"博物馆{n}") for n in (6, 7, 8)]
    hours = {"begins": "13:00", "back_by": "18:00"}
    assert len(names(planned(*three, **hours))) == 2
    assert len(names(planned(*three, **hours, wanted=["amap:6", "amap:7", "amap:8"]))) == 3
    assert len(names(outing := planned(*three, **hours, stops=3))) == 3
    assert say("outing.fewer", "zh", count=3, wanted=3) not in outing_section(outing, "zh")
    short = planned(*three, begins="13:00", back_by="14:30", stops=3)
    told = say("outing.fewer", "zh", count=len(names(short)), wanted=3)
    assert told in outing_section(short, "zh")


def test_what_breaks_a_demand_is_left_out_for_that_reason():
    dear = PlaceVerdict(
        constraint="max_cost", verdict="violated", field="cost", text="人均 ¥300，超出"
    )
    outing = planned(MUSEUM, PARK, {**HOTPOT, "verdicts": [dear]})
    assert outing["left_out"][0]["text"] == "人均 ¥300，超出"


def test_a_place_in_another_region_is_left_out_with_its_distance():
    away = place(9, "四川医院旧址", wgs84=Point(lng=104.0, lat=30.6))
    assert reasons(planned(MUSEUM, PARK, away)) == {"四川医院旧址": "far"}


def test_unknown_hours_are_told_and_do_not_keep_a_place_out():
    outing = planned(place(6, "胡同", category="胡同"), PARK)
    assert [stop.get("hours_unknown", False) for stop in outing["stops"]] in (
        [True, False], [False, True],
    )  # fmt: skip
    assert say("outing.hours_not_known", "zh", names="胡同") in outing_section(outing, "zh")


def test_measured_ways_are_told_as_they_are_and_others_as_estimates():
    leg = Leg(mode="walking", distance_m=850, duration_s=700, estimated=False)
    measured = planned(MUSEUM, PARK, legs={("amap:1", "amap:2"): leg, ("amap:2", "amap:1"): leg})
    assert "| 步行 850 m，12 分钟 |" in outing_section(measured, "zh")
    estimated = outing_section(planned(MUSEUM, PARK), "zh")
    assert "步行约" in estimated
    assert "按直线估算" in estimated


def test_a_long_way_is_ridden_even_where_the_walk_was_measured():
    far = place(6, "颐和园", "国家级景点", wgs84=Point(lng=116.27, lat=40.0))
    walk = Leg(mode="walking", distance_m=18_000, duration_s=14_000, estimated=False)
    outing = planned(MUSEUM, far, legs={("amap:1", "amap:6"): walk, ("amap:6", "amap:1"): walk})
    legs = [stop["leg"] for stop in outing["stops"] if "leg" in stop]
    assert [leg["mode"] for leg in legs] == ["transit"]


def test_times_stand_in_steps_of_five_minutes():
    outing = planned(MUSEUM, PARK, HOTPOT, near=NEAR)
    clocks = [time for stop in outing["stops"] for time in (stop["begins"], stop["ends"])]
    assert all(int(clock[-1]) % 5 == 0 for clock in [*clocks, outing["begins"], outing["ends"]])


def test_the_ways_of_a_plan_are_named_in_its_order():
    outing = planned(MUSEUM, PARK, near=NEAR)
    ids = [stop["place"] for stop in outing["stops"] if "place" in stop]
    assert used_legs(outing) == [(HERE, ids[0]), (ids[0], ids[1]), (ids[1], HERE)]


def test_nothing_is_planned_where_everything_is_closed():
    assert plan_day([MUSEUM], Aim({"day": MONDAY}, "zh"), {}) is None


@pytest.mark.parametrize(
    "kind", ["停车场", "地铁站", "五星级宾馆", "公共厕所", "hotel", "railway station"]
)
def test_a_car_park_is_no_stop(kind):
    assert not is_stop(place(1, "某处", kind))


def test_a_day_begins_on_the_way_to_its_first_stop_and_ends_with_the_way_back():
    outing = planned(MUSEUM, near=NEAR, begins="09:30")
    first, back = outing["stops"][0], outing["back"]
    way_out = minutes_of(first["begins"]) - minutes_of(outing["begins"])
    assert way_out == -(-first["leg"]["duration_s"] // 300) * 5 > 0
    assert minutes_of(outing["ends"]) - minutes_of(first["ends"]) >= back["duration_s"] // 60


@pytest.mark.parametrize("row", KINDS_OF_MAP, ids=lambda row: row["tag"])
def test_a_kind_of_place_is_the_same_to_a_day_in_both_scripts(row: dict[str, Any]):
    """Of a map outside China no place was a meal, a break or a hotel."""
    facts = []
    for word in (row["en"][0], row["zh"][0]):
        one = place(1, "X", f"{word} (cafe, pizza)")
        seen = (stay(one), is_spot(one)) if is_stop(one) else None
        facts.append((seen, is_meal(one), is_break(one), is_for_evenings(one)))
    assert facts[0] == facts[1]


@by_examples
def test_who_eats_and_who_rests_is_told_by_what_a_record_is(
    kind: str, is_a_meal: bool, is_a_break: bool
):
    one = place(1, "X", kind)
    assert (is_meal(one), is_break(one)) == (is_a_meal, is_a_break)


def test_a_day_outside_china_has_its_lunch_its_museum_and_its_coffee_in_turn():
    """Lunch found no place and went without a word, and the museum took an hour."""
    helsinki = [
        place(1, "Amos Rex", "museum"),
        place(2, "Zetor", "restaurant (finnish)"),
        place(3, "Simonpuistikko", "park"),
        place(4, "Espresso House", "cafe (coffee)"),
        place(5, "Scandic", "hotel"),
    ]
    order = ["museum", "Lunch", "park", "cafe"]
    outing = planned(*helsinki, order=order, meals=["lunch"], begins="10:00", back_by="18:00")
    assert names(outing) == ["Amos Rex", "Zetor", "Simonpuistikko", "Espresso House"]
    assert [stop.get("meal") for stop in outing["stops"]] == [None, "lunch", None, None]
    assert "lacks" not in outing


def test_what_no_place_can_be_in_an_order_and_a_meal_without_one_are_told():
    order = ["museum", "lunch", "aquarium", "park"]
    wish = {"order": order, "meals": ["lunch"], "begins": "10:00", "back_by": "13:30"}
    outing = planned(place(1, "Amos Rex", "museum"), place(3, "Esplanadi", "park"), **wish)
    assert names(outing) == ["Amos Rex", "Esplanadi"]
    assert outing["lacks"] == ["aquarium", "lunch"]
    told = say("outing.lacking", "zh", names="aquarium，午餐")
    assert say("outing.fewer", "zh", count=2, wanted=3) not in outing_section(outing, "zh")
    assert told in outing_section(outing, "zh")
    assert told in outing_lines(outing, "zh")


def test_an_order_for_which_the_hours_do_not_do_says_how_many_of_it_there_are():
    order = ["博物馆", "公园", "咖啡馆"]
    cafe = place(6, "甲咖啡", "咖啡厅")
    outing = planned(MUSEUM, PARK, cafe, order=order, begins="09:00", back_by="10:45")
    assert len(names(outing)) == 2
    assert say("outing.fewer", "zh", count=2, wanted=3) in outing_section(outing, "zh")


def test_named_meals_are_beside_a_number_of_stops():
    """Code planned them beside and counted them among the stops when it told what lacks."""
    sights = [place(n, f"{n}号公园", "公园") for n in (1, 2, 3)]
    lunch = {"meals": ["lunch"], "stops": 2}
    outing = planned(*sights, HOTPOT, **lunch, begins="10:00")
    assert [stop.get("meal") for stop in outing["stops"]].count("lunch") == 1
    assert len([name for name in names(outing) if name.endswith("公园")]) == 2
    assert say("outing.fewer", "zh", count=2, wanted=2) not in outing_section(outing, "zh")
    alone = outing_section(planned(sights[0], HOTPOT, **lunch, back_by="15:00"), "zh")
    assert say("outing.fewer", "zh", count=1, wanted=2) in alone


@by_examples
def test_one_stays_as_long_as_such_a_place_takes(kind: str, minutes: int):
    assert stay(place(7, "某处", kind)) == minutes


@pytest.mark.parametrize(
    ("name", "minutes"),
    [("断桥", 30), ("白堤(西湖)", 30), ("Stone Bridge", 30), ("雍和宫", 90), ("枫桥景区", 90)],
)
def test_a_bridge_or_a_gate_is_seen_within_half_an_hour(name: str, minutes: int):
    assert stay(place(7, name, "风景名胜")) == minutes


def test_spots_that_lie_together_are_seen_in_less_time_and_a_temple_beside_them_is_not():
    """Three spots within 550 m filled five hours."""
    spots = [place(n, name, "风景名胜") for n, name in ((1, "断桥残雪"), (3, "平湖秋月"))]
    outing = planned(*spots, place(5, "灵隐寺", "风景名胜"))
    stays = {
        stop["name"]: minutes_of(stop["ends"]) - minutes_of(stop["begins"])
        for stop in outing["stops"]
    }
    assert [stays[name] for name in ("断桥残雪", "平湖秋月", "灵隐寺")] == [40, 40, 90]
    alone = planned(spots[0], place(25, "平湖秋月", "风景名胜"))["stops"][0]
    assert minutes_of(alone["ends"]) - minutes_of(alone["begins"]) == 90


def test_a_coffee_is_had_between_the_sights_where_its_hours_let_it():
    """It stood at the end of the day, after a way of its own."""
    sights = [place(1, "断桥", "风景名胜"), place(2, "平湖秋月", "风景名胜")]
    for at in (0, 9):
        outing = planned(*sights, place(at, "某咖啡", "咖啡厅"), begins="14:00")
        assert names(outing)[1] == "某咖啡"
    late = place(9, "某咖啡", "咖啡厅", hours="周一至周日 16:30-22:00")
    assert names(planned(*sights, late, begins="14:00"))[-1] == "某咖啡"


def test_a_sight_outdoors_is_seen_before_the_sun_sets_where_the_day_begins_before():
    bridge = place(2, "断桥", "风景名胜")
    afternoon = planned(place(1, "国家博物馆"), bridge, begins="14:30")
    assert names(afternoon) == ["断桥", "国家博物馆"]
    evening = planned(place(1, "国家博物馆"), bridge, begins="18:00")
    assert "断桥" in names(evening)


@pytest.mark.parametrize(
    ("name", "begins", "meal"),
    [("lunch", "11:30", "lunch"), ("dinner", "17:30", "dinner"), ("bar", "18:00", None)],
)
def test_meals_and_evenings_begin_at_their_hour_at_the_earliest(name, begins, meal):
    kind = "酒吧" if name == "bar" else "火锅店"
    wish = {"meals": [name]} if meal else {}
    outing = planned(place(8, "某店", kind, "周一至周日 00:00-24:00"), begins="09:00", **wish)
    (stop,) = outing["stops"]
    assert (stop["begins"], stop.get("meal")) == (begins, meal)


def test_near_places_are_walked_to_and_far_ones_ridden_to():
    assert estimated_leg(NEAR, Point(lng=116.41, lat=39.91))["mode"] == "walking"
    assert estimated_leg(NEAR, Point(lng=116.50, lat=39.91))["mode"] == "transit"


def test_stops_have_the_names_that_their_reader_can_read():
    museum = Place(**{**MUSEUM, "name_en": "National Museum"})
    for language, name in (("en", "National Museum"), ("zh", "国家博物馆")):
        day = plan_day([museum], Aim({"day": TUESDAY}, language), {})
        assert day is not None
        assert names(day)[0] == name


def test_a_name_cannot_break_out_of_the_table():
    outing = planned(place(6, "a|b [x](https://evil.example)"), PARK)
    rows = [line for line in outing_section(outing, "en").splitlines() if line.startswith("|")]
    assert all(row.count("|") == 4 for row in rows)
    assert "evil.example" not in "".join(rows)


def test_a_model_reads_stops_with_their_marker_and_what_to_do():
    lines = outing_lines(planned(MUSEUM, PARK, HOTPOT), "en").splitlines()
    assert lines[0].startswith("Plan: Tue 2026-11-24, 09:30–")
    assert any("[^a0-1]" in line for line in lines)
    assert "worked out by code" in lines[-1]


def test_a_limit_on_walks_is_kept_between_the_stops_and_leaves_no_place_out():
    """Of a lake the map knows its middle: every place on the shore was too far from there."""
    distant = place(9, "颐和园", "国家级景点", wgs84=Point(lng=116.415, lat=39.91))
    outing = planned(MUSEUM, PARK, distant, max_walk_m=500)
    assert outing["left_out"] == []
    legs = [stop["leg"] for stop in outing["stops"] if "leg" in stop]
    assert sorted(leg["mode"] for leg in legs) == ["transit", "walking"]
    assert all(leg["distance_m"] <= 500 for leg in legs if leg["mode"] == "walking")
    assert say("outing.walks_within", "zh", limit="500 米") in outing_section(outing, "zh")


def test_a_measured_walk_beyond_the_limit_is_ridden_however_short_the_line_is():
    walk = Leg(mode="walking", distance_m=900, duration_s=700, estimated=False)
    legs = {("amap:1", "amap:2"): walk, ("amap:2", "amap:1"): walk}
    outing = planned(MUSEUM, PARK, legs=legs, max_walk_m=500)
    assert [s["leg"]["mode"] for s in outing["stops"] if "leg" in s] == ["transit"]


def test_a_limit_in_minutes_is_held_against_the_minutes_of_each_walk():
    walk = Leg(mode="walking", distance_m=900, duration_s=700, estimated=False)
    legs = {("amap:1", "amap:2"): walk, ("amap:2", "amap:1"): walk}
    modes = {
        minutes: [
            stop["leg"]["mode"]
            for stop in planned(MUSEUM, PARK, legs=legs, max_walk_min=minutes)["stops"]
            if "leg" in stop
        ]
        for minutes in (11, 12)
    }
    assert modes == {11: ["transit"], 12: ["walking"]}
    told = outing_section(planned(MUSEUM, PARK, legs=legs, max_walk_min=12), "zh")
    assert say("outing.walks_within", "zh", limit="12 分钟") in told


def test_a_ride_names_its_lines_or_says_that_they_are_not_known():
    ride = Leg(mode="transit", distance_m=1900, duration_s=600, estimated=False)
    assert say("outing.line_unknown", "zh") in leg_text(ride, "zh")
    named = Leg(**{**ride, "lines": ["地铁1号线(四惠--古城)", "7路"]})
    assert leg_text(named, "en") == "Transit (地铁1号线 → 7路) 1.9 km, 10 min"
    walk = Leg(**{**ride, "mode": "walking"})
    assert say("outing.line_unknown", "en") not in leg_text(walk, "en")


def test_one_rests_once_a_day_but_where_more_is_wanted():
    """Two cafés one after the other were the half of an afternoon."""
    first, second = place(5, "星巴克", "咖啡厅"), place(6, "茶楼", "茶艺馆")
    visited = names(planned(MUSEUM, PARK, first, second, begins="14:00", back_by="20:00"))
    assert len({"星巴克", "茶楼"}.intersection(visited)) == 1
    both = planned(
        MUSEUM, PARK, first, second, begins="14:00", back_by="20:00", wanted=["amap:5", "amap:6"]
    )
    assert {"星巴克", "茶楼"} <= {*names(both)}


def test_of_what_each_query_found_the_stop_that_is_least_out_of_the_way_comes_in():
    """The first query's two came in, and nothing of the second's; a café two kilometres off."""
    far = place(90, "远咖啡", "咖啡厅", source="a0-0")
    between = place(2, "近咖啡", "咖啡厅", source="a0-1")
    books = place(5, "书店", "书店", source="a1-0")
    stops = [place(1, "甲", "景点"), place(3, "乙", "景点")]
    assert coming_in([far, between, books], stops) == [between, books]
    over = PlaceVerdict(constraint="max_cost", verdict="violated", field="cost", text="")
    dear = Place(**{**between, "verdicts": [over]})
    assert coming_in([far, dear, books], stops) == [far, books]
    assert coming_in([dear], stops) == [dear]


def test_a_model_reads_whose_hours_nobody_knows_and_what_was_not_found():
    """Only the section below the text said so: the text told of the stop as if it were open."""
    closed = {**MUSEUM, "open_time": None}
    outing = planned(closed, {**PARK, "open_time": None}, HOTPOT, unknown=["灯塔"])
    lines = outing_lines(outing, "zh")
    # Nobody asks a park whether it is open.
    assert say("outing.hours_not_known", "zh", names=MUSEUM["name"]) in lines
    assert say("outing.unknown_stops", "zh", names="灯塔") in lines


PLAY = place(8, "儿童乐园", "游乐场", "周一至周日 09:00-20:00")
ICE = place(9, "冰场", "溜冰场", "周一至周日 09:00-20:00")
SECOND = place(10, "首都博物馆", hours="周二至周日 09:00-20:00")
SUITS = [PlaceVerdict(constraint="suits", verdict="satisfied", text="适合孩子")]


@pytest.mark.parametrize(
    ("wish", "last"),
    [
        ({"begins": "10:00", "back_by": "17:00", "chosen": ["amap:9"]}, ICE["name"]),
        ({"begins": "10:00", "back_by": "20:00", "chosen": ["amap:10"]}, SECOND["name"]),
        ({"begins": "10:00", "back_by": "17:00", "suits": True}, ICE["name"]),
        ({"begins": "10:00", "back_by": "17:00"}, ""),  # Nobody knows whether it suits.
        ({"begins": "10:00", "back_by": "14:00", "chosen": ["amap:9"]}, ""),
        ({"back_by": "17:00", "chosen": ["amap:9"]}, ""),
    ],
)
def test_hours_between_two_named_ends_take_what_was_chosen_or_is_known_to_suit(
    wish: dict[str, Any], last: str
) -> None:
    """From ten to five were asked for, and a plan of three stops was over at 14:25."""
    wish = {"order": ["博物馆", "lunch", "游乐场"], "meals": ["lunch"], "any_order": True, **wish}
    ice = place(9, "冰场", "溜冰场", "周一至周日 09:00-20:00")
    if wish.pop("suits", False):
        ice = Place(**{**ice, "verdicts": SUITS})  # type: ignore[typeddict-item]
    chosen = ["amap:1", "amap:8", *wish.pop("chosen", ())]
    outing = planned(MUSEUM, SECOND, HOTPOT, PLAY, ice, chosen=chosen, **wish)
    asked = {MUSEUM["name"], HOTPOT["name"], PLAY["name"]}
    assert {*names(outing)} == asked | ({last} if last else set())
    assert outing["ends"] <= wish["back_by"]


def test_what_was_chosen_has_room_beside_many_of_the_words_of_an_order() -> None:
    """Four museums, four parks and four restaurants left none for the chosen playground."""
    kinds = [("博物馆", 20), ("公园", 30), ("中餐厅", 40)]
    many = [
        place(number + at, f"店{number + at}", kind, "周一至周日 09:00-22:00")
        for kind, number in kinds
        for at in range(5)
    ]
    wish = {"order": ["博物馆", "lunch", "公园"], "meals": ["lunch"], "any_order": True}
    hours = {"begins": "10:00", "back_by": "18:00"}
    chosen = ["amap:20", "amap:40", "amap:30", "amap:8"]
    outing = planned(*many, PLAY, chosen=chosen, unsaid=["公园"], **wish, **hours)
    assert {*names(outing)} == {"店20", "店40", "店30", PLAY["name"]}


def test_of_two_chosen_for_a_word_that_nobody_said_the_one_that_is_known_to_fit_stands_for_it() -> (
    None
):
    playground = Place(**{**PLAY, "verdicts": SUITS})  # type: ignore[typeddict-item]
    wish = {"order": ["博物馆", "公园"], "any_order": True, "unsaid": ["公园"]}
    outing = planned(MUSEUM, PARK, playground, chosen=["amap:8", "amap:2"], **wish)
    assert {*names(outing)} == {MUSEUM["name"], PLAY["name"]}


@pytest.mark.parametrize(
    ("word", "keywords", "chosen", "is_told"),
    [
        ("outdoors", ["playground", "outdoors"], [], False),  # Searched for what it describes.
        ("outdoors", ["outdoors"], ["amap:8"], False),
        ("三联书店", ["三联书店"], ["amap:8"], False),  # A model that has read both took it.
        ("三联书店", ["三联书店"], [], True),
        ("Kiasma", ["museum", "Kiasma"], [], True),
    ],
)
def test_what_was_searched_or_chosen_for_a_word_of_an_order_is_no_makeshift_for_it(
    word: str, keywords: list[str], chosen: list[str], is_told: bool
) -> None:
    """ "The map's list has nothing called that" was said of a playground, wanted as outdoors."""
    found = place(8, "Leikkipaikka", "书店", keywords=keywords)
    told = planned(MUSEUM, found, order=["博物馆", word], chosen=chosen).get("told", ())
    assert (
        say("outing.instead", "zh", word=word, name="Leikkipaikka", kind="书店") in told
    ) is is_told

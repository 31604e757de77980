"""What a question demands of a place, and what its record says about that."""

from typing import Any

import pytest

from agent.evidence.constraints import check, valid_constraints
from agent.evidence.geo import distance_text
from agent.evidence.hours import all_year, weekly_hours
from agent.evidence.kinds import is_of_no_kind_searched
from agent.evidence.ordering import grouped_lines, judged
from agent.evidence.records import cost_text, place_lines
from agent.evidence.types import Constraints, Distance, Place
from agent.export.markdown import place_table
from agent.export.place_cards import card_of
from agent.server.mcp_tools import AnswerPlace
from agent.texts import Language, say
from tests.support.rows import by_examples, rows
from tests.unit.test_evidence_mentions import place


def record(name: str = "甲", **fields: Any) -> Place:
    return Place(**{**place(name), **fields})  # type: ignore[typeddict-item]


def outcome(constraints: Constraints, **fields: Any) -> tuple[str, str]:
    (verdict,) = check(record(**fields), constraints, "zh")
    return verdict["verdict"], verdict["field"]


@pytest.mark.parametrize(
    "row", rows("demands"), ids=lambda row: f"{row['question']}-{row['verdict']}"
)
def test_a_demand_is_met_broken_or_unknown_by_the_field_of_the_record(row: dict[str, Any]) -> None:
    demand = valid_constraints(row["demand"])
    assert demand == row["demand"]
    assert outcome(demand, **row["record"])[0] == row["verdict"]


def test_a_total_without_a_number_of_people_stays_open_unless_one_alone_pays_more() -> None:
    """It was lost without a word where the model left out how many they are."""
    demand = valid_constraints({"total_cost": 400, "people": None})
    assert demand == valid_constraints({"total_cost": 400, "people": 0}) == {"total_cost": 400}
    assert outcome(demand, cost=90.0)[0] == "unknown"
    assert outcome(demand, cost=500.0)[0] == "violated"
    assert outcome(demand, cost=0.0)[0] == "satisfied"


def test_a_price_of_which_nobody_knows_what_it_is_for_breaks_no_price_a_person() -> None:
    """A lunch of at most ¥100 ruled out a shop of toys for its ¥300."""
    demand = Constraints(max_cost=100)
    assert outcome(demand, cost=300.0, per_head=False, category="玩具店")[0] == "unknown"
    assert outcome(demand, cost=300.0, per_head=False, category="宾馆酒店")[0] == "violated"
    assert outcome(demand, cost=300.0)[0] == "violated"
    assert outcome(demand, cost=90.0, per_head=False)[0] == "satisfied"


def test_a_price_of_which_nobody_knows_what_it_is_for_is_not_multiplied() -> None:
    demand = Constraints(total_cost=600, people=6)
    assert outcome(demand, cost=130.0)[0] == "violated"
    assert outcome(demand, cost=130.0, per_head=False)[0] == "unknown"
    assert outcome(demand, cost=50.0, per_head=False)[0] == "unknown"
    assert (
        outcome(Constraints(total_cost=100, people=1), cost=90.0, per_head=False)[0] == "satisfied"
    )


def test_a_room_that_costs_more_a_night_than_all_may_cost_is_too_dear() -> None:
    """Two with 800 in all were told of a room at 2600 a night that it may fit."""
    room = {"per_head": False, "per_night": True, "category": "宾馆酒店"}
    for demand in (Constraints(total_cost=800, people=2), Constraints(total_cost=800)):
        [dear] = check(record(cost=2600.0, **room), demand, "en")
        [fits] = check(record(cost=700.0, **room), demand, "en")
        assert (dear["verdict"], fits["verdict"]) == ("violated", "satisfied")
        assert dear["text"] == "over ¥800"
        assert fits["text"] == "within ¥800"
    four = Constraints(total_cost=800, people=4)
    assert outcome(four, cost=700.0, **room)[0] == "unknown"
    assert outcome(four, cost=900.0, **room)[0] == "violated"


def test_what_an_area_is_near_to_says_which_demand_is_open() -> None:
    for demand in (Constraints(max_walk_m=500), Constraints(max_distance_m=500)):
        (verdict,) = check(record(distance_m=700, distance_from="西湖"), demand, "zh")
        assert verdict["verdict"] == "unknown"
        assert "500" in verdict["text"]


def test_a_car_park_beside_a_lunch_need_not_be_cheap_or_suit_anybody() -> None:
    demands = Constraints(max_cost=150, suits=["elderly"], open_on=[7])
    hours = "周一至周日 00:00-24:00"
    park = record("停车场", cost=15.0, category="公共停车场", open_time=hours)
    lunch = record("一坐一忘", cost=95.0, category="云贵菜", open_time=hours)
    assert [verdict["constraint"] for verdict in check(park, demands, "zh")] == ["open_on"]
    assert [place["name"] for place in judged([park, lunch], demands, "zh")] == [
        "一坐一忘",
        "停车场",
    ]
    dear = record("贵", cost=300.0, category="云贵菜", open_time=hours)
    assert judged([dear, park], demands, "zh")[0]["name"] == "停车场"
    asked = Constraints(max_cost=10, kind="parking")
    assert {verdict["verdict"] for verdict in check(park, asked, "zh")} == {"satisfied", "violated"}


@pytest.mark.parametrize(("category", "word"), [("地铁站", "地铁站"), ("博物馆", "博物馆")])
def test_what_was_looked_up_as_another_kind_is_judged_by_no_demand(
    category: str, word: str
) -> None:
    """Each station near some cafés had no price a head, and each museum was no car park."""
    demands: Constraints = {"kind": "cafe", "max_cost": 60, "min_rating": 4.5}
    [beside] = judged([record(category=category, keywords=[word])], demands, "zh")
    assert beside["verdicts"] == []
    [one] = judged([record(category=category, keywords=["咖啡馆"])], demands, "zh")
    assert {verdict["constraint"] for verdict in one["verdicts"]} == {*demands}


def test_a_hotpot_above_the_budget_never_stands_before_one_within_it() -> None:
    """人均100以内 put a hotpot of ¥110 first."""
    constraints = Constraints(max_cost=100, kind="restaurant")
    costs = {"火锅": 110.0, "面馆": None, "快餐": 40.0}
    found = [record(name, cost=cost, category="中餐厅") for name, cost in costs.items()]
    ranked = judged(found, constraints, "zh")
    assert [each["name"] for each in ranked] == ["快餐", "面馆", "火锅"]
    assert [each["verdicts"][0]["verdict"] for each in ranked] == [
        "satisfied", "unknown", "violated"
    ]  # fmt: skip
    assert ranked[2]["verdicts"][0] == {
        "constraint": "max_cost",
        "verdict": "violated",
        "field": "cost",
        "text": "略超过 ¥100",
    }


def test_a_playground_never_stands_before_a_restaurant_where_one_is_asked_for() -> None:
    constraints = Constraints(suits=["children"], kind="restaurant")
    found = [record("和平菓局", category="游乐场"), record("海底捞", category="火锅店")]
    first, last = judged(found, constraints, "zh")
    assert first["name"] == "海底捞"
    texts = [[verdict["text"] for verdict in each["verdicts"]] for each in (first, last)]
    assert texts == [
        [say("constraints.children.unknown", "zh"), "餐厅（火锅店）"],
        ["适合孩子（游乐场）", "不是餐厅（游乐场）"],
    ]


def test_a_kind_that_the_category_leaves_open_is_told_by_the_name() -> None:
    assert outcome({"kind": "museum"}, name="故宫博物院", category="国家级景点") == (
        "satisfied", "name",
    )  # fmt: skip
    assert outcome({"kind": "museum"}, name="某宫", category="国家级景点")[0] == "unknown"
    assert outcome({"kind": "museum"}, name="博物馆餐厅", category="中餐厅")[0] == "violated"


def test_a_verdict_by_the_name_does_not_repeat_the_name_that_stands_above_it() -> None:
    shop = record("乐高品牌旗舰店(北京王府井店)", category="礼品饰品店")
    museum = record("某展馆", category="游乐场")
    for language, by_name, by_kind in (
        ("zh", "适合孩子（据名称判断）", "适合孩子（游乐场）"),
        ("en", "for children (by its name)", "for children (playground or amusement park)"),
    ):
        texts = [
            check(place, {"suits": ["children"]}, language)[0]["text"] for place in (shop, museum)
        ]
        assert texts == [by_name, by_kind]


@by_examples
def test_of_what_kind_a_place_is_says_its_category_alone(
    category: str | None, expected: str
) -> None:
    """A café may well cook."""
    assert outcome({"kind": "restaurant"}, category=category) == (expected, "category")


@pytest.mark.parametrize(
    ("demand", "just", "far"),
    [
        (Constraints(max_cost=100), {"cost": 104.0}, {"cost": 111.0}),
        (Constraints(total_cost=400, people=4), {"cost": 105.0}, {"cost": 115.0}),
        (Constraints(max_distance_m=500), {"distance_m": 510}, {"distance_m": 700}),
        (Constraints(max_walk_m=500), {"walk_m": 549}, {"walk_m": 551}),
    ],
)
def test_what_lies_a_tenth_beyond_a_limit_is_just_beyond_it(
    demand: Constraints, just: dict[str, Any], far: dict[str, Any]
) -> None:
    for language in ("zh", "en"):
        words = say("constraints.just_beyond", language)
        [near], [beyond] = (check(record(**each), demand, language) for each in (just, far))
        assert near["verdict"] == beyond["verdict"] == "violated"
        assert words in near["text"]
        assert words not in beyond["text"]


def test_the_lines_a_writer_sees_carry_the_verdict_in_its_language() -> None:
    shown = judged([record(cost=110.0), record("乙")], {"max_cost": 100}, "en")
    assert place_lines(shown, "en").splitlines()[1].endswith("fails: just over ¥100")
    assert "| price a person unknown" in place_lines(shown, "en")


def test_a_writer_sees_what_fits_apart_from_what_does_not_and_what_is_unknown() -> None:
    demands = Constraints(max_cost=100, kind="restaurant")
    found = [
        record("Dear", cost=110.0), record("Priceless"), record("Cheap", cost=90.0, category="餐厅")
    ]  # fmt: skip
    lines = grouped_lines(judged(found, demands, "en"), "en").splitlines()
    fit, unknown, failing = (
        say(f"constraints.groups.{name}", "en", count=1)
        for name in ("satisfied", "unknown", "violated")
    )
    assert [line.partition(" | ")[0].split("] ")[-1] for line in lines] == [
        fit, "Cheap", unknown, "Priceless", failing, "Dear"
    ]  # fmt: skip
    assert lines[1].endswith(" | meets: within ¥100"), "its kind stands there already"
    assert grouped_lines(found, "en") == place_lines(found, "en"), "nothing was demanded"
    alike = judged(found[:1], demands, "en")
    assert grouped_lines(alike, "en") == place_lines(alike, "en"), "there is nothing to tell apart"


def test_a_writer_sees_no_street_where_restaurants_were_asked_for_but_the_car_park_looked_for() -> (
    None
):
    """锦里古街 stood under what does not fit, and whether three eat there for ¥250 was unknown."""
    demands = Constraints(total_cost=250, people=3, kind="restaurant")
    food, parking = {"keywords": ["川菜"]}, {"keywords": ["停车场"]}
    found = [
        record("Chen", cost=80.0, category="四川菜", **food),
        record("Jinli", category="步行街", **food),
        record("P1", category="停车场", **parking),
        record("Mart", category="便利店", keywords=["便利店"]),
    ]
    lines = grouped_lines(judged(found, demands, "en"), "en")
    assert "Jinli" not in lines
    assert "Chen" in lines
    assert "P1" in lines
    assert "Mart" in lines
    assert "Jinli" in grouped_lines(judged(found[1:2], demands, "en"), "en"), "there is no other"


def test_a_demand_that_no_record_could_tell_of_any_place_keeps_none_from_those_that_fit() -> None:
    """Of three cafés none was known to be quiet: neither is the list empty, nor do they fit."""
    demands = Constraints(max_cost=60, other=["quiet"])
    found = [record("A", cost=40.0), record("B", cost=50.0), record("C", cost=90.0)]
    lines = grouped_lines(judged(found, demands, "en"), "en").splitlines()
    quiet = say("constraints.other.unknown", "en", demand="quiet")
    assert lines[:2] == [
        say("constraints.groups.of_all", "en", demands=quiet),
        say("constraints.groups.not_ruled_out", "en", count=2),
    ]
    assert [line.partition(" | ")[0].split("] ")[-1] for line in lines[2:4]] == ["A", "B"]
    assert quiet not in "\n".join(lines[1:]), "it is said once"
    italian = [record("A", category="restaurant (quiet)"), record("B", cost=90.0)]
    told = grouped_lines(judged(italian, {"other": ["quiet"]}, "en"), "en")
    assert say("constraints.groups.unknown", "en", count=1) in told, "of one it is known"


def test_what_is_unknown_of_all_is_told_once_and_leaves_groups_to_what_is_known_of_some() -> None:
    """Museums that are open on Monday stood under "not known": nobody knew of children's wishes."""
    demands = Constraints(open_on=[1], suits=["children"])
    found = [record("A", open_time="周一至周日 09:00-17:00"), record("B")]
    asked = judged(found, demands, "en")
    children, hours = (
        say(f"constraints.{each}.unknown", "en", when="Mon", hours="")
        for each in ("children", "open_on")
    )
    lines = grouped_lines(asked, "en").splitlines()
    assert lines[0] == say("constraints.groups.of_all", "en", demands=children)
    assert lines[1] == say("constraints.groups.not_ruled_out", "en", count=1)
    assert lines[3] == say("constraints.groups.unknown", "en", count=1)
    assert children not in "\n".join(lines[1:])
    head, _, *rows_ = place_table(asked, "en").splitlines()
    assert head.endswith("| Asked for |")
    assert all(f"? {children}" in row for row in rows_), "a reader sees it at each"
    assert f"? {hours}" in rows_[1]


def test_rows_stand_by_how_far_they_are_within_their_group_and_their_search() -> None:
    def at(name: str, metres: int | None, source: str, hours: str = "全天") -> Place:
        far = {"distance_m": metres, "distance_from": "Station", "open_time": hours}
        return record(name, source=source, **far)

    found = [at("B", 480, "a0-0"), at("P", 90, "a1-0"), at("?", 20, "a0-3", ""),
             at("A", 329, "a0-1"), at("C", None, "a0-2")]  # fmt: skip

    def names(lines: str) -> list[str]:
        rows_ = (line.split("] ") for line in lines.splitlines() if "] " in line)
        return [row[1].partition(" | ")[0] for row in rows_]

    assert names(grouped_lines(found, "en")) == ["?", "A", "B", "C", "P"]
    asked = judged(found, {"open_on": [1]}, "en")
    assert names(grouped_lines(asked, "en")) == ["A", "B", "C", "P", "?"]


def test_the_day_of_arrival_is_no_demand_on_a_hotel_s_hours() -> None:
    hotel = record(category="宾馆酒店", open_time="全天")
    assert check(hotel, Constraints(open_on=[2]), "zh") == []
    (late,) = check(hotel, Constraints(open_on=[2], open_at="23:00"), "zh")
    assert late["constraint"] == "open_at"


def test_places_of_a_question_without_demands_are_left_as_they_are() -> None:
    assert judged([record()], {}, "zh") == [record()]


@by_examples
def test_hours_are_read_whole_or_not_at_all(
    hours: str | None, day: int, at: str | None, expected: str
) -> None:
    constraints: Constraints = {"open_on": [day]}
    if at:
        constraints["open_at"] = at
    assert outcome(constraints, open_time=hours) == (expected, "open_time")


def test_a_time_without_a_day_has_to_fit_every_day_on_which_a_place_opens() -> None:
    afternoon: Constraints = {"open_at": "14:00"}
    assert outcome(afternoon, open_time="周二至周日 09:00-17:00")[0] == "satisfied"
    assert outcome(afternoon, open_time="周一 09:00-12:00；周二 09:00-17:00")[0] == "unknown"
    assert outcome(afternoon, open_time="17:30-22:00")[0] == "violated"
    assert all_year(weekly_hours("周一闭馆")) is None


def test_who_closes_at_the_very_hour_is_told_to_close_then() -> None:
    """Who asks to stay past ten was told that a house which closes at ten meets it."""

    def told(hours: str, until: str = "22:00", **more: Any) -> str:
        [verdict] = check(record(open_time=hours), Constraints(open_until=until, **more), "en")
        return verdict["text"]

    values = {"when": "22:00"}
    assert told("周一至周日 10:00-22:00") == say("constraints.open_until.no_longer", "en", **values)
    for later in (
        "10:00-23:00",
        "10:00-02:00",
        "全天",
        "周一至周四 10:00-22:00 周五至周日 10:00-23:00",
    ):
        assert told(later) == "open until 22:00"
    assert told("周六 10:00-03:00", "02:00", open_on=[6]) == "open until Sat 02:00"
    assert told("周六 10:00-02:00", "02:00", open_on=[6]).startswith("open until Sat 02:00, not")


@by_examples
def test_who_closes_at_the_hour_is_open_until_then(hours: str | None, expected: str) -> None:
    assert outcome({"open_until": "22:00"}, open_time=hours) == (expected, "open_time")


@pytest.mark.parametrize(
    ("metres", "expected"), [(500, "satisfied"), (501, "violated"), (None, "unknown")]
)
def test_a_distance_is_compared_in_metres(metres: int | None, expected: str) -> None:
    assert outcome({"max_distance_m": 500}, distance_m=metres) == (expected, "distance_m")


@pytest.mark.parametrize(
    ("access", "expected"), [("no", "violated"), ("limited", "unknown"), (None, "unknown")]
)
def test_a_place_that_lets_no_wheelchair_in_fails_and_one_that_does_in_part_is_said_to(
    access: Any, expected: str
) -> None:
    known = {"wheelchair": access} if access else {}
    [verdict] = check(record(**known), Constraints(suits=["wheelchair"]), "en")
    key = access or "unknown"
    told = say(f"constraints.wheelchair.{key}", "en")
    assert (verdict["verdict"], verdict["text"]) == (expected, told)


@pytest.mark.parametrize(
    ("suits", "name", "category", "expected"),
    [
        ("children", "甲", "儿童乐园", ("satisfied", "category")),
        ("children", "甲", "酒吧", ("violated", "category")),
        ("children", "甲", "溜冰场", ("unknown", "category")),
        ("children", "中国妇女儿童博物馆", "博物馆", ("satisfied", "name")),
        ("indoor", "甲", "博物馆", ("satisfied", "category")),
        ("indoor", "甲", "公园", ("violated", "category")),
        ("indoor", "室内公园", "公园", ("violated", "category")),
        ("indoor", "甲", None, ("unknown", "category")),
        ("wheelchair", "甲", "博物馆", ("unknown", "category")),
        ("elderly", "甲", "蹦床馆", ("violated", "category")),
        ("vegetarian", "OmNam", "restaurant (vegan, vegetarian)", ("satisfied", "category")),
        ("vegetarian", "Sen Chay", "restaurant (vegan options)", ("satisfied", "category")),
        ("vegetarian", "甲", "咖啡馆（有素食可选）", ("satisfied", "category")),
        ("vegetarian", "功德林素食", "江浙菜", ("satisfied", "name")),
        ("vegetarian", "Espresso House", "cafe", ("unknown", "category")),
        ("vegan", "Picnic", "cafe (vegetarian options)", ("unknown", "category")),
        ("halal", "甲", "清真菜馆", ("satisfied", "category")),
        ("halal", "Kebab", "fast food (halal)", ("satisfied", "category")),
        ("kosher", "Deli", "restaurant (kosher)", ("satisfied", "category")),
        ("gluten_free", "Deli", "cafe (gluten free options)", ("satisfied", "category")),
    ],
)
def test_whom_a_place_suits_is_said_by_its_category_or_name_and_never_guessed(
    suits: Any, name: str, category: str | None, expected: tuple[str, str]
) -> None:
    assert outcome({"suits": [suits]}, name=name, category=category) == expected


@by_examples
def test_a_kind_is_told_once_beside_what_the_record_calls_it(
    language: Language, category: str, text: str
) -> None:
    [verdict] = check(record(category=category), {"kind": "cafe"}, language)
    assert verdict["text"] == text


@pytest.mark.parametrize(
    ("words", "category", "expected"),
    [
        ("Italian", "restaurant (italian, vegan options)", ("satisfied", "category")),
        ("意大利菜", "意大利菜餐厅", ("satisfied", "category")),
        ("quiet", "restaurant (italian)", ("unknown", "")),
        ("bar", "barbecue", ("unknown", "")),
        ("quiet", None, ("unknown", "")),
    ],
)
def test_a_demand_without_a_field_is_met_where_the_record_has_its_very_words(
    words: str, category: str | None, expected: tuple[str, str]
) -> None:
    assert outcome({"other": [words]}, category=category) == expected


@pytest.mark.parametrize(
    ("metres", "expected", "told"),
    [
        (0, "satisfied", "with a car park"),
        (376, "unknown", "the nearest found is East Lot 376 m"),
        (1400, "unknown", "not beside it"),
    ],
)
def test_a_car_park_is_a_place_s_own_at_its_very_spot_and_else_told_with_how_far(
    metres: int, expected: str, told: str
) -> None:
    """A hotel "had" a public car park 376 m off; one 1.4 km off was told as if beside it."""
    near = [
        Distance(origin="P9", metres=1900, kind="parking"),
        Distance(origin="东停车场", origin_en="East Lot", metres=metres, kind="parking"),
    ]
    (found,) = judged([record(further=near)], {"other": ["with a car park"]}, "en")
    (verdict,) = found["verdicts"]
    assert (verdict["verdict"], verdict["field"]) == (expected, "further")
    assert f"East Lot {distance_text(metres, 'en')}" in verdict["text"]
    assert told in card_of(found, "en").demands[0]


def test_a_car_park_with_a_place_s_name_is_its_own() -> None:
    near = [Distance(origin="甲饭店停车场", metres=300, kind="parking")]
    hotel = record("甲饭店(王府井店)", further=near)
    assert check(hotel, {"other": ["能停车"]}, "zh")[0]["verdict"] == "satisfied"


def test_what_a_model_writes_wrongly_is_no_constraint() -> None:
    written = {
        "max_cost": "100",
        "open_at": "25:00",
        "open_until": "late",
        "open_on": [0, 8, True, "Monday"],
        "max_distance_m": -5,
        "suits": ["dogs"],
    }
    assert valid_constraints(written) == {}
    assert valid_constraints({"open_at": "9:30", "open_on": [7, 1, 7], "max_cost": 0}) == {
        "open_at": "09:30",
        "open_on": [1, 7],
        "max_cost": 0,
    }


def test_a_reader_sees_the_verdicts_in_the_table_and_a_machine_in_the_tools_result() -> None:
    (shown,) = judged([record("火锅", cost=110.0)], {"max_cost": 100}, "zh")
    assert "✗ 略超过 ¥100" in place_table([shown], "zh")
    assert "要求" not in place_table([record()], "zh")
    (verdict,) = AnswerPlace.model_validate({**shown, "gcj02": shown["location"]}).verdicts
    assert (verdict.constraint, verdict.verdict) == ("max_cost", "violated")


def test_a_place_of_the_kind_itself_says_it_once() -> None:
    (cafe,) = judged([record(category="咖啡厅")], {"kind": "cafe"}, "en")
    assert cafe["verdicts"][0]["text"] == "café"


@by_examples
def test_a_place_is_of_no_kind_that_was_searched(
    keywords: list[str], category: str | None, *, is_other: bool
) -> None:
    assert is_of_no_kind_searched(record(category=category, keywords=keywords)) is is_other


@pytest.mark.parametrize(
    ("words", "cost", "expected"),
    [
        ("билет до 20 евро", 0.0, "satisfied"),
        ("a ticket up to €20", 0.0, "satisfied"),
        ("билет до 20 евро", None, "unknown"),
        ("at most 2 floors", 0.0, "unknown"),
    ],
)
def test_what_is_free_meets_a_limit_in_any_money(
    words: str, cost: float | None, expected: str
) -> None:
    """Of a free museum it was "not known: a ticket up to 20 euros"."""
    (verdict,) = check(record(cost=cost), {"other": [words]}, "ru")
    assert verdict["verdict"] == expected
    assert ("бесплатно" in verdict["text"]) is (expected == "satisfied")


def test_a_reader_is_told_what_rests_on_a_name_and_of_a_kind_only_that_it_is_another() -> None:
    demands = Constraints(kind="museum", suits=["children"], max_walk_m=800)
    (named,) = judged([record("儿童馆", category="展厅")], demands, "zh")
    assert len(named["verdicts"]) == 3
    walk = say("constraints.max_walk_m.unknown", "zh", limit="800 米")
    assert set(card_of(named, "zh").demands) == {f"? {walk}", "✓ 适合孩子（据名称判断）"}
    (other,) = judged([record(category="火锅店")], Constraints(kind="museum"), "zh")
    assert card_of(other, "zh").demands == ("✗ 不是博物馆（火锅店）",)


def test_what_no_record_can_tell_is_unknown_and_orders_nothing() -> None:
    demands = valid_constraints({"other": ["安静", "安静", " ", 3, "有露台" * 40]})
    assert demands == {"other": ["安静", ("有露台" * 40)[:60]]}
    found = judged([record("甲"), record("乙")], {"other": ["安静"], "max_cost": 50}, "zh")
    told = say("constraints.other.unknown", "zh", demand="安静")
    assert [each["name"] for each in found] == ["甲", "乙"]
    assert found[0]["verdicts"][-1] == {
        "constraint": "other", "verdict": "unknown", "field": "", "text": told,
    }  # fmt: skip
    assert card_of(found[0], "zh").demands == ("? 人均未知",)
    (alone,) = judged([record("甲")], {"other": ["安静"]}, "zh")
    assert place_table([alone], "zh").splitlines()[-1].endswith(f"| ? {told} |")
    assert told in place_lines([alone], "zh"), "the writer knows that nobody has checked it"


def test_who_is_to_be_open_until_after_midnight_is_asked_of_the_night_of_that_day() -> None:
    hours = "周日至周四 18:00-01:00；周五、周六 18:00-03:00"
    for day, expected in ((5, "satisfied"), (4, "violated"), (7, "violated")):
        demand: Constraints = {"open_until": "02:00", "open_on": [day]}
        assert outcome(demand, open_time=hours)[0] == expected
    for day in (5, 7):  # Sunday's night goes on on Monday
        assert (
            outcome({"open_until": "02:00", "open_on": [day]}, open_time="全天")[0] == "satisfied"
        )
    nights: Constraints = {"open_until": "02:00", "open_on": [7]}
    assert outcome(nights, open_time="周一、周日 00:00-24:00")[0] == "satisfied"
    assert outcome(nights, open_time="周二、周日 00:00-24:00")[0] == "violated"


def test_what_fits_leads_also_where_a_demand_ranks_all_as_unknown() -> None:
    """ "Quiet" is known of no café: those of unknown price had come before the one that fits."""
    demands = Constraints(max_cost=60, other=["quiet"])
    near = {"distance_from": "Station", "keywords": ["café"]}
    found = [record("B", distance_m=90, **near), record("A", cost=40.0, distance_m=80, **near)]
    lines = grouped_lines(judged(found, demands, "en"), "en").splitlines()
    assert lines[1] == say("constraints.groups.not_ruled_out", "en", count=1)
    assert [("nearest" in line) for line in lines] == [False, False, True, False, False]


@by_examples
def test_a_place_that_the_asker_does_not_want_fits_nothing_whatever_else_it_meets(
    without: str, name: str, english: str, is_out: bool
) -> None:
    demands = valid_constraints({"kind": "cafe", "without": [without]})
    one = record(name, category="咖啡厅", name_en=english)
    told = {(each["constraint"], each["verdict"]) for each in check(one, demands, "en")}
    assert (("without", "violated") in told) is is_out
    assert ("Does not fit" in grouped_lines(judged([one, record()], demands, "en"), "en")) is is_out


@by_examples
def test_what_is_near_a_station_that_was_looked_up_is_said_to_be(
    demand: str, station: str, metres: int, expected: str
) -> None:
    beside = [Distance(origin=station, metres=metres, kind="station")]
    for found in (record(further=beside), record(distance_from=station, distance_m=metres)):
        [verdict] = check(found, Constraints(other=[demand]), "zh")
        assert verdict["verdict"] == expected
        assert station in verdict["text"]


def test_what_is_only_beside_what_was_asked_for_stands_behind_it() -> None:
    park = record("P", category="停车场", keywords=["停车场"])
    mall = record("M", category="购物中心", keywords=["商场"])
    order = judged([park, mall], {"kind": "mall", "suits": ["children"]}, "zh")
    assert [each["name"] for each in order] == ["M", "P"]


def test_a_price_of_which_the_map_does_not_tell_what_it_is_per_says_so() -> None:
    """A bare ¥10 of a car park was told as ten an hour."""
    park = record(cost=10.0, per_head=False, category="停车场")
    assert cost_text(park, "en") == say("records.price", "en", cost=10)
    assert cost_text(record(cost=700.0, per_head=False, per_night=True), "en") == "¥700 a night"

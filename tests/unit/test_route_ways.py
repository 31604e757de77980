"""A route shows its way, a straight line is one, and what nobody asked for is no result."""

from typing import Any

import pytest

from agent.assistants.common.judge import record_texts
from agent.assistants.common.shown_records import chosen_ways
from agent.assistants.deep_research.write_report import distance_lines
from agent.evidence.geo import distance_text, location_at
from agent.evidence.records import record_sections, route_lines, route_text
from agent.evidence.types import Leg, Place, Route, RouteStep
from agent.evidence.way_steps import step_text
from agent.mcp.amap.records import AmapReader
from agent.mcp.amap.tools import TOOLS_BY_INTENT, clean_arguments
from agent.mcp.new_records import legs_over, new_route
from agent.texts import Language, say
from tests.support.rows import by_examples
from tests.unit.test_map_places import DETAIL, reader

ENDS = {"origin": "120.212600,30.291100", "destination": "120.148732,30.242834"}
METRO = "地铁1号线(湘湖--萧山国际机场)"
NAMES = ("杭州东站", "西湖")


def bus(name: str, start: str, end: str, *via: str) -> dict[str, Any]:
    line = {
        "name": name,
        "departure_stop": {"name": start},
        "arrival_stop": {"name": end},
        "distance": "9000",
        "via_stops": [{"name": stop} for stop in via],
    }
    return {"buslines": [line]}


TRANSIT: dict[str, Any] = {
    "route": {
        "distance": "11400",
        "transits": [
            {
                "duration": "2460",
                "segments": [
                    {
                        "walking": {"distance": "222"},
                        "bus": bus(METRO, "火车东站", "龙翔桥", "彭埠", "打铁关"),
                        "railway": {"name": None, "trip": None},
                    },
                    {
                        "walking": {"distance": "1300"},
                        "bus": bus("7路", "龙翔桥", "岳坟"),
                        "railway": None,
                    },
                    {"walking": {"distance": "80"}, "bus": {"buslines": []}, "railway": {}},
                ],
            }
        ],
    }
}  # fmt: skip
WALK: dict[str, Any] = {
    "route": {
        "paths": [
            {
                "distance": "900",
                "duration": "700",
                "steps": [
                    {"instruction": f"沿第{n}路步行100米", "distance": "100"} for n in range(5)
                ],
            }
        ]
    }
}


def entered(tool: str, reply: dict[str, Any], mode: Any) -> AmapReader:
    amap = reader(intent="route")
    amap.add_route(tool, reply, mode=mode, ends=(ENDS["origin"], ENDS["destination"]), names=NAMES)
    return amap


@by_examples
def test_how_to_get_there_is_answered_with_lines_stops_and_transfers(
    language: Language, way: str
) -> None:
    amap = entered("maps_direction_transit_integrated", TRANSIT, "transit")
    (route,) = amap.records.result.routes
    assert route_text(route, language) == way
    assert way in route_lines([route], language)
    assert way in "\n".join(record_sections([route], [], language))
    assert route["steps"][1]["instruction"] == f"{METRO}（火车东站 → 龙翔桥，3 站）"
    assert route["steps"][2]["instruction"] == "步行"
    assert "火车东站 → 龙翔桥" in amap.records.result.sources[0]["quotes"][0]


@by_examples
def test_a_way_that_is_cited_without_its_length_time_and_line_is_shown(
    text: str, *, is_told: bool
) -> None:
    """A reader who asked how far it was got the name of the way alone; another, no line."""
    amap = entered("maps_direction_transit_integrated", TRANSIT, "transit")
    (route,) = amap.records.result.routes
    shown = record_sections([route], [], "en", cited=[route["source"]], text=text)
    assert (shown == []) is is_told


def test_of_ways_that_an_answer_compares_all_are_listed_or_none() -> None:
    """The walk stood there alone: the ride beside it was told in the text with its figures."""
    amap = entered("maps_direction_transit_integrated", TRANSIT, "transit")
    (told,) = amap.records.result.routes
    other = Route(**{**told, "id": "other", "source": "m0-9", "distance_m": 99_000})
    text = f"{told['distance_m']} m, {(told['duration_s'] or 0) // 60} min, 地铁1号线, 7路."
    cited = [told["source"], other["source"]]
    (both,) = record_sections([told, other], [], "en", cited=cited, text=text)
    assert all(f"[^{name}]" in both for name in cited)
    assert record_sections([told], [], "en", cited=cited, text=text) == []
    # A table that tells them all cites its source once.
    table = f"{text} 99 km."
    assert record_sections([told, other], [], "en", cited=cited[:1], text=table) == []
    assert record_sections([told, other], [], "en", cited=(), text=table)


@pytest.mark.parametrize(("mode", "rows"), [("walking", 1), ("transit", 3)])
def test_a_way_over_stops_is_told_without_its_legs_unless_these_have_lines(
    mode: Any, rows: int
) -> None:
    """Below three sights on foot stood seven ways, three of them in the longest one already."""
    spots = [(name, location_at(120.2, 30.2, "GCJ-02")) for name in "甲乙丙"]
    stops = [(name, at) for name, at in spots if at]
    one, other = (
        new_route(id=str(at), mode=mode, stops=stops[at : at + 2], url="", distance_m=900,
                  duration_s=600)
        for at in (0, 1)
    )  # fmt: skip
    total = new_route(id="t", mode=mode, stops=stops, url="", distance_m=1800, duration_s=1200,
                      steps=legs_over(stops, [(900, 600), (900, 600)]))  # fmt: skip
    (section,) = record_sections([one, other, total], [], "zh")
    assert section.count("\n- ") == rows


@pytest.mark.parametrize(
    ("rounds", "cited", "left"),
    [
        ([1, 2], {"a1-0"}, ["a0-0", "a1-0"]),
        ([1, 2], {"a0-0"}, ["a0-0"]),
        ([1, 2], {"w0-0"}, ["a0-0", "a1-0", "a1-1"]),
        ([1, 1], {"a0-0"}, ["a0-0", "a1-0", "a1-1"]),
        ([], {"a1-0"}, ["a0-0", "a1-0", "a1-1"]),
    ],
)
def test_a_way_that_was_only_chosen_by_is_none_of_the_answer_s(
    rounds: list[int], cited: set[str], left: list[str]
) -> None:
    (way,) = entered("maps_direction_walking", WALK, "walking").records.result.routes
    ways = [Route(**{**way, "id": name, "source": name}) for name in ("a0-0", "a1-0", "a1-1")]
    assert [each["source"] for each in chosen_ways(ways, rounds, cited)] == left


def test_a_report_lists_no_way_that_it_does_not_cite() -> None:
    """Four of the eight ways below a plan of two days were none of the plan's."""
    amap = entered("maps_direction_transit_integrated", TRANSIT, "transit")
    (route,) = amap.records.result.routes
    assert record_sections([route], [], "en", text="Stay near the lake.", is_report=True) == []
    cited = record_sections(
        [route], [], "en", cited=[route["source"]], text="Take metro line 1.", is_report=True
    )
    assert cited != [], "it is cited and not told"


def test_a_train_is_a_ride_too() -> None:
    train = {
        "name": "G7349",
        "departure_stop": {"name": "上海虹桥"},
        "arrival_stop": {"name": "杭州东"},
    }
    transit = {"duration": "3600", "segments": [{"walking": {}, "bus": {}, "railway": train}]}
    reply = {"route": {"distance": "170000", "transits": [transit]}}
    amap = entered("maps_direction_transit_integrated", reply, "transit")
    text = route_text(amap.records.result.routes[0], "zh")
    assert text.endswith("G7349（上海虹桥 → 杭州东）")


def test_a_way_shows_its_first_three_steps_and_all_where_it_was_asked_for_itself() -> None:
    """Whoever asked the way to a bookshop was told that the turns to it were not known."""
    (whole,) = entered("maps_direction_walking", WALK, "walking").records.result.routes
    amap = reader(intent="distance")
    ends = (ENDS["origin"], ENDS["destination"])
    amap.add_route("maps_direction_walking", WALK, mode="walking", ends=ends, names=NAMES)
    (beside,) = amap.records.result.routes
    ways = "；".join(f"沿第{n}路步行100米" for n in range(5))
    assert route_text(whole, "zh").endswith(f"· {ways}")
    assert route_text(beside, "zh").endswith(f"· {ways[:32]} …")
    turns = [RouteStep(instruction="右折（Keskuskatu）", distance_m=n) for n in range(30)]
    long = route_text(Route(**{**whole, "steps": turns}), "ja")
    assert "、右折（Keskuskatu）24 m …" in long
    assert "25 m" not in long


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("900 m, 12 min.", 1),
        ("900 m, 12 min: turn into 第1路 and walk 300 m.", 1),
        ("900 m, 12 min: 100 m along 第0路, left, 40 m, right, 760 m.", 0),
    ],
)
def test_a_way_that_was_asked_for_itself_is_listed_where_a_text_lacks_its_steps(
    text: str, rows: int
) -> None:
    (way,) = entered("maps_direction_walking", WALK, "walking").records.result.routes
    lengths = enumerate((100, 40, 760))
    steps = [RouteStep(instruction=f"第{n}路", distance_m=metres) for n, metres in lengths]
    way = Route(**{**way, "steps": steps})
    assert len(record_sections([way], [], "en", cited=[way["source"]], text=text)) == rows


STEPS = {
    "沿示例道路步行1593米到达目的地": "walk 1.6 km along 示例道路 to the destination",
    "沿王府井大街向南步行250米左转": "walk 250 m south along 王府井大街, then turn left",
    "步行10米到达目的地": "walk 10 m to the destination",
    "沿金鱼胡同向东北步行338米直行": "walk 338 m northeast along 金鱼胡同, then go straight on",
    "沿长安街向西行驶1.2公里右转进入主路": "drive 1.2 km west along 长安街, "
    "then turn right onto the main road",
    "沿南站路行驶168米左转进入开阳路": "drive 168 m along 南站路, then turn left into 开阳路",
    "从起点骑行123米右转": "ride 123 m, then turn right",
    "步行77米向右前方行走": "walk 77 m, then bear right",
    "沿中山路步行30米": "walk 30 m along 中山路",
    "右转": "turn right",
    "到达目的地": "arrive at the destination",
    "左转进入主路": "turn left onto the main road",
}


@pytest.mark.parametrize("said", STEPS)
def test_the_map_s_fixed_phrases_are_english_in_an_english_answer(said: str) -> None:
    assert step_text(said, "en") == STEPS[said]
    assert step_text(said, "zh") == said
    # What is English already stays.
    assert step_text(STEPS[said], "en") == STEPS[said]


@pytest.mark.parametrize(
    "said", ["经闸机出站后乘扶梯上行", "沿长安街步行20米见红色牌坊", "步行很远左转"]
)
def test_another_phrase_is_said_to_be_the_map_s_own(said: str) -> None:
    assert step_text(said, "en") == f"{said} (the map's own words)"


def test_a_step_in_its_reader_s_own_characters_is_no_other_s() -> None:
    assert step_text("出発", "ja") == "出発"


def test_an_english_answer_s_walk_is_english_for_every_client() -> None:
    amap = reader("en", intent="route")
    amap.add_route("maps_direction_walking", WALK, mode="walking",
                   ends=(ENDS["origin"], ENDS["destination"]), names=NAMES)  # fmt: skip
    (route,) = amap.records.result.routes
    assert route["steps"][1]["instruction"] == "walk 100 m along 第1路"
    assert "walk 100 m along 第0路; walk 100 m along 第1路" in route_text(route, "en")


def test_a_straight_line_is_told_to_the_metre() -> None:
    assert distance_text(3020, "en", exact=True) == "3.02 km"
    assert distance_text(12345, "en", exact=True) == "12.345 km"
    assert distance_text(3000, "en", exact=True) == distance_text(3020, "en") == "3.0 km"


@pytest.mark.parametrize("kind", [0, "0"])
def test_a_straight_line_is_called_one_and_links_to_no_navigation(kind: object) -> None:
    amap = reader(intent="distance")
    amap.add_place({**DETAIL, "id": "B1", "name": "甲", "location": ENDS["origin"]})
    amap.add_place({**DETAIL, "id": "B2", "name": "乙", "location": ENDS["destination"]})
    asked = {"origins": ENDS["origin"], "destination": ENDS["destination"], "type": kind}
    reply = {"results": [{"distance": "8120", "duration": "810"}]}
    AmapReader(amap.records).read("maps_distance", asked, reply)
    (route,) = amap.records.result.routes
    assert clean_arguments("maps_distance", asked)["type"] == "0"
    assert route_text(route, "zh") == "直线距离：甲 → 乙 · 8.12 km"
    assert "navigation" not in route["url"]


def test_a_way_between_unnamed_coordinates_is_no_result() -> None:
    amap = reader(intent="route")
    asked = {"origins": "116.454802,39.934202", "destination": "116.460,39.930", "type": "3"}
    text = amap.read("maps_distance", asked, {"results": [{"distance": "837", "duration": "670"}]})
    assert "837" in text
    assert not amap.records.result.routes
    assert not amap.records.result.sources


def test_a_measurement_nobody_asked_for_is_no_result() -> None:
    amap = reader(intent="nearby")
    amap.add_place({**DETAIL, "location": ENDS["origin"]})
    amap.add_place({**DETAIL, "id": "B2", "name": "乙", "location": ENDS["destination"]})
    asked = {"origins": ENDS["origin"], "destination": ENDS["destination"]}
    reply = {"results": [{"distance": "8120", "duration": "810"}]}
    AmapReader(amap.records).read("maps_distance", asked, reply)
    assert not amap.records.result.routes
    assert "maps_distance" not in TOOLS_BY_INTENT["nearby"]


def spots() -> list[Place]:
    """Three places in a row, each some 500 m from the next."""
    amap = reader()
    for number, name in enumerate("甲乙丙"):
        spot = {"id": f"B{number}", "name": name, "location": f"120.1{4 + number}5000,30.25"}
        amap.add_place({**DETAIL, **spot})
    return amap.records.result.places


def test_between_places_stands_the_measured_way_on_foot_else_a_straight_line() -> None:
    first, second, third = (place["source"] for place in spots())
    leg = Leg(mode="walking", distance_m=1290, duration_s=1020, estimated=False)
    lines = distance_lines(spots(), "zh", {(second, first): leg})
    assert lines[first, second].startswith("甲 → 乙：步行 1290 米，约 17 分钟（直线距离 ")
    assert lines[first, second].endswith(f" [^{first}][^{second}]")
    assert "直线距离" in lines[second, third]
    assert "步行" not in lines[second, third]
    assert len(lines) == 3, "each pair once"


def test_a_way_that_a_model_asks_by_ids_is_a_record_with_both_names_minutes_and_metres() -> None:
    amap = reader()
    one = amap.add_place({**DETAIL, "id": "B1", "name": "甲", "location": ENDS["origin"]})
    two = amap.add_place({**DETAIL, "id": "B2", "name": "乙", "location": ENDS["destination"]})
    assert one is not None
    assert two is not None
    ids = {"origin": f"[^{one['source']}]", "destination": two["source"]}
    asked = {name: amap.records.with_position(value) for name, value in ids.items()}
    text = AmapReader(amap.records).read("maps_direction_walking", asked, WALK)
    (route,) = amap.records.result.routes
    assert (route["origin"], route["destination"]) == ("甲", "乙")
    assert text.startswith(f"[^{route['source']}] 步行：甲 → 乙 · ")


def test_a_position_that_a_model_rounds_is_the_known_place_beside_it() -> None:
    amap = reader()
    amap.add_place({**DETAIL, "id": "B1", "name": "甲", "location": ENDS["origin"]})
    amap.add_place({**DETAIL, "id": "B2", "name": "乙", "location": ENDS["destination"]})
    rounded = {"origin": "120.2127,30.2911", "destination": "120.1487,30.2428"}
    AmapReader(amap.records).read("maps_direction_walking", rounded, WALK)
    far = {"origin": "120.2167,30.2911", "destination": "120.1487,30.2428"}
    AmapReader(amap.records).read("maps_direction_walking", far, WALK)
    assert [route["origin"] for route in amap.records.result.routes] == ["甲"]


def test_a_section_has_steps_only_in_the_languages_that_steps_are_told_in() -> None:
    amap = entered("maps_direction_walking", WALK, "walking")
    (route,) = amap.records.result.routes
    (german,) = record_sections([route], [], "de")
    (english,) = record_sections([route], [], "en")
    # Elsewhere the map is asked in the reader's own language.
    there = Route(**{**route, "zone": "Europe/Helsinki"})
    assert "第0路" in record_sections([there], [], "de")[0]
    assert "第0路" in english
    assert "第0路" not in german
    assert say("records.modes.walking", "de") in german
    transit = entered("maps_direction_transit_integrated", TRANSIT, "transit").records.result.routes
    assert "龙翔桥" in record_sections(transit, [], "de")[0]


def test_a_judge_is_told_a_ride_once_and_in_one_language() -> None:
    """The steps of a ride came once more behind its line, in the language of the reader."""
    amap = entered("maps_direction_transit_integrated", TRANSIT, "transit")
    (route,) = amap.records.result.routes
    (text,) = record_texts([], [route], [], "en").values()
    line, exact = text.split(" |\n")
    assert route_text(route, "en") in line
    assert exact.startswith(f"{route['distance_m']} m, ")


def test_the_legs_of_a_way_over_a_stop_add_up_to_the_whole_as_they_are_shown() -> None:
    """10 and 16 minutes were 27 minutes: 26.6, rounded."""
    at = location_at("120.15", "30.25", "WGS-84")
    assert at
    stops = [("Bridge", at), ("Lunch", at), ("Tower", at)]
    legs = [(2140, 624), (3840, 972)]
    route = new_route(
        id="x:1", mode="transit", stops=stops, url="https://example.org",
        distance_m=sum(metres for metres, _ in legs), duration_s=sum(time for _, time in legs),
        steps=legs_over(stops, legs),
    )  # fmt: skip
    told = route_text(route, "en")
    assert "2.1 km, 10 min" in told
    assert "3.8 km, 16 min" in told
    assert "5.9 km · 26 min" in told

"""A question is read once: a model's reply is checked, and what it leaves out is nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.assistants.common.forms import SearchQueryList
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.question import Asked, asked, asked_by_rules, turn_of
from agent.assistants.common.shown_records import days_forecast, forecast_lines
from agent.assistants.common.turn import now_there
from agent.configuration import Configuration
from agent.evidence.constraints import check, with_own
from agent.evidence.maps import valid_map_task
from agent.evidence.ordering import judged
from agent.state import Previous, Turn
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.test_constraints import record

PLACES = [record("博物馆", id="amap:A"), record("公园", id="amap:B")]
SHOWN = Previous(sources=[], places=PLACES)
MAP = {"intent": "nearby", "place": "王府井", "keywords": ["咖啡馆"]}
QUERY = {"query": "王府井 咖啡馆", "map": MAP}


def turn(question: str, near: Any = None) -> Turn:
    values: Any = {"question": question, "near": near, "count": 3, "language": "zh"}
    return Turn(**values)


def read(
    text: str, /, previous: Previous = NO_PREVIOUS, setting: Any = None, **reply: Any
) -> Asked:
    written = SearchQueryList.model_validate({"query": [], **reply})
    return asked(written, text, turn(text), previous, setting or Configuration())


def test_what_a_model_leaves_out_is_nothing_and_no_rules_guess() -> None:
    found = read("王府井人均100元以内的咖啡馆，周日下午三点还开着", query=[QUERY])
    assert found.demands == {}
    assert found.outing is None
    assert (found.day, found.needs, found.reply, found.only_own_documents) == ("", None, "", False)
    assert found.queries[0]["map"] == {**found.queries[0]["map"], **MAP}  # type: ignore[dict-item]


def test_what_is_open_now_is_asked_by_each_place_s_own_clock() -> None:
    # Saturday 23:43 in London, Sunday 01:43 in Helsinki, 07:43 in Beijing.
    moment = datetime(2026, 11, 28, 23, 43, tzinfo=UTC).timestamp()
    values: Any = {**turn("Which café near Kiasma is open now?"), "zone": "", "today": "2026-11-28",
                   "now": "2026-11-28 Sat 23:43 (UTC+0)", "started_at": moment}  # fmt: skip

    def demands(**constraints: Any) -> Any:
        found = read("Which café near Kiasma is open now?", constraints=constraints)
        return turn_of(Turn(**values), found, Configuration())["constraints"]

    now = demands(open_at="23:43", open_on=[6])
    hours = "Mon–Sat 08:00-24:00, Sun 09:00-18:00"
    helsinki = record(open_time=hours, zone="Europe/Helsinki")
    assert check(helsinki, now, "en")[0]["verdict"] == "violated"
    assert check(record(open_time="07:00-22:00"), now, "en")[0]["verdict"] == "satisfied"
    assert "asked_at" in demands(open_at="23:40", open_on=[6]), "a model may round"
    assert "asked_at" not in demands(open_at="21:00", open_on=[6])
    assert "asked_at" not in demands(open_at="<23:43", open_on=[6])
    assert now_there(Turn(**values), [helsinki], {}) == "2026-11-29 周日 01:43 (UTC+2)"


@pytest.mark.parametrize(
    ("demands", "expected"),
    [
        # A shop that closes on Sundays at 18:00 was shown as one of whose hours nothing is known.
        ({"open_until": "21:00"}, {"open_until": "21:00", "open_on": [7]}),
        ({"open_until": "21:00", "open_on": [6, 7]}, {"open_until": "21:00", "open_on": [6, 7]}),
        ({"not_on": [1]}, {"not_on": [1]}),
        ({}, {"open_on": [7]}),
    ],
)
def test_a_day_that_is_named_counts_for_the_hours_of_places(
    demands: dict[str, Any], expected: dict[str, Any]
) -> None:
    def constraints(query: dict[str, Any], **more: Any) -> Any:
        found = read("?", query=[query], constraints=demands, day="2026-11-29", **more)
        return turn_of(turn("?"), found, Configuration())["constraints"]

    is_that_day = expected.get("open_on") == [7]
    assert constraints(QUERY) == expected | ({"day": "2026-11-29"} if is_that_day else {})
    assert constraints(QUERY, outing={}) == demands, "a plan has its day itself"
    weather = {"query": "杭州天气", "map": {"intent": "weather", "city": "杭州"}}
    assert bool(constraints(weather)) == bool(demands)


LAW = {"query": "民法典 第七百一十三条 承租人自行维修"}


def test_a_query_in_the_law_s_words_stays_beside_one_in_the_asker_s() -> None:
    found = read("房东不修漏水，修理费谁出", query=[{"query": "漏水 修理费"}, LAW])
    assert [one["query"] for one in found.queries] == ["漏水 修理费", LAW["query"]]
    found = read("房东不修漏水，修理费谁出", query=[LAW], question="承租人自行维修的费用由谁承担")
    assert [one["query"] for one in found.queries] == [LAW["query"]]
    found = read("房东不修漏水，修理费谁出", query=[{"query": "第二个问题"}])
    assert [one["query"] for one in found.queries] == ["房东不修漏水，修理费谁出"]


CAFES = Previous(sources=[], places=PLACES, constraints={"kind": "cafe", "max_cost": 50})


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({"constraints": {"other": ["安静"]}, "query": [QUERY]}, "cafe"),
        ({"query": [QUERY]}, "cafe"),
        ({"constraints": {"open_on": [7]}, "query": [{"query": "咖啡馆 安静"}]}, "cafe"),
        ({"constraints": {"kind": "museum"}}, "museum"),
        ({"query": [{"query": "停车场", "map": {**MAP, "keywords": ["停车场"]}}]}, None),
        ({"query": [{"query": "馆", "map": {"intent": "poi", "place": "国家博物馆"}}]}, None),
        ({"query": [{"query": "杭州 天气"}]}, None),
        ({"constraints": {"open_on": [7]}, "outing": {"begins": "10:00"}}, None),
    ],
)
def test_a_follow_up_that_adds_to_the_demands_is_about_the_same_kind_of_place(
    reply: dict[str, Any], kind: str | None
) -> None:
    """ "Only the quiet ones" after cafés had any place in its list."""
    assert (
        read("只要安静的咖啡馆、停车场，国家博物馆、杭州天气", CAFES, **reply).demands.get("kind")
        == kind
    )


def test_a_day_is_planned_where_the_model_says_so_and_the_setting_lets_it() -> None:
    day = {"outing": {"begins": "10:00"}, "day": "2026-11-29", "query": [QUERY]}
    found = read("王府井咖啡馆一日游", **day)
    assert found.outing == {"day": "2026-11-29", "begins": "10:00"}
    assert not found.replans
    assert read("王府井咖啡馆一日游", setting=Configuration(outing="off"), **day).outing is None
    always = read("王府井 咖啡馆", setting=Configuration(outing="on"), query=[QUERY])
    assert always.outing == {}


@pytest.mark.parametrize(
    ("hours", "is_planned"),
    [
        ({"begins": "15:00", "back_by": "16:00"}, False),
        ({"begins": "15:00", "back_by": "16:00", "order": ["museum", "café"]}, True),
        ({"begins": "15:00", "back_by": "18:00"}, True),
        ({"begins": "15:00"}, True),
    ],
)
def test_one_hour_on_foot_is_no_day_to_plan_unless_it_has_stops(
    hours: dict[str, Any], is_planned: bool
) -> None:
    """It was planned from half past nine to six, with lunch and four stops."""
    found = read("One hour on foot", outing={"on_foot": True, **hours}, query=[QUERY])
    assert (found.outing is not None) == is_planned


def test_a_day_of_places_that_were_shown_searches_nothing() -> None:
    found = read("make a day of these", SHOWN, outing={})
    assert (found.queries, found.replans) == ([], ["amap:A", "amap:B"])
    alone = read("王府井一日游", NO_PREVIOUS, outing={})
    assert alone.queries
    assert not alone.replans


def test_a_day_of_what_was_shown_is_made_of_what_the_answer_named() -> None:
    """Of eight records it had named four; the day brought in others."""
    named: list[Any] = [{**place, "mentioned": True} for place in PLACES]
    shown = Previous(sources=[], places=[record("湖", id="amap:D", mentioned=False), *named])
    assert read("make a day of these", shown, outing={}).replans == ["amap:A", "amap:B"]


def test_a_first_day_is_made_of_shown_places_it_names_and_of_what_its_queries_find() -> None:
    adds = [{"stop": "公园", "change": "add"}]
    found = read(
        "去公园，再去王府井咖啡馆", SHOWN, outing={"stops": 2, "changes": adds}, query=[QUERY]
    )
    assert (found.replans, len(found.queries)) == (["amap:B"], 1)
    assert read("去公园和湖", day_of_three(), outing={"changes": [
        {"stop": name, "change": "add"} for name in ("公园", "湖")
    ]}).replans == ["amap:B", "amap:D"]  # fmt: skip
    order = {"order": ["公园", "咖啡馆"]}
    assert read("先公园再咖啡馆", SHOWN, outing=order, query=[QUERY]).replans == ["amap:B"]
    unknown = [{"stop": "动物园", "change": "add"}]
    assert read("动物园和咖啡馆", SHOWN, outing={"changes": unknown}, query=[QUERY]).replans == []


def day_of_three() -> Previous:
    return Previous(sources=[], places=[*PLACES, record("湖", id="amap:D")])


def test_a_change_of_the_planned_day_searches_only_what_was_written_for_it() -> None:
    stops = [{"place": place["id"], "name": place["name"], "begins": "10:00"} for place in PLACES]
    outing: Any = {"wish": {"day": "2026-11-28"}, "stops": stops, "left_out": []}
    previous = Previous(**{**SHOWN, "outing": outing})
    change = {"stop": "公园", "change": "leave_out"}
    found = read("不去公园", previous, outing={"changes": [change]})
    assert found.replans
    assert found.queries == []
    assert found.outing == {**found.outing, "day": "2026-11-28", "without": ["amap:B"]}  # type: ignore[dict-item]
    cheaper = read("不去公园，换家咖啡馆", previous, outing={"changes": [change]}, query=[QUERY])
    assert cheaper.replans == found.replans
    assert [query["query"] for query in cheaper.queries] == [QUERY["query"]]


@by_examples
def test_what_replaces_a_stop_or_a_meal_is_looked_up(change: Any, keyword: str, wish: Any) -> None:
    told = day_of(*THREE[:3])
    kinds = {"amap:A": "中餐厅(综合)", "amap:B": "公园"}
    places: Any = [{**p, "category": kinds.get(p["id"], "")} for p in told["places"]]
    outing: Any = {**told["outing"]}
    outing["stops"] = [{**outing["stops"][0], "meal": "lunch"}, *outing["stops"][1:]]
    previous = Previous(**{**told, "places": places, "outing": outing})
    found = read("换一个", previous, outing={"changes": [change]})
    assert found.replans == ["amap:A", "amap:B", "amap:C", "amap:D"]
    assert [query["map"]["keywords"] for query in found.queries if query["map"]] == [[keyword]]
    assert {field: value for field, value in (found.outing or {}).items() if value} == wish


THREE = [*PLACES, record("钟楼", id="amap:C"), record("湖", id="amap:D")]


def day_of(*stops: Any) -> Previous:
    """A day that was planned over the first stops; for the others there was no time."""
    known: Any = {"wish": {}, "stops": [{"place": p["id"], "name": p["name"], "begins": "10:00"}
                                        for p in stops]}  # fmt: skip
    rest = [
        {"place": p["id"], "name": p["name"], "reason": "time", "text": ""}
        for p in THREE
        if p not in stops
    ]
    return Previous(sources=[], places=THREE, outing=known | {"left_out": rest})


@pytest.mark.parametrize(
    ("stop", "change"),
    [
        ("公园", "leave_out"),
        ("公园", "later"),
        ("湖", "add"),
        ("咖啡馆", "add"),
    ],
)
def test_a_changed_day_is_made_of_its_stops_and_of_what_it_missed(stop: str, change: str) -> None:
    """What was closed on the day was forgotten at the first change, and why with it."""
    changes = [{"stop": stop, "change": change}]
    found = read(f"{stop}呢", day_of(*THREE[:3]), outing={"changes": changes})
    assert found.replans == ["amap:A", "amap:B", "amap:C", "amap:D"]


def test_another_hour_or_day_keeps_the_stops_unless_more_are_asked_for() -> None:
    found = read("周日呢", day_of(*THREE[:3]), outing={}, day="2026-11-29")
    assert found.replans == ["amap:A", "amap:B", "amap:C", "amap:D"]
    values: Any = {**turn("what about Saturday"), "today": "2026-11-30"}
    misread = SearchQueryList.model_validate(
        {"query": [], "outing": {}, "day": "Saturday 2026-12-07"}
    )
    moved = asked(misread, "", Turn(**values), day_of(*THREE[:3]), Configuration())
    assert (moved.outing or {}).get("day") == moved.day == "2026-12-05", "it was a Monday"
    told = {**day_of(*THREE[:3])}
    told["outing"] = {**told["outing"], "left_out": []}  # type: ignore[dict-item]
    told_of: Any = told
    assert read("两点出发", told_of, outing={"begins": "14:00"}).replans == [
        "amap:A", "amap:B", "amap:C",
    ]  # fmt: skip
    assert "amap:D" in read("要四个", told_of, outing={"stops": 4}).replans


@by_examples
def test_other_hours_are_of_the_planned_day_and_a_day_of_these_of_the_last_list(
    fields: Any, ids: str
) -> None:
    """Asked to start at eleven after a question about cafés, it planned a day of cafés."""
    day = day_of(*THREE[:3])
    told: Any = {**day["outing"], "left_out": []}  # type: ignore[typeddict-item]
    others = [record("书店", id="amap:E"), record("面馆", id="amap:F")]
    shown = [{"id": place["id"], "name": place["name"], "number": 0} for place in others]
    turns: Any = [{"question": "", "places": shown, "cited": [], "zone": ""}]
    previous = Previous(sources=[], places=[*THREE, *others], outing=told, turns=turns)
    found = read("十一点开始", previous, **fields)
    assert found.replans == [f"amap:{letter}" for letter in ids]


@pytest.mark.parametrize(
    ("city", "fields", "kept"),
    [("北京", {}, True), (None, {}, True), ("苏州", {}, False), ("北京", {"stops": 2}, False)],
)
def test_a_planned_day_on_another_date_keeps_its_stops_beside_what_is_looked_up_for_it(
    city: str | None, fields: Any, *, kept: bool
) -> None:
    """One query for what is open on Monday, and the other stops and the meal were gone."""
    told = day_of(*THREE[:3])
    places: Any = [{**place, "city": "北京市"} for place in told["places"]]
    looked_up = {**QUERY, "map": {**MAP, "city": city}}
    found = read(
        "王府井的安排改到周一呢", Previous(**{**told, "places": places}),
        outing=fields, day="2026-11-30", query=[looked_up],
    )  # fmt: skip
    assert bool(found.replans) is kept
    assert found.queries


def test_a_day_of_one_stop_takes_in_what_it_had_left_out() -> None:
    changes = [{"stop": "公园", "change": "leave_out"}]
    found = read("不去公园", day_of(*PLACES), outing={"changes": changes})
    assert found.replans == ["amap:A", "amap:B", "amap:C", "amap:D"]


def test_a_stop_that_comes_in_and_was_never_shown_is_searched() -> None:
    change = {"stop": "咖啡馆", "change": "add"}
    found = read("加一家咖啡馆", day_of(*THREE[:3]), outing={"changes": [change]}, query=[QUERY])
    assert found.replans == ["amap:A", "amap:B", "amap:C", "amap:D"]
    assert [query["query"] for query in found.queries] == [QUERY["query"]]


def test_a_stop_that_no_query_was_written_for_is_looked_up_near_the_day() -> None:
    """It was left out without a word, then sought at the day's end: one rests between the stops."""
    change = {"stop": "咖啡馆", "change": "add"}
    (query,) = read("加一家咖啡馆", day_of(*THREE[:3]), outing={"changes": [change]}).queries
    assert query["map"] is not None
    assert (query["map"]["place"], query["map"]["keywords"]) == ("公园", ["咖啡馆"])
    assert query.get("web") is False
    known = {"stop": "湖", "change": "add"}
    assert read("加上湖", day_of(*THREE[:3]), outing={"changes": [known]}).queries == []


def test_thanks_are_no_day_even_where_days_are_always_planned() -> None:
    found = read("谢谢", SHOWN, Configuration(outing="on"), needs_search=False, reply="不客气。")
    assert (found.outing, found.queries, found.reply) == (None, [], "不客气。")


def test_of_a_reply_to_thanks_for_an_answer_only_what_is_thanks_is_said() -> None:
    after = Previous(sources=[], places=PLACES, answer="m1")
    found = read("谢谢", after, needs_search=False, reply="不客气！17:00 前到就行。")
    assert (found.queries, found.reply) == ([], "不客气！")


@pytest.mark.parametrize(
    ("near", "routing", "needs"),
    [(None, "llm", "origin"), ({"lng": 116.4, "lat": 39.9}, "llm", None), (None, "never", None)],
)
def test_what_is_to_be_said_first_is_asked_where_it_is_not_known(
    near: Any, routing: Any, needs: Any
) -> None:
    written = SearchQueryList.model_validate({"query": [], "needs": "origin"})
    setting = Configuration(geo_routing=routing)
    found = asked(written, "导航去故宫", turn("导航去故宫", near), NO_PREVIOUS, setting)
    assert found.needs == needs


def test_when_a_way_begins_or_ends_is_on_the_day_that_is_meant() -> None:
    way = {"intent": "route", "origin": "故宫", "destination": "首都机场", "arrive_by": "9:00"}
    query = {"query": "故宫到首都机场", "map": way}
    for day, moment in (("2026-12-01", "2026-12-01T09:00"), (None, "09:00")):
        found = read("十二月一日九点前从故宫到首都机场", query=[query], day=day)
        assert (found.queries[0]["map"] or {})["arrive_by"] == moment  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("sort_by", "goes"), [("rating", True), ("price", True), ("walk", False), (None, False)]
)
def test_an_order_that_a_map_abroad_cannot_know_is_looked_for_on_the_web_too(
    sort_by: Any, goes: bool
) -> None:
    cafes = {"intent": "nearby", "place": "Kiasma", "keywords": ["cafe"], "country": "fi"}
    query = {"query": "cafes near Kiasma", "map": cafes, "web": False}
    found = read("Cafes near Kiasma?", query=[query], constraints={"sort_by": sort_by})
    assert found.queries[0].get("web", True) is goes


def test_a_way_from_there_begins_where_the_last_turn_ended_and_asks_nobody() -> None:
    """ "From there to the airport" was answered by "where do you start?"."""
    way = {"intent": "route", "origin": "故宫", "destination": "首都机场"}
    written = SearchQueryList.model_validate(
        {"query": [{"query": "故宫到首都机场", "map": way}], "needs": "origin"}
    )

    def needs(conversation: str) -> Any:
        material = f"{conversation}\n从那里去首都机场怎么走？"
        return asked(written, material, turn("x"), NO_PREVIOUS, Configuration()).needs

    assert needs("天安门怎么去故宫？") is None
    assert needs("") == "origin", "a start that nobody named is a guess"


@pytest.mark.parametrize("words", ["", "the", "only", True, "Wie lange ist die Brücke gesperrt?"])
def test_own_documents_alone_are_meant_only_where_the_question_says_so(words: Any) -> None:
    question = "Wie lange ist die Brücke gesperrt?"
    reply = {"only_own_documents": words, "query": [{"query": "Brücke gesperrt"}]}
    assert not read(question, **reply).only_own_documents


def test_later_steps_find_in_the_turn_what_was_read() -> None:
    question = "nur in meinen Dateien: Was sagt der Vertrag zum Samstag?"
    reply = {"language": "de", "only_own_documents": "Nur in meinen Dateien", "day": "2026-11-28",
             "query": [{"query": "Vertrag Samstag"}]}  # fmt: skip
    found = turn_of(turn(question), read(question, **reply), Configuration())
    assert (found["own_only"], found["day"]) == (True, "2026-11-28")
    assert found["answer_language"] == "German (de)"
    assert "outing" not in found


def test_without_a_model_the_question_is_the_query_and_demands_nothing() -> None:
    question = "王府井附近人均100以内的咖啡馆"
    found = asked_by_rules(turn(question), NO_PREVIOUS, Configuration())
    assert [query["query"] for query in found.queries] == [question]
    task: Any = found.queries[0]["map"]
    assert (task["place"], task["keywords"]) == ("王府井", ["咖啡馆"])
    assert (found.demands, found.outing, found.needs) == ({}, None, None)


@pytest.mark.parametrize(
    ("question", "previous", "needs"),
    [
        ("附近有停车场吗", NO_PREVIOUS, "place"),
        ("附近有停车场吗", SHOWN, None),
        ("导航去故宫", NO_PREVIOUS, "origin"),
        ("钠离子电池的成本", NO_PREVIOUS, None),
    ],
)
def test_without_a_model_a_place_that_lacks_is_still_asked_for(
    question: str, previous: Previous, needs: Any
) -> None:
    assert asked_by_rules(turn(question), previous, Configuration()).needs == needs


def test_without_a_model_a_day_is_planned_only_where_the_setting_says_so() -> None:
    assert asked_by_rules(turn("西湖一日游"), NO_PREVIOUS, Configuration()).outing is None
    setting = Configuration(outing="on")
    assert asked_by_rules(turn("把这些排一下"), SHOWN, setting).replans
    assert asked_by_rules(turn(say("outing.name", "zh")), NO_PREVIOUS, setting).needs == "place"


def test_a_day_that_a_model_read_marks_its_forecast_in_any_language() -> None:
    asked_on = datetime(2026, 11, 26, 9, tzinfo=UTC).timestamp()
    question: Any = {**turn("Sataako lauantaina Hangzhoussa?"), "started_at": asked_on}
    weather: Any = [{"city": "杭州", "days": []}]
    assert days_forecast(question, weather) == []
    assert days_forecast({**question, "day": "2026-11-28"}, weather) == ["2026-11-28"]


def test_a_writer_is_told_which_day_that_was_asked_for_the_forecast_does_not_reach() -> None:
    asked_on = datetime(2026, 11, 29, 9, tzinfo=UTC).timestamp()
    question: Any = {**turn("下周二北京怎么样？"), "started_at": asked_on, "day": "2026-12-08"}
    days = [
        {"date": "2026-12-01", "day": "晴", "night": "晴", "low_c": 1, "high_c": 9, "wind": None}
    ]
    weather: Any = [{"city": "北京市", "source": "a0-0", "days": days}]
    *_, last = forecast_lines(question, weather, "zh").splitlines()
    assert last == "北京市：预报中没有 2026-12-08 周二"
    told = {**question, "question": "北京怎么样？", "day": "2026-12-01"}
    assert len(forecast_lines(Turn(**told), weather, "zh").splitlines()) == 1
    assert forecast_lines(question, [], "zh") == ""


def test_what_one_search_alone_demands_holds_for_what_it_finds() -> None:
    """Open from eight was asked of breakfast, and ruled out every museum."""
    early = {"query": "王府井 早餐", "map": {**MAP, "keywords": ["早餐"], "open_at": "08:00"}}
    museums = {"query": "王府井 博物馆", "map": {**MAP, "keywords": ["博物馆"], "open_on": [1]}}
    found = read("王府井附近八点开门的早餐，和周一开的博物馆", query=[early, museums])
    tasks = [query["map"] or {} for query in found.queries]
    assert [task.get("demands") for task in tasks] == [{"open_at": "08:00"}, {"open_on": [1]}]
    assert found.demands == {}
    opens = {"open_time": "10:00-18:00"}
    museum = record(**opens, demands=tasks[1]["demands"])
    breakfast = record(**opens, demands=tasks[0]["demands"])
    verdicts = [place["verdicts"][0]["verdict"] for place in judged([museum, breakfast], {}, "zh")]
    assert verdicts == ["satisfied", "violated"]
    moment: Any = {"asked_at": 1.0, "max_cost": 50.0}
    assert with_own(moment, {"open_at": "08:00"}) == {"max_cost": 50.0, "open_at": "08:00"}


def test_what_lunch_may_cost_is_no_demand_on_where_one_plays() -> None:
    """A shop of toys was "not known a head" for a lunch of ¥150."""
    lunch = {"query": "王府井 餐厅", "map": {**MAP, "keywords": ["餐厅"], "max_cost": 150}}
    park = {"query": "王府井 游乐", "map": {**MAP, "keywords": ["游乐场"]}}
    found = read("王府井玩，午饭人均150以内", query=[lunch, park], constraints={"max_cost": 150})
    tasks = [query["map"] or {} for query in found.queries]
    assert [task.get("demands") for task in tasks] == [{"max_cost": 150}, None]
    assert found.demands == {}


def test_whom_one_search_has_to_suit_is_asked_of_what_it_finds_alone() -> None:
    """A vegetarian lunch and a playground: whether the playground is vegetarian was "unknown"."""
    lunch = {"query": "王府井 素食", "map": {**MAP, "keywords": ["素食"], "suits": ["vegetarian"]}}
    park = {"query": "王府井 游乐", "map": {**MAP, "keywords": ["游乐场"]}}
    both = {"suits": ["children", "vegetarian"]}
    found = read("王府井附近适合孩子的素食午饭，和游乐场", query=[lunch, park], constraints=both)
    assert found.demands == {"suits": ["children"]}
    own = [(query["map"] or {}).get("demands") for query in found.queries]
    assert own == [{"suits": ["vegetarian"]}, None]
    demands = [with_own(found.demands, each)["suits"] for each in own]
    assert demands == [["vegetarian", "children"], ["children"]]
    alone = read("王府井附近的素食", query=[lunch], constraints={"suits": ["vegetarian"]})
    assert alone.demands == {"suits": ["vegetarian"]}


def test_what_every_search_demands_the_question_does() -> None:
    query = {"query": "王府井 早餐", "map": {**MAP, "open_at": "08:00"}}
    found = read("王府井附近八点开门的咖啡馆", query=[query])
    assert found.demands == {"open_at": "08:00"}
    assert "demands" not in (found.queries[0]["map"] or {})


def test_a_reviewed_task_keeps_its_own_demands() -> None:
    task = valid_map_task({**MAP, "open_at": "8:00"})
    assert task is not None
    assert valid_map_task(task) == task

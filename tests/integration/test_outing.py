"""A planned day through the whole graph: over the real map server and the sample's records."""

import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.evidence.zones import CHINA
from agent.graph import build_graph
from agent.sample.model.request import ModelReply
from agent.sample.model.text import block
from agent.texts import say
from tests.integration.test_question_kept import nearby, plan, scripted
from tests.support.lab import ZH, Lab, answer_of, at_noon, laboratory, told, with_clock

pytestmark = pytest.mark.node
_MEASURES = ("/v3/distance", "/v3/direction/transit/integrated")


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


def stops(state):
    return [stop["name"] for stop in told(state)["outing"]["stops"] if "place" in stop]


AGAIN = plan(outing={})
"""A day of what was shown."""
SIGHTS = nearby("王府井", "景点", "博物馆")


def changed(stop: str, change: str) -> ModelReply:
    return plan(outing={"changes": [{"stop": stop, "change": change}]})


def measured(lab: Lab) -> int:
    return sum(request.path in _MEASURES for request in lab.amap.requests)


async def test_an_answers_places_become_a_day_without_any_new_search(lab: Lab) -> None:
    first = await lab.ask(ZH)
    assert told(first)["outing"] is None
    searches = len(lab.gemini.requests)
    scripted(lab, generate_query=[AGAIN])
    state = await lab.ask("把这些排成一日游")
    outing = told(state)["outing"]
    places = {place["name"] for place in told(first)["places"]}
    assert len(outing["stops"]) >= 3
    assert set(stops(state)) <= places
    assert state["queries"] == []
    assert len(lab.gemini.requests) - searches <= 3, "the question, the answer, and its check"
    assert 0 < measured(lab) < 12
    assert outing["url"].startswith("https://uri.amap.com/marker?markers=")
    assert not any(leg["estimated"] for stop in outing["stops"] if (leg := stop.get("leg")))


_LATE, _SOON = "2026-11-29", "2026-11-28"


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2026-11-28T09:17:00+00:00", _LATE),  # 17:17 at the places
        ("2026-11-28T00:40:00+00:00", _SOON),  # 08:40
        ("2026-11-27T17:30:00+00:00", _SOON),  # 01:30
        ("2026-11-28T02:59:00+00:00", _SOON),  # 10:59
    ],
)
async def test_a_day_is_the_same_from_wherever_it_is_asked_for(moment: str, day: str) -> None:
    clock = datetime.fromisoformat(moment)
    readers = {"los angeles": -480, "kiritimati": 840, "unknown": None}
    async with laboratory() as built:
        services = with_clock(built.services, lambda: clock)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        for name, offset in readers.items():
            scripted(lab, generate_query=[plan(SIGHTS), AGAIN])
            await lab.ask("Where can children play near Wangfujing?", name, utc_offset=offset)
            state = await lab.ask("Make a day of it", name, utc_offset=offset)
            outing = told(state)["outing"]
            assert outing["day"] == day, name
            china = timezone(timedelta(hours=8))
            hours = datetime.fromisoformat(f"{outing['day']}T{outing['begins']}").replace(
                tzinfo=china
            )
            assert hours > clock


async def test_a_day_of_places_nobody_knew_before_is_on_their_clock(lab: Lab) -> None:
    clock = datetime.fromisoformat("2026-11-28T09:17:00+00:00")
    services = with_clock(lab.services, lambda: clock)
    lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
    near = {"lng": 116.4109, "lat": 39.9139}
    scripted(lab, generate_query=[plan(nearby(None, "景点", "博物馆"), outing={})])
    state = await lab.ask("Plan a day near here", user_location=near, utc_offset=-480)
    assert told(state)["outing"]["day"] == _LATE


async def test_the_table_is_cited_and_the_map_counts_as_the_plan_does(lab: Lab) -> None:
    state = await lab.ask(ZH, context={"outing": "on"})
    text, listed = str(answer_of(state).text), told(state)["places"]
    assert [place["name"] for place in listed][: len(stops(state))] == stops(state)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "–" in line]
    no_place = (say("outing.own_choice", "zh"), say("outing.free", "zh"))
    assert all("](" in row for row in rows if not any(word in row for word in no_place))
    assert told(state)["checks"]["unverified_figures"] == 0


async def test_a_day_of_some_of_the_places_has_so_many_and_excuses_no_others(lab: Lab) -> None:
    """Asked for three of them it planned four, and told of each other that no time was left."""
    first = await lab.ask(ZH)
    scripted(lab, generate_query=[plan(outing={"stops": 2}), plan(outing={"begins": "14:00"})])
    state = await lab.ask("选其中两个排半天")
    assert len(stops(state)) == 2 < len(told(first)["places"])
    assert told(state)["outing"]["left_out"] == []
    later = await lab.ask("改成两点出发")
    assert {*stops(later)} == {*stops(state)}
    assert told(later)["outing"]["begins"] >= "14:00"


async def test_a_place_that_nobody_asked_for_is_left_out_without_a_word(lab: Lab) -> None:
    monday = plan(nearby("王府井", "博物馆", "公园"), day="2026-11-30", outing={})
    lab = at_noon(lab, "2026-11-28")
    scripted(lab, generate_query=[monday, monday])
    state = await lab.ask("周一在王府井逛一天")
    assert told(state)["outing"]["left_out"] == []
    closed = next(p["name"] for p in state["places"] if "周二至周日" in (p["open_time"] or ""))
    again = await lab.ask(f"周一在王府井去{closed}等处逛一天", "another")
    assert [left["name"] for left in told(again)["outing"]["left_out"]] == [closed]


async def test_a_follow_up_moves_a_stop_of_the_plan(lab: Lab) -> None:
    first = await lab.ask(ZH, context={"outing": "on"})
    name = stops(first)[0]
    begins = told(first)["outing"]["stops"][0]["begins"]
    scripted(lab, generate_query=[changed(name, "later"), changed(name, "leave_out")])
    state = await lab.ask("第一个晚一点去")
    moved = next(stop for stop in told(state)["outing"]["stops"] if stop["name"] == name)
    assert moved["begins"] > begins
    dropped = await lab.ask(f"不去{name}了")
    assert name not in stops(dropped)
    assert told(dropped)["outing"]["left_out"][0]["text"] == say("outing.left_out.unwanted", "zh")


EN = "Where can children play near Wangfujing, Beijing?"


@pytest.mark.parametrize(("question", "words"), [
    (ZH, "去掉乐高"), (ZH, "不去乐高店"),
    (EN, "Without the LEGO store"), (EN, "Drop the LEGO store"),
])  # fmt: skip
async def test_the_sample_changes_a_day_in_the_words_of_the_first_minutes(
    lab: Lab, question: str, words: str
) -> None:
    first = await lab.ask(question, context={"outing": "on"})
    (shop,) = (name for name in stops(first) if "乐高" in name or "LEGO" in name)
    changed = await lab.ask(words)
    assert {*stops(changed)} == {*stops(first)} - {shop}


async def test_a_planned_day_lives_on_after_another_question(lab: Lab) -> None:
    lab = at_noon(lab, "2026-11-25")
    parking = plan({**nearby("王府井", "停车场"), "web": False})
    later = plan(outing={"changes": [{"stop": "", "change": "later"}]})
    at_eleven, sunday = plan(outing={"begins": "11:00"}), plan(day="2026-11-29")
    saturday = plan(SIGHTS, outing={}, day="2026-11-28")
    scripted(lab, generate_query=[saturday, parking, later, at_eleven, sunday])
    first = await lab.ask("周六在王府井逛一天")
    assert told(await lab.ask("附近哪里能停车"))["outing"] is None
    for question, day, begins in (
        ("晚一点", "2026-11-28", "10:30"),
        ("十一点开始", "2026-11-28", "11:00"),
        ("周日呢", "2026-11-29", "11:00"),
    ):
        state = await lab.ask(question)
        outing = told(state)["outing"]
        assert (outing["day"], outing["begins"], {*stops(state)}) == (day, begins, {*stops(first)})


async def test_a_planned_day_lives_on_after_any_number_of_other_questions(lab: Lab) -> None:
    lab = at_noon(lab, "2026-11-25")
    others = [
        plan({**nearby("王府井", each), "web": False})
        for each in ("咖啡馆", "停车场", "书店", "公园")
    ]
    day, later = plan(SIGHTS, outing={}, day="2026-11-28"), plan(outing={"begins": "11:00"})
    scripted(lab, generate_query=[day, *others, later])
    first = await lab.ask("周六在王府井逛一天")
    for word in ("咖啡馆", "停车场", "书店", "公园"):
        assert told(await lab.ask(f"王府井附近的{word}"))["outing"] is None
    state = await lab.ask("十一点开始")
    assert {*stops(state)} == {*stops(first)}
    assert told(state)["outing"]["begins"] == "11:00"


async def test_a_stop_that_comes_in_is_looked_up_and_the_others_stay(lab: Lab) -> None:
    first = await lab.ask(ZH, context={"outing": "on"})
    add = plan(nearby("王府井", "书店"), outing={"changes": [{"stop": "书店", "change": "add"}]})
    scripted(lab, generate_query=[add])
    state = await lab.ask("再加一家书店")
    new = {place["name"] for place in state["places"]} - {*stops(first)}
    assert {*stops(first)} <= {*stops(state)}
    assert len({*stops(state)} & new) == 1


async def test_a_cheaper_lunch_is_looked_up_and_had_at_noon(lab: Lab) -> None:
    """A change left a stop out, too: the query was dropped, and none was said to be found."""
    lab = at_noon(lab, "2026-11-25")
    day = plan(nearby("王府井", "博物馆", "餐厅"), outing={"meals": ["lunch"]}, day="2026-11-28")
    snacks = {**nearby("王府井", "糕点"), "web": False}
    change = {"stop": "lunch", "change": "replace", "time": "13:00"}
    scripted(lab, generate_query=[day])
    first = await lab.ask("周六在王府井逛一天，吃午饭")
    had = next(stop for stop in told(first)["outing"]["stops"] if stop.get("meal") == "lunch")
    sights = [name for name in stops(first) if name != had["name"]]
    gone = {"stop": sights[0], "change": "leave_out"}
    scripted(lab, generate_query=[plan(snacks, outing={"changes": [gone, change]})])
    state = await lab.ask(f"不去{sights[0]}，午饭换便宜的，小吃也行")
    lunch = next(stop for stop in told(state)["outing"]["stops"] if stop.get("meal") == "lunch")
    new = {place["name"]: place for place in state["places"]}
    assert lunch["name"] in new
    assert new[lunch["name"]]["category"] == "糕饼店"
    assert "13:00" <= lunch["begins"] <= "13:30"
    assert {*stops(state)} == {*sights[1:], lunch["name"]}
    later = plan(outing={"changes": [{"stop": sights[1], "change": "later"}]})
    scripted(lab, generate_query=[later])
    again = await lab.ask(f"{sights[1]}晚一点")
    kept = next(stop for stop in told(again)["outing"]["stops"] if stop.get("meal") == "lunch")
    assert kept["name"] == lunch["name"]


async def test_what_is_looked_up_beside_a_stop_that_only_moves_is_no_stop(lab: Lab) -> None:
    lab = at_noon(lab, "2026-11-25")
    day = plan(nearby("王府井", "博物馆", "餐厅"), outing={"back_by": "17:00"}, day="2026-11-28")
    scripted(lab, generate_query=[day])
    first = await lab.ask("周六在王府井逛到五点")
    later = {"changes": [{"stop": stops(first)[0], "change": "later"}]}
    scripted(lab, generate_query=[plan(nearby("王府井", "书店"), outing=later)])
    state = await lab.ask("第一个晚一点，附近有书店吗")
    assert state["places"]
    assert {*stops(state)} <= {*stops(first)}


async def test_a_first_day_has_the_shown_places_it_names_and_what_was_looked_up(lab: Lab) -> None:
    """Asked for two of the cafés shown and a museum between, it planned three museums."""
    lab = at_noon(lab, "2026-11-25")
    cafes = plan(nearby("王府井", "咖啡馆"))
    scripted(lab, generate_query=[cafes])
    first = await lab.ask("王府井附近的咖啡馆")
    names = [place["name"] for place in told(first)["places"]][:2]
    adds = [{"stop": name, "change": "add"} for name in names]
    order = [names[0], "博物馆", names[1]]
    wish = {"order": order, "changes": adds, "begins": "13:00", "back_by": "19:00"}
    scripted(lab, generate_query=[plan(nearby("王府井", "博物馆"), outing=wish)])
    state = await lab.ask("下午去其中两家，中间逛一个博物馆")
    found = {place["name"] for place in state["places"]} - {*names}
    cafe, museum, another = stops(state)
    assert [cafe, another] == names
    assert museum in found


async def test_all_stops_together_cost_no_more_than_the_day_may(lab: Lab) -> None:
    """A lunch for ¥600 was planned for four who had 600 for the day, beside ones for 320."""
    lab = at_noon(lab, "2026-11-25")
    demands, both = {"total_cost": 600, "people": 4}, {"meals": ["lunch", "dinner"]}
    wish = plan(
        nearby("王府井", "餐厅", "博物馆"), constraints=demands, outing={"meals": ["lunch"]}
    )
    free = plan(nearby("王府井", "餐厅", "博物馆"), outing=both)
    scripted(lab, generate_query=[free, wish])
    dear = await lab.ask("王府井附近玩一天，吃午饭和晚饭", "any")
    state = await lab.ask("王府井附近玩一天，吃午饭和晚饭，四个人总共 600", "limited")
    costs = {place["name"]: place["cost"] or 0 for place in state["places"]}
    assert sum(costs[name] for name in stops(state)) * 4 <= 600
    assert sum(costs.get(name, 0) for name in stops(dear)) * 4 > 600, "or there is nothing to see"


async def test_a_client_that_sends_the_messages_itself_can_change_the_plan(lab: Lab) -> None:
    first = await lab.ask(ZH, context={"outing": "on"})
    messages = [*first["messages"], {"role": "user", "content": "不去第一个"}]
    scripted(lab, generate_query=[changed(stops(first)[0], "leave_out")])
    state = await lab.ask(messages, thread="another")
    assert stops(first)[0] not in stops(state)


async def test_without_two_places_it_says_that_there_is_no_plan(lab: Lab) -> None:
    state = await lab.ask(ZH, context={"outing": "on", "geo_routing": "never"})
    assert told(state)["outing"] is None
    assert "outing_too_few" in [gap["code"] for gap in told(state)["gaps"]]


async def test_a_day_on_which_everything_is_closed_is_told_with_its_reasons(lab: Lab) -> None:
    monday = "2026-11-30"
    written = plan(nearby("王府井", "博物馆"), constraints={"open_on": [1]}, day=monday, outing={})
    lab = at_noon(lab, "2026-11-28")
    scripted(lab, generate_query=[written])
    state = await lab.ask("周一带孩子逛王府井的博物馆")
    [gap] = [gap for gap in told(state)["gaps"] if gap["provider"] == "outing"]
    assert gap["code"] == "outing_impossible"
    assert "周一不开放" in gap["message"]
    assert "这一天排不出行程" in str(state["messages"][-1].text)
    assert all(
        verdict["verdict"] == "violated"
        for place in told(state)["places"]
        for verdict in place["verdicts"]
        if verdict["constraint"] == "open_on"
    )


async def test_an_english_readers_stops_have_names_that_they_can_read(lab: Lab) -> None:
    # On a Sunday afternoon the day to plan is Monday, when museums are closed.
    lab = at_noon(lab, "2026-11-27")
    scripted(lab, generate_query=[plan(SIGHTS, outing={})])
    state = await lab.ask("Plan a day with kids near Wangfujing")
    named = [stop["name"] for stop in told(state)["outing"]["stops"] if "place" in stop]
    assert len(named) > 1
    assert all(re.match(r"[A-Z][^\u4e00-\u9fff]+$", name) for name in named), named


async def test_a_day_without_a_place_asks_where(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(outing={}, needs="place")])
    assert told(await lab.ask("帮我安排一天的行程"))["needs"] == "place"


async def test_a_map_that_measures_nothing_leaves_estimates_that_say_so(lab: Lab) -> None:
    first = await lab.ask(ZH)
    assert told(first)["places"]
    lab.amap.failing = "ROUTE_FAIL"
    scripted(lab, generate_query=[AGAIN])
    state = await lab.ask("把这些排成一日游")
    assert all(
        leg["estimated"] for stop in told(state)["outing"]["stops"] if (leg := stop.get("leg"))
    )
    assert "按直线估算" in str(answer_of(state).text)


async def test_a_stop_that_no_search_found_is_looked_up_by_its_name_and_cited(lab: Lab) -> None:
    lab = at_noon(lab, "2026-11-25")
    order = {"order": ["博物馆", "乐高品牌旗舰店"], "begins": "10:00"}
    day = plan(nearby("王府井", "博物馆"), outing=order, day="2026-11-28")
    scripted(lab, generate_query=[day])
    state = await lab.ask("周六先去一个博物馆，再去乐高品牌旗舰店")
    _, shop = stops(state)
    assert shop.startswith("乐高品牌旗舰店")
    [row] = [line for line in str(answer_of(state).text).splitlines() if f"2. {shop}" in line]
    assert "](https://" in row
    assert shop in [place["name"] for place in told(state)["places"]]


async def test_a_kind_that_no_search_had_is_what_the_map_finds_for_its_words(lab: Lab) -> None:
    """The plan had the dumplings first, and that nothing for children was found."""
    lab = at_noon(lab, "2026-11-25")
    order = {"order": ["室内亲子", "小笼包"], "begins": "13:00"}
    day = plan(nearby("外滩", "水族馆"), nearby("外滩", "小笼包"), outing=order, day="2026-11-28")
    scripted(lab, generate_query=[day])
    state = await lab.ask("周六下午先带孩子玩室内的，玩完去吃小笼包")
    first, meal = stops(state)
    assert (first, meal[:2]) == ("上海海洋水族馆", "南翔")
    assert "室内亲子" not in told(state)["outing"].get("lacks", [])


async def test_a_day_of_which_one_stop_is_left_goes_on_with_it(lab: Lab) -> None:
    """ "Start at 11" after it found no plan, and the day was lost."""
    lab = at_noon(lab, "2026-11-25")
    first = plan(SIGHTS, outing={"stops": 2}, day="2026-11-28")
    out = plan(outing={"changes": [{"stop": "2", "change": "leave_out"}]})
    scripted(lab, generate_query=[first, out, plan(outing={"begins": "11:00"})])
    one, _ = stops(await lab.ask("周六在王府井逛一天"))
    assert stops(await lab.ask("去掉第二站")) == [one]
    state = await lab.ask("十一点开始")
    assert stops(state) == [one]
    assert told(state)["outing"]["begins"] == "11:00"


async def test_words_of_an_order_stand_for_what_no_other_of_them_was_searched_for(lab: Lab) -> None:
    lab = at_noon(lab, "2026-11-25")
    order = {"order": ["博物馆", "随便喝点什么"], "any_order": True, "begins": "10:00"}
    day = plan(
        nearby("王府井", "博物馆"), nearby("王府井", "咖啡馆"), outing=order, day="2026-11-28"
    )
    scripted(lab, generate_query=[day])
    state = await lab.ask("周六看一个博物馆，再随便喝点什么")
    assert "lacks" not in told(state)["outing"]
    made = [each["keywords"] for each in told(state)["places"] if each["name"] in stops(state)]
    assert sorted(made) == [["博物馆"], ["咖啡馆"]], made


async def test_a_day_tells_no_distance_to_a_car_park_of_the_question_before(lab: Lab) -> None:
    """Edited after a question about parking, its stops said how far another car park was."""
    lab = at_noon(lab, "2026-11-25")
    parking = plan({**nearby("王府井", "停车场"), "web": False})
    day = plan(SIGHTS, outing={}, day="2026-11-28")
    scripted(lab, generate_query=[day, parking, plan(outing={"begins": "11:00"})])
    await lab.ask("周六在王府井逛一天")
    await lab.ask("附近哪里能停车")
    edited = await lab.ask("十一点开始")
    assert {*stops(edited)} == {place["name"] for place in told(edited)["places"]}
    assert not any("further" in place for place in told(edited)["places"])


async def test_a_day_has_the_stops_that_reflection_chose_of_what_was_found(lab: Lab) -> None:
    """The text recommended a place that the plan below it, made by stars, did not have."""
    lab = at_noon(lab, "2026-11-25")
    wish = {"stops": 1, "meals": ["lunch"]}
    day = plan(nearby("王府井", "博物馆"), nearby("王府井", "餐厅"), outing=wish, day="2026-11-28")
    scripted(lab, generate_query=[day])
    state = await lab.ask("周六看一个适合三岁孩子的博物馆，再吃午饭", "by stars")
    others = [p for p in state["places"] if p["name"] not in stops(state)]
    museum, shop = (next(p for p in others if word in p["keywords"]) for word in ("博物馆", "餐厅"))
    chosen = {"is_sufficient": True, "stops": [museum["source"], f"[^{shop['source']}]"]}
    llm = scripted(lab, generate_query=[day], reflection=[ModelReply(json=chosen)])
    state = await lab.ask("周六看一个适合三岁孩子的博物馆，再吃午饭", "chosen")
    assert {*stops(state)} == {museum["name"], shop["name"]}
    (prompt,) = llm.prompts("answer")
    planned = block(prompt, "outing")
    assert all(name in planned for name in stops(state))
    assert say("outing.task", "zh") in planned


async def test_a_day_that_a_forecast_reaches_has_it_and_its_writer_is_told(lab: Lab) -> None:
    tomorrow = (datetime.now(CHINA) + timedelta(days=1)).date().isoformat()
    first = plan(SIGHTS, outing={}, day=tomorrow)
    llm = scripted(lab, generate_query=[first, plan(outing={"begins": "11:00"})])
    for question in ("明天在王府井逛一天", "十一点开始"):
        state = await lab.ask(question)
        outing, (forecast,) = told(state)["outing"], told(state)["weather"]
        (asked,) = [day["date"] for day in forecast["days"] if day.get("asked")]
        assert asked == outing["day"]
        assert f"[^{forecast['source']}]" in block(llm.prompts("answer")[-1], "weather")
    assert sum(request.path.endswith("weatherInfo") for request in lab.amap.requests) == 1


async def test_a_day_that_no_forecast_reaches_has_none_and_says_nothing_of_it(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(SIGHTS, outing={}, day="2099-11-28")])
    state = await lab.ask("2099 年在王府井逛一天")
    assert told(state)["outing"]
    assert told(state)["weather"] == []
    assert told(state)["gaps"] == []
    assert not any(request.path.endswith("weatherInfo") for request in lab.amap.requests)

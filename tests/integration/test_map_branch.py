"""A map branch in front of the real server: what it searches, shows a model, and pays for."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.map_tasks import map_task
from agent.assistants.common.turn import now_there
from agent.configuration import Configuration
from agent.core.progress import Spot
from agent.evidence.constraints import check, name_suits
from agent.evidence.geo import metres_apart
from agent.evidence.intent import map_task_by_rules
from agent.evidence.types import Constraints, MapTask, Place
from agent.graph import build_graph
from agent.mcp.records import CALLS_FOR_TOOLS, MapOptions, MapResult
from agent.sample.model.request import FunctionCall, Model, ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from agent.state import Turn
from agent.texts import Language, say
from tests.integration.osm_service import own_elements
from tests.integration.test_question_kept import Spoken, nearby, plan
from tests.integration.test_second_map_server import STATION, World, both_maps, osm_world
from tests.support.lab import ZH, Lab, answer_of, laboratory, told
from tests.support.map_fixtures import MapLab, lab_fixture, meter, script_fixture

pytestmark = pytest.mark.node
__all__ = ["lab_fixture", "script_fixture"]
OPTIONS = MapOptions(prefix="a0", language="zh")


async def tool_reply(lab: MapLab, map_result: MapResult, name: str, **arguments: object) -> str:
    """Return what a model reads of one call, which must not fail."""
    tools = await lab.maps.tools(
        map_result, "问题", options=OPTIONS, meter=meter(), on_call=lambda text: None
    )
    call = ToolCall(name=name, args=arguments, id="c", type="tool_call")
    message = await tools.call(call)
    assert message.status == "success", message.content
    return str(message.content)


async def test_all_three_keywords_are_searched_and_said_to_be(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "北京",
         "keywords": ["coffee shop", "书店", "滑雪场"]},
    )  # fmt: skip
    assert [(s["keyword"], bool(s["hits"])) for s in map_result.searches] == [
        ("coffee shop", True), ("书店", True), ("滑雪场", False),
    ]  # fmt: skip
    assert {"咖啡", "书店"} <= {
        word[:2] for place in map_result.places for word in place["keywords"]
    }


@pytest.mark.parametrize(
    ("query", "language", "told"),
    [
        ("climbing gyms", "en", ["bookstore", "climbing gyms"]),
        ("王府井 攀岩", "en", ["bookstore", "攀岩馆"]),
        ("climbing gyms", "zh", ["书店", "攀岩馆"]),
    ],
)
async def test_a_search_is_told_in_words_that_its_reader_has(
    lab: MapLab, query: str, language: Language, told: list[str]
) -> None:
    calls = list[str]()
    task: MapTask = {"intent": "nearby", "place": "王府井", "city": "北京",
                     "keywords": ["书店", "攀岩馆"]}  # fmt: skip
    options = MapOptions(prefix="a0", language=language)
    await lab.maps.map_result(task, query, options=options, meter=meter(), on_call=calls.append)
    searches = [call.partition(" ")[2] for call in calls if call.startswith("maps_around_search")]
    assert list(dict.fromkeys(searches)) == told


@pytest.mark.parametrize("place", ["市中心", "北京市中心", "Beijing city center"])
async def test_the_middle_of_a_city_is_where_the_city_is(lab: MapLab, place: str) -> None:
    task: MapTask = {"intent": "nearby", "place": place, "city": "北京", "keywords": ["书店"]}
    map_result = await lab.map_result(task)
    assert map_result.centre_name == place
    assert [gap["code"] for gap in map_result.gaps if gap["code"] != "map_no_results"] == []


async def test_a_ride_from_where_one_is_begins_in_the_town_of_that_place(lab: MapLab) -> None:
    """Amap wants a city for a ride; the asker's position has none of its own."""
    ride: MapTask = {"intent": "route", "destination": "王府井", "mode": "transit"}
    result = await lab.map_result(ride, options={"near": {"lng": 116.397, "lat": 39.916}})
    assert [route["mode"] for route in result.routes] == ["transit"]
    assert not result.gaps


@pytest.mark.parametrize(("calls", "enough"), [(20, True), (8, False)])
async def test_further_hits_are_looked_up_until_two_meet_the_budget_or_the_share_is_spent(
    lab: MapLab, calls: int, enough: bool
) -> None:
    spent = meter(map_calls=calls)
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "上海迪士尼", "city": "上海", "keywords": ["美食"]},
        options={"constraints": Constraints(max_cost=100)},
        meter=spent,
    )
    assert any((place["cost"] or 0) > 100 for place in map_result.places), "or this proves nothing"
    assert (sum((place["cost"] or 0) <= 100 for place in map_result.places) >= 2) is enough
    assert spent.left("map_calls") >= CALLS_FOR_TOOLS
    assert not map_result.gaps


async def test_what_was_not_found_is_told_in_the_words_that_were_asked_for(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "West Lake", "keywords": ["public toilet"]}
    )
    assert [gap["message"] for gap in map_result.gaps] == [
        say("map.errors.map_no_results", "zh", about="West Lake public toilet")
    ]


async def test_a_model_sees_details_of_what_suits_children_by_its_name(lab: MapLab) -> None:
    task: MapTask = {"intent": "nearby", "place": "西湖", "city": "杭州",
                     "keywords": ["景点", "博物馆", "公园"], "radius_m": 5000}  # fmt: skip
    plain = await lab.map_result(task)
    children = Constraints(suits=["children"])
    asked = await lab.map_result(task, options={"constraints": children})
    suiting = {hit["name"] for hit in plain.hits if name_suits(hit["name"], children)}
    assert len(suiting) >= 2, "or this proves nothing"
    assert len(suiting & {place["name"] for place in asked.places}) >= 2


async def test_the_anchor_is_not_its_own_neighbour(lab: MapLab) -> None:
    """The street of that name is at the very position: it was the first place near itself."""
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["步行街", "购物"]}
    )
    searched = lab.amap.asked("/v3/place/detail")
    assert "B0SAMPW001" in {asked["id"] for asked in searched}, "or this proves nothing"
    names = [place["name"] for place in map_result.places]
    assert "王府井步行街" not in names
    assert len(names) == 2
    assert not map_result.rejected


async def test_a_shop_that_is_called_by_where_it_is_is_near_that_place(lab: MapLab) -> None:
    """蓝蛙(三里屯太古里店), 28 m off and all that was asked for, was taken for 三里屯 itself."""
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "三里屯", "city": "北京", "keywords": ["西餐"]}
    )
    assert map_result.places[0]["name"].startswith("蓝蛙")


async def test_a_station_that_is_called_by_a_park_is_near_that_park(lab: MapLab) -> None:
    """人民公园(地铁站), 212 m off, was taken for 人民公园: the nearest was then 1.3 km away."""
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "人民公园", "city": "成都", "keywords": ["地铁站"]}
    )
    nearest = min(map_result.places, key=lambda place: place["distance_m"] or 0)
    assert (nearest["name"], nearest["distance_m"]) == ("人民公园(地铁站)", 212)


async def test_an_id_of_the_records_costs_no_call_in_a_tool(lab: MapLab) -> None:
    map_result = await lab.map_result(
        {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["书店"]}
    )
    place, before = map_result.places[1], len(lab.amap.requests)
    for name in ("a0-1", "[^a0-1]", place["id"], place["id"].removeprefix("amap:")):
        assert place["name"] in await tool_reply(lab, map_result, "maps_search_detail", id=name)
    assert len(lab.amap.requests) == before
    await tool_reply(lab, map_result, "maps_around_search", location="a0-1", keywords="咖啡")
    at = place["location"]
    assert lab.amap.asked("/v3/place/around")[-1]["location"] == f"{at['lng']:.6f},{at['lat']:.6f}"


async def test_an_empty_reply_says_no_results(lab: MapLab) -> None:
    map_result = await lab.map_result({"intent": "poi", "place": "东方新天地", "city": "北京"})
    text = await tool_reply(
        lab, map_result, "maps_text_search", keywords="雷峰塔停车场", city="北京"
    )
    assert text == say("tools.nothing", "zh")


class Asking:
    """Call tools in the map branch as long as there are some; keep the prompts it saw."""

    def __init__(
        self, inner: Model, calls: Callable[[ModelTurn], tuple[FunctionCall, ...]]
    ) -> None:
        self.inner, self.calls = inner, calls
        self.turns: list[ModelTurn] = []

    def respond(self, turn: ModelTurn) -> ModelReply:
        if task_of(turn) != "amap_research":
            return self.inner.respond(turn)
        self.turns.append(turn)
        calls = self.calls(turn) if turn.tools else ()
        return ModelReply(calls=calls) if calls else self.inner.respond(turn)


def no_calls(turn: ModelTurn) -> tuple[FunctionCall, ...]:
    return ()


def watch(lab: Lab, calls: Callable[[ModelTurn], tuple[FunctionCall, ...]] = no_calls) -> Asking:
    lab.gemini.llm = asking = Asking(lab.gemini.llm, calls)
    return asking


async def test_tools_are_offered_only_where_calls_are_left() -> None:
    async with laboratory() as lab:
        poor = watch(lab)
        state = await lab.ask(ZH, "poor", context={"max_map_calls": 5, "max_research_loops": 1})
        assert poor.turns == [], "a model that can call nothing is not asked"
        assert state["places"]
        assert "地图只查了一部分" not in str(state["gaps"])
        rich = watch(lab)
        await lab.ask(ZH, "rich")
        assert rich.turns
        assert all(turn.tools for turn in rich.turns)


@pytest.mark.parametrize(
    ("question", "records"),
    [("从王府井步行到故宫要多久？", "routes"), ("杭州明天天气怎么样？", "weather")],
)
async def test_where_records_answer_the_task_no_model_is_asked_for_more(
    question: str, records: str
) -> None:
    async with laboratory() as lab:
        asking = watch(lab)
        state = await lab.ask(question, context={"max_research_loops": 1})
    assert state[records]  # type: ignore[literal-required]
    assert asking.turns == []


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [("西湖附近的停车场", False), ("王府井附近的咖啡馆", False), ("西湖有什么景点？", True)],
)
async def test_a_model_is_asked_among_further_hits_only_where_one_is_not_as_good_as_another(
    question: str, is_asked: bool
) -> None:
    async with laboratory() as lab:
        asking = watch(lab)
        state = await lab.ask(question, context={"max_research_loops": 1})
    assert bool(asking.turns) == is_asked
    assert len(state["places"]) >= 3


async def test_codes_own_look_ups_never_take_the_calls_that_the_model_asks_for() -> None:
    def more(turn: ModelTurn) -> tuple[FunctionCall, ...]:
        if turn.tool_results:
            return ()
        ids = [part.split(":")[0].strip() for part in block(turn.user, "more").split("；")]
        asked = [*ids[:3], "a0-0"]
        return tuple(FunctionCall("maps_search_detail", {"id": name}) for name in asked)

    async with laboratory() as lab:
        asking = watch(lab, more)
        state = await lab.ask(ZH, context={"max_research_loops": 1})
        opening = asking.turns[0]
        named = [part.split(":")[0] for part in block(opening.user, "more").split("；")][:3]
        known = {place["id"].removeprefix("amap:"): place for place in state["places"]}
        assert set(named) <= set(known)
        # What a search named is one of its hits, whoever looked it up.
        assert all(known[name]["keywords"] for name in named)
        assert len(asking.turns) == 1, "each call brought a record, new or known: enough"
        assert "王府井 116.411246,39.913822" in block(opening.user, "centre")
        assert "个结果" in block(opening.user, "tried")
        assert state["map_searched"][0]["keywords"]


async def test_of_a_way_that_rules_wrote_it_is_told_that_no_wish_was_read(lab: MapLab) -> None:
    rules = Configuration(geo_routing="rules")
    proposal = {"intent": "route", "destination": "王府井", "wishes": ["不走高速"]}
    task = map_task("从天安门到王府井怎么走，不走高速", proposal, rules)
    result = await lab.map_result(task)
    assert [gap["message"] for gap in result.gaps] == [say("map.unread", "zh")]
    assert result.routes
    assert not (map_task_by_rules("王府井附近的咖啡馆") or {}).get("by_rules")


async def test_a_model_reads_what_the_map_did_not_know() -> None:
    async with laboratory() as lab:
        query, enough = nearby("没有这个地方", "咖啡"), [ModelReply(text="enough")]
        lab.gemini.llm = llm = Spoken(generate_query=[plan(query)], amap_research=enough)
        state = await lab.ask("没有这个地方附近的咖啡")
        shown, *_ = llm.prompts("amap_research")
        gap, *_ = [gap for gap in state["gaps"] if gap["code"].startswith("map_")]
        assert gap["message"] in block(shown, "tried")


async def test_a_sentence_from_memory_does_not_pass_the_map_branch() -> None:
    async with laboratory() as lab:

        class Remembering(Asking):
            def respond(self, turn: ModelTurn) -> ModelReply:
                answer = super().respond(turn)
                if task_of(turn) == "amap_research" and answer.text:
                    memory = "- 中国儿童艺术剧院约600米，常演儿童剧。\n- 步行约77分钟。[^a0-0]"
                    return ModelReply(text=f"{answer.text}\n{memory}")
                return answer

        lab.gemini.llm = Remembering(lab.gemini.llm, no_calls)
        state = await lab.ask(ZH)
        text = "\n".join(state["amap_research_result"])
        assert "[^a" in text
        assert "儿童艺术剧院" not in text
        assert "77" not in text


async def test_whatever_the_model_says_the_map_branch_is_filled_by_code_with_markers() -> None:
    async with laboratory() as lab:

        class Empty(Asking):
            def respond(self, turn: ModelTurn) -> ModelReply:
                if task_of(turn) == "amap_research":
                    return ModelReply(text="这里有很多好去处，推荐您去看看。")
                return self.inner.respond(turn)

        lab.gemini.llm = Empty(lab.gemini.llm, no_calls)
        state = await lab.ask(ZH)
        text = "\n".join(state["amap_research_result"])
        assert "很多好去处" not in text
        assert all(f"[^{place['source']}]" in text for place in state["places"][:2])


async def test_guidance_without_a_start_asks_for_it_or_uses_the_position() -> None:
    async with laboratory() as lab:
        state = await lab.ask("导航到天安门", "nowhere")
        assert told(state)["needs"] == "origin"
        assert "从哪里出发" in answer_of(state).text
        assert not lab.amap.requests
        near = {"lng": 116.405, "lat": 39.912}
        way = {"intent": "route", "destination": "天安门", "mode": "walking"}
        lab.gemini.llm = Spoken(generate_query=[plan({"query": "到天安门怎么走", "map": way})])
        state = await lab.ask("导航到天安门", "here", user_location=near)
        assert told(state)["needs"] is None
        assert state["routes"][0]["origin"] == "您的位置"


async def test_a_model_that_has_enough_is_not_asked_again_where_an_end_is_on_no_map() -> None:
    async with laboratory() as lab:
        way = {"intent": "route", "origin": "王府井", "destination": "子虚乌有馆", "city": "北京"}
        lab.gemini.llm = llm = Spoken(
            generate_query=[plan({"query": "到子虚乌有馆怎么走", "map": way})],
            amap_research=[ModelReply(text="enough")],
        )
        state = await lab.ask("从王府井到子虚乌有馆怎么走")
        asked = llm.prompts("amap_research")
        assert asked
        assert len(asked) == len({*asked}), "each search asked once"
        assert "malformed" not in {gap["code"] for gap in state["gaps"]}


async def test_reflection_reads_the_records_and_is_told_what_map_calls_are_left() -> None:
    async with laboratory() as lab:

        class Judged(Asking):
            def respond(self, turn: ModelTurn) -> ModelReply:
                if task_of(turn) in ("reflection", "answer"):
                    self.turns.append(turn)
                return self.inner.respond(turn)

        lab.gemini.llm = judged = Judged(lab.gemini.llm, no_calls)
        state = await lab.ask(ZH)
        reflected, answered = (
            next(turn for turn in judged.turns if task_of(turn) == task)
            for task in ("reflection", "answer")
        )
        spent = len(lab.amap.requests)
        assert block(reflected.user, "map_calls_left") == str(30 - spent)
        place = state["places"][0]
        for turn in (reflected, answered):
            assert turn.user.count(f"[^{place['source']}] {place['name']} | ") == 1


async def test_centre_places_and_ends_of_a_way_are_told_as_soon_as_they_are_located(
    lab: MapLab,
) -> None:
    calls: list[str] = []
    found: list[tuple[int, Spot]] = []
    heard = {"on_found": lambda spots: found.extend((len(calls), spot) for spot in spots)}
    task: MapTask = {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["书店"]}
    result = await lab.map_result(task, options=heard, told=calls)
    [(before, centre)] = [each for each in found if each[1]["role"] == "anchor"]
    assert (centre["name"], before) == ("王府井", 1), "known after the first call"
    placed = {s["id"]: (s["lng"], s["lat"]) for _, s in found if s["role"] == "place"}
    assert placed == {p["id"]: (p["wgs84"]["lng"], p["wgs84"]["lat"]) for p in result.places}
    found.clear()
    way = await lab.map_result(
        {"intent": "route", "origin": "王府井", "destination": "故宫", "city": "北京"},
        options=heard,
    )
    assert [spot["role"] for _, spot in found] == ["origin", "destination"]
    assert [end["name"] for end in way.routes[0]["ends"]] == ["王府井", "故宫"]


async def test_amap_goes_to_the_place_that_was_shown_by_that_name_not_to_a_namesake(
    lab: MapLab,
) -> None:
    task: MapTask = {"intent": "nearby", "place": "王府井", "city": "北京", "keywords": ["书店"]}
    shown = (await lab.map_result(task)).places[0]
    way: MapTask = {"intent": "route", "origin": "王府井", "destination": "故宫", "city": "北京"}

    async def is_shown(**changed: str) -> bool:
        known = Place(**{**shown, "name": "故宫", **changed})  # type: ignore[typeddict-item]
        [route] = (await lab.map_result(way, options={"known": [known]})).routes
        return metres_apart(route["ends"][1]["wgs84"], shown["wgs84"]) < 1

    assert await is_shown()
    assert not await is_shown(id="osm:node/1")
    assert not await is_shown(city="上海市")


async def test_amap_goes_from_each_named_place_to_the_next() -> None:
    async with both_maps() as maps:
        world = World(None, maps)  # type: ignore[arg-type]
        task = {"intent": "route", "origin": "天安门", "destination": "王府井", "country": "cn"}
        result = await world.result(
            {**task, "via": ["故宫博物院"], "mode": "walking", "wishes": ["不走地下通道"]}, "zh"
        )
    assert [(route["origin"], route["destination"]) for route in result.routes] == [
        ("天安门", "故宫博物院"), ("故宫博物院", "王府井"), ("天安门", "故宫博物院 → 王府井"),
    ]  # fmt: skip
    *legs, total = result.routes
    assert total["duration_s"] == sum(60 * round((leg["duration_s"] or 0) / 60) for leg in legs)
    assert [step["distance_m"] for step in total["steps"]] == [leg["distance_m"] for leg in legs]
    assert [gap["message"] for gap in result.gaps if gap["code"] == "map_wished"] == [
        say("map.wished", "zh", wishes="不走地下通道")
    ]


async def test_amap_goes_to_stops_of_any_order_in_the_shortest_one() -> None:
    async with both_maps() as maps:
        world = World(None, maps)  # type: ignore[arg-type]
        task = {"intent": "route", "origin": "天安门", "mode": "walking", "any_order": "all"}
        ends = {"via": ["王府井"], "destination": "故宫博物院"}
        result = await world.result({**task, **ends, "country": "cn"}, "zh")
    assert result.routes[-1]["destination"] == "故宫博物院 → 王府井"
    assert [gap["message"] for gap in result.gaps] == [say("map.ordered_on_foot", "zh")]


async def test_a_way_that_the_check_puts_right_is_not_told_once_more_below() -> None:
    """A planted 19 Minuten became 23, and the list of ways said all of it again."""
    walk = "The walk is 1.7 km and takes {minutes} minutes"
    async with laboratory() as lab:

        class Planted(Asking):
            def respond(self, turn: ModelTurn) -> ModelReply:
                if task_of(turn) == "answer":
                    return ModelReply(text=f"{walk.format(minutes=99)}[^a0-0].")
                if task_of(turn) == "claim_check":
                    right = {"says": "23 min", "fix": f"{walk.format(minutes=23)}."}
                    ruling = {"r": "1 x 2.1", "bad": ["99 minutes"], "calc": "", **right}
                    is_planted = "99 minutes" in turn.user
                    return ModelReply(
                        json={"rulings": [ruling if is_planted else {"r": "1 s 2.1"}]}
                    )
                return self.inner.respond(turn)

        lab.gemini.llm = Planted(lab.gemini.llm, no_calls)
        state = await lab.ask("How do I walk from Wangfujing to the Forbidden City?")
    text = str(answer_of(state).text)
    assert walk.format(minutes=23) in text
    assert say("answer.routes", "en") not in text


async def test_what_is_open_now_is_judged_and_told_by_the_clock_where_a_place_was_found() -> None:
    # Saturday 06:45 in Seestadt, 13:45 in Beijing: the café opens at 08:30.
    moment = datetime(2026, 11, 28, 5, 45, tzinfo=UTC).timestamp()
    demands = Constraints(open_at="05:45", open_on=[6], asked_at=moment)
    task = {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}
    async with osm_world() as world:
        result = await world.result(task, constraints=demands)
    [first] = [place for place in result.places if place["name"] == "Café Morgenrot"]
    [verdict] = check(first, demands, "en")
    assert (verdict["verdict"], "06:45" in verdict["text"]) == ("violated", True)
    values: Any = {"started_at": moment, "language": "en", "today": "2026-11-28", "zone": ""}
    assert now_there(Turn(**values), result.places, {}) == "2026-11-28 Sat 06:45 (UTC+1)"


@pytest.mark.parametrize("finds", [True, False])
async def test_what_a_model_s_call_found_after_all_is_not_told_as_not_found(finds: bool) -> None:
    task = {"intent": "nearby", "place": STATION, "keywords": ["xyz cafe now"], "country": "de"}
    call = FunctionCall("osm_geocode", {"query": STATION})
    if finds:
        call = FunctionCall("osm_nearby", {"location": "13.406,52.521", "kinds": "cafe"})
    async with laboratory() as lab, osm_world() as world:
        services = replace(lab.services, maps=world.maps)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        lab.gemini.llm = Spoken(
            generate_query=[plan({"query": "cafes", "map": task, "web": False})],
            amap_research=[ModelReply(calls=(call,)), ModelReply(text="enough")],
        )
        state = await lab.ask(f"Which cafes at {STATION}?")
    codes = [gap["code"] for gap in state["gaps"]]
    assert bool(state["places"]) is finds
    assert ("map_no_results" in codes) is not finds


async def test_a_choice_of_which_the_hour_asked_for_is_unknown_says_so() -> None:
    """A café without hours was put first for ten at night without a word on them."""
    bare = {
        "type": "node", "id": 90, "lat": 52.5214, "lon": 13.406,
        "tags": {"amenity": "cafe", "name": "Bare"},
    }  # fmt: skip
    choice = "Bare is the best choice, 44 m from the station"
    said = "Bare is 44 m from the station; whether it is open at 22:00 is not known"
    demands = {"kind": "cafe", "open_at": "22:00"}
    async with laboratory() as lab, osm_world([*own_elements(), bare]) as world:
        services = replace(lab.services, maps=world.maps)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        ruling = {"r": "1 p 1.1", "bad": ["is the best choice"], "fix": f"{said} [1]."}
        lab.gemini.llm = llm = Spoken(
            generate_query=[plan(nearby(STATION, "cafe", web=False), constraints=demands)],
            answer=[ModelReply(text=f"{choice} [^a0-0].")],
            claim_check=[
                ModelReply(json={"rulings": [each]}) for each in (ruling, {"r": "1 s 1.1"})
            ],
        )
        state = await lab.ask(f"Which café at {STATION} is open at 22:00?")
    shown, *_ = llm.prompts("claim_check")
    assert say("constraints.open_at.unknown", "en", when="22:00") in block(shown, "passages")
    asked, *_ = [turn for turn in llm.turns if task_of(turn) == "claim_check"]
    assert "calls unknown what the question demands" in asked.system
    text = str(answer_of(state).text)
    assert said in text
    assert choice not in text

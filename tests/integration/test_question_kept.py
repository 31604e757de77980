"""What was asked stays what was asked: through the turn, its reflection, and the next question."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.evidence.zones import china_time
from agent.graph import build_graph
from agent.sample.model.reply import SampleModel
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from agent.texts import say
from tests.support.lab import ZH, Lab, answer_of, laboratory, tasks, told, with_clock
from tests.support.rows import by_examples

pytestmark = pytest.mark.node
SUNDAY = datetime(2026, 11, 22, 10, 2, tzinfo=UTC)
ENOUGH = ModelReply(json={"is_sufficient": True, "knowledge_gap": "", "follow_up_queries": []})


class Spoken:
    """Answers a task from a script, in order, its last reply again and again; else the sample."""

    def __init__(self, **replies: list[ModelReply]) -> None:
        self._replies, self._sample = replies, SampleModel()
        self.turns: list[ModelTurn] = []

    def respond(self, turn: ModelTurn) -> ModelReply:
        self.turns.append(turn)
        task = task_of(turn)
        replies = self._replies.get(task)
        if not replies:
            return ENOUGH if task == "reflection" else self._sample.respond(turn)
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def prompts(self, task: str) -> list[str]:
        return [turn.user for turn in self.turns if task_of(turn) == task]


def plan(*queries: dict[str, Any], question: str = "", **more: Any) -> ModelReply:
    return ModelReply(json={"question": question, "query": list(queries), **more})


def nearby(place: str | None, *keywords: str, **more: Any) -> dict[str, Any]:
    task = {"intent": "nearby", "place": place, "keywords": list(keywords)}
    return {"query": f"{place or '附近'} {' '.join(keywords)}", "map": task, **more}


def scripted(lab: Lab, **replies: list[ModelReply]) -> Spoken:
    llm = Spoken(**replies)
    lab.gemini.llm = llm
    return llm


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


async def test_reflection_and_answer_get_the_question_as_it_stands_alone(lab: Lab) -> None:
    """`<question>王府井</question>` was all that reflection knew."""
    asked, alone = "王府井", "北京王府井附近有什么好玩的？"
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "景点"), question=alone)])
    state = await lab.ask(asked)
    assert (state["turn"]["question"], state["turn"]["asked_as"]) == (alone, asked)
    for task in ("reflection", "answer"):
        (prompt,) = llm.prompts(task)
        assert block(prompt, "question") == alone
        assert block(prompt, "asked_as") == asked


async def test_without_a_rewritten_question_the_users_own_words_stand_once(lab: Lab) -> None:
    asked = "王府井附近有什么景点"
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "景点"))])
    state = await lab.ask(asked)
    assert state["turn"]["question"] == asked
    assert block(llm.prompts("answer")[0], "question") == asked
    assert "<asked_as>" not in llm.prompts("answer")[0]


async def test_reflection_sees_the_conversation_and_the_records_not_the_maps_prose(
    lab: Lab,
) -> None:
    """It asked the web for hours that the map's record had."""
    prose = ModelReply(text="这里写的都是地图模型自己的话。")
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "博物馆"))], amap_research=[prose])
    await lab.ask("王府井附近的博物馆")
    await lab.ask("它们几点开门")
    first, second = llm.prompts("reflection")
    assert "[^a0-0]" in block(first, "places")
    assert "自己的话" not in first
    assert "<conversation>" not in first
    assert "user: 王府井附近的博物馆" in block(second, "conversation")
    assert int(block(first, "map_calls_left")) > 0


async def test_no_reflection_is_paid_for_once_nothing_can_be_searched_any_more(lab: Lab) -> None:
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "景点"))])
    limits = {"max_map_calls": 1, "web_search": "off"}
    await lab.ask("王府井附近的景点", context=limits)
    assert llm.prompts("reflection") == []


async def test_a_follow_up_without_map_calls_left_goes_to_the_web_alone(lab: Lab) -> None:
    more = nearby("王府井", "书店")
    verdict = ModelReply(
        json={"is_sufficient": False, "knowledge_gap": "书店", "follow_up_queries": [more]}
    )
    scripted(lab, generate_query=[plan(nearby("王府井", "景点"))], reflection=[verdict])
    state = await lab.ask("王府井附近的景点", context={"max_map_calls": 1})
    assert [(q["query"], q["map"]) for q in state["queries"][1:]] == [("王府井 书店", None)]


async def test_the_asker_s_word_behind_a_name_is_not_asked_of_the_map_in_a_later_round(
    lab: Lab,
) -> None:
    """Senaatintori (Senate Square) was found in the first round and in no later one."""
    more = nearby("Эрмитаж (the Hermitage)", "кафе")
    verdict = ModelReply(
        json={"is_sufficient": False, "knowledge_gap": "cafés", "follow_up_queries": [more]}
    )
    scripted(lab, generate_query=[plan({"query": "the Hermitage"})], reflection=[verdict])
    state = await lab.ask("Which café is near the Hermitage?", max_research_loops=2)
    task = state["queries"][-1]["map"]
    assert task["place"] == "Эрмитаж"


async def test_a_near_repeat_of_a_query_is_not_searched_again(lab: Lab) -> None:
    first = {"query": "SQLite vs PostgreSQL for small web application 2026"}
    again = {"query": "2026 SQLite vs PostgreSQL for the small web application?"}
    new = {"query": "sqlite.org appropriate uses for SQLite"}
    verdict = ModelReply(
        json={"is_sufficient": False, "knowledge_gap": "x", "follow_up_queries": [again, new]}
    )
    scripted(lab, generate_query=[plan(first)], reflection=[verdict])
    state = await lab.ask("SQLite vs PostgreSQL for the small web application 2026?")
    assert [q["query"] for q in state["queries"]] == [first["query"], new["query"]]


async def test_a_gap_named_twice_ends_the_rounds(lab: Lab) -> None:
    def verdict(query: str) -> ModelReply:
        written = [{"query": query}]
        return ModelReply(
            json={"is_sufficient": False, "knowledge_gap": "票价", "follow_up_queries": written}
        )

    scripted(lab, generate_query=[plan({"query": "a"})], reflection=[verdict("b"), verdict("c")])
    state = await lab.ask("故宫门票多少钱", max_research_loops=5)
    assert [q["query"] for q in state["queries"]] == ["a", "故宫门票多少钱", "b"]


async def test_what_the_map_answers_alone_is_not_searched_on_the_web(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(nearby("王府井", "停车场", web=False))])
    state = await lab.ask("王府井附近有停车场吗")
    assert state["places"]
    assert told(state)["usage"]["searches"] == 0
    assert "web_research" not in tasks(lab.gemini.requests)
    assert state["search_query"] == ["王府井 停车场"]


@pytest.mark.parametrize(
    ("context", "place"), [({"geo_routing": "never"}, "王府井"), ({}, "没有这个地方的地方")]
)
async def test_what_the_map_does_not_answer_goes_to_the_web_after_all(
    lab: Lab, context: dict[str, Any], place: str
) -> None:
    llm = scripted(
        lab,
        generate_query=[plan(nearby(place, "停车场", web=False), question=f"{place}的停车场")],
        amap_research=[ModelReply(text="没有查到。")],
    )
    state = await lab.ask("那里有停车场吗", context={**context, "max_research_loops": 1})
    assert len(llm.prompts("web_research")) == 1
    assert state["research_loop_count"] == 1
    assert state["places"] == []


async def test_near_me_without_a_position_asks_where_instead_of_searching_the_web(
    lab: Lab,
) -> None:
    """附近公共厕所: five calls for "please say where you are"."""
    scripted(
        lab,
        generate_query=[
            plan(nearby("王府井", "公园")), plan(nearby(None, "公共厕所", web=False))
        ],
    )  # fmt: skip
    await lab.ask("王府井附近的公园")
    before = len(lab.gemini.requests)
    state = await lab.ask("附近有厕所吗")
    assert told(state)["needs"] == "place"
    assert len(lab.gemini.requests) == before + 1
    assert "在哪里" in str(answer_of(state).text)


async def test_the_users_position_lives_on_in_the_thread(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(nearby(None, "公园")), plan(nearby(None, "公共厕所"))])
    here = {"lng": 116.41, "lat": 39.91}
    await lab.ask("附近有什么适合散步的地方", user_location=here)
    state = await lab.ask("附近有厕所吗")
    assert state["turn"]["near"] == here
    assert told(state)["needs"] is None


async def test_the_users_position_is_told_with_its_district(lab: Lab) -> None:
    llm = scripted(lab)
    assert (await lab.services.maps.clients[0].health())["works"]
    here = {"lng": 116.41, "lat": 39.91}
    state = await lab.ask("附近有什么适合散步的地方", user_location=here)
    (prompt,) = llm.prompts("generate_query")
    assert block(prompt, "user_location") == "北京市东城区（经度 116.41，纬度 39.91）"
    assert not any("here" in source["id"] for source in state["sources_gathered"])


@pytest.mark.parametrize(
    ("here", "context"),
    [({"lng": 2.29, "lat": 48.86}, {}), ({"lng": 116.41, "lat": 39.91}, {"geo_routing": "never"})],
)
async def test_a_position_that_the_map_does_not_know_is_told_as_coordinates(
    lab: Lab, here: dict[str, float], context: dict[str, str]
) -> None:
    llm = scripted(lab)
    state = await lab.ask("附近有什么适合散步的地方", user_location=here, context=context)
    (prompt,) = llm.prompts("generate_query")
    assert block(prompt, "user_location") == f"经度 {here['lng']}，纬度 {here['lat']}"
    assert not [gap for gap in state["gaps"] if gap["query"] == ""]


async def test_places_keep_the_order_in_which_the_answer_names_them(lab: Lab) -> None:
    """“第二个” was answered about the map's second line."""
    scripted(lab, generate_query=[plan(nearby("王府井", "景点", "博物馆"))])
    seen = (await lab.ask("王府井附近的景点"))["places"]
    listed = [place["name"] for place in seen]
    cited = [f"- {place['name']} [^{place['source']}]" for place in reversed(seen[:3])]
    written = [plan(nearby("王府井", "景点", "博物馆"))]
    llm = scripted(
        lab, generate_query=written, answer=[ModelReply(text="推荐：\n" + "\n".join(cited))]
    )
    state = await lab.ask("王府井附近的景点", thread="other")
    assert [p["name"] for p in state["places"] if p["mentioned"]] == listed[2::-1]
    await lab.ask("第二个附近有停车场吗", thread="other")
    shown = block(llm.prompts("generate_query")[-1], "conversation")
    assert [shown.index(name) for name in listed[2::-1]] == sorted(map(shown.index, listed[:3]))


async def test_an_earlier_answer_is_shown_without_what_code_wrote_around_it(lab: Lab) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(3000))
    written = ModelReply(text=f"{text}[^w0-0]")
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "景点"))], answer=[written])
    await lab.ask("王府井附近的景点")
    await lab.ask("第二个呢")
    await lab.ask("第三个呢")
    second, third = (block(p, "conversation") for p in llm.prompts("generate_query")[1:])
    assert second.splitlines() == ["user: 王府井附近的景点", f"assistant: {text}[^p0-0]"]
    assert [len(line) for line in third.splitlines()[1::2]] == [613, 3018]


async def test_earlier_places_are_not_told_a_second_time_as_sources(lab: Lab) -> None:
    llm = scripted(lab)
    state = await lab.ask(ZH)
    assert {source["kind"] for source in told(state)["sources"]} == {"page", "place"}
    await lab.ask("第二个呢")
    prompt = llm.prompts("generate_query")[-1]
    titles = {s["title"] for s in told(state)["sources"] if s["kind"] == "place"}
    assert block(prompt, "previous_places")
    assert not [title for title in titles if title in block(prompt, "previous_sources")]


async def test_what_earlier_turns_found_is_before_the_verdict(lab: Lab) -> None:
    """A follow-up about the places of before went looking for prices that the answer had."""
    state = await lab.ask(ZH)
    parked = plan(nearby("王府井", "停车场"), question="这些景点旁边哪里停车")
    llm = scripted(lab, generate_query=[parked])
    await lab.ask("旁边哪里停车")
    prompt = llm.prompts("reflection")[-1]
    assert told(state)["places"][0]["name"] in block(prompt, "previous_places")
    assert block(prompt, "previous_sources")


@by_examples
async def test_a_model_is_told_weekday_hour_and_zone_of_the_place_or_else_of_the_user(
    question: str, offset: int | None, now: str
) -> None:
    async with laboratory() as built:
        services = with_clock(built.services, lambda: SUNDAY)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        llm = scripted(lab)
        state = await lab.ask(question, utc_offset=offset)
    assert state["turn"]["now"] == now
    assert state["turn"]["today"] == now[:10]
    for task in ("generate_query", "reflection"):
        # The plan has the asker's clock, too, where it shows another day.
        assert block(llm.prompts(task)[0], "today").split(";")[0] == now


async def test_the_verdicts_of_a_budget_reach_writer_and_reader(lab: Lab) -> None:
    written = plan(nearby("上海迪士尼", "餐厅", "快餐"), constraints={"max_cost": 100})
    llm = scripted(lab, generate_query=[written])
    state = await lab.ask("上海迪士尼附近有什么好吃的")
    assert state["turn"]["constraints"] == {"max_cost": 100}
    verdicts = {p["name"]: p["verdicts"][0]["verdict"] for p in told(state)["places"]}
    assert "violated" in verdicts.values()
    for task in ("reflection", "answer"):
        lines = block(llm.prompts(task)[0], "places").splitlines()
        violated = ["不符合" in line for line in lines]
        assert violated == sorted(violated)


async def test_a_walk_that_is_demanded_is_measured_with_one_call(lab: Lab) -> None:
    demand = {"max_walk_m": 900, "kind": "cafe"}
    scripted(lab, generate_query=[plan(nearby("王府井", "咖啡馆"), constraints=demand)])
    state = await lab.ask("王府井步行 900 米以内的咖啡馆")
    walks = [r for r in lab.amap.requests if r.path == "/v3/distance"]
    assert len(walks) == 1
    verdicts = {
        (verdict["field"], verdict["verdict"])
        for place in told(state)["places"]
        for verdict in place["verdicts"]
        if verdict["constraint"] == "max_walk_m"
    }
    assert ("walk_m", "satisfied") in verdicts
    assert all(place["walk_m"] >= place["distance_m"] for place in told(state)["places"]
               if "walk_m" in place)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("王府井附近有哪些咖啡馆，走路多远？", None),
        ("离王府井走路可到的咖啡馆有哪些？", None),
        ("Какие кафе рядом с Ванфуцзин, пешком?", "walking"),
    ],
)
async def test_walks_that_are_spoken_of_are_measured_with_one_call(
    lab: Lab, question: str, mode: str | None
) -> None:
    written = nearby("王府井", "咖啡馆")
    written["map"] |= {"mode": mode}
    scripted(lab, generate_query=[plan(written)])
    state = await lab.ask(question)
    assert len([r for r in lab.amap.requests if r.path == "/v3/distance"]) == 1
    places = told(state)["places"]
    assert ["walk_m" in place for place in places] == [p["distance_m"] < 3000 for p in places]
    assert "walk_m" in places[0]


async def test_an_order_by_the_way_on_foot_measures_it_with_one_call(lab: Lab) -> None:
    """ "The three nearest by walking" were told by straight lines, their order "unknown"."""
    written = plan(nearby("王府井", "咖啡馆"), constraints={"sort_by": "walk"})
    llm = scripted(lab, generate_query=[written])
    await lab.ask("王府井附近步行最近的三家咖啡馆？")
    assert len([r for r in lab.amap.requests if r.path == "/v3/distance"]) == 1
    shown = block(llm.prompts("answer")[0], "places")
    assert say("map.sorted.walk", "zh") in shown
    assert "unknown" not in shown


async def test_what_is_on_the_way_between_two_says_how_much_longer_it_makes_the_walk(
    lab: Lab,
) -> None:
    written = nearby(None, "咖啡馆")
    written["map"] |= {"origin": "王府井", "destination": "天安门"}
    llm = scripted(lab, generate_query=[plan(written)])
    state = await lab.ask("从王府井走到天安门，路上有哪些咖啡馆？")
    assert len([r for r in lab.amap.requests if r.path == "/v3/distance"]) == 2
    [first, *_] = re.findall(r"^\[\^.*", block(llm.prompts("answer")[0], "places"), re.MULTILINE)
    assert "步行绕路" in first
    detours = [place["detour_m"] for place in told(state)["places"]]
    assert detours == sorted(detours)
    [place, *_] = told(state)["places"]
    assert place["distance_from"] == "王府井"
    assert [each["origin"] for each in place["further"]] == ["天安门"]


async def test_a_limit_on_walks_of_a_day_holds_from_stop_to_stop(
    lab: Lab,
) -> None:
    """Every sight on the shore was "further than 800 m on foot", and no day came of them."""
    demand = {"max_walk_m": 800}
    written = plan(nearby("西湖", "景点"), constraints=demand, outing={"begins": "13:00"})
    scripted(lab, generate_query=[written])
    state = await lab.ask("西湖边玩一个下午，每段走路不超过 800 米")
    assert not [place for place in told(state)["places"] if place.get("verdicts")]
    assert not [gap for gap in told(state)["gaps"] if gap["code"] == "not_looked_up"]
    legs = [stop["leg"] for stop in told(state)["outing"]["stops"] if "leg" in stop]
    assert legs
    assert all(leg["distance_m"] <= 800 for leg in legs if leg["mode"] == "walking")


async def test_from_the_middle_of_a_lake_no_walk_is_measured_and_none_is_too_far(lab: Lab) -> None:
    written = plan(nearby("西湖", "景点"), constraints={"max_walk_m": 800})
    scripted(lab, generate_query=[written])
    state = await lab.ask("西湖边走路十分钟以内的景点")
    verdicts = [v for place in told(state)["places"] for v in place["verdicts"]]
    assert {v["verdict"] for v in verdicts if v["constraint"] == "max_walk_m"} == {"unknown"}
    assert not [r for r in lab.amap.requests if r.path == "/v3/distance"]


async def test_no_walk_is_measured_where_none_is_demanded(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(nearby("王府井", "咖啡馆"))])
    await lab.ask("王府井附近的咖啡馆")
    assert not [r for r in lab.amap.requests if r.path == "/v3/distance"]


async def test_what_a_model_leaves_out_of_the_demands_is_no_rule_s_guess(lab: Lab) -> None:
    written = plan(nearby("上海迪士尼", "餐厅"), constraints={"total_cost": 400, "people": 4})
    scripted(lab, generate_query=[written])
    state = await lab.ask("上海迪士尼附近四个人吃饭，一共 400 元以内，周一不去")
    assert state["turn"]["constraints"] == {"total_cost": 400, "people": 4}


async def test_a_judge_is_shown_what_a_place_fails(lab: Lab) -> None:
    """A new wording named a price and left the place as if it fitted."""
    written = plan(nearby("王府井", "景点"), constraints={"min_rating": 5})
    llm = scripted(lab, generate_query=[written])
    place = told(await lab.ask("王府井附近评分 5 分的景点"))["places"][0]
    fails = say("constraints.min_rating.violated", "zh", rating=f"{place['rating']:g}", limit="5")
    assert say("constraints.marks.violated", "zh", text=fails) in llm.prompts("claim_check")[0]


@pytest.mark.parametrize("odd", [{"suits": ["dogs"], "kind": "palace"}, {"suits": "children"}])
async def test_a_demand_in_words_of_a_model_s_own_costs_no_second_call(
    lab: Lab, odd: dict[str, Any]
) -> None:
    llm = scripted(lab, generate_query=[plan(nearby("上海迪士尼", "餐厅"), constraints=odd)])
    state = await lab.ask("上海迪士尼附近有什么好吃的")
    assert state["turn"]["constraints"] == {}
    assert len(llm.prompts("generate_query")) == 1


async def test_a_query_of_nothing_that_was_asked_gives_way_to_the_question(lab: Lab) -> None:
    scripted(lab, generate_query=[plan({"query": "the second one"}, {"query": "the second one"})])
    state = await lab.ask("Who wrote Dream of the Red Chamber?")
    assert [query["query"] for query in state["queries"]] == ["Who wrote Dream of the Red Chamber?"]


@pytest.mark.parametrize(
    ("said", "near", "needs"),
    [
        ("origin", None, "origin"),
        ("origin", {"lng": 116.404, "lat": 39.908}, None),
        ("the user's home", None, None),
        ("", None, None),
    ],
)
async def test_a_model_says_what_the_person_has_to_say_first(
    lab: Lab, said: str, near: dict[str, float] | None, needs: str | None
) -> None:
    scripted(lab, generate_query=[plan(nearby("故宫", "景点", city="北京"), needs=said)])
    state = await lab.ask("請問去故宮怎麼走", **({"user_location": near} if near else {}))
    assert told(state)["needs"] == needs
    assert bool(state["queries"]) is (needs is None)


async def test_f8_a_dropped_list_of_sources_leaves_no_blank_lines(lab: Lab) -> None:
    written = "王府井书店在王府井大街。[^a0-0]\n\n参考资料：\n- [^a0-0] 王府井书店\n\n"
    reply = [ModelReply(text=written)]
    scripted(lab, generate_query=[plan(nearby("王府井", "书店"))], answer=reply)
    text = str(answer_of(await lab.ask("王府井附近的书店")).text)
    assert "参考资料" not in text
    assert "\n\n\n" not in text


async def test_thanks_are_answered_without_a_search(lab: Lab) -> None:
    reply = ModelReply(text="不客气，祝您玩得开心。")
    llm = scripted(lab, generate_query=[plan(question="谢谢", needs_search=False)], answer=[reply])
    state = await lab.ask("谢谢！")
    assert answer_of(state).text.endswith("不客气，祝您玩得开心。")
    assert [task_of(turn) for turn in llm.turns] == ["generate_query", "answer", "claim_check"]
    assert (told(state)["queries"], told(state)["needs"]) == ([], None)


async def test_a_sum_in_words_goes_straight_to_the_answer_and_is_judged(lab: Lab) -> None:
    reply = ModelReply(
        text="17% of 2,340 yuan is 397.80 yuan, split among 4 people 99.45 yuan each."
    )
    llm = scripted(lab, generate_query=[plan(needs_search=False)], answer=[reply])
    state = await lab.ask("17% of 2,340 yuan split among 4 people?")
    assert answer_of(state).text.endswith(reply.text)
    assert [task_of(turn) for turn in llm.turns] == ["generate_query", "answer", "claim_check"]
    claims = told(state)["checks"]["claims"]
    assert (claims["total"], claims["marked"]) == (1, 0)


async def test_a_follow_up_that_the_last_answer_holds_is_written_from_its_evidence(
    lab: Lab,
) -> None:
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "书店")), plan()])
    await lab.ask("王府井附近的书店")
    searches = len(lab.amap.requests)
    state = await lab.ask("其中评分最高的是哪家？")
    assert len(lab.amap.requests) == searches
    assert told(state)["queries"] == []
    assert "[^p0-" in block(llm.prompts("answer")[-1], "previous_places")
    assert len(llm.prompts("reflection")) == 1


async def test_demands_of_a_follow_up_are_checked_against_the_last_answers_places(
    lab: Lab,
) -> None:
    answers = [
        ModelReply(text="可以去这家[^a0-0]。"),
        ModelReply(text="夜里还开着的是这家[^p0-0]。"),
    ]
    llm = scripted(
        lab,
        generate_query=[plan(nearby("王府井", "书店")), plan(constraints={"open_at": "23:30"})],
        answer=answers,
    )
    first = await lab.ask("王府井附近的书店")
    state = await lab.ask("其中哪家夜里十一点半还开着？")
    assert "23:30" in block(llm.prompts("answer")[-1], "previous_places")
    [place] = told(state)["places"]
    assert place["verdicts"][0]["constraint"] == "open_at"
    fetched = china_time(first["places"][0]["fetched_at"], "zh")
    assert fetched in answer_of(state).text


async def test_the_facts_of_a_place_that_was_looked_up_again_are_shown_to_the_writer_once(
    lab: Lab,
) -> None:
    llm = scripted(lab, generate_query=[plan(nearby("王府井", "书店"))] * 2)
    await lab.ask("王府井附近的书店")
    await lab.ask("王府井附近的书店")
    prompt = llm.prompts("answer")[-1]
    earlier = block(prompt, "previous_places").splitlines()[1:]
    assert [line.count(" | ") for line in earlier] == [1] * len(earlier) != []
    assert all(f"[^a0-{at}]" in line for at, line in enumerate(earlier))
    assert "★" in block(prompt, "places")


async def test_facts_are_looked_up_though_no_query_was_written_for_them(lab: Lab) -> None:
    scripted(lab, generate_query=[plan()])
    state = await lab.ask("王府井附近的书店")
    assert [query["query"] for query in told(state)["queries"]] == ["王府井附近的书店"]
    assert state["places"]


async def test_queries_of_nothing_but_blanks_are_no_wish_to_search_nothing(lab: Lab) -> None:
    scripted(lab, generate_query=[plan(nearby("王府井", "书店")), plan({"query": " "})])
    await lab.ask("王府井附近的书店")
    state = await lab.ask("那附近的餐厅呢")
    assert [query["query"] for query in told(state)["queries"]] == ["那附近的餐厅呢"]


async def test_what_reflection_misses_to_the_end_is_the_one_line_below_the_answer(
    lab: Lab,
) -> None:
    gap = "还缺这些书店的停车费。"
    missed = ModelReply(
        json={"is_sufficient": False, "knowledge_gap": gap, "follow_up_queries": []}
    )
    scripted(lab, generate_query=[plan(nearby("王府井", "书店"))], reflection=[missed])
    state = await lab.ask("王府井附近的书店停车贵吗")
    assert answer_of(state).text.count(f"*另：{gap}*") == 1
    assert state["knowledge_gap"] == gap


async def test_what_reflection_names_beside_enough_is_no_line_below_the_answer(lab: Lab) -> None:
    gap = "还缺这些书店的停车费。"
    enough = ModelReply(json={"is_sufficient": True, "knowledge_gap": gap, "follow_up_queries": []})
    scripted(lab, generate_query=[plan(nearby("王府井", "书店"))], reflection=[enough])
    assert gap not in answer_of(await lab.ask("王府井附近的书店停车贵吗")).text


async def test_each_of_one_kind_tells_the_nearest_of_the_other_kind_that_was_asked_for(
    lab: Lab,
) -> None:
    """The question names no car park, and all that had been found beside was dropped for that."""
    both = plan(nearby("王府井", "博物馆"), nearby("王府井", "停车场"))
    scripted(lab, generate_query=[both])
    state = await lab.ask("王府井附近的博物馆，旁边要能停车")
    museums = [place for place in told(state)["places"] if "博物馆" in place["keywords"]]
    assert museums
    assert all(place["further"][0]["kind"] == "parking" for place in museums)

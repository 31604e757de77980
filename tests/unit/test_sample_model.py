"""The sample's model, task by task: it quotes, cites what it was shown, and says what it lacks."""

from dataclasses import replace
from typing import Any

import pytest

from agent.evidence.citations import cited_ids
from agent.prompts import Raw, element
from agent.sample.model.reply import REPLIES, SampleModel, least
from agent.sample.model.request import Answer, PastMessage, Tool, ToolResult, Turn
from agent.texts import Language
from tests.support.offline_turns import (
    FINDINGS,
    PLACES,
    PREVIOUS,
    SAID,
    ask,
    cited,
    text_of,
    whole_answer,
)

DEEP = tuple(
    Tool(n) for n in ("think_tool", "tavily_search", "change_research_topic", "end_of_research")
)
TASKS = (
    "[^e1-0] (百科) [示例] 宁德时代 — 宁德时代是一家电池制造商。宁德时代的技术路线有两条。\n"
    "[^e1-1] (论文, 2025) [示例] 西湖水质 — 西湖的技术路线是截污。"
)


def reply(turn: Turn) -> Answer:
    return SampleModel().respond(turn)


def queries(**values: str) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = reply(ask("generate_query", count="3", **values)).json["query"]
    return written


@pytest.mark.parametrize("name", sorted(REPLIES))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_task_survives_blocks_that_are_empty_or_hostile(
    name: str, language: Language
) -> None:
    hostile = "</question>[^w9-9] {{x}} ((( \\1 第999个 there [^a0-1] | | |"
    for value in ("", hostile, "x" * 5000):
        turn = ask(name, language, question=value, query=value, findings=value, places=value)
        answer = reply(turn)
        assert answer == reply(turn)
        assert answer.text or answer.json or answer.grounded or answer.calls


def test_an_unknown_task_gets_the_honest_minimum_of_its_schema() -> None:
    schema = {
        "type": "object",
        "required": ["enough", "items", "kind", "part"],
        "properties": {
            "enough": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "string"}},
            "kind": {"enum": ["none", "some"]},
            "part": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
            "note": {"type": "string"},
        },
        "$defs": {"Part": {"type": "object", "required": ["n"], "properties": {"n": {}}}},
    }
    turn = Turn("<task>write_poem</task>", "hello", schema=schema)
    assert reply(turn).json == {"enough": False, "items": [], "kind": "none", "part": None}
    assert least({"$ref": "#/$defs/Part"}, schema) == {"n": {}}
    assert "language model" in text_of(reply(Turn(turn.system, "hello")))


def test_a_task_that_the_model_knows_fits_a_schema_that_has_grown_or_shrunk() -> None:
    query = {
        "type": "object",
        "required": ["query", "web", "weight"],
        "properties": {
            "query": {"type": "string"},
            "web": {"type": "boolean", "default": True},
            "weight": {"type": "integer", "minimum": 1},
        },
    }
    schema = {
        "type": "object",
        "required": ["question", "limits", "query", "verdict"],
        "properties": {
            "question": {"type": "string"},
            "limits": {"type": "array", "items": {"$ref": "#/$defs/Constraint"}},
            "query": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Query"}]}},
            "verdict": {"enum": ["supported", "contradicted", "not_there"]},
            "plan": {"type": "string"},
        },
        "$defs": {"Query": query, "Constraint": {"type": "object"}},
    }
    turn = replace(ask("generate_query", question="王府井的历史", count="1"), schema=schema)
    asked = {"query": "王府井的历史", "web": True, "weight": 1}
    whole = {
        "question": "王府井的历史",
        "query": [asked],
        "limits": [],
        "verdict": "not_there",
    }
    assert reply(turn).json == whole
    assert reply(replace(turn, system="<task>check_claims</task>")).json == {
        **whole, "question": "", "query": [],
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(REPLIES))
def test_no_task_breaks_on_a_schema_that_it_has_never_seen(name: str) -> None:
    schema = {"type": "object", "required": ["new"], "properties": {"new": {"type": "array"}}}
    answer = reply(replace(ask(name, question="王府井的历史", query="王府井"), schema=schema))
    assert answer.json in (None, {"new": []})
    assert answer.json or answer.text or answer.grounded or answer.calls


@pytest.mark.parametrize(
    "question",
    [
        "Should I buy a coffee grinder with a steel burr or a ceramic burr?",
        "sodium-ion battery cost and sodium-ion battery safety",
        "hand coffee grinder vs electric grinder for espresso",
    ],
)
def test_no_english_query_says_a_word_twice(question: str) -> None:
    schema_free = reply(ask("generate_query", "en", count="4", question=question))
    for query in schema_free.json["query"][1:]:
        words = query["query"].casefold().split()
        assert len(words) == len(set(words)), query["query"]


def test_the_queries_are_the_question_and_its_aspects() -> None:
    first, *others = queries(question="杭州西湖的历史、保护与游览")
    assert first["query"] == "杭州西湖的历史、保护与游览"
    assert [query["query"] for query in others] == ["杭州西湖 历史", "杭州西湖 保护"]


def test_the_map_task_is_that_of_the_products_own_rules() -> None:
    first = queries(question="王府井附近适合遛娃的好去处")[0]["map"]
    assert (first["intent"], first["place"]) == ("nearby", "王府井")
    assert queries(question="How do sodium-ion batteries work?")[0]["map"] is None
    assert len(queries(question="从北京南站到天安门怎么走")) == 1


def test_a_follow_up_is_searched_for_what_it_refers_to() -> None:
    values = {"conversation": SAID, "previous_places": PREVIOUS}
    assert queries(question="那附近有停车场吗", **values)[0]["query"] == "王府井附近有停车场吗"
    assert "开心亲子乐园" in queries(question="第二个几点关门", **values)[0]["query"]


@pytest.mark.parametrize(
    ("query", "language", "subject"),
    [("王府井带孩子", "zh", "王府井"), ("sodium-ion battery", "en", "odium-ion")],
)
def test_a_grounded_sentence_rests_on_a_page_about_the_subject(
    query: str, language: Language, subject: str
) -> None:
    grounded = reply(ask("web_research", language, query=query)).grounded or ()
    pages = [page for sentence in grounded for page in sentence.pages]
    assert pages
    assert all(subject in page.title for page in pages)


@pytest.mark.parametrize(
    ("query", "language"),
    [("苹果公司的营收", "zh"), ("Eiffel Tower history", "en"), ("外滩的建筑", "zh")],
)
def test_what_the_sample_lacks_is_said_and_not_filled_with_another_subject(
    query: str, language: Language
) -> None:
    grounded = reply(ask("web_research", language, query=query)).grounded or ()
    assert [sentence.pages for sentence in grounded] == [()]
    assert query in grounded[0].text


def test_the_page_on_the_aspect_is_quoted_and_not_a_name_that_has_its_word() -> None:
    grounded = reply(ask("web_research", "en", query="the history of the Bund")).grounded or ()
    assert {page.title for part in grounded for page in part.pages} == {
        "[Sample] The Bund: buildings and views"
    }


def test_a_common_word_is_not_found_in_a_longer_name() -> None:
    museum = "The Shanghai Natural History Museum has dinosaurs."
    page = element("page", museum, id="s0-0", title="The Bund", partial="no")
    for topic, quoted in (("history", False), ("dinosaurs", True), ("Natural History", True)):
        notes = text_of(reply(ask("deep_compress", "en", topic=topic, pages=page)))
        assert (museum in notes) is quoted


def test_of_a_page_on_several_aspects_the_sentences_on_the_one_are_quoted() -> None:
    grounded = reply(ask("web_research", "en", query="parking near Wangfujing")).grounded or ()
    assert "Palace Museum" not in "".join(part.text for part in grounded)


def test_of_a_single_aspect_nothing_is_missing_once_it_was_asked_for() -> None:
    asked = {"question": "the history of the Bund", "asked": "the history of the Bund"}
    findings = "The Bund is a riverside promenade.[^w0-0]"
    assert reply(ask("reflection", "en", findings=findings, **asked)).json["is_sufficient"]


def test_places_without_records_are_looked_up_on_the_map() -> None:
    tools = (Tool("maps_text_search"), Tool("maps_search_detail"))
    turn = ask("amap_research", query="王府井附近的书店")
    asked = Turn(turn.system, turn.user, tools=tools)
    assert reply(asked).calls[0].name == "maps_text_search"
    found = (
        ToolResult("maps_text_search", '{"pois": [{"id": "B1"}, {"id": "B2"}, {"id": "B3"}]}'),
    )
    details = reply(Turn(turn.system, turn.user, tools=tools, tool_results=found)).calls
    assert [call.args["id"] for call in details] == ["B1", "B2"]
    told = (*found, ToolResult("maps_search_detail", "[^a0-1] 甲书店 | 书店 | ★4.6"))
    enough = Turn(turn.system, turn.user, tools=tools, tool_results=told)
    assert text_of(reply(enough)) == "够了"


def test_listed_records_are_enough_for_the_map() -> None:
    turn = ask("amap_research", query="王府井", places=PLACES)
    offered = Turn(turn.system, turn.user, tools=(Tool("maps_text_search"),))
    assert text_of(reply(offered)) == "够了"


def test_reflection_asks_once_for_an_aspect_that_no_finding_has() -> None:
    values = {"question": "王府井的停车场和书店", "findings": FINDINGS, "limit": "2"}
    verdict = reply(ask("reflection", asked="王府井的停车场和书店", **values)).json
    assert [q["query"] for q in verdict["follow_up_queries"]] == ["王府井 书店"]
    again = reply(ask("reflection", asked="王府井的停车场和书店\n王府井 书店", **values)).json
    assert again["is_sufficient"]


def test_an_answer_has_places_first_and_cites_only_what_it_was_shown() -> None:
    text = text_of(reply(whole_answer("zh")))
    assert "示例数据" in text.partition("\n")[0]
    assert text.index("开心亲子乐园 — 亲子乐园") < text.index("王府井步行街全天开放")
    assert cited(text) <= {"a0-1", "a0-2", "a0-3", "w0-0", "w0-2", "w1-1"}


@pytest.mark.parametrize(
    ("text", "language", "part"),
    [
        ("hello", "en", "you can ask about"),
        ("Thank you!", "en", "you can ask about"),
        ("What can you do?", "en", "you can ask about"),
        ("你好", "zh", "可以问"),
        ("你能做什么？", "zh", "可以问"),
    ],
)
def test_a_greeting_is_answered_by_what_one_can_ask_without_a_search(
    text: str, language: Language, part: str
) -> None:
    assert reply(ask("generate_query", language, question=text, count="3")).json["query"] == []
    line = text_of(reply(ask("answer", language, question=text)))
    assert part in line
    assert "\n" not in line


@pytest.mark.parametrize("name", ["answer", "deep_report", "dossier"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_without_material_nothing_is_made_up(name: str, language: Language) -> None:
    text = text_of(reply(ask(name, language, question="Eiffel Tower")))
    assert {"zh": "没有“Eiffel Tower”的资料", "en": "nothing on “Eiffel Tower”"}[language] in text
    assert "[^" not in text


def test_two_places_that_are_compared_are_looked_up_and_shown_side_by_side() -> None:
    question = "国家博物馆和中国美术馆哪个更好"
    assert [row["query"] for row in queries(question=question)] == ["中国国家博物馆", "中国美术馆"]
    places = "[^a0-0] 中国国家博物馆 | ★4.8\n[^a0-1] 嘉德艺术中心 | ★4.5\n[^a1-0] 中国美术馆 | ★4.7"
    text = text_of(reply(ask("answer", question=question, places=places)))
    assert cited(text) == {"a0-0", "a1-0"}
    assert "需要语言模型" in text


def test_the_best_of_what_is_asked_for_stands_first() -> None:
    text = text_of(reply(ask("answer", question="王府井附近最便宜的酒店", places=LAST["zh"])))
    assert text.index("小院民宿") < text.index("王府饭店") < text.index("无名公园")


def test_what_it_costs_is_read_off_the_last_places() -> None:
    said = "user: Hotels near Wangfujing"
    values = {"question": "How much does it cost?", "previous_places": LAST["en"]}
    assert queries(conversation=said, **values) == []
    text = text_of(reply(ask("answer", "en", conversation=said, **values)))
    assert cited(text) == {"p0-0", "p0-1"}


def test_a_continued_answer_is_the_rest_of_the_same_answer() -> None:
    turn = whole_answer("zh")
    whole = text_of(reply(turn))
    half = whole[: len(whole) // 2]
    again = f"…\n<cut_off>\n{half[-60:]}\n</cut_off>"
    past = (PastMessage("user", turn.user), PastMessage("model", half))
    assert half + text_of(reply(Turn(turn.system, again, history=past))) == whole


LAKE = "西湖一日游：交通、门票、餐饮"


def explore(topic: str, done: str = "", **more: Any) -> Answer:
    plan = [
        element("planned", "", name=name, status="done" if name in done else "planned")
        for name in ("交通", "门票", "餐饮")
        if name != topic
    ]
    turn = ask("deep_explore", question=LAKE, topic=topic, plan=Raw("\n".join(plan)))
    return reply(Turn(turn.system, turn.user, tools=DEEP, **more))


def test_a_research_is_planned_with_a_topic_for_each_aspect() -> None:
    topics = reply(ask("deep_plan", question=LAKE, limit="2")).json["topics"]
    assert [topic["name"] for topic in topics] == ["交通", "门票"]
    (topic,) = reply(ask("deep_plan", question="西湖", limit="2")).json["topics"]
    assert topic["name"] == "西湖"


def test_research_goes_topic_by_topic_and_keeps_pages_on_the_subject() -> None:
    think, search = explore("交通").calls
    assert (think.name, search.args["queries"]) == ("think_tool", ["西湖 交通"])
    rows = [
        element("result", "西湖坐地铁1号线到。", url="https://a.invalid/1", title="西湖交通"),
        element("result", "黄山坐大巴。", url="https://a.invalid/2", title="黄山交通"),
    ]
    found = (ToolResult("tavily_search", "\n".join(rows)),)
    change = explore("交通", tool_results=found).calls[1]
    assert change.args["new_topic"] == "门票"
    assert change.args["search_result_of_current_topic"] == ["https://a.invalid/1"]
    assert explore("餐饮", "交通 门票", tool_results=found).calls[1].name == "end_of_research"


def test_notes_carry_the_marker_of_their_page_and_a_report_only_what_stands_in_them() -> None:
    page = element("page", "西湖有地铁1号线。西湖有诗。", id="s0-0", title="西湖", partial="no")
    notes = text_of(reply(ask("deep_compress", question="西湖", topic="地铁", pages=page)))
    assert notes == "西湖有地铁1号线。[^s0-0]"
    other = text_of(reply(ask("deep_compress", question="西湖", topic="停车", pages=page)))
    topics = [element("topic", notes, name="地铁"), element("topic", other, name="停车")]
    turn = ask("deep_report", question="西湖的地铁与停车", topics=Raw("\n".join(topics)))
    report = text_of(reply(turn))
    assert "## 地铁\n\n西湖有地铁1号线。[^s0-0]" in report
    assert "没有这方面的资料：停车。" in report
    assert cited_ids(report) == ["s0-0"]


def test_a_report_quotes_pages_that_stand_in_place_of_notes_and_shows_no_tag_of_theirs() -> None:
    text = "西湖有地铁1号线。湖边不收门票。"
    page = element("page", f"\n{text}\n", id="t0-0", title="[示例] 西湖交通", partial="no")
    for topic, sentence in (
        ("地铁", "西湖有地铁1号线。[^t0-0]"),
        ("缆车", "没有这方面的内容。[^t0-0]"),
    ):
        topics = element("topic", Raw(page), name=topic)
        report = text_of(reply(ask("deep_report", question=f"西湖的{topic}", topics=topics)))
        assert sentence in report
        assert "page" not in report
        assert "门票" not in report


def test_what_stands_under_one_topic_is_not_missing_under_another() -> None:
    notes = "循环寿命和成本是两个关键。[^s0-0]"
    topics = [element("topic", notes, name=name) for name in ("成本", "寿命")]
    turn = ask("deep_report", question="电池的成本和寿命", topics=Raw("\n".join(topics)))
    assert "没有这方面的资料" not in text_of(reply(turn))


def test_a_plan_has_a_task_per_aspect_and_at_most_three() -> None:
    tasks = reply(ask("plan_tasks", question="宁德时代的技术路线与营收", limit="6")).json["tasks"]
    assert [task["query"] for task in tasks] == ["宁德时代 技术路线", "宁德时代 营收"]
    many = reply(ask("plan_tasks", question="西湖的历史、保护、交通、门票", limit="6")).json[
        "tasks"
    ]
    assert len(many) == 3


def test_a_plan_names_the_company_whose_figures_it_needs() -> None:
    values = {"sources": "documents, filings, akshare, map", "limit": "3"}
    (task,) = reply(ask("plan_tasks", question="宁德时代的营收", **values)).json["tasks"]
    assert (task["sources"], task["company"]) == (["documents", "akshare"], "宁德时代")
    (task,) = reply(ask("plan_tasks", "en", question="CATL's revenue", **values)).json["tasks"]
    assert (task["sources"], task["company"]) == (["documents", "filings"], "CATL")
    (task,) = reply(ask("plan_tasks", question="西湖的历史", **values)).json["tasks"]
    assert (task["sources"], task["company"]) == (["documents"], "")


def test_a_dossier_quotes_only_documents_on_its_subject() -> None:
    task = Raw(f'<task id="T1" query="宁德时代 技术路线">\n{TASKS}\n</task>')
    passages = "[^d1-0] 埃菲尔铁塔笔记，第 2 页: 铁塔的技术路线是铆接。"
    values = {"question": "宁德时代的技术路线", "tasks": task, "passages": passages}
    text = text_of(reply(ask("dossier", **values)))
    assert "宁德时代的技术路线有两条。[^e1-0]" in text
    assert set(cited_ids(text)) == {"e1-0"}


UNFIT = (
    "[^a0-0] 皇家宴会厅 | 西餐厅 | 迪士尼 178 m | ★4.4 | ¥500 | 随乐园开放 | 城堡内"
    " | 不符合：人均 ¥500，超过 ¥100\n"
    "[^a0-1] 部落丰盛堂 | 快餐厅 | 迪士尼 239 m | 不符合：人均 ¥110，超过 ¥100"
)


def test_a_place_that_breaks_a_demand_is_not_listed_where_another_meets_it() -> None:
    fits = "[^a0-2] 面馆 | 快餐厅 | ¥55 | 符合：人均 ¥55，不超过 ¥100"
    web = "皇家宴会厅要预订。[^w0-0]中午人多。[^w0-0]"
    turn = ask("answer", question="人均100以内", places=f"{UNFIT}\n{fits}", findings=web)
    text = text_of(reply(turn))
    assert cited(text) == {"a0-2", "w0-0"}
    assert "皇家宴会厅" not in text


def test_where_no_place_meets_a_demand_each_is_listed_with_what_it_breaks() -> None:
    text = text_of(reply(ask("answer", question="人均100以内", places=UNFIT)))
    assert "都不合要求" in text
    for line in (line for line in text.splitlines() if line.startswith("- ")):
        assert "不符合：" in line
    assert cited(text) == {"a0-0", "a0-1"}


HOURS: dict[Language, str] = {
    "zh": (
        "[^p0-0] 和平菓局 | 游乐场 | ★4.5 | 周一至周日 10:00-21:00\n"
        "[^p0-1] 妇女儿童博物馆 | 博物馆 | ★4.6 | 周二至周日 09:00-17:00 | 北极阁路9号\n"
        "[^p0-2] 海底捞火锅 | 火锅店 | 全天营业\n[^p0-3] 无名公园"
    ),
    "en": (
        "[^p0-0] Heping Guoju | theme street | ★4.5 | daily 10:00–21:00\n"
        "[^p0-1] Museum of Children | museum | ★4.6 | Tue–Sun 09:00–17:00 | 北极阁路9号\n"
        "[^p0-2] Haidilao | hotpot | open 24 hours\n[^p0-3] Nameless Park"
    ),
}


@pytest.mark.parametrize(
    ("question", "language", "ids"),
    [
        ("哪些周一开门？", "zh", {"p0-0", "p0-2"}),
        ("Which of them are open on Monday?", "en", {"p0-0", "p0-2"}),
        ("哪些周六营业", "zh", {"p0-0", "p0-1", "p0-2"}),
        ("Which are open at 10 p.m.?", "en", {"p0-2"}),
        ("哪几家打烊晚", "zh", {"p0-2"}),
        ("Which of them are open late?", "en", {"p0-2"}),
    ],
)
def test_which_of_the_last_places_are_open_is_read_off_their_hours(
    question: str, language: Language, ids: set[str]
) -> None:
    values = {"question": question, "previous_places": HOURS[language]}
    assert reply(ask("generate_query", language, count="3", **values)).json["query"] == []
    text = text_of(reply(ask("answer", language, **values)))
    assert cited(text) == ids


def test_where_none_of_the_last_places_is_open_that_is_said_with_their_hours() -> None:
    museum = HOURS["zh"].splitlines()[1]
    text = text_of(reply(ask("answer", question="周一开门吗", previous_places=museum)))
    assert "都不合要求" in text
    assert "周二至周日 09:00-17:00" in text


@pytest.mark.parametrize(
    "question", ["故宫博物院周一开门吗", "附近哪些餐厅周一开门", "第二个几点关门"]
)
def test_opening_hours_of_other_places_are_searched(question: str) -> None:
    assert queries(question=question, previous_places=HOURS["zh"], conversation=SAID)


LAST: dict[Language, str] = {
    "zh": (
        "[^p0-0] 王府饭店 | 五星级宾馆 | 距王府井 1.2 km | ★4.6 | ¥1300\n"
        "[^p0-1] 小院民宿 | 民宿 | 距王府井 800 m | ★4.8 | ¥300\n[^p0-2] 无名公园"
    ),
    "en": (
        "[^p0-0] 王府饭店 (Palace Hotel) | hotel | 1.2 km from Wangfujing | ★4.6 | ¥1300\n"
        "[^p0-1] 小院民宿 (Courtyard) | guest house | 800 m from Wangfujing | ★4.8 | ¥300"
    ),
}


@pytest.mark.parametrize(
    ("question", "language", "first"),
    [
        ("哪个最便宜？", "zh", "p0-1"),
        ("其中哪家最近？", "zh", "p0-1"),
        ("which is the best rated?", "en", "p0-1"),
        ("Which is the cheapest?", "en", "p0-1"),
    ],
)
def test_the_best_of_the_last_places_is_read_off_their_records(
    question: str, language: Language, first: str
) -> None:
    values = {"question": question, "previous_places": LAST[language]}
    assert reply(ask("generate_query", language, count="3", **values)).json["query"] == []
    lines = list(text_of(reply(ask("answer", language, **values))).splitlines())
    assert f"[^{first}]" in next(line for line in lines if line.startswith("- "))


def test_another_way_is_asked_between_the_same_ends() -> None:
    said = "user: 从王府井到三里屯怎么走\nassistant: 步行 6 公里。[1]"
    [query] = queries(question="坐地铁呢？", conversation=said)
    task = query["map"]
    assert (task["origin"], task["destination"], task["mode"]) == ("王府井", "三里屯", "transit")


def test_of_a_place_asked_for_by_name_the_answer_says_what_its_record_says() -> None:
    rows = (
        "[^a0-0] 故宫博物院 | 景点 | 周二至周日 08:30-17:00 | 不符合：周一不开放\n"
        "[^a0-1] 烤鸭店(故宫店) | 餐厅 | 全天 | 符合：周一开放"
    )
    text = text_of(reply(ask("answer", question="故宫周一开门吗？", places=rows)))
    assert "不符合：周一不开放" in text
    assert cited(text) == {"a0-0"}


def test_a_place_that_the_sample_does_not_know_is_not_looked_for_elsewhere() -> None:
    tools = (Tool("maps_text_search"), Tool("maps_search_detail"))
    turn = replace(ask("amap_research", "en", query="Best ramen in Sapporo"), tools=tools)
    assert not reply(turn).calls


def test_whose_documents_are_asked_is_no_part_of_what_is_searched() -> None:
    [query] = queries(question="我的文档里怎么说钠离子电池的循环寿命？")[:1]
    assert query["query"] == "钠离子电池的循环寿命"


def test_of_a_page_on_many_things_only_sentences_on_the_one_are_quoted() -> None:
    turn = ask("web_research", "en", query="Shanghai Disneyland opening hours on 25 December")
    text = "".join(part.text for part in reply(replace(turn, search=True)).grounded)
    assert "Palace Museum" not in text


def test_of_a_forecast_the_day_that_is_asked_for_is_told() -> None:
    rows = "\n".join(f"[^a0-0] 北京市 2026-11-{day} 周六，晴" for day in (28, 29, 30))
    text = text_of(reply(ask("answer", question="北京明天天气怎么样？", weather=rows)))
    assert [day for day in (28, 29, 30) if f"11-{day}" in text] == [29]


def test_a_section_whose_pages_are_in_another_language_says_so() -> None:
    topics = (
        '<topic name="transport">Take the metro to the lake.[^w0-0]</topic>'
        '<topic name="food">西湖醋鱼是名菜。[^w0-1]</topic>'
    )
    text = text_of(reply(ask("deep_report", "en", question="West Lake", topics=Raw(topics))))
    food = text.partition("## Food")[2]
    assert food.strip().startswith("Only pages in Chinese")
    assert "西湖醋鱼" not in text.partition("## Transport")[0]

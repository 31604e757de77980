"""The offline brain: rules over the sample, held to what our prompts ask of a model."""

import json
import re
from collections.abc import Iterator

import pytest

from agent.evidence.queries import near_duplicate
from agent.language import Language
from agent.offline import rules_research
from agent.offline.brain import Answer, Past, Tool, ToolResult, Turn
from agent.offline.corpus import Page, load_sample
from agent.offline.rules import RULES, UNSUPPORTED, SampleBrain
from agent.offline.rules_text import sentences
from agent.prompts import Raw, element, render

TODAY = "2026-11-20"
MARKER = re.compile(r"\[\^([a-z]+\d+-\d+)\]")
PLACES = (
    "[^a0-1] 北京市少年宫 | 科教文化 | 王府井 820 m | 09:00-17:00 | 寿山路1号\n"
    "[^a0-2] 开心亲子乐园 | 亲子乐园 | 王府井 320 m | ★4.6 | ¥80 | 10:00-21:00 | 王府井大街88号\n"
    "[^a0-3] 无名公园"
)
PREVIOUS = PLACES.replace("a0-", "p0-")
SAID = "user: 王府井附近适合遛娃的好去处\nassistant: 可以去开心亲子乐园。[1]"
SAID_EN = "user: What can we do with kids near the Bund?\nassistant: Try the park.[1]"
PREVIOUS_EN = "[^p0-0] Gucheng Park | Park | 06:00-18:00\n[^p0-1] Maritime Museum | Museum | ¥50"
FINDINGS = (
    "王府井步行街全天开放，推婴儿车也方便。[^w0-0]周末人多，建议上午去。[^w0-0][^w0-2]\n\n"
    "附近的停车场收费较高。[^w1-1]\n\n开心亲子乐园，★4.6。[^a0-2]"
)
FINDINGS_EN = (
    "The Bund is open all day and free.[^w0-0] Crowds peak after 7 p.m. on weekends.[^w0-1]\n\n"
    "Pushchairs roll easily on the promenade.[^w1-0]"
)
MAP_TOOLS = [
    "maps_geo", "maps_regeocode", "maps_text_search", "maps_around_search", "maps_search_detail",
    "maps_weather", "maps_distance", "maps_direction_walking", "maps_direction_driving",
    "maps_bicycling", "maps_direction_transit_integrated",
]  # fmt: skip


def ask(name: str, language: Language = "zh", **values: str) -> Turn:
    """The request a node makes: every block of the prompt, those not given empty."""
    keys = {
        "generate_query": "today count conversation previous_sources previous_places"
        " user_location question",
        "web_research": "today query",
        "web_writeup": "today query results",
        "amap_research": "query places routes weather",
        "reflection": "today question asked findings gaps limit",
        "answer": "today conversation question findings places routes weather gaps"
        " previous_sources previous_places",
    }[name].split()
    filled = {**dict.fromkeys(keys, ""), "today": TODAY, **values}
    filled = {key: value for key, value in filled.items() if key in keys}
    schema = {"type": "object"} if name in {"generate_query", "reflection"} else None
    return Turn(
        system=render(f"{name}_system", language),
        user=render(name, language, **filled),
        schema=schema,
        search=name == "web_research",
    )


def queries(question: str, language: Language = "zh", count: int = 3, **values: str) -> list[dict]:
    turn = ask("generate_query", language, question=question, count=str(count), **values)
    written = SampleBrain().respond(turn).json
    assert list(written) == ["query", "rationale"]
    assert 1 <= len(written["query"]) <= count
    return written["query"]


def text_of(answer: Answer) -> str:
    assert answer.text is not None
    return answer.text


def cited(text: str) -> set[str]:
    return set(MARKER.findall(text))


@pytest.fixture
def sample_pages(monkeypatch: pytest.MonkeyPatch) -> list[Page]:
    """Two pages on one subject, found by any query that names it; the sample in small."""
    pages = [
        _page("zh", "王府井亲子游（示例）", "王府井步行街很平。亲子乐园在地下一层。周一闭馆。"),
        _page("en", "The Bund with kids (sample)", "The Bund is flat. Kids like the ferry."),
    ]

    def search(query: str, language: str | None = None, limit: int = 8) -> list[Page]:
        found = [page for page in pages if page.subjects[0] in query]
        return [page for page in found if language in (None, page.language)][:limit]

    monkeypatch.setattr(rules_research, "search_pages", search)
    return pages


def _page(language: str, title: str, text: str) -> Page:
    subject = "王府井" if language == "zh" else "Bund"
    return Page(
        id=f"sample-{language}",
        url=f"https://sample.example/{language}",
        title=title,
        site="sample.example",
        language=language,
        published=TODAY,
        subjects=(subject,),
        topics=(),
        text=text,
    )


# reading


def test_sentences_keep_their_markers_numbers_and_abbreviations() -> None:
    text = (
        "- 甲在王府井。[^w0-0][^w0-1]乙4.6分！他说“好。”[^w0-2]\n"
        "Crowds peak after 7 p.m. on weekends. The U.S. side has 4.6 stars.[^w1-0] Last one"
    )
    assert [sentence.text for sentence in sentences(text)] == [
        "甲在王府井。[^w0-0][^w0-1]",
        "乙4.6分！",
        "他说“好。”[^w0-2]",
        "Crowds peak after 7 p.m. on weekends.",
        "The U.S. side has 4.6 stars.[^w1-0]",
        "Last one",
    ]


# generate_query


def test_a_question_about_a_place_becomes_distinct_queries_with_a_map_task() -> None:
    written = queries("王府井附近适合遛娃的好去处")
    assert len(written) == 3
    first = written[0]
    assert first["query"] == "王府井附近适合遛娃的好去处"
    assert first["map"]["intent"] == "nearby"
    assert first["map"]["place"] == "王府井"
    assert 1 <= len(first["map"]["keywords"]) <= 3
    texts = [query["query"] for query in written]
    assert not any(near_duplicate(a, b) for i, a in enumerate(texts) for b in texts[:i])


def test_an_english_question_gives_english_queries_with_a_map_task() -> None:
    written = queries("Where can we take kids near the Bund in Shanghai?", "en")
    assert written[0]["query"] == "Where can we take kids near the Bund in Shanghai"
    assert written[0]["map"]["intent"] == "nearby"
    assert all(key in written[0]["map"] for key in ("place", "city", "keywords", "radius_m"))


def test_a_question_that_no_map_helps_has_no_map_task() -> None:
    for question, language in (("区块链是什么", "zh"), ("How does photosynthesis work?", "en")):
        assert all(query["map"] is None for query in queries(question, language))


def test_weather_and_routes_need_one_query_only() -> None:
    for question in ("杭州明天天气怎么样", "从王府井到三里屯怎么走"):
        written = queries(question)
        assert len(written) == 1
        assert written[0]["map"]["intent"] in {"weather", "route"}


def test_no_more_queries_are_written_than_asked_for() -> None:
    assert len(queries("王府井附近适合遛娃的好去处", count=1)) == 1
    assert len(queries("王府井附近适合遛娃的好去处", count=2)) == 2


def test_a_comparison_looks_each_side_up() -> None:
    texts = [query["query"] for query in queries("空气炸锅和烤箱有什么区别")]
    assert "空气炸锅" in texts
    assert "烤箱" in texts


@pytest.mark.parametrize("question", ["那附近有停车场吗", "那附近有停车场吗？", "附近有停车场吗"])
def test_what_is_near_there_is_near_the_place_of_the_last_turn(question: str) -> None:
    first = queries(question, conversation=SAID, previous_places=PREVIOUS)[0]
    assert first["query"] == "王府井附近有停车场吗"
    assert first["map"]["place"] == "王府井"
    assert "停车场" in first["map"]["keywords"]


def test_the_second_one_is_the_second_place_of_the_last_answer() -> None:
    first = queries("第二个几点关门", conversation=SAID, previous_places=PREVIOUS)[0]
    assert first["query"] == "开心亲子乐园几点关门"
    said = {"conversation": SAID_EN, "previous_places": PREVIOUS_EN}
    first = queries("When does the second one close?", "en", **said)[0]
    assert first["query"] == "When does Maritime Museum close"


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Is there parking near there?", "the Bund"),
        ("How do I get there?", "to the Bund"),
        ("Any cafes nearby?", "near the Bund"),
    ],
)
def test_there_is_the_place_of_the_last_turn(question: str, wanted: str) -> None:
    text = queries(question, "en", conversation=SAID_EN)[0]["query"]
    assert (
        wanted.casefold()
        in re.sub(r"\bBund\b", "the Bund", text.replace("the Bund", "Bund")).casefold()
    )


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("这几个哪个最便宜", "北京市少年宫、开心亲子乐园、无名公园哪个最便宜"),
        ("它们下雨天开吗", "北京市少年宫、开心亲子乐园、无名公园下雨天开吗"),
        ("那三里屯呢", "三里屯附近适合遛娃的好去处"),
    ],
)
def test_these_are_the_places_listed_and_another_place_keeps_the_question(
    question: str, wanted: str
) -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert queries(question, **said)[0]["query"] == wanted


def test_near_me_without_a_place_is_one_query_for_the_map() -> None:
    (only,) = queries("我附近有什么咖啡馆", user_location="116.4,39.9")
    assert only["map"]["intent"] == "nearby"
    assert only["map"]["place"] is None


def test_a_question_of_aspects_only_is_about_the_last_place() -> None:
    assert queries("停车方便吗", conversation=SAID)[0]["query"] == "王府井停车方便吗"


def test_a_new_subject_after_a_conversation_is_left_alone() -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert queries("区块链是什么", **said)[0]["query"] == "区块链是什么"
    first = queries("三里屯附近的咖啡馆", **said)[0]
    assert first["map"]["place"] == "三里屯"


def test_an_ordinal_beyond_the_list_is_not_guessed() -> None:
    said = {"conversation": SAID, "previous_places": PREVIOUS}
    assert "无名公园" not in queries("第九个几点关门", **said)[0]["query"]


# web_research, web_writeup


def test_a_grounded_sentence_rests_on_the_page_it_comes_from(sample_pages: list[Page]) -> None:
    found = SampleBrain().respond(ask("web_research", query="王府井 亲子乐园"))
    assert found.queries == ("王府井 亲子乐园",)
    assert found.grounded
    pages = [sentence.pages for sentence in found.grounded if sentence.pages]
    assert pages
    assert all(page[0].uri == sample_pages[0].url for page in pages)
    assert all(page[0].title == sample_pages[0].title for page in pages)
    assert all(s.text.strip() in sample_pages[0].text for s in found.grounded)


def test_an_english_query_finds_the_english_page(sample_pages: list[Page]) -> None:
    found = SampleBrain().respond(ask("web_research", "en", query="the Bund with kids"))
    text = "".join(sentence.text for sentence in found.grounded or ())
    assert "Kids like the ferry." in text
    assert sample_pages[1].url in {p.uri for s in found.grounded or () for p in s.pages}


@pytest.mark.usefixtures("sample_pages")
@pytest.mark.parametrize(("language", "said"), [("zh", "示例数据里没有"), ("en", "has nothing on")])
def test_a_query_outside_the_sample_is_answered_honestly(language: Language, said: str) -> None:
    found = SampleBrain().respond(ask("web_research", language, query="Reykjavik geysers"))
    assert found.grounded is not None
    assert [sentence.pages for sentence in found.grounded] == [()]
    assert said in found.grounded[0].text


def test_every_subject_of_the_bundled_pages_is_found_by_its_name() -> None:
    pages = load_sample().pages
    assert pages
    for page in pages:
        turn = ask("web_research", query=f"{page.subjects[0]} {' '.join(page.topics)}")
        found = SampleBrain().respond(turn).grounded or ()
        assert any(sentence.pages for sentence in found), page.id


@pytest.mark.usefixtures("sample_pages")
def test_without_the_search_tool_nothing_was_searched() -> None:
    turn = ask("web_research", query="王府井")
    found = SampleBrain().respond(Turn(turn.system, turn.user, search=False))
    assert found.queries == ()
    assert not any(sentence.pages for sentence in found.grounded or ())


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_write_up_cites_the_result_each_sentence_is_from(language: Language) -> None:
    results = Raw(
        "\n".join(
            [
                element(
                    "result", "标题\n王府井有亲子乐园。周一闭馆。", id="w0-0", site="a.example"
                ),
                element("result", "Title\nThe museum opens at 9.30. It is free.", id="w0-1"),
            ]
        )
    )
    text = text_of(
        SampleBrain().respond(ask("web_writeup", language, query="王府井", results=results))
    )
    assert cited(text) == {"w0-0", "w0-1"}
    assert "王府井有亲子乐园。[^w0-0]" in text
    assert "The museum opens at 9.30.[^w0-1]" in text


def test_a_write_up_of_no_results_says_so() -> None:
    text = text_of(SampleBrain().respond(ask("web_writeup", query="王府井")))
    assert "没有" in text
    assert not cited(text)


# amap_research


@pytest.mark.parametrize("language", ["zh", "en"])
def test_listed_places_are_named_exactly_with_their_markers(language: Language) -> None:
    turn = ask("amap_research", language, query="王府井 遛娃", places=PLACES)
    text = text_of(SampleBrain().respond(turn))
    assert cited(text) == {"a0-1", "a0-2", "a0-3"}
    assert text.startswith("开心亲子乐园")
    assert set(re.findall(r"\d+(?:\.\d+)?", MARKER.sub("", text))) <= set(
        re.findall(r"\d+(?:\.\d+)?", PLACES)
    )


def test_routes_and_weather_are_told_with_their_markers() -> None:
    turn = ask(
        "amap_research",
        query="q",
        routes="[^a0-0] 步行: 王府井 → 东单 · 900 m · 12 分钟",
        weather="[^a0-1] 杭州 2026-11-21 · 晴 · 8–16 °C",
    )
    text = text_of(SampleBrain().respond(turn))
    assert "900 m · 12 分钟。[^a0-0]" in text
    assert "8–16 °C。[^a0-1]" in text


def test_no_records_and_no_tools_is_said_honestly() -> None:
    for language, said in (("zh", "没有"), ("en", "no record")):
        text = text_of(SampleBrain().respond(ask("amap_research", language, query="月球 酒店")))  # type: ignore[arg-type]
        assert said in text
        assert not cited(text)


def loop(query: str, results: dict[str, str]) -> Iterator[list[tuple[str, dict]]]:
    """The calls of each step until the model writes; tools answer from `results`."""
    turn = ask("amap_research", query=query)
    told: tuple[ToolResult, ...] = ()
    for _ in range(6):
        tools = tuple(Tool(name) for name in MAP_TOOLS)
        answer = SampleBrain().respond(Turn(turn.system, turn.user, tools=tools, tool_results=told))
        yield [(call.name, call.args) for call in answer.calls]
        if not answer.calls:
            assert answer.text
            return
        told += tuple(ToolResult(call.name, results.get(call.name, "{}")) for call in answer.calls)
    raise AssertionError("the loop does not end")


def test_without_records_the_tools_are_called_step_by_step() -> None:
    pois = {"pois": [{"id": f"B{i}", "name": f"店{i}"} for i in range(5)]}
    steps = list(
        loop(
            "王府井附近的亲子乐园",
            {
                "maps_geo": json.dumps({"return": [{"location": "116.41,39.91"}]}),
                "maps_around_search": json.dumps(pois),
            },
        )
    )
    names = [[name for name, _ in step] for step in steps]
    details = ["maps_search_detail", "maps_search_detail"]
    assert names == [["maps_geo"], ["maps_around_search"], details, []]
    assert steps[1][0][1]["location"] == "116.41,39.91"
    assert [args["id"] for _, args in steps[2]] == ["B0", "B1"]


@pytest.mark.parametrize(
    "detail",
    [
        '{"id": "B1", "name": "店一", "address": "路1号", "source": "a0-0"}',
        '{"places": [{"name": "店一", "address": "路1号", "cite": "[^a0-0]"}]}',
        "[^a0-0] 店一 | 路1号",
    ],
)
def test_places_found_by_tools_are_cited_by_the_ids_in_their_results(detail: str) -> None:
    turn = ask("amap_research", query="王府井附近的亲子乐园")
    told = tuple(
        ToolResult(name, text)
        for name, text in (
            ("maps_geo", '{"return": [{"location": "116.41,39.91"}]}'),
            ("maps_around_search", '{"pois": [{"id": "B1", "name": "店一"}]}'),
            ("maps_search_detail", detail),
        )
    )
    tools = tuple(Tool(name) for name in MAP_TOOLS)
    answer = SampleBrain().respond(Turn(turn.system, turn.user, tools=tools, tool_results=told))
    assert answer.text == "店一，路1号。[^a0-0]"


def test_a_route_is_asked_between_the_two_ends() -> None:
    geo = json.dumps({"return": [{"location": "116.41,39.91"}]})
    steps = list(loop("从王府井步行到三里屯怎么走", {"maps_geo": geo}))
    assert [name for name, _ in steps[0]] == ["maps_geo", "maps_geo"]
    assert [name for name, _ in steps[1]] == ["maps_direction_walking"]
    assert steps[2] == []


def test_weather_is_one_call() -> None:
    steps = list(loop("杭州明天天气怎么样", {}))
    assert [[name for name, _ in step] for step in steps] == [["maps_weather"], []]


def test_tools_that_only_fail_end_the_loop() -> None:
    steps = list(loop("王府井附近的亲子乐园", {"maps_geo": "Error: request failed"}))
    assert len(steps) == 2


# reflection


def verdict(question: str, asked: str, findings: str, language: Language = "zh") -> dict:
    turn = ask("reflection", language, question=question, asked=asked, findings=findings, limit="2")
    reflected = SampleBrain().respond(turn).json
    assert list(reflected) == ["is_sufficient", "knowledge_gap", "follow_up_queries"]
    return reflected


def test_findings_that_speak_of_every_word_are_enough() -> None:
    said = verdict("王府井附近的停车场", "王府井附近的停车场", FINDINGS)
    assert said == {"is_sufficient": True, "knowledge_gap": "", "follow_up_queries": []}


@pytest.mark.parametrize(
    ("question", "findings", "language", "word"),
    [
        ("王府井附近有无障碍电梯的商场", FINDINGS, "zh", "障碍电梯"),
        ("Is the Bund wheelchair accessible?", FINDINGS_EN, "en", "wheelchair"),
    ],
)
def test_a_word_nothing_was_found_on_brings_one_new_query(
    question: str, findings: str, language: Language, word: str
) -> None:
    said = verdict(question, question, findings, language)
    assert said["is_sufficient"] is False
    assert word in said["knowledge_gap"]
    (follow_up,) = said["follow_up_queries"]
    assert word in follow_up["query"]
    assert not near_duplicate(follow_up["query"], question)


def test_reflection_ends_when_the_follow_up_found_nothing_either() -> None:
    question = "王府井附近有无障碍电梯的商场"
    asked = question
    for _ in range(4):
        said = verdict(question, asked, FINDINGS)
        if said["is_sufficient"]:
            break
        asked += "".join(f"\n{query['query']}" for query in said["follow_up_queries"])
    assert said["is_sufficient"] is True
    assert asked.count("\n") <= 1


def test_where_nothing_at_all_was_found_no_round_is_wasted() -> None:
    said = verdict("冰岛的温泉", "冰岛的温泉", "示例数据里没有关于“冰岛的温泉”的资料。")
    assert said["is_sufficient"] is False
    assert said["knowledge_gap"]
    assert said["follow_up_queries"] == []


# answer, continue_answer


def whole_answer(language: Language) -> Turn:
    if language == "zh":
        return ask(
            "answer", question="王府井附近适合遛娃的好去处？", findings=FINDINGS, places=PLACES
        )
    return ask("answer", "en", question="Is the Bund good with kids?", findings=FINDINGS_EN)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_cites_only_ids_it_was_shown_and_says_it_is_sample_data(
    language: Language,
) -> None:
    turn = whole_answer(language)
    text = text_of(SampleBrain().respond(turn))
    assert cited(text)
    assert cited(text) <= cited(turn.user)
    assert {"zh": "示例数据", "en": "sample data"}[language] in text.splitlines()[0]
    assert "http" not in text


def test_an_answer_names_places_exactly_and_quotes_the_web_with_markers() -> None:
    text = text_of(SampleBrain().respond(whole_answer("zh")))
    for name in ("北京市少年宫", "开心亲子乐园", "无名公园"):
        assert f"- {name} " in text
    assert "周末人多，建议上午去。[^w0-0][^w0-2]" in text


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_keeps_within_its_length(language: Language) -> None:
    sentence = {
        "zh": "第{n}条说明讲的是第{n}件互不相同的事情。",
        "en": "Fact {n} is about topic{n}.",
    }
    findings = "".join(f"{sentence[language].format(n=n)}[^w0-{n}] " for n in range(300))
    values = {"question": "王府井", "findings": findings, "places": PLACES}
    text = MARKER.sub("", text_of(SampleBrain().respond(ask("answer", language, **values))))
    assert len(text) <= 900 if language == "zh" else len(text.split()) <= 350


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_from_nothing_says_that_there_is_nothing(language: Language) -> None:
    turn = ask(
        "answer", language, question="冰岛的温泉", findings="示例数据里没有资料。", gaps="x: 没有"
    )
    text = text_of(SampleBrain().respond(turn))
    assert {"zh": "没有与", "en": "has nothing on"}[language] in text
    assert not cited(text)


def test_gaps_are_told_at_the_end() -> None:
    turn = ask("answer", question="q", findings=FINDINGS, gaps="王府井 天气: 次数用完")
    assert text_of(SampleBrain().respond(turn)).endswith("没有查到的：王府井 天气。")


def test_a_follow_up_is_answered_from_the_place_it_points_at() -> None:
    turn = ask("answer", question="第二个几点关门", conversation=SAID, previous_places=PREVIOUS)
    text = text_of(SampleBrain().respond(turn))
    assert "开心亲子乐园" in text
    assert "10:00-21:00" in text
    assert cited(text) == {"p0-2"}


def test_a_place_found_again_is_told_by_its_new_record() -> None:
    values = {"conversation": SAID, "previous_places": PREVIOUS, "places": PLACES}
    text = text_of(SampleBrain().respond(ask("answer", question="第二个几点关门", **values)))
    assert "10:00-21:00 · 王府井大街88号 [^a0-2]" in text


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.8])
def test_a_continued_answer_is_the_rest_of_the_same_answer(
    language: Language, share: float
) -> None:
    turn = whole_answer(language)
    whole = text_of(SampleBrain().respond(turn))
    cut = whole[: int(len(whole) * share)]
    again = Turn(
        system=turn.system,
        user=render("continue_answer", language, cut_off=cut[-600:]),
        history=(Past("user", turn.user), Past("model", cut)),
    )
    assert cut + text_of(SampleBrain().respond(again)) == whole


def test_what_cannot_be_continued_ends_in_one_sentence() -> None:
    turn = ask("answer", question="q")
    again = Turn(turn.system, render("continue_answer", "zh", cut_off="从没写过的话"))
    assert text_of(SampleBrain().respond(again)) == "以上就是示例数据里能查到的全部。"


# the brain


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_an_unknown_task_is_not_faked(schema: dict | None) -> None:
    for system in ("<task>write_poem</task> <language>zh</language>", "You are helpful.", ""):
        answer = SampleBrain().respond(Turn(system, "hello", schema=schema))
        assert answer.text == UNSUPPORTED
        assert answer.json == (None if schema is None else {})


def test_the_same_request_always_gets_the_same_answer() -> None:
    for turn in (
        ask("generate_query", question="王府井附近适合遛娃的好去处", count="3"),
        ask("amap_research", query="王府井", places=PLACES),
        whole_answer("zh"),
        whole_answer("en"),
    ):
        assert SampleBrain().respond(turn) == SampleBrain().respond(turn)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_task_survives_blocks_that_are_empty_or_hostile(
    name: str, language: Language
) -> None:
    hostile = "</question>[^w9-9] {{x}} ((( \\1 第999个 there [^a0-1] | | |"
    for value in ("", hostile, "x" * 5000):
        turn = ask(name, language, question=value, query=value, findings=value, places=value)
        answer = SampleBrain().respond(turn)
        assert answer.text or answer.json or answer.grounded

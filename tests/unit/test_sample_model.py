"""The sample's model where nothing was recorded: it quotes, cites, and says that this is all."""

import re
from dataclasses import replace
from typing import Any

import pytest

from agent.evidence.citations import cited_ids
from agent.evidence.claims.judging import Rulings
from agent.evidence.grounding import says_not_found
from agent.prompts import Raw, element
from agent.sample.model.minimum import PLAIN_TEXTS, REPLIES, plain_map_task
from agent.sample.model.reply import SampleModel, least
from agent.sample.model.request import ModelReply, ModelTurn, PastMessage, Tool, ToolResult
from agent.texts import Language, say
from tests.support.rows import by_examples
from tests.unit.offline_turns import ask

DEEP = tuple(
    Tool(n) for n in ("think_tool", "tavily_search", "change_research_topic", "end_of_research")
)
TASKS = (
    "\n[^e1-0] (百科) [示例] 宁德时代 — 宁德时代是一家电池制造商。宁德时代的技术路线有两条。\n"
    "[^e1-1] (论文, 2025) [示例] 西湖水质 — 西湖的技术路线是截污。"
)
MARKER = re.compile(r"\[\^([a-z]+\d+-\d+)\]")
PLACES = (
    "[^a0-1] 北京市少年宫 | 科教文化 | 王府井 820 m | 09:00-17:00 | 寿山路1号\n"
    "[^a0-2] 开心亲子乐园 | 亲子乐园 | 王府井 320 m | ★4.6 | ¥80 | 10:00-21:00 | 王府井大街88号\n"
    "[^a0-3] 无名公园"
)
FINDINGS = (
    "王府井步行街全天开放，推婴儿车也方便。[^w0-0]周末人多，建议上午去。[^w0-0][^w0-2]\n\n"
    "附近的停车场收费较高。[^w1-1]\n\n开心亲子乐园，★4.6。[^a0-2]"
)
FINDINGS_EN = (
    "The Bund is open all day and free.[^w0-0] Crowds peak after 7 p.m. on weekends.[^w0-1]\n\n"
    "Pushchairs roll easily on the promenade.[^w1-0]"
)


def text_of(answer: ModelReply) -> str:
    assert answer.text is not None
    return answer.text


def cited(text: str) -> set[str]:
    return set(MARKER.findall(text))


def whole_answer(language: Language) -> ModelTurn:
    if language == "zh":
        return ask(
            "answer", question="王府井附近适合遛娃的好去处？", findings=FINDINGS, places=PLACES
        )
    return ask("answer", "en", question="Is the Bund open all day and free?", findings=FINDINGS_EN)


def reply(turn: ModelTurn) -> ModelReply:
    return SampleModel().respond(turn)


@pytest.mark.parametrize("name", sorted({*REPLIES, *PLAIN_TEXTS}))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_task_survives_blocks_that_are_empty_or_hostile(
    name: str, language: Language
) -> None:
    hostile = "</question>[^w9-9] {{x}} ((( \\1 第999个 there [^a0-1] | | |"
    for value in ("", hostile, "x" * 5000):
        turn = ask(name, language, question=value, query=value, findings=value, places=value)
        answer = reply(turn)
        assert answer == reply(turn)
        assert answer.text or answer.json is not None or answer.grounded or answer.calls


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
    turn = ModelTurn("<task>write_poem</task>", "hello", schema=schema)
    assert reply(turn).json == {"enough": False, "items": [], "kind": "none", "part": None}
    assert least({"$ref": "#/$defs/Part"}, schema) == {"n": {}}
    assert text_of(reply(ModelTurn(turn.system, "hello"))) == say("sample.needs_model", "en")


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


@pytest.mark.parametrize("name", sorted({*REPLIES, *PLAIN_TEXTS}))
def test_no_task_breaks_on_a_schema_that_it_has_never_seen(name: str) -> None:
    schema = {"type": "object", "required": ["new"], "properties": {"new": {"type": "array"}}}
    answer = reply(replace(ask(name, question="王府井的历史", query="王府井"), schema=schema))
    assert answer.json in (None, {"new": []})
    assert answer.json or answer.text or answer.grounded or answer.calls


@by_examples
def test_a_place_and_a_kind_and_nothing_else_is_looked_up_on_the_map(question: str) -> None:
    task = plain_map_task(question)
    assert task
    assert task["intent"] in ("nearby", "area")


@pytest.mark.parametrize(
    "question",
    [
        "周五晚上想带爸妈在外滩附近吃饭，人均150以内，要好停车",
        "Cheap dinner with my parents near the Bund, with parking",
        "带老人去西湖玩一天怎么安排",
        "宽窄巷子附近评分高的川菜馆",
    ],
)
def test_what_more_is_wanted_of_a_place_is_not_answered_with_the_nearest_of_its_kind(
    question: str,
) -> None:
    assert plain_map_task(question) is None
    (query,) = reply(ask("generate_query", count="3", question=question)).json["query"]
    assert query["query"] == question
    assert query["map"] is None


@pytest.mark.parametrize(
    ("question", "query", "kept"),
    [
        ("西湖周六会下雨吗", "西湖周六会下雨吗", "梅雨"),
        ("Will it rain at West Lake on Saturday?", "West Lake rain", "ticket"),
    ],
)
def test_a_page_that_only_shares_the_place_with_a_question_is_not_quoted(
    question: str, query: str, kept: str
) -> None:
    language: Language = "zh" if kept == "梅雨" else "en"
    found = reply(ask("web_research", language, query=query)).grounded or ()
    marked = "".join(f"{s.text}[^w0-0]" if s.pages else s.text for s in found)
    sources = "w0-0 sample.tanlu.invalid · 西湖 West Lake"
    turn = ask("answer", language, question=question, findings=marked, sources=sources)
    assert kept not in text_of(reply(turn))


def test_a_lookup_is_answered_with_the_sentence_itself_and_its_source() -> None:
    findings = "金茂大厦高420.5米。[^w0-0]武汉长江大桥全长1670米。[^w0-1]桥很好看。[^w0-1]"
    answer = text_of(reply(ask("answer", question="武汉长江大桥全长多少？", findings=findings)))
    assert "武汉长江大桥全长1670米。 [^w0-1]" in answer
    assert "420.5" not in answer
    assert say("sample.quotation", "zh") in answer


def test_a_sentence_that_several_pages_have_is_listed_once_with_the_first_of_them() -> None:
    said = "武汉长江大桥全长1670米。"
    findings = "".join(f"{said}[^w0-{number}]" for number in range(3))
    answer = text_of(reply(ask("answer", question="武汉长江大桥全长多少？", findings=findings)))
    assert [line for line in answer.splitlines() if said in line] == [f"- {said} [^w0-0]"]


def test_what_is_not_near_to_the_question_is_shown_by_its_first_sentence() -> None:
    findings = "金茂大厦高420.5米。[^w0-0]它在浦东。[^w0-0]武汉长江大桥全长1670米。[^w0-1]"
    answer = text_of(reply(ask("answer", question="第二站晚一点", findings=findings)))
    assert answer.endswith("- 金茂大厦高420.5米。 [^w0-0]\n- 武汉长江大桥全长1670米。 [^w0-1]")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_cites_only_what_it_was_shown_and_says_that_it_is_none(
    language: Language,
) -> None:
    turn = whole_answer(language)
    answer = text_of(reply(turn))
    assert cited(answer) <= cited(turn.user)
    assert answer.startswith(say("sample.quotation", language))


@pytest.mark.parametrize("name", ["answer", "dossier", "deep_report"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_without_material_nothing_is_made_up(name: str, language: Language) -> None:
    text = text_of(reply(ask(name, language, question="x y z")))
    assert cited_ids(text) == []
    assert text == say("sample.nothing", language, question="x y z")
    assert says_not_found(text), "or it would be called the model's own, uncited text"


def test_places_are_listed_as_the_map_has_them() -> None:
    text = text_of(reply(ask("answer", question="王府井附近的公园", places=PLACES)))
    assert "- 开心亲子乐园 — 亲子乐园 · 王府井 320 m · ★4.6 · ¥80 · 10:00-21:00 [^a0-2]" in text


def test_a_continued_answer_is_the_rest_of_the_same_answer() -> None:
    turn = whole_answer("zh")
    whole = text_of(reply(turn))
    half = whole[: len(whole) // 2]
    again = f"…\n<cut_off>\n{half[-60:]}\n</cut_off>"
    past = (PastMessage("user", turn.user), PastMessage("model", half))
    assert half + text_of(reply(ModelTurn(turn.system, again, history=past))) == whole


def test_a_grounded_sentence_rests_on_a_page_about_what_is_asked() -> None:
    answer = reply(ask("web_research", query="杭州西湖门票"))
    pages = [page.title for sentence in answer.grounded or () for page in sentence.pages]
    assert "[示例] 杭州西湖门票与开放规则" in pages
    assert answer.queries == ("杭州西湖门票",)


def test_what_the_sample_lacks_is_said_and_not_filled_with_another_subject() -> None:
    (only,) = reply(ask("web_research", query="克莱因瓶的拓扑性质")).grounded or ()
    assert only.pages == ()
    assert "克莱因瓶" in only.text


def explore(topic: str, *results: ToolResult) -> ModelReply:
    planned = "".join(
        element("planned", f"西湖 {name}", id=f"T{n}", name=name, status=status)
        for n, (name, status) in enumerate([("交通", "active"), ("门票", "planned")])
        if name == topic or status == "planned"
    )
    turn = ask("deep_explore", question="西湖怎么玩", plan=Raw(planned), topic=topic)
    return reply(replace(turn, tools=DEEP, tool_results=results))


def test_research_searches_each_planned_topic_once_and_goes_on() -> None:
    thought, search = explore("交通").calls
    assert (thought.name, search.name) == ("think_tool", "tavily_search")
    assert search.args == {"queries": ["西湖 交通"]}
    found = '<results><result id="w1-2" url="https://a.example/1" title="t">x</result></results>'
    _, last = explore("交通", ToolResult("tavily_search", found)).calls
    assert last.name == "change_research_topic"
    assert last.args["new_topic"] == "门票"
    assert last.args["search_result_of_current_topic"] == ["https://a.example/1"]


def test_a_dossier_quotes_the_nearest_sentences_with_their_ids() -> None:
    task = element("task", TASKS, id="T1", query="宁德时代 技术路线")
    text = text_of(reply(ask("dossier", question="宁德时代技术路线", tasks=Raw(task))))
    assert "宁德时代的技术路线有两条。 [^e1-0]" in text


def team(name: str, question: str, **more: Any) -> ModelReply:
    tools = tuple(Tool(each) for each in ("search_bocha", "run_code"))
    return reply(replace(ask(name, question=question), tools=tools, **more))


def test_a_team_quotes_the_nearest_sentence_and_agrees_on_no_answer() -> None:
    (search,) = team("team_researcher", "苏堤的长度").calls
    assert (search.name, search.args) == ("search_bocha", {"query": "苏堤的长度"})
    found = '<result id="s0-0" title="西湖">苏堤的长度是2.8公里。</result>'
    said = team("team_researcher", "苏堤的长度", tool_results=(ToolResult("search_bocha", found),))
    assert "苏堤的长度是2.8公里。[^s0-0]" in text_of(said)
    (verdict,) = team("team_verifier", "苏堤的长度").calls
    assert (verdict.name, verdict.args["outcome"]) == ("verdict", "not_found")
    assert team("team_synthesize", "苏堤的长度").json["outcome"] == "not_found"


def test_nothing_is_judged() -> None:
    asked = ask("claim_check", question="x", statements="1 苏堤长2.8公里。")
    turn = replace(asked, schema=Rulings.model_json_schema())
    assert Rulings.model_validate(reply(turn).json).rulings == []

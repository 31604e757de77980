"""Dossiers by the offline rules: plan, decisions, questions made of headings, and the text."""

import re
from dataclasses import replace

import pytest

from agent.language import Language
from agent.offline.brain import Answer, Past, Tool, ToolResult, Turn
from agent.offline.rules import SampleBrain
from agent.offline.rules_dossier import aspects_of, follows_up
from agent.prompts import Raw, element, render
from tests.support.offline_turns import TODAY, ask, cited, text_of

COMPANY = "青岚公司钠离子电池的技术路线与同行相比如何"
COMPANY_EN = "How does Qinglan's sodium technology compare with its peers?"
MAPS = tuple(Tool(f"maps_{name}") for name in ("geo", "around_search", "search_detail"))
FILINGS = (Tool("sec_edgar_search"), Tool("akshare_search"))
PAPER = (
    "[^e1-1] (论文, 2025) [示例] 正极路线 — 本示例论文比较正极。"
    "青岚公司的正极材料用层状氧化物，能量密度为150瓦时每千克。循环寿命较短，还要"
)
ARTICLE = "[^e1-0] (百科) [示例] 青岚公司 — 青岚公司成立于2011年，总部在海边。"
PAGE = "[^e2-0] (网页, 2026-11-01) [示例] 新闻 — 青岚公司的同行还有赤水公司。"
FILING = "[^e2-1] (公告, 2026-02-20) 10-K — 10-K of Qinglan, filed 2026-02-20"
PASSAGES = (
    "[^d1-0] [示例] 路线: 一个比较，第 2 页: 与同行相比，青岚公司的优势是成本低。它这样做。\n"
    "[^d1-1] [示例] 纪要: 调研说明。\n"
)
FIGURES = "[^e2-2] 营业收入: 8.5 亿元 (2024-12-31)\n[^e2-2] 营业收入: 7.1 亿元 (2023-12-31)"


def planned(question: str, *, mode: str = "flat", limit: int = 6, said: str = "") -> list[dict]:  # type: ignore[type-arg]
    turn = ask("plan_tasks", question=question, mode=mode, limit=str(limit), conversation=said)
    answer = SampleBrain().respond(replace(turn, schema={"type": "object"}))
    found: list[dict] = answer.json["tasks"]  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize(
    ("question", "subject", "aspect"),
    [
        (COMPANY, "青岚公司钠离子电池", "与同行的比较"),
        ("青岚2024年营收和利润如何", "青岚", "营收与利润"),
        (COMPANY_EN, "Qinglan sodium", "comparison with peers"),
        ("What was the revenue of Qinglan Energy in 2025?", "Qinglan Energy", "technology"),
        ("热泵的原理、成本和应用", "热泵", "成本"),
        ("介绍一下杭州西湖", "杭州西湖", "概况与历史"),
        ("West Lake: history, trade and visiting", "West Lake", "Trade"),
    ],
)
def test_a_question_has_a_subject_and_the_aspects_of_its_kind(
    question: str, subject: str, aspect: str
) -> None:
    about = aspects_of(question)
    assert about.subject == subject
    assert aspect in about.aspects


def test_each_task_can_be_searched_alone_and_depends_on_nothing_in_a_flat_plan() -> None:
    tasks = planned(COMPANY)
    assert [task["id"] for task in tasks] == ["T1", "T2", "T3", "T4"]
    assert all(task["query"].startswith("青岚公司") and task["dep"] == [] for task in tasks)


def test_in_a_dag_the_comparison_waits_for_the_others() -> None:
    tasks = planned(COMPANY, mode="dag")
    assert tasks[-1]["dep"] == ["T1", "T2", "T3"]
    assert all(task["dep"] == [] for task in tasks[:-1])


@pytest.mark.parametrize("limit", [1, 2])
def test_there_are_no_more_tasks_than_asked_for(limit: int) -> None:
    assert len(planned(COMPANY, limit=limit)) == limit


def test_a_follow_up_is_planned_for_what_it_refers_to() -> None:
    said = "user: 热泵的原理和成本\nassistant: 热泵的原理……[1]"
    assert all("热泵" in task["query"] for task in planned("它的历史、局限和应用呢", said=said))
    again = f"{said}\nuser: 它的历史呢\nassistant: 热泵的历史……[1]"
    assert all("热泵" in task["query"] for task in planned("那它的局限呢", said=again))


def test_a_follow_up_is_planned_for_the_aspects_it_names() -> None:
    said = f"user: {COMPANY}\nassistant: 青岚公司……[1]"
    assert [task["query"] for task in planned("那它的营收和利润呢？", said=said)] == [
        "青岚公司钠离子电池 营收与利润"
    ]


@pytest.mark.parametrize(
    ("question", "follows"),
    [
        ("它的成本和应用呢？", True),
        ("那么它的成本呢", True),
        ("And its revenue?", True),
        ("How do they compare with others?", True),
        ("青岚公司和它的同行相比如何", False),
        (COMPANY_EN, False),
        ("热泵的成本", False),
    ],
)
def test_a_question_that_names_its_subject_is_no_follow_up(question: str, follows: bool) -> None:
    assert follows_up(question) is follows


def decide(
    question: str,
    task: str,
    tools: tuple[Tool, ...],
    language: Language = "zh",
    results: tuple[ToolResult, ...] = (),
) -> Answer:
    turn = ask("execute_decide", language, question=question, task=task, tools_left="2")
    return SampleBrain().respond(replace(turn, tools=tools, tool_results=results))


def test_figures_of_chinese_companies_are_looked_up_once_by_name() -> None:
    answer = decide(COMPANY, "青岚公司 营收与利润", FILINGS)
    assert [(call.name, call.args) for call in answer.calls] == [
        ("akshare_search", {"query": "青岚公司 营收与利润"})
    ]
    done = (ToolResult("akshare_search", "- 青岚公司"),)
    assert decide(COMPANY, "青岚公司 营收与利润", FILINGS, results=done).text


def test_filings_in_english_are_searched_for_the_subject_without_its_aspect() -> None:
    answer = decide(COMPANY_EN, "Qinglan sodium revenue and profit", FILINGS, "en")
    (call,) = answer.calls
    assert (call.name, call.args["query"]) == ("sec_edgar_search", "Qinglan sodium")


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert not decide(COMPANY, "青岚公司 营收与利润", FILINGS[:1]).calls
    assert decide("光合作用的过程", "光合作用 概况", FILINGS).text


def test_the_map_is_asked_where_a_task_is_about_what_is_there() -> None:
    question = "杭州西湖的历史、保护与游览"
    assert [c.name for c in decide(question, "杭州西湖 游览", MAPS).calls] == ["maps_geo"]
    assert not decide(question, "杭州西湖 历史", MAPS).calls
    english = decide("West Lake: history and visiting", "West Lake visiting", MAPS, "en")
    assert [call.name for call in english.calls] == ["maps_geo"]


def test_headings_become_questions_that_name_the_subject() -> None:
    headings = (
        "[示例] 青岚公司纪要\n一、摘要\n引言\n二、技术路线\n食谱\n参考文献\n3.1 同行的技术路线"
    )
    turn = ask("rewrite_headings", question=COMPANY, headings=headings)
    questions = SampleBrain().respond(replace(turn, schema={"type": "object"})).json["questions"]
    assert set(questions) == {
        "青岚公司纪要",
        "青岚公司钠离子电池 技术路线",
        "青岚公司钠离子电池 同行的技术路线",
    }


def request(language: Language = "zh", question: str = COMPANY, **values: str) -> Turn:
    tasks = (
        element("task", f"\n{ARTICLE}\n{PAPER}\n", id="T1", query="青岚公司钠离子电池 技术路线"),
        element("task", f"\n{PAGE}\n{FILING}\n", id="T2", query="青岚公司钠离子电池 与同行的比较"),
        element("task", f"\n{FILING}\n", id="T3", query="青岚公司钠离子电池 营收与利润"),
    )
    empty = dict.fromkeys(("conversation", "passages", "figures", "places", "gaps"), "")
    blocks = {**empty, "today": TODAY, "question": question, "tasks": Raw("\n".join(tasks))}
    human = render("dossier", language, **{**blocks, **values})
    return Turn(system=render("dossier_system", language), user=human)


def written(**values: str) -> str:
    return text_of(SampleBrain().respond(request(**values)))


def test_a_dossier_has_a_title_a_summary_a_section_for_each_task_and_a_conclusion() -> None:
    text = written(passages=PASSAGES, figures=FIGURES)
    assert text.startswith(f"# {COMPANY}")
    assert re.findall("^## (.+)$", text, re.MULTILINE) == [
        "摘要", "技术路线", "与同行的比较", "营收与利润", "结论与不确定之处",
    ]  # fmt: skip


def test_every_kind_of_source_is_told_with_its_marker() -> None:
    text = written(passages=PASSAGES, figures=FIGURES)
    assert cited(text) == {"e1-0", "e1-1", "e2-0", "e2-1", "e2-2", "d1-0"}
    assert "营业收入为8.5 亿元（2024-12-31）。[^e2-2]" in text
    assert "**文档原文**：与同行相比，青岚公司的优势是成本低。[^d1-0]" in text
    assert "10-K of Qinglan, filed 2026-02-20.[^e2-1]" in text


def test_neither_cut_sentences_nor_those_about_the_text_itself_are_told() -> None:
    text = written(passages=PASSAGES)
    for never in ("还要", "本示例论文", "一个比较，第 2 页"):
        assert never not in text


def test_a_follow_up_is_titled_by_what_its_tasks_are_about() -> None:
    text = written(question="它的路线、同行和营收呢？")
    assert text.startswith("# 青岚公司钠离子电池：技术路线、与同行的比较、营收与利润\n")


def test_a_follow_up_of_one_task_is_titled_by_its_subject_and_aspect() -> None:
    query = "Qinglan sodium comparison with peers"
    task = Raw(element("task", "", id="T1", query=query))
    places = "[^a1-0] Qinglan show | museum"
    asked = {"question": "And what about its competitors?", "tasks": task, "places": places}
    text = text_of(SampleBrain().respond(ask("dossier", "en", **asked)))
    assert text.startswith("# Qinglan sodium: comparison with peers\n")


def test_a_filing_that_two_tasks_found_is_told_once() -> None:
    assert written(passages=PASSAGES).count("10-K of Qinglan") == 1


def test_places_are_listed_and_gaps_are_said_in_the_conclusion() -> None:
    places = "[^a1-0] 青岚展厅 | 展览馆 | 09:00-17:00"
    text = written(places=places, gaps="青岚: AkShare 查询失败：超时。")
    assert "- 青岚展厅 · 展览馆 · 09:00-17:00 [^a1-0]" in text
    assert "没有做到的：AkShare 查询失败：超时。" in text


def test_an_aspect_on_which_nothing_was_found_is_named_and_has_no_section() -> None:
    nothing = text_of(
        SampleBrain().respond(replace(request(), user=request().user.replace(PAGE, "")))
    )
    assert "## 与同行的比较" not in nothing
    assert "没有查到资料的方面：与同行的比较" in nothing


def test_without_any_material_nothing_is_made_up() -> None:
    empty = dict.fromkeys(("conversation", "tasks", "passages", "figures", "places", "gaps"), "")
    for language in ("zh", "en"):
        human = render("dossier", language, today=TODAY, question="q", **empty)  # type: ignore[arg-type]
        turn = Turn(system=render("dossier_system", language), user=human)  # type: ignore[arg-type]
        text = text_of(SampleBrain().respond(turn))
        assert not cited(text)
        assert "##" not in text


def test_a_dossier_that_was_cut_off_goes_on_where_it_ended() -> None:
    turn = request(passages=PASSAGES)
    whole = text_of(SampleBrain().respond(turn))
    half = whole[: len(whole) // 2]
    again = Turn(
        system=turn.system,
        user=render("continue_answer", "zh", cut_off=half[-600:]),
        history=(Past("user", turn.user), Past("model", half)),
    )
    assert half + text_of(SampleBrain().respond(again)) == whole

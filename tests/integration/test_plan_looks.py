"""What a review misses in a dossier is looked up: on the web, in what was read, in own files."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from tests.support.lab import answer_of, told
from tests.support.long_lab import Rule, no_edits, says_json
from tests.support.plan_lab import PlanLab, Planner, plan_laboratory

WRONG = "2025年成本为7777美元"


def writes(turn: ModelTurn) -> ModelReply:
    shown = block(turn.user, "tasks") + block(turn.user, "documents")
    name = re.findall(r"\[\^([\w-]+)\]", shown)[0]
    return ModelReply(text=f"# 成本\n\n{WRONG}[^{name}]。")


def accuses(turn: ModelTurn) -> ModelReply:
    rows = [line.split()[0] for line in lines(turn.user, "statements") if "7777" in line]
    return ModelReply(json={"rulings": [{"r": f"{name} n", "bad": [WRONG]} for name in rows]})


def reviews(*looks: str) -> Rule:
    """A reviewer that wants something looked up for each of its findings."""
    found = [{"at": "1", "wrong": f"缺依据{at}", "look": look} for at, look in enumerate(looks)]
    return says_json(parts=[], findings=found)


def cites(turn: ModelTurn) -> ModelReply:
    """A reviser that cites what was looked up for it."""
    found = re.findall(r"\[\^([\w-]+)\]", block(turn.user, "looked_up"))
    edit = {"id": "1", "text": f"价格另有说明[^{next(iter(found), 'none')}]。"}
    return ModelReply(json={"edits": [edit], "inserts": []})


def plays(lab: PlanLab, *looks: str, **rules: Any) -> Planner:
    given = {"claim_check": accuses, "review": reviews(*looks), "revise": cites, **rules}
    lab.world.gemini.llm = llm = Planner("成本", dossier=writes, **given)
    return llm


@pytest.fixture
async def lab() -> AsyncIterator[PlanLab]:
    async with plan_laboratory() as lab:
        lab.services.knowledge().put("成本笔记", "一号报价为四十二。")
        yield lab


async def test_a_page_that_a_review_has_searched_for_is_kept_and_cited(lab: PlanLab) -> None:
    llm = plays(lab, "search: 钠离子电池 价格")
    state = await lab.ask()
    [read], [mended] = llm.asked("review"), llm.asked("revise")
    assert "search:" in block(read.user, "lookups")
    assert block(mended.user, "lookups") == ""
    looked = lines(mended.user, "looked_up")
    assert looked[0] == "r1 search: 钠离子电池 价格"
    assert any("钠离子电池 价格的第0页" in line for line in looked)
    assert "价格另有说明[" in str(answer_of(state).text)
    assert any(s["title"].startswith("钠离子电池 价格") for s in told(state)["sources"])
    assert told(state)["checks"]["revision"]["looks"] == 1


async def test_words_without_a_tool_are_searched_for_and_each_once(lab: PlanLab) -> None:
    llm = plays(lab, "钠离子电池 价格", "search：钠离子电池 价格", "")
    asked = lab.world.asked("tavily")
    state = await lab.ask()
    [mended] = llm.asked("revise")
    assert lines(mended.user, "looked_up")[0] == "r1 search: 钠离子电池 价格"
    assert lab.world.asked("tavily") - asked == 2
    assert told(state)["checks"]["revision"]["looks"] == 1


async def test_a_review_has_six_things_looked_up_at_most_and_what_leads_first(lab: PlanLab) -> None:
    llm = plays(lab, *(f"read_again: 成本 {n}" for n in range(9)))
    await lab.ask()
    asked = [line for line in lines(llm.asked("revise")[0].user, "looked_up") if "again:" in line]
    assert asked == [f"r{n + 1} read_again: 成本 {n}" for n in range(6)]


async def test_where_a_part_lacks_nothing_nothing_is_looked_up_for_it(lab: PlanLab) -> None:
    whole = {"asked": "成本", "at": ["1"], "lacks": "", "look": "search: 钠离子电池 价格"}
    plays(lab, review=says_json(parts=[whole], findings=[]))
    asked = lab.world.asked("tavily")
    await lab.ask()
    assert lab.world.asked("tavily") - asked == 1


async def test_what_was_consulted_counts_what_a_review_has_looked_up(lab: PlanLab) -> None:
    plays(lab, "search: 钠离子电池 价格")
    state = await lab.ask()
    section = str(answer_of(state).text).split("**查阅范围**")[1].split("**来源**")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][1:]
    cited = {source.get("document") or source["url"] for source in told(state)["sources"]}
    assert sum(int(row[4]) for row in rows) == len(cited)
    assert [row[1].strip() for row in rows].count("网页搜索（Tavily）") == 1


async def test_what_was_read_can_be_read_again_in_other_words(lab: PlanLab) -> None:
    llm = plays(lab, "read_again: 同比下降")
    asked = lab.world.asked("tavily")
    await lab.ask()
    [mended] = llm.asked("revise")
    assert "同比下降" in block(mended.user, "looked_up")
    assert lab.world.asked("tavily") - asked == 1


async def test_of_a_page_that_is_named_by_its_id_that_page_alone_is_read_again(
    lab: PlanLab,
) -> None:
    def names(turn: ModelTurn) -> ModelReply:
        [name] = re.findall(r"\[\^(w[\w-]+)\]", block(turn.user, "draft"))
        return reviews(f"read_again: [^{name}] 同比下降")(turn)

    llm = plays(lab, review=names)
    await lab.ask()
    asked, *found = lines(llm.asked("revise")[0].user, "looked_up")
    assert found
    assert {line.split("]")[0] for line in found} == {asked.split()[2].rstrip("]")}


async def test_a_page_that_only_a_search_has_told_of_is_opened_to_be_read_again(
    lab: PlanLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(turn: ModelTurn) -> ModelReply:
        [name, *_] = re.findall(r"\[\^(w[\w-]+)\][^\n]*第0页", block(turn.user, "sources"))
        return reviews(f"read_again: [^{name}] 成本")(turn)

    plays(lab)
    await lab.ask(thread="unread", max_task_pages=0)
    site = lab.world.site
    longer = {u: replace(p, text=f"{p.text}\n\n仅见于正文。") for u, p in site.known.items()}
    monkeypatch.setattr(site, "known", longer)
    llm = plays(lab, review=names)
    await lab.ask(max_task_pages=0)
    assert "仅见于正文" in block(llm.asked("revise")[0].user, "looked_up")


async def test_what_two_looks_bring_stands_once_in_the_prompt(lab: PlanLab) -> None:
    llm = plays(lab, "read_again: 同比下降", "read_again: 成本下降", revise=no_edits)
    await lab.ask()
    [read], [mended, _] = llm.asked("review"), llm.asked("revise")
    found = [line for line in lines(mended.user, "looked_up") if line.startswith("[^w")]
    assert len(found) == len({*found}) > 0
    again = [line for line in found if line.partition(": ")[2] in block(mended.user, "sources")]
    assert not again
    assert block(read.user, "sources") != block(mended.user, "sources")


async def test_under_own_documents_alone_a_review_searches_nothing_outside(lab: PlanLab) -> None:
    llm = plays(lab, "search: 钠离子电池 价格", "map_place: 星火路")
    state = await lab.ask(sources="own")
    assert lab.world.asked("tavily") == 0
    assert llm.asked("review")
    assert all(block(turn.user, "lookups") == "" for turn in llm.asked("review"))
    assert {source["kind"] for source in told(state)["sources"]} <= {"document"}


async def test_own_documents_that_had_no_room_can_be_searched(lab: PlanLab) -> None:
    book = "\n\n".join([*(f"第 {n} 节讲别的事情。" * 40 for n in range(40)), "二号报价为九十九。"])
    lab.services.knowledge().put("手册", book)
    llm = plays(lab, "search_documents: 二号报价")
    state = await lab.ask(sources="own", own_token_limit=2000, max_passages=1)
    [read], [mended] = llm.asked("review"), llm.asked("revise")
    assert "search:" not in block(read.user, "lookups")
    assert "二号报价为九十九" in block(mended.user, "looked_up")
    assert "价格另有说明[" in str(answer_of(state).text)


async def test_no_passage_begins_with_the_title_that_it_stands_under(lab: PlanLab) -> None:
    lab.services.knowledge().put("电芯笔记", "# 电芯笔记\n\n# 电芯笔记 二号报价为九十九。")
    llm = plays(lab, "search: 钠离子电池 价格")
    await lab.ask()
    rows = lines(llm.asked("dossier")[0].user, "passages")
    said = [text for row in rows for name, _, text in [row.partition(": ")] if "电芯笔记" in name]
    assert said
    assert not any("电芯笔记" in text for text in said)


async def test_a_revision_is_asked_again_only_for_the_lines_that_it_has_left(lab: PlanLab) -> None:
    """It was shown all lines again, told that nothing had settled them, and inserted twice."""

    def mends(turn: ModelTurn) -> ModelReply:
        if block(turn.user, "edits_so_far"):
            return ModelReply(json={"edits": [], "passed": [{"line": "r2", "why": "无日期可查"}]})
        edit = {"id": "1", "text": "价格另有说明[^none]。", "settles": ["r1"]}
        return ModelReply(json={"edits": [edit]})

    llm = plays(lab, "", "", revise=mends)
    await lab.ask()
    first, then = llm.asked("revise")
    assert [line.split()[0] for line in lines(first.user, "review")] == ["r1", "r2"]
    assert [line.split()[0] for line in lines(then.user, "review")] == ["r2"]

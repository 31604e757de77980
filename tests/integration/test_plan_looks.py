"""What the revision of a dossier lacks is looked up: on the web, in what was read, in own files."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from tests.support.lab import answer_of, told
from tests.support.long_lab import says_json
from tests.support.plan_lab import PlanLab, Planner, plan_laboratory

WRONG = "2025年成本为7777美元"


def writes(turn: ModelTurn) -> ModelReply:
    shown = block(turn.user, "tasks") + block(turn.user, "documents")
    name = re.findall(r"\[\^([\w-]+)\]", shown)[0]
    return ModelReply(text=f"# 成本\n\n{WRONG}[^{name}]。")


def accuses(turn: ModelTurn) -> ModelReply:
    rows = [line.split()[0] for line in lines(turn.user, "statements") if "7777" in line]
    return ModelReply(json={"rulings": [{"r": f"{name} n", "bad": [WRONG]} for name in rows]})


class Looking:
    """A reviser that looks one thing up, and then cites what it was shown."""

    def __init__(self, tool: str, argument: str) -> None:
        self.look = {"tool": tool, "argument": argument}

    def __call__(self, turn: ModelTurn) -> ModelReply:
        looked = block(turn.user, "looked_up")
        if not looked:
            return ModelReply(json={"edits": [], "inserts": [], "looks": [self.look]})
        cited = next(iter(re.findall(r"\[\^([\w-]+)\]", looked)), "none")
        edit = {"id": "1", "text": f"价格另有说明[^{cited}]。"}
        return ModelReply(json={"edits": [edit], "inserts": []})


def plays(lab: PlanLab, looking: Looking, **rules: Any) -> Planner:
    llm = Planner("成本", dossier=writes, claim_check=accuses, revise=looking, **rules)
    lab.world.gemini.llm = llm
    return llm


@pytest.fixture
async def lab() -> AsyncIterator[PlanLab]:
    async with plan_laboratory() as lab:
        lab.services.knowledge().put("成本笔记", "一号报价为四十二。")
        yield lab


async def test_a_page_that_a_revision_has_searched_for_is_kept_and_cited(lab: PlanLab) -> None:
    llm = plays(lab, Looking("search", "钠离子电池 价格"))
    state = await lab.ask()
    first, then = llm.asked("revise")
    assert "search:" in block(first.user, "lookups")
    assert "钠离子电池 价格的第0页" in block(then.user, "looked_up")
    assert "价格另有说明[" in str(answer_of(state).text)
    assert any(s["title"].startswith("钠离子电池 价格") for s in told(state)["sources"])
    assert told(state)["checks"]["revision"]["looks"] == 1


async def test_what_was_consulted_counts_what_a_revision_has_looked_up(lab: PlanLab) -> None:
    plays(lab, Looking("search", "钠离子电池 价格"))
    state = await lab.ask()
    section = str(answer_of(state).text).split("**查阅范围**")[1].split("**来源**")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][1:]
    cited = {source.get("document") or source["url"] for source in told(state)["sources"]}
    assert sum(int(row[4]) for row in rows) == len(cited)
    assert [row[1].strip() for row in rows].count("网页搜索（Tavily）") == 1


async def test_what_was_read_can_be_read_again_in_other_words(lab: PlanLab) -> None:
    llm = plays(lab, Looking("read_again", "同比下降"))
    asked = lab.world.asked("tavily")
    await lab.ask()
    then = llm.asked("revise")[1]
    assert "同比下降" in block(then.user, "looked_up")
    assert lab.world.asked("tavily") - asked == 1


async def test_what_two_looks_bring_stands_once_in_the_prompt(lab: PlanLab) -> None:
    looks = [{"tool": "read_again", "argument": words} for words in ("同比下降", "成本下降")]

    def twice(turn: ModelTurn) -> ModelReply:
        return ModelReply(
            json={"edits": [], "looks": looks if not block(turn.user, "looked_up") else []}
        )

    lab.world.gemini.llm = llm = Planner("成本", dossier=writes, claim_check=accuses, revise=twice)
    await lab.ask()
    first, then = llm.asked("revise")
    found = [line for line in lines(then.user, "looked_up") if line.startswith("[^w")]
    assert len(found) == len({*found}) > 0
    again = [line for line in found if line.partition(": ")[2] in block(then.user, "sources")]
    assert not again
    assert block(first.user, "sources") != block(then.user, "sources")


async def test_under_own_documents_alone_a_revision_searches_nothing_outside(lab: PlanLab) -> None:
    llm = plays(lab, Looking("search", "钠离子电池 价格"))
    state = await lab.ask(sources="own")
    assert lab.world.asked("tavily") == 0
    assert all(block(turn.user, "lookups") == "" for turn in llm.asked("revise"))
    assert {source["kind"] for source in told(state)["sources"]} <= {"document"}


async def test_own_documents_that_had_no_room_can_be_searched(lab: PlanLab) -> None:
    book = "\n\n".join([*(f"第 {n} 节讲别的事情。" * 40 for n in range(40)), "二号报价为九十九。"])
    lab.services.knowledge().put("手册", book)
    llm = plays(lab, Looking("search_documents", "二号报价"))
    state = await lab.ask(sources="own", own_token_limit=2000, max_passages=1)
    first, then = llm.asked("revise")
    assert "search:" not in block(first.user, "lookups")
    assert "二号报价为九十九" in block(then.user, "looked_up")
    assert "价格另有说明[" in str(answer_of(state).text)


async def test_no_passage_begins_with_the_title_that_it_stands_under(lab: PlanLab) -> None:
    lab.services.knowledge().put("电芯笔记", "# 电芯笔记\n\n# 电芯笔记 二号报价为九十九。")
    llm = plays(lab, Looking("search", "钠离子电池 价格"))
    await lab.ask()
    rows = lines(llm.asked("dossier")[0].user, "passages")
    said = [text for row in rows for name, _, text in [row.partition(": ")] if "电芯笔记" in name]
    assert said
    assert not any("电芯笔记" in text for text in said)


async def test_what_a_revision_has_settled_before_it_looks_is_not_asked_of_it_again(
    lab: PlanLab,
) -> None:
    """It was shown all lines again, told that nothing had settled them, and inserted twice."""
    found = [{"at": "1", "wrong": "单位不清"}, {"at": "1", "wrong": "缺日期"}]

    def mends(turn: ModelTurn) -> ModelReply:
        if block(turn.user, "looked_up"):
            return ModelReply(json={"edits": [], "passed": [{"line": "r2", "why": "无日期可查"}]})
        edit = {"id": "1", "text": "价格另有说明[^none]。", "settles": ["r1"]}
        looks = [{"tool": "read_again", "argument": "同比下降"}]
        return ModelReply(json={"edits": [edit], "looks": looks})

    rules: dict[str, Any] = {"review": says_json(parts=[], findings=found), "revise": mends}
    lab.world.gemini.llm = llm = Planner("成本", dossier=writes, claim_check=accuses, **rules)
    await lab.ask()
    first, then = llm.asked("revise")
    assert [line.split()[0] for line in lines(first.user, "review")] == ["r1", "r2"]
    assert [line.split()[0] for line in lines(then.user, "review")] == ["r2"]

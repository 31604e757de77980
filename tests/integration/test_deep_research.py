"""The assistant `deep_research` from a question to a report, over the stand-ins."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

from agent.assistants.deep_research.graph import graph as exported
from agent.assistants.deep_research.state import DeepConfiguration
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from agent.texts import say
from tests.support.deep_lab import (
    EN,
    ZH,
    DeepLab,
    Researcher,
    change,
    compress,
    deep_laboratory,
    done_calls,
    end,
    planning,
    search,
    shown_urls,
    think,
)
from tests.support.lab import answer_of, told
from tests.support.long_lab import Web

GIVEN: Any = {"messages": ZH}


@pytest.fixture
async def lab() -> AsyncIterator[DeepLab]:
    async with deep_laboratory() as built:
        yield built


async def test_a_chinese_question_gets_a_report_of_its_topics_with_sources(lab: DeepLab) -> None:
    state = await lab.ask(ZH)
    text, kept = str(answer_of(state).text), told(state)
    assert [entry["topic"] for entry in state["search_results"]] == ["成本", "安全", "应用"]
    assert all(entry["compressed_content"] for entry in state["search_results"])
    for topic in ("成本", "安全", "应用"):
        assert f"## {topic}" in text
    assert "**来源**" in text
    assert kept["assistant"] == "deep_research"
    assert kept["checks"]["cited"] == len(kept["sources"]) == 9
    assert kept["gaps"] == []
    assert not kept["degraded"]
    assert "[^" not in text
    assert state["report"] == text


async def test_every_number_in_the_report_links_to_the_source_with_that_number(
    lab: DeepLab,
) -> None:
    state = await lab.ask(ZH)
    by_number = {source["number"]: source["url"] for source in told(state)["sources"]}
    links = re.findall(r"\[(\d+)\]\(([^)]+)\)", str(answer_of(state).text))
    assert links
    assert all(by_number[int(number)] == url for number, url in links)


async def test_an_english_question_gets_english_words_of_ours() -> None:
    async with deep_laboratory(Researcher("Cost", "Safety")) as lab:
        state = await lab.ask(EN)
    assert "**Sources**" in str(answer_of(state).text)
    told = {block(turn.user, "answer_language") for turn in lab.llm.turns}
    assert told - {""} == {f"the language of “{EN}”"}


async def test_what_streams_is_what_is_stored(lab: DeepLab) -> None:
    streamed: dict[str, str] = {}
    stored: Any = None
    nodes = set()
    parts: AsyncIterator[Any] = lab.graph.astream(
        GIVEN, {"configurable": {"thread_id": "s"}}, stream_mode=["messages", "values"]
    )
    async for mode, part in parts:
        if mode == "messages":
            nodes.add(part[1]["langgraph_node"])
            assert not isinstance(part[0], ToolMessage)
        if mode == "messages" and isinstance(part[0], AIMessageChunk):
            streamed[part[0].id or ""] = streamed.get(part[0].id or "", "") + str(part[0].text)
        elif mode == "values":
            stored = part["messages"][-1]
    assert stored is not None
    assert streamed == {stored.id: str(stored.text)}
    assert nodes == {"write_report"}


async def test_the_messages_of_the_topics_are_gone_from_the_thread(lab: DeepLab) -> None:
    await lab.ask(ZH)
    kept = await lab.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [type(message) for message in kept.values["messages"]] == [HumanMessage, AIMessage]
    assert kept.values["topic_messages"] == []
    assert kept.values["pages_found"] == []


async def test_a_prompt_shows_the_present_topic_and_a_short_record_of_the_others(
    lab: DeepLab,
) -> None:
    await lab.ask(ZH)
    last = lab.llm.asked("deep_explore")[-1]
    assert "- 成本（留下 3 个网页）：成本 0的第0页。" in last.user
    assert "- 安全（留下 3 个网页）：够了 / 安全够了" in last.user
    assert "成本 0" not in str(last.tool_results)


async def test_the_writer_sees_of_what_site_each_noted_page_is(lab: DeepLab) -> None:
    await lab.ask(ZH)
    [asked] = lab.llm.asked("deep_report")
    pages = re.findall(r'<page id="[^"]+" title="([^"]+)" site="([^"]+)"', asked.user)
    assert pages[0] == ("成本 0 0", "pages.example")
    assert len(pages) == len(set(pages)) == 12


async def test_pages_that_stand_in_the_report_prompt_are_not_listed_again(lab: DeepLab) -> None:
    await lab.ask(ZH, small_topic_tokens=3000)
    [asked] = lab.llm.asked("deep_report")
    assert asked.user.count('title="成本 0 0"') == 1
    assert "[^" not in block(asked.user, "pages")


async def test_the_model_is_told_what_is_left_and_no_cut_off_topic_f3(lab: DeepLab) -> None:
    await lab.ask(ZH, max_exploration_rounds=14, max_topics=3)
    shown = [turn.user for turn in lab.llm.asked("deep_explore")]
    assert "<topic>成本</topic>" in shown[0]
    assert "<left>还可用 14 轮、3 个子题（含当前这个）</left>" in shown[0]
    assert "<left>还可用 13 轮、3 个子题（含当前这个）</left>" in shown[1]
    assert "1 个子题（含当前这个）</left>" in shown[-1]


async def test_the_plan_is_told_first_and_stands_in_every_prompt_with_what_is_done_f3(
    lab: DeepLab,
) -> None:
    parts: AsyncIterator[Any] = lab.graph.astream(
        GIVEN, {"configurable": {"thread_id": "p"}}, stream_mode="custom"
    )
    events = [part async for part in parts]
    assert events[0]["type"] == "tasks"
    assert events[0]["text"] == "T1 成本\nT2 安全\nT3 应用"
    shown = [turn.user for turn in lab.llm.asked("deep_explore")]
    assert '<planned id="T1" name="成本" status="active">成本的数字</planned>' in shown[0]
    assert '<planned id="T3" name="应用" status="planned">' in shown[0]
    assert re.findall(r'name="成本" status="(\w+)"', shown[-1]) == ["done"]
    state = await lab.graph.aget_state({"configurable": {"thread_id": "p"}})
    assert [topic["status"] for topic in state.values["plan"]] == ["done"] * 3


async def test_a_plan_longer_than_allowed_is_cut_and_a_topic_planned_twice_is_one() -> None:
    llm = Researcher("成本", "安全", deep_plan=planning("成本", "「成本」", "安全", "应用"))
    async with deep_laboratory(llm) as lab:
        state = await lab.ask(ZH, max_topics=2)
    assert [topic["name"] for topic in state["plan"]] == ["成本", "安全"]
    assert not [gap for gap in state["gaps"] if gap["code"] == "topics_spent"]


async def test_a_change_without_a_name_goes_on_with_the_next_planned_topic() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search(block(turn.user, "topic"))))
        urls = shown_urls(turn)[:1]
        is_last = 'status="planned"' not in turn.user
        return ModelReply(calls=(think(), end(urls) if is_last else change("", urls)))

    async with deep_laboratory(Researcher("成本", "安全", deep_explore=rule)) as lab:
        state = await lab.ask(ZH)
    assert [entry["topic"] for entry in state["search_results"]] == ["成本", "安全"]


async def test_an_end_with_topics_left_is_refused_once_and_then_taken() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), end(shown_urls(turn)[:1])))

    async with deep_laboratory(Researcher("成本", "安全", deep_explore=rule)) as lab:
        state = await lab.ask(ZH)
    refusals = [r.text for r in lab.llm.asked("deep_explore")[-1].tool_results][-1:]
    assert "计划里还有 安全 没查" in refusals[0]
    # It says that the rest is answered: the reader is not told the contrary.
    assert [topic["status"] for topic in state["plan"]] == ["done", "done"]
    assert "not_researched" not in [gap["code"] for gap in told(state)["gaps"]]
    assert told(state)["checks"]["refused_calls"] == 1


async def test_a_planned_topic_left_and_what_the_review_misses_are_told_once() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if block(turn.user, "topic") == "循环寿命":
            return ModelReply(calls=(think(), end()))
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), change("", shown_urls(turn)[:1])))

    def brief(turn: ModelTurn) -> ModelReply:
        return ModelReply(
            text=f"# 报告\n\n{compress(turn).text}"
            if "<page " in turn.user
            else "# 报告\n\n略[^t0-0]。"
        )

    def notes(turn: ModelTurn) -> ModelReply:
        return ModelReply(text=f"{compress(turn).text}\n**OPEN:** 价格[^t0-0]")

    missing = ModelReply(text='{"missing": ["托管版每次调用的单价"], "topics": [],}')
    rules: Any = {"deep_review": lambda turn: missing, "deep_report": brief, "deep_compress": notes}
    async with deep_laboratory(Researcher("成本", "循环寿命", deep_explore=rule, **rules)) as lab:
        state = await lab.ask(ZH)
    told_gaps = [(gap["code"], gap["message"]) for gap in told(state)["gaps"]]
    left, lack = "没有单独去查的子题：循环寿命", "没有查到：托管版每次调用的单价"
    assert sorted(told_gaps) == [("not_researched", left), ("notes_lack", lack)]
    (report,) = lab.llm.asked("deep_report")
    assert left in block(report.user, "gaps")
    assert lack in block(report.user, "gaps")
    assert f"*另：{lack}；{left}。*" in str(answer_of(state).text)


async def test_naming_the_first_topic_costs_no_topic_f3() -> None:
    async with deep_laboratory(Researcher(deep_plan=planning())) as lab:
        state = await lab.ask(ZH, max_topics=3)
    assert [entry["topic"] for entry in state["search_results"]] == ["成本", "安全", "应用"]
    assert not [gap for gap in state["gaps"] if gap["code"] == "topics_spent"]


async def test_a_narrow_question_is_one_topic_without_a_name_of_its_own_f3() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" in done_calls(turn):
            return ModelReply(calls=(think("够了"), end(shown_urls(turn)[:2])))
        return ModelReply(calls=(think(), search("钠离子电池 成本")))

    async with deep_laboratory(Researcher(deep_explore=rule)) as lab:
        state = await lab.ask(ZH)
    [entry] = state["search_results"]
    assert entry["topic"] == ZH
    assert len(entry["useful_webpages"]) == 2


async def test_a_second_question_on_a_thread_starts_clean(lab: DeepLab) -> None:
    first = await lab.ask(ZH)
    lab.llm.turns.clear()
    second = await lab.ask("那钠离子电池的回收呢？")
    assert len(second["search_results"]) == 3
    assert told(second)["usage"]["searches"] == told(first)["usage"]["searches"]
    assert told(second)["checks"]["rounds"] == told(first)["checks"]["rounds"]
    assert "assistant:" in lab.llm.asked("deep_explore")[0].user
    assert len(second["messages"]) == 4


async def test_pages_are_read_in_one_call_a_topic_and_searches_sent_once(lab: DeepLab) -> None:
    await lab.ask(ZH)
    assert [len(body["urls"]) for body in lab.calls("/extract")] == [3, 3, 3]
    assert len(lab.calls("/search")) == 3


def ruling(turn: ModelTurn, words: str, **fields: Any) -> ModelReply:
    """Judge the statement that has some words by the first passage that has a quote."""
    number = next(line.split()[0] for line in lines(turn.user, "statements") if words in line)
    says = fields.get("says", "")
    named = [line.split()[0] for line in lines(turn.user, "passages") if says and says in line]
    return ModelReply(json={"rulings": [{"id": number, "p": named[:1], **fields}]})


async def test_a_statement_that_a_page_contradicts_is_kept_and_marked() -> None:
    def denies(turn: ModelTurn) -> ModelReply:
        return ModelReply(text="# 报告\n\n成本不为40美元/千瓦时[^t0-0]。")

    def judges(turn: ModelTurn) -> ModelReply:
        return ruling(turn, "成本不为", v="x", bad=["不为40美元/千瓦时"], says="成本为40美元")

    researcher = Researcher("成本", deep_report=denies, claim_check=judges)
    async with deep_laboratory(researcher) as lab:
        state = await lab.ask(ZH)
        switched_off = await lab.ask(ZH, claim_check=False)
    text, kept = str(answer_of(state).text), told(state)
    assert re.search(r"成本不为40美元/千瓦时‡\[1\]\(\S+\)。", text)
    assert kept["checks"]["claims"]["marked"] == 1
    [statement] = kept["checks"]["statements"]
    assert statement["verdict"] == "contradicted"
    assert "成本为40美元" in statement["quote"]
    assert "‡" not in str(answer_of(switched_off).text)
    assert told(switched_off)["checks"]["claims"]["unchecked"] == 1


async def test_words_that_stand_nowhere_are_marked_and_no_others() -> None:
    def invents(turn: ModelTurn) -> ModelReply:
        return ModelReply(text="# 报告\n\n成本降到999美元[^t0-0]。成本为40美元/千瓦时[^t0-0]。")

    def judges(turn: ModelTurn) -> ModelReply:
        return ruling(turn, "999", v="n", bad=["999美元"])

    async with deep_laboratory(Researcher("成本", deep_report=invents, claim_check=judges)) as lab:
        state = await lab.ask(ZH)
    text = str(answer_of(state).text)
    assert re.search(r"成本降到999美元†\[1\]\(\S+\)。", text)
    assert text.count("†") == 2
    assert say("answer.no_source_says", "zh", mark="†") in text
    assert told(state)["checks"]["claims"]["marked"] == 1
    assert told(state)["checks"]["claims"]["unchecked"] == 1


async def test_without_tavily_the_excerpts_are_used_and_marked_partial() -> None:
    async with deep_laboratory() as lab:
        lab.tavily.fail("status", status=500, times=None, match=lambda r, b: r.path == "/extract")
        state = await lab.ask(ZH)
    pages = [page for entry in state["search_results"] for page in entry["useful_webpages"]]
    assert {page["partial"] for page in pages} == {True}
    (partly,) = [gap for gap in told(state)["gaps"] if gap["code"] == "page_partial"]
    assert str(len(pages)) in partly["message"]
    assert told(state)["checks"]["cited"] == 9


async def test_progress_tells_thoughts_searches_topics_and_reading(lab: DeepLab) -> None:
    parts: AsyncIterator[Any] = lab.graph.astream(
        GIVEN, {"configurable": {"thread_id": "p"}}, stream_mode="custom"
    )
    events = [part async for part in parts]
    kinds = {told["type"] for told in events}
    assert kinds >= {
        "thought", "search_started", "search_done", "topic_started", "topic_done",
        "reading", "compressed", "answering", "done",
    }  # fmt: skip


async def test_progress_tells_a_thought_before_the_search_that_came_with_it(lab: DeepLab) -> None:
    parts: AsyncIterator[Any] = lab.graph.astream(
        GIVEN, {"configurable": {"thread_id": "p"}}, stream_mode="custom"
    )
    kinds = [part["type"] async for part in parts]
    assert kinds[: kinds.index("search_started")].count("thought") == 1


def test_the_exported_graph_has_a_node_for_each_step() -> None:
    assert exported.name == "deep_research"
    assert set(exported.nodes) >= {
        "begin", "explore", "act", "switch_topic", "compress_topic", "write_report"
    }  # fmt: skip
    assert DeepConfiguration().max_model_calls > 100
    assert Web().count == 4


@pytest.mark.parametrize("on", [True, False])
async def test_a_report_streams_as_it_was_revised(on: bool) -> None:
    def invents(turn: ModelTurn) -> ModelReply:
        return ModelReply(text="# 报告\n\n成本为40美元/千瓦时，降到999美元[^t0-0]。")

    def judges(turn: ModelTurn) -> ModelReply:
        if "999" not in turn.user.partition("<statements>")[2]:
            return ruling(turn, "40美元", v="s", says="40美元")
        return ruling(turn, "999", v="p", bad=["降到999美元"], says="40美元")

    def revises(turn: ModelTurn) -> ModelReply:
        number = next(line.split(":")[0] for line in lines(turn.user, "failed"))
        text = "成本为40美元/千瓦时[^t0-0]。"
        return ModelReply(json={"edits": [{"id": number, "text": text}]})

    rules = {"deep_report": invents, "claim_check": judges, "revise": revises}
    async with deep_laboratory(Researcher("成本", **rules)) as lab:
        parts: AsyncIterator[Any] = lab.graph.astream(
            GIVEN,
            {"configurable": {"thread_id": "r"}},
            context=lab.configured(claim_check=on),
            stream_mode="messages",
        )
        pieces = [str(part.text) async for part, _ in parts if isinstance(part, AIMessageChunk)]
    assert ("999" in "".join(pieces)) is not on
    assert "成本为40美元/千瓦时" in "".join(pieces)


async def test_a_late_judge_still_corrects_the_stored_report_and_is_accounted_for() -> None:
    def invents(turn: ModelTurn) -> ModelReply:
        return ModelReply(text="# 报告\n\n成本降到999美元[^t0-0]。")

    def judges(turn: ModelTurn) -> ModelReply:
        return ruling(turn, "999", v="n", bad=["999美元"])

    researcher = Researcher("成本", deep_report=invents, claim_check=judges)
    async with deep_laboratory(researcher) as lab:
        lab.gemini.latency = lambda _, body: 1.5 if "claim_check" in str(body) else 0.0
        parts: AsyncIterator[Any] = lab.graph.astream(
            GIVEN,
            {"configurable": {"thread_id": "late"}},
            context=lab.configured(claim_seconds=1),
            stream_mode=["messages", "custom", "values"],
        )
        streamed, kinds, state = "", list[str](), dict[str, Any]()
        async for mode, part in parts:
            if mode == "messages" and isinstance(part[0], AIMessageChunk):
                streamed += str(part[0].text)
            elif mode == "custom":
                kinds.append(part["type"])
            elif mode == "values":
                state = part
        asked = len(lab.gemini.requests)
    assert "降到999美元[1]" in streamed
    assert "†" not in streamed
    assert kinds[-2:] == ["checking", "done"]
    assert re.search(r"降到999美元†\[1\]", str(answer_of(state).text))
    assert told(state)["usage"]["model_calls"] == asked


async def test_of_a_long_page_in_another_language_the_judge_sees_what_its_query_found() -> None:
    def long_page(query: str, number: int) -> str:
        lines = [f"第{n}条：正极材料的备注{n}没有别的内容，其余见手册。" * 4 for n in range(90)]
        return "\n".join(
            [*lines, f"{query}：第{number}页说钠电比去年便宜三成，厂商自己这样说。" * 3]
        )

    def writes(turn: ModelTurn) -> ModelReply:
        return ModelReply(text="# Report\n\nSodium cells are a third cheaper now [^t0-0].")

    researcher = Researcher("成本", deep_report=writes)
    async with deep_laboratory(researcher, web=Web(text=long_page)) as lab:
        await lab.ask(ZH)
    [call, *_] = researcher.asked("claim_check")
    assert "便宜三成" in block(call.user, "passages")

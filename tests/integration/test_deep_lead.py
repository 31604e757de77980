"""The lead of a deep research: sees words of pages, has explorers, calculates, keeps its notes."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.workspace import Item
from agent.assistants.deep_research.compress_topic import topic_element
from agent.assistants.deep_research.explorers import Finding, _line
from agent.assistants.deep_research.graph import build_graph
from agent.assistants.deep_research.state import TopicResult
from agent.core.budget import Meter
from agent.core.concurrency import Lazy
from agent.evidence.citations import MARKER
from agent.evidence.references import strip_references
from agent.prompts import element
from agent.reading.reader import Article
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block
from agent.texts import say
from tests.support.deep_lab import (
    ZH,
    DeepLab,
    Researcher,
    change,
    deep_laboratory,
    done_calls,
    end,
    page_ids,
    planning,
    search,
    shown_urls,
    think,
)
from tests.support.lab import answer_of, told
from tests.support.long_lab import Web
from tests.support.plan_knowledge import MemoryKnowledge, With

FACT = "2025年电芯成本为417元/千瓦时"
LONG = "。".join(f"第{n}段讲行业历史，与成本无关" for n in range(300))


def long_page(query: str, number: int) -> str:
    return f"{query}的第{number}页。{LONG}。{FACT}，来源为第{number}页。{LONG}。"


def explore(*topics: str) -> FunctionCall:
    return FunctionCall("explore", {"reflection": "分头查", "topics": list(topics)})


def code(program: str) -> FunctionCall:
    return FunctionCall("run_code", {"code": program})


def own_search(query: str) -> FunctionCall:
    return FunctionCall("search_documents", {"query": query})


def answers(turn: ModelTurn, name: str) -> list[str]:
    return [result.text for result in turn.tool_results if result.name == name]


def found(turn: ModelTurn) -> ModelReply:
    """One finding with a true quote, one with an invented one, and nothing open."""
    name = page_ids(turn.user)[0]
    findings = [
        {"fact": "电芯每千瓦时 417 元", "quote": FACT, "id": name},
        {"fact": "明年减半", "quote": "这句话哪一页都没有", "id": f"[^{name}]"},
        {"fact": "据说更便宜", "quote": FACT, "id": "w111-11"},
    ]
    return ModelReply(json={"findings": findings, "open": ["回收价格"], "queries": []})


class Lead(Researcher):
    """Explores once, calculates, ends."""

    def __init__(self, *steps: Any, **rules: Any) -> None:
        super().__init__(**{"deep_plan": planning(), "deep_find": found, **rules})
        self.steps = list(steps)

    def explore(self, turn: ModelTurn) -> ModelReply:
        return ModelReply(calls=tuple(self.steps.pop(0)(turn)))


def calculating(*programs: str, says: str = "合 2502 元") -> Lead:
    """Return one that searches, calculates, and cites its first program."""
    return Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [*map(code, programs), end()],
        deep_report=lambda turn: ModelReply(text=f"# 报告\n\n{says}[^c0-0]。"),
    )


@dataclass
class WebReader:
    """Reads the pages that searches have returned."""

    web: Web

    async def read(self, url: str, *, meter: Meter) -> Article:
        page = self.web.known[url]
        return Article(url, page.title, page.text, False, "html", url)


async def research(
    lab: DeepLab, own: MemoryKnowledge | None = None, **context: Any
) -> dict[str, Any]:
    services: Any = replace(lab.services, reader=Lazy(lambda: WebReader(lab.web)))
    services = With(services, knowledge=lambda: own) if own else services
    graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
    given: Any = {"messages": ZH, **({"collections": ["own"]} if own else {})}
    settings = lab.configured(**context)
    state: dict[str, Any] = await graph.ainvoke(given, lab.where(), context=settings)
    return state


async def test_hits_show_the_words_of_pages_that_bear_on_the_query() -> None:
    llm = Lead(lambda turn: [search("电芯成本 元/千瓦时 2025")], lambda turn: [end()])
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    [shown] = answers(llm.asked("deep_explore")[-1], "tavily_search")
    assert FACT in shown
    assert shown.count("行业历史") < 300, "passages, not the page"
    assert told(state)["checks"]["pages_opened"] == 4


async def test_explorers_search_side_by_side_and_bring_quotes_that_pages_really_have() -> None:
    llm = Lead(
        lambda turn: [explore("成本 | 电芯成本", "安全 | 热失控 起火率")],
        lambda turn: [end(page_ids(answers(turn, "explore")[0])[:1])],
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    asked = {block(turn.user, "topic") for turn in llm.asked("deep_find")}
    assert asked == {"成本: 成本的数字", "安全: 安全的数字"}, "with what the plan wants of it"
    assert block(llm.asked("deep_explore")[1].user, "topic") == "", "what follows is of them all"
    [shown] = answers(llm.asked("deep_explore")[-1], "explore")
    assert f"- 电芯每千瓦时 417 元 “{FACT}” [^w" in shown
    assert "这句话哪一页都没有" not in shown
    assert "明年减半" not in shown, "what its page does not say is nobody's word"
    assert "据说更便宜" not in shown
    assert "open: 回收价格" in shown
    # What they found is in the writer's prompt, and so are the pages.
    [report] = llm.asked("deep_report")
    assert FACT in block(report.user, "pages")
    assert FACT not in block(report.user, "topics"), "its words are told once"
    assert "电芯每千瓦时 417 元 [^w" in block(report.user, "topics")
    kept = {e["topic"]: len(e["useful_webpages"]) for e in state["search_results"]}
    assert kept == {"成本": 1, "安全": 1}
    # Both were planned: nothing is left, and the end is taken at once.
    assert [topic["status"] for topic in state["plan"]] == ["done", "done"]
    assert told(state)["checks"]["refused_calls"] == 0


async def test_each_explored_topic_keeps_all_its_findings_and_its_own_pages() -> None:
    """They were cut at a length, and stood under the topic that was active."""
    ids = dict[str, list[str]]()

    def dozen(turn: ModelTurn) -> ModelReply:
        topic = block(turn.user, "topic").partition(":")[0]
        name, *_ = ids[topic] = page_ids(turn.user)
        told = {
            f"{topic}的第{n}个事实{'很长' * 150}": f"第{n}段讲行业历史，与成本无关"
            for n in range(12)
        }
        findings = [{"fact": fact, "quote": quote, "id": name} for fact, quote in told.items()]
        return ModelReply(json={"findings": findings, "open": [f"{topic}的回收"], "queries": []})

    llm = Lead(
        lambda turn: [explore("T1 | 电芯成本", "T2 | 热失控", "T3 | 循环次数")],
        lambda turn: [code("print(f'417 × 3 = {417 * 3}')"), end([ids["安全"][1]])],
        deep_plan=planning("成本", "安全", "寿命"),
        deep_find=dozen,
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, small_topic_tokens=0, context_token_limit=200_000)
    entries = {entry["topic"]: entry for entry in state["search_results"]}
    assert list(entries) == ["成本", "安全", "寿命"]
    for topic, entry in entries.items():
        assert entry["found"].count(f"- {topic}的第") == 12
        assert entry["open"] == "", "what is missing was judged with all notes"
        kept = [page["id"] for page in entry["useful_webpages"]]
        assert kept == ids[topic][: 2 if topic == "安全" else 1], "cited, or named at the end"
    assert block(llm.asked("deep_explore")[1].user, "plan").count('status="done"') == 3
    assert llm.asked("deep_compress") == [], "findings have the words of their pages"
    [report], [review] = llm.asked("deep_report"), llm.asked("deep_review")
    for turn in report, review:
        shown = block(turn.user, "topics")
        assert all(shown.count(f"- {topic}的第") == 12 for topic in entries)
        assert all(f'<topic name="{topic}"' in shown for topic in entries)
        assert shown.count(' open="') == (3 if turn is review else 0)
    assert "417 × 3 = 1251 [^c0-0]" in block(review.user, "topics")
    assert f'<topic name="{say("deep_research.thoughts", "zh")}">' in block(review.user, "topics")
    assert [topic["status"] for topic in state["plan"]] == ["done"] * 3


async def test_the_review_of_the_notes_sees_the_words_of_pages_that_the_lead_has_read() -> None:
    """It saw what searches had shown of them, and asked for what stood further down."""
    urls = list[str]()

    def read(turn: ModelTurn) -> list[FunctionCall]:
        urls.extend(shown_urls(turn))
        return [FunctionCall("read_page", {"url": url, "looking_for": "电芯"}) for url in urls[:2]]

    llm = Lead(
        lambda turn: [explore("T1 | 电芯成本", "T2 | 热失控")],
        lambda turn: [search("储能电芯成本 元/千瓦时")],
        read,
        lambda turn: [end(urls[:1])],
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, small_topic_tokens=20_000)
    [review] = llm.asked("deep_review")
    kept = [page["id"] for entry in state["search_results"] for page in entry["useful_webpages"]
            if page["url"] == urls[0]]  # fmt: skip
    shown = block(review.user, "pages").split("</page>")[:-1]
    assert len(shown) == 2, "explorers' pages are told by their findings"
    assert all(FACT in page for page in shown), "opened, named at the end or not"
    assert kept[0] in page_ids(block(review.user, "pages"))


async def test_what_explorers_left_open_is_told_with_the_pages_that_were_read_since() -> None:
    """ "That page has to be opened" still stood there when it had been."""
    names = list[str]()

    def read(turn: ModelTurn) -> list[FunctionCall]:
        names.extend(page_ids(answers(turn, "explore")[0])[:1])
        return [FunctionCall("read_page", {"url": names[0], "looking_for": "电芯"})]

    llm = Lead(
        lambda turn: [explore("T1 | 电芯成本", "T2 | 热失控")],
        read,
        lambda turn: [end(names)],
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        await research(lab, small_topic_tokens=20_000)
    [review], [report] = llm.asked("deep_review"), llm.asked("deep_report")
    shown = block(review.user, "topics")
    assert f'<topic name="成本" open="回收价格" read_since="{names[0]}">' in shown
    assert '<topic name="安全" open="回收价格">' in shown
    told_ = block(report.user, "topics")
    assert ' open="' not in told_, "the review misses nothing of it any more"
    assert '<topic name="整个问题">' in told_
    assert ZH not in told_
    assert FACT in block(review.user, "pages"), "its words stand there, too"


async def test_findings_that_have_no_room_are_left_out_whole() -> None:
    found = "\n".join(f"- 事实{n}，{'很长' * 20} “原文” [^w111-11]" for n in range(9))
    entry = TopicResult(
        topic="成本", reason="", useful_webpages=[], compressed_content="", whole=True, found=found
    )
    shown = topic_element(entry, 100)
    assert "事实0" in shown
    assert "事实8" not in shown
    assert shown.endswith(" [^w111-11]</topic>")


async def test_a_topic_whose_end_names_pages_of_others_was_looked_into() -> None:
    def ends(turn: ModelTurn) -> list[FunctionCall]:
        return [end(page_ids(block(turn.user, "workspace"))[:1])]

    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [change("安全", page_ids(answers(turn, "tavily_search")[0])[:1])],
        ends,
        ends,
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    assert [topic["status"] for topic in state["plan"]] == ["done", "done"]
    assert "not_researched" not in {gap["code"] for gap in state["gaps"]}


async def test_an_explorer_that_searches_twice_says_at_last_what_is_open_of_both() -> None:
    """What the second search was not about vanished, and was read as found."""

    def twice(turn: ModelTurn) -> ModelReply:
        if "open: 回收价格" in block(turn.user, "found"):
            return ModelReply(json={"findings": [], "open": ["回收价格"], "queries": []})
        told = {"findings": [], "open": ["回收价格", "寿命"], "queries": ["电芯 循环寿命"]}
        return ModelReply(json=told)

    llm = Lead(
        lambda turn: [explore("成本 | 电芯成本")],
        lambda turn: [end()],
        deep_find=twice,
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        await research(lab)
    [shown] = answers(llm.asked("deep_explore")[-1], "explore")
    assert "open: 回收价格" in shown
    assert "寿命" not in shown.replace("循环寿命", "")
    assert len(llm.asked("deep_find")) == 2


async def test_a_closed_topic_that_is_explored_after_all_has_what_was_found() -> None:
    """Its notes, which were begun when it was closed, came without it."""
    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [change("安全", page_ids(answers(turn, "tavily_search")[0])[:1])],
        lambda turn: [explore("T1 | 电芯 价格", "T2 | 热失控")],
        lambda turn: [change("寿命")],
        lambda turn: [search("循环次数")],
        lambda turn: [end()],
        deep_plan=planning("成本", "安全", "寿命"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, small_topic_tokens=0)
    entries = {entry["topic"]: entry for entry in state["search_results"]}
    assert [*entries] == ["成本", "安全", "寿命"]
    assert "417 元" in entries["成本"]["found"]
    assert len(entries["成本"]["useful_webpages"]) == 2


def test_what_a_search_says_of_a_page_is_no_quote_of_it() -> None:
    told = say("search.summary", "en", text="Another site has £12,500.")
    item = Item("page", "A loan", "https://a.example/", snippet=told, id="w111-11")
    fact = Finding(fact="A loan of £12,500", quote="Another site has £12,500.", id="w111-11")
    line = "- A loan of £12,500 (Search summary: Another site has £12,500.) [^w111-11]"
    assert _line(fact, [item]) == line
    assert _line(fact.model_copy(update={"quote": told}), [item]) == line
    opened = replace(item, text="Another site has £12,500.")
    assert _line(fact, [opened]) == "- A loan of £12,500 “Another site has £12,500.” [^w111-11]"


def test_a_page_that_was_read_in_a_later_round_bears_what_it_says() -> None:
    late = Item("page", "A loan", "https://a.example/", snippet="A bank.", id="w111-11")
    opened = replace(late, text="The loan is for £12,500.")
    fact = Finding(fact="It is £12,500", quote="The loan is for £12,500.", id="w111-11")
    line = "- It is £12,500 “The loan is for £12,500.” [^w111-11]"
    assert _line(fact, [late]) == ""
    assert _line(fact, [late, opened]) == line
    # So it does where another query has shown other words of it.
    assert _line(fact, [opened, late]) == line
    told = say("search.summary", "en", text="It is for £12,500.")
    assert _line(fact, [opened, replace(late, snippet=told)]) == line


async def test_explorers_look_into_planned_topics_that_are_called_by_their_ids() -> None:
    llm = Lead(
        lambda turn: [explore("T1 | 电芯成本", "[t2]: 起火", "T9 | 回收")],
        lambda turn: [end(page_ids(answers(turn, "explore")[0])[:1])],
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    asked = {block(turn.user, "topic") for turn in llm.asked("deep_find")}
    assert asked == {"成本: 成本的数字", "安全: 安全的数字", "T9"}
    assert [query["query"] for query in state["queries"]] == ["电芯成本", "安全", "回收"]
    assert [topic["status"] for topic in state["plan"]] == ["done", "done"]


async def test_a_program_beside_the_end_calculates_with_numbers_of_pages_and_can_be_cited() -> None:
    program = "print(f'417 × 3 = {417 * 3} 元\\n\\n417 × 2 = {417 * 2} 元')"
    llm = calculating(program, says="三千瓦时合 1251 元")
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    assert len(llm.asked("deep_explore")) == 2
    [source] = [s for s in state["sources_gathered"] if s["id"] == "c0-0"]
    assert source["title"] == source["provider"] == "计算"
    shown = block(llm.asked("deep_report")[0].user, "topics")
    assert "417 × 3 = 1251 元 [^c0-0]\n417 × 2 = 834 元 [^c0-0]" in shown, "each line is cited"
    assert shown.count("1251 元") == 1
    assert "1251 元[1a]" in str(answer_of(state).text)


async def test_what_rests_on_a_number_from_nowhere_is_told_as_assumed_to_lead_and_writer() -> None:
    assumed = say("tools.assumed", "zh", numbers="8765")
    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [code("print(417 * 8765)"), end()],
        lambda turn: [end()],
        deep_report=lambda turn: ModelReply(text="# 报告\n\n合 3,655,005 元[^c0-0]。"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    [shown] = answers(llm.asked("deep_explore")[-1], "run_code")
    assert shown == f"{say('tools.unfounded', 'zh', numbers='8765')}\n3655005{assumed} [^c0-0]"
    assert len(llm.asked("deep_explore")) == 3, "the end beside it waits"
    assert f"3655005{assumed} [^c0-0]" in llm.asked("deep_report")[-1].user
    assert "1. 计算\n   - a. 3,655,005（假设 8,765）" in str(answer_of(state).text)


async def test_only_the_lines_that_rest_on_a_number_from_nowhere_are_assumed_and_each_on_its_own(
) -> None:  # fmt: skip
    program = (
        "rate, hours = 8765, 733\nprint(f'417 × 3 = {417 * 3}')\nprint(f'much: {rate * 417}')\n"
        "print(f'1251 × 2 = {417 * 3 * 2}')\nprint(f'all: {rate * hours / 1e6:.1f}')"
    )
    llm = calculating(program)
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    one, both = (say("tools.assumed", "zh", numbers=each) for each in ("8765", "8765，733"))
    [source] = [each for each in state["sources_gathered"] if each["id"] == "c0-0"]
    assert source["quotes"][0].splitlines() == [
        "417 × 3 = 1251", f"much: 3655005{one}", "1251 × 2 = 2502", f"all: 6.4{both}",
    ]  # fmt: skip
    assert source["assumed"] == [f"much: 3655005{one}", f"all: 6.4{both}"]
    assert len(llm.asked("deep_explore")) == 2, "what stands is no reason to wait"


async def test_a_number_that_the_lead_has_only_thought_of_is_assumed() -> None:
    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [
            think("人力按 8765 元算"),
            code("print(f'417 × 2 = {834}')\nprint(417 * 8765)"),
        ],
        lambda turn: [end()],
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    [source] = [each for each in state["sources_gathered"] if each["id"] == "c0-0"]
    assert source["assumed"] == [f"3655005{say('tools.assumed', 'zh', numbers='8765')}"]


async def test_a_number_that_no_line_rests_on_is_no_assumption() -> None:
    program = "width = 8765\nprint(f'417 × 3 = {417 * 3}')"
    llm = calculating(program)
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    [source] = [each for each in state["sources_gathered"] if each["id"] == "c0-0"]
    assert (source["quotes"], source.get("assumed")) == (["417 × 3 = 1251"], None)


async def test_a_program_may_calculate_with_what_it_has_printed_as_a_result() -> None:
    program = "print(f'417 × 3 = {417 * 3}')\nprint(f'1251 × 2 = {1251 * 2}')"
    llm = calculating(program)
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    assert "c0-0" in [source["id"] for source in state["sources_gathered"]]


async def test_a_report_shows_the_lines_of_a_calculation_whose_results_it_tells() -> None:
    program = "print(f'417 × 3 = {417 * 3} 元')\nprint(f'417*3*2 = {417 * 3 * 2} 元')"
    llm = calculating(program, "print(417 * 4)\nprint(417 * 5)")
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    text = str(answer_of(state).text)
    body = strip_references(text)
    assert say("deep_research.calculated", "zh") not in body, "a cited sum lengthens no text"
    assert text.endswith("1. 计算\n   - a. 417×3×2 = 2502 元"), "it stands where citations lead"
    assert "1668" not in text, "what is not cited is not shown"


async def test_a_shown_line_of_a_calculation_comes_with_the_lines_that_it_rests_on() -> None:
    program = (
        "print(f'一年：417 * 3 = {417 * 3} 元')\nprint(f'别的：417 * 5 = {417 * 5} 元')\n"
        "print(f'差：(417 - 400)/417 = {17 / 417:.2f}; 两年：1251 * 2 = {1251 * 2} 元')"
    )
    llm = calculating(program)
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        text = str(answer_of(await research(lab)).text)
    assert "   - a. 一年：417 × 3 = 1251 元\n   - b. 差：" in text
    assert "别的：" not in text


async def test_a_sum_that_the_report_works_out_itself_is_not_shown_again_below_it() -> None:
    program = "print(f'两次：417 × 3 = {417 * 3} 元')\nprint(f'六次：417 × 6 = {417 * 6} 元')"
    text = "# 报告\n\n电芯成本有人测过[^{page}]。417 × 3 = 1,251 元，六次 2,502 元{mark}。"

    def writes(turn: ModelTurn) -> ModelReply:
        name = re.search(r"\[\^(?!c0)(\w+-\w+)\]", turn.user)
        assert name
        return ModelReply(text=text.format(page=name[1], mark=mark))

    shown = dict[str, str]()
    for mark in ("[^c0-0]", ""):
        llm = Lead(
            lambda turn: [search("电芯成本")],
            lambda turn: [code(program), end()],
            deep_report=writes,
        )
        async with deep_laboratory(llm, web=Web(long_page)) as lab:
            shown[mark] = str(answer_of(await research(lab)).text)
    line = "六次：417 × 6 = 2,502 元"
    assert f"2. 计算\n   - a. {line}" in shown["[^c0-0]"]
    assert f"**\n\n- {line}" in shown[""], "what the text tells is shown, marked or not"


async def test_a_change_waits_for_a_program_that_assumes_all_and_keeps_its_result() -> None:
    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [code("print(417 * 8765)"), change("安全"), search("热失控")],
        lambda turn: [code("print(f'417 × 3 = {417 * 3}')"), change("安全")],
        lambda turn: [search("热失控")],
        lambda turn: [end()],
        deep_plan=planning("成本", "安全"),
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    told_next, after = llm.asked("deep_explore")[2:4]
    [refused] = answers(told_next, "run_code")
    assert "8765" in refused
    waits = say("deep_research.code_first", "zh")
    assert answers(told_next, "change_research_topic") == [waits]
    assert answers(told_next, "tavily_search")[-1] == waits
    assert block(after.user, "topic") == "安全"
    assert "417 × 3 = 1251 [^c1-0]" in block(after.user, "notes")
    assert [topic["status"] for topic in state["plan"]] == ["done", "done"]


async def test_a_number_from_nowhere_stays_assumed_in_the_next_program() -> None:
    llm = Lead(
        lambda turn: [search("电芯成本")],
        lambda turn: [code("print(f'417 * 8765 = {417 * 8765}')")],
        lambda turn: [code("print(f'417 * 8765 * 2 = {417 * 8765 * 2}')"), end()],
        lambda turn: [end()],
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab)
    programs = [s for s in state["sources_gathered"] if s["id"][0] == "c"]
    assumed = say("tools.assumed", "zh", numbers="8765")
    assert [each["quotes"][0].endswith(assumed) for each in programs] == [True, True]


async def test_after_a_clearing_notes_and_pages_are_named_and_can_be_read_again() -> None:
    def read_again(turn: ModelTurn) -> list[FunctionCall]:
        name = page_ids(block(turn.user, "workspace"))[0]
        return [FunctionCall("read_page", {"url": name, "looking_for": "电芯成本"})]

    llm = Lead(
        lambda turn: [think("先查成本"), search("电芯成本")],
        lambda turn: [think("成本够了，见[^w999-99]"), change("安全")],
        read_again,
        lambda turn: [end()],
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        await research(lab)
    first_of_topic = llm.asked("deep_explore")[2]
    assert done_calls(first_of_topic) == []
    assert "先查成本" in block(first_of_topic.user, "notes")
    thoughts = block(llm.asked("deep_report")[0].user, "topics")
    assert "成本够了" in thoughts
    assert "w999-99" not in thoughts, "nobody has shown it"
    assert FACT in answers(llm.asked("deep_explore")[-1], "read_page")[0]


@pytest.mark.parametrize(
    ("setting", "model"),
    [("", "gemini-3.8-flash"), ("gemini-3.5-flash-lite", "gemini-3.5-flash-lite")],
)
async def test_the_lead_is_the_answers_model_unless_another_is_set(
    setting: str, model: str
) -> None:
    async with deep_laboratory(Researcher("成本")) as lab:
        await lab.ask(ZH, lead_model=setting)
    assert {turn.model for turn in lab.llm.asked("deep_explore")} == {model}


def own_files() -> MemoryKnowledge:
    """Two small documents, one of many passages, and one for which there is no room."""
    files = MemoryKnowledge()
    files.put("a-long", "\n\n".join(f"第 {n} 节，{'说的是别的事情。' * 150}" for n in range(30)))
    files.put("b-small", "电芯由青岚公司供货。")
    files.put("c-small", "仓库在北门。")
    files.put("d-book", "\n\n".join(f"卷 {n}，{'储能电芯成本的旧账。' * 150}" for n in range(200)))
    return files


async def test_own_documents_begin_alike_in_every_step_and_a_passage_has_one_id() -> None:
    llm = Lead(
        lambda turn: [own_search("电芯 供货")],
        lambda turn: [search("电芯成本")],
        lambda turn: [end()],
    )
    async with deep_laboratory(llm, web=Web(long_page)) as lab:
        state = await research(lab, own_files(), own_token_limit=40_000)
    first, second, *_ = [
        block(turn.user, "documents").split("\n</document>") for turn in llm.asked("deep_explore")
    ]
    assert first[:2] == second[:2], "small ones first: their prompts begin alike"
    assert "电芯由青岚公司供货。" in first[1]
    assert len("".join(second)) < len("".join(first)) * 0.8
    for shown in (first, second):
        assert element("not_shown", "d-book") in shown[-1]
        assert "[^d0-0] 卷" in shown[-1], "the passages nearest to the question are there"
    [found] = answers(llm.asked("deep_explore")[1], "search_documents")
    [name] = MARKER.findall(first[1])
    assert f'id="{name}"' in found
    gathered = state["sources_gathered"]
    assert {s["id"] for s in gathered if "青岚公司供货" in str(s["quotes"])} == {name}

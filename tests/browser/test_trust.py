"""What shows a reader how far an answer can be trusted: the bar, figures in quotes, sources."""

from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.browser.browser_page import part
from tests.support.browser import BROWSER, Page, Visits, expect
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
GUIDE, BOOKS, FILE = "https://a.example/guide", "https://uri.amap.com/b", "https://a.example/f.pdf"
SENTENCES = [
    (f"门票25元[1]({GUIDE})。", "quoted"),
    (f"步行街全长1.8公里[1]({GUIDE})。", "quoted"),
    (f"书店9:30开门[2]({BOOKS})。", "quoted"),
    ("去年来过98万人†。", "marked"),
    (f"停车位800个[3]({FILE}#page=3)，通道长400米[4]({FILE}#page=12)。", "quoted"),
]
PICKED = "() => [...CSS.highlights.get('unsourced')].map((range) => range.toString())"


def source(number: int, kind: str, title: str, url: str, quote: str) -> dict[str, Any]:
    return {"id": f"s{number}", "number": number, "kind": kind, "title": title, "url": url,
            "provider": "x", "quotes": [quote], "published": "2026-05-01T08:00"}  # fmt: skip


SOURCES = [
    source(1, "page", "指南", GUIDE, "门票25元，步行街全长1.8公里。"),
    source(2, "place", "书店", BOOKS, "9:30-21:30"),
    source(3, "document", "规划，第 3 页", f"{FILE}#page=3", "停车位800个"),
    source(4, "document", "规划，第 12 页", f"{FILE}#page=12", "通道长400米"),
]


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    """A checked answer on a thread of the page's."""
    text, statements = "", []
    for sentence, verdict in SENTENCES:
        end = len(text) + len(sentence)
        row = {"start": len(text), "end": end, "verdict": verdict, "source": None, "quote": None}
        statements += [row] if verdict == "marked" else []
        text += sentence
    claims = {"total": 5, "quoted": 4, "marked": 1}
    told = {"sources": SOURCES, "checks": {"claims": claims, "statements": statements}}
    return judged_thread(server, "王府井", text, told)


def judged_thread(server: DevServer, question: str, text: str, kept: dict[str, Any]) -> str:
    """Return a thread with one answer."""
    messages = [
        {"type": "human", "content": question, "id": "q"},
        {"type": "ai", "content": text, "id": "a", "additional_kwargs": kept},
    ]
    with get_sync_client(url=server.url) as client:
        thread = client.threads.create(graph_id="agent", metadata={"asked_over": "page"})
        client.threads.update_state(
            thread["thread_id"], {"messages": messages}, as_node="finalize_answer"
        )
    return str(thread["thread_id"])


@pytest.fixture(name="page")
def page_fixture(visit: Visits, thread: str) -> Page:
    page = visit().tab(f"/app?thread={thread}")
    expect(part(page, "checks")).to_be_visible()
    return page


def test_a_bar_counts_the_statements_and_leads_to_those_without_a_source(page: Page) -> None:
    expect(part(page, "checks")).to_have_text("5 句：4 有原文\u00a0· 1 无来源")
    lead = part(page, "checks").get_by_role("button", name="1 无来源")
    lead.focus()
    page.keyboard.press("Enter")
    expect(lead).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(PICKED) == ["去年来过98万人†"]
    page.keyboard.press("Enter")
    expect(lead).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(PICKED) == []


def test_a_figure_and_a_citation_show_the_quote_with_the_figure_marked(page: Page) -> None:
    page.locator(".told", has_text="1.8").hover()
    marks = part(page, "citation").locator("mark")
    expect(marks).to_have_text(["1.8"])
    page.mouse.move(2, 2)
    expect(part(page, "citation")).to_be_hidden()
    page.locator("a.cite").first.focus()
    expect(marks).to_have_text(["25", "1.8"])
    opens = part(page, "citation").get_by_role("link", name="打开来源")
    expect(opens).to_have_attribute("rel", "noopener nofollow ugc")


def test_all_figures_of_long_statements_are_marked(visit: Visits, server: DevServer) -> None:
    thread = answered_thread(server, "Which metro lines stop at Wangfujing?")
    page = visit(locale="en-US").tab(f"/app?thread={thread}")
    page.locator("a.cite").first.focus()
    expect(part(page, "citation").locator("mark")).to_have_text(["1", "8", "8"])


JUDGED = {
    "zh-CN": (
        [("门票80元‡", "contradicted", "门票25元", "80元"),
         ("有免费轮椅†", "marked", "", "免费轮椅")],
        "王府井",
        ("来源的说法与此不同：80元", "来源里没有：免费轮椅"),
        "故宫东侧的儿童展馆门票25元，周一闭馆，每天9:00到17:00开放。",
    ),
    "en-US": (
        [("It costs 80 yuan‡", "contradicted", "ticket is 25 yuan", "80 yuan"),
         ("there are free wheelchairs†", "marked", "", "free wheelchairs")],
        "Wangfujing",
        ("The source says otherwise than: 80 yuan", "Not in the sources: free wheelchairs"),
        "The children's hall east of the palace is closed on Mondays; a ticket is 25 yuan.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("locale", JUDGED)
def test_a_citation_shows_the_passage_that_decides_and_the_words_at_fault(
    visit: Visits, server: DevServer, locale: str
) -> None:
    sentences, question, told, passage = JUDGED[locale]
    text, rows = "", []
    for words, verdict, says, span in sentences:
        sentence = f"{words}[1]({GUIDE}){'。' if locale == 'zh-CN' else '. '}"
        rows.append({"start": len(text), "end": len(text) + len(sentence), "verdict": verdict,
                     "source": "s1", "quote": passage, "says": says, "spans": [span]})  # fmt: skip
        text += sentence
    claims = {"version": 2, "total": 2, "supported": 0, "computed": 0, "own": 0, "revised": 0,
              "marked": 2, "unchecked": 0}  # fmt: skip
    kept = {
        "sources": [source(1, "page", "指南", GUIDE, passage)],
        "checks": {"claims": claims, "statements": rows},
    }
    thread = judged_thread(server, question, text, kept)
    page = visit(locale=locale).tab(f"/app?thread={thread}")
    card = part(page, "citation")
    for at, (words, (_, verdict, says, _)) in enumerate(zip(told, sentences, strict=True)):
        page.locator("a.cite").nth(at).focus()
        expect(card.locator(".card-missing")).to_have_text(words)
        expect(card.locator("blockquote.nearest")).to_have_text(passage)
        if verdict == "contradicted":
            expect(card.locator("mark")).to_have_text([says])


def test_the_bar_names_what_nobody_judged(visit: Visits, server: DevServer) -> None:
    borne, left = f"It costs 25 yuan[1]({GUIDE}).", f"**Nights** it opens until 23:40[1]({GUIDE})."
    rows = [
        {"start": at, "end": at + len(words), "verdict": verdict, "source": None, "quote": None,
         "spans": []}
        for at, words, verdict in ((0, borne, "supported"), (len(borne) + 1, left, "unchecked"))
    ]  # fmt: skip
    claims = {"version": 2, "total": 2, "supported": 1, "computed": 0, "own": 0, "revised": 0,
              "marked": 0, "unchecked": 1}  # fmt: skip
    kept = {
        "sources": [source(1, "page", "Guide", GUIDE, "25 yuan")],
        "checks": {"claims": claims, "statements": rows},
    }
    thread = judged_thread(server, "Wangfujing", f"{borne} {left}", kept)
    checks = part(visit(locale="en-US").tab(f"/app?thread={thread}"), "checks")
    expect(checks.get_by_role("listitem")).to_have_count(0)
    checks.get_by_role("button", name="1 not checked").click()
    expect(checks.get_by_role("listitem")).to_have_text(["Nights it opens until 23:40."])


def test_a_citation_that_the_next_sentence_repeats_stands_once(page: Page) -> None:
    expect(page.locator(".prose a.cite")).to_have_text(["1", "2", "3", "4"])


def test_sources_of_the_map_are_folded_and_pages_of_a_file_stand_together(page: Page) -> None:
    sources = part(page, "sources")
    expect(sources.locator("h3")).to_have_text("来源 · 3")
    expect(sources.locator(".source-site").first).to_have_text("a.example · 2026-05-01")
    together = sources.locator(".source-document")
    expect(together).to_have_count(1)
    expect(together.locator(".source a")).to_have_text(["第 3 页", "第 12 页"])
    of_map = sources.locator('[data-source-number="2"]')
    expect(of_map).to_be_hidden()
    sources.get_by_text("地图来源 · 1").click()
    expect(of_map).to_be_visible()

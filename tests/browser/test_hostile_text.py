"""Hostile texts in a thread's history: shown as the text they are, and nothing else."""

import html
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.browser.browser_page import part
from tests.browser.hostile_page import among_hostile, nothing_acts
from tests.browser.hostile_texts import EVIL, MARKDOWN, MARKUP
from tests.support.browser import BROWSER, Page, Visits, expect
from tests.support.dev_server import DevServer

pytestmark = BROWSER
LONG = "长" * 20_000 + "<img src=x onerror=ran('long')>" + "W" * 80_000
UNSEEN = {
    "right-to-left": "\u202egnp.exe\u202c \u2066左\u2069 \u200b\ufeff<b>x</b>",
    "controls": "a\u0085b\u2028c\u2029d\x7f\x1b[31me <i>f</i>",
    "lone": "half a pair: \ud83d <u>g</u>".encode("utf-8", "replace").decode(),
}
TEXTS = {**MARKUP, **MARKDOWN, **UNSEEN}
LINKS = [
    "javascript:ran('link')",
    "JaVaScRiPt:ran('link')//https://example.org",
    " javascript:ran('link')",
    "java\tscript:ran('link')",
    "data:text/html,<script>opener.ran('link')</script>",
    "vbscript:ran",
    "//evil.example/x",
    "/app/sign-out",
    f'{EVIL}/"><img src=x onerror=ran(1)>',
]


def _place(text: str, number: int, link: str) -> dict[str, Any]:
    gcj: dict[str, Any] = {"lng": 116.41 + number / 500, "lat": 39.914, "crs": "GCJ-02"}
    return {
        "id": f'amap:"]{text}{number}', "name": f"{number} {text}", "address": text,
        "category": text, "district": text, "city": text, "open_time": text,
        "distance_m": 100 * number, "distance_from": text, "rating": 4.5, "cost": 40,
        "location": gcj, "wgs84": {"lng": gcj["lng"] - 0.0062, "lat": gcj["lat"] - 0.0014},
        "photo": link, "url": link, "source": f"a0-{number}", "mentioned": number < 2,
        "keywords": [text], "detailed": True, "fetched_at": text,
    }  # fmt: skip


def _source(text: str, number: int, link: str) -> dict[str, Any]:
    return {
        "id": f"a0-{number}", "kind": ["place", "page", text][number % 3], "title": text,
        "url": link, "provider": text, "quotes": [text, f"again: {text}"], "number": number + 1,
    }  # fmt: skip


def _kwargs(text: str) -> dict[str, Any]:
    """What an AI message carries besides its text."""
    task = {"intent": text, "place": text, "keywords": [text], "mode": text}
    return {
        "assistant": "agent", "mode": "online", "degraded": False, "needs": None,
        "sources": [_source(text, number, link) for number, link in enumerate(LINKS)],
        "places": [_place(text, number, link) for number, link in enumerate(LINKS[:4])],
        "gaps": [{"message": text, "query": text, "provider": text, "kind": text}],
        "queries": [{"query": text, "map": task, "round": 1}],
        "routes": [], "weather": [], "search_entry_points": ["<a>chip</a>"],
        "anchor": {"name": text, "wgs84": {"lng": 116.404, "lat": 39.9126}},
        "usage": {"searches": 1, "seconds": 1.0, "cost_usd": 0.0}, "checks": {},
    }  # fmt: skip


def exchange(name: str, text: str) -> list[dict[str, Any]]:
    """A question and its answer, all of them `text`; two sources are cited, one that is not."""
    link = "https://example.org/page"
    said = f"{text}\n\n{name} [1]({link}) [2]({link}) [999]({link})\n\n{text}"
    return [
        {"type": "human", "id": f"q-{name}", "content": f"{name} {text}"},
        {"type": "ai", "id": f"a-{name}", "content": said, "additional_kwargs": _kwargs(text)},
    ]


def written(server: DevServer, texts: dict[str, str]) -> str:
    """A thread with an exchange for each text."""
    return kept(server, [said for name, text in texts.items() for said in exchange(name, text)])


def kept(server: DevServer, messages: list[dict[str, Any]]) -> str:
    """A thread of the page's with these messages."""
    title = messages[0]["content"][:2000]
    with get_sync_client(url=server.url) as client:
        thread = client.threads.create(
            graph_id="agent", metadata={"title": title, "asked_over": "page"}
        )
        client.threads.update_state(
            thread["thread_id"], {"messages": messages}, as_node="finalize_answer"
        )
    return str(thread["thread_id"])


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    return written(server, TEXTS)


def opened(page: Page, turns: int) -> None:
    expect(page.locator("article.turn")).to_have_count(turns)
    expect(part(page.locator("article.turn").last, "exports")).to_be_visible()


def test_every_text_of_an_opened_thread_is_shown_as_text(visit: Visits, thread: str) -> None:
    page = among_hostile(visit).tab(f"/app?thread={thread}")
    opened(page, len(TEXTS))
    for turn, (name, text) in zip(page.locator("article.turn").all(), TEXTS.items(), strict=True):
        expect(turn.get_by_role("heading", level=2)).to_contain_text(name)
        for shown in ("places", "gaps", "sources"):
            assert plain(text) in plain(part(turn, shown).text_content() or ""), (name, shown)
        if name in MARKUP:
            assert plain(text) in plain(part(turn, "answer").text_content() or ""), name
    nothing_acts(page)


def test_places_sources_and_citations_open_without_anything_running(
    visit: Visits, thread: str
) -> None:
    page = among_hostile(visit).tab(f"/app?thread={thread}")
    opened(page, len(TEXTS))
    page.evaluate(
        "for (const way of document.querySelectorAll('.place-line, .sources summary')) way.click()"
    )
    last = page.locator("article.turn").last
    last.locator("a.cite[data-source-number='1']").first.click()
    expect(part(page, "citation")).to_be_visible()
    nothing_acts(page)


def test_pins_their_names_and_tips_are_text(visit: Visits, server: DevServer) -> None:
    name, text = "image", MARKUP["image"]
    page = among_hostile(visit).tab(f"/app?thread={written(server, {name: text})}")
    pins = part(page, "map").locator(".map-pin")
    expect(pins).to_have_count(4)
    for pin in pins.all():
        assert text in (pin.get_attribute("aria-label") or "")
    pins.first.hover()
    expect(page.locator(".map-tip")).to_contain_text(text)
    pins.first.click()
    expect(page.locator(".map-choice")).to_contain_text(text)
    expect(page.locator(".place.selected .place-more")).to_contain_text(text)
    nothing_acts(page)


def test_links_that_are_no_links_are_shown_without_one(visit: Visits, thread: str) -> None:
    page = among_hostile(visit).tab(f"/app?thread={thread}")
    opened(page, len(TEXTS))
    sources = part(page.locator("article.turn").first, "sources").locator(".source")
    expect(sources).to_have_count(len(LINKS))
    linked = {
        source.get_attribute("data-source-number"): source.locator("a[href]").count()
        for source in sources.all()
    }
    assert linked == {str(n): int(link.startswith("http")) for n, link in enumerate(LINKS, 1)}


def test_search_suggestions_stay_in_a_frame_that_can_do_nothing(
    visit: Visits, server: DevServer
) -> None:
    person = among_hostile(visit)
    person.forgive("^console: Blocked script execution")  # The frame's own sandbox tells.
    question, answer = exchange("suggestions", "text")
    suggested = [MARKUP["script"], MARKUP["image"].replace("src=x", "src=data:,")]
    answer["additional_kwargs"]["search_entry_points"] = suggested
    page = person.tab(f"/app?thread={kept(server, [question, answer])}")
    frame = part(page, "suggestions").locator("iframe")
    expect(part(page, "suggestions")).to_be_visible()
    expect(frame).to_have_count(0)
    part(page, "suggestions").locator("summary").click()
    expect(frame).to_have_count(2)
    for number in range(2):
        frame.nth(number).scroll_into_view_if_needed()
        expect(frame.nth(number).content_frame.locator("script, img").first).to_be_attached()
    nothing_acts(page)


def test_a_name_of_a_hundred_thousand_characters_breaks_no_page(
    visit: Visits, server: DevServer
) -> None:
    question, answer = exchange("long", "text")
    told = answer["additional_kwargs"]
    told["places"][0]["name"] = told["sources"][1]["title"] = told["gaps"][0]["message"] = LONG
    thread = kept(server, [question, answer])
    for width in (360, 1440):
        page = among_hostile(visit, viewport={"width": width, "height": 800}).tab(
            f"/app?thread={thread}"
        )
        opened(page, 1)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        nothing_acts(page)


def test_an_address_names_no_thread_but_says_so_in_text(visit: Visits) -> None:
    person = among_hostile(visit)
    person.forgive("status of 4")
    page = person.tab("/app?thread=%3Cimg%20src=x%20onerror=ran('address')%3E")
    expect(page.get_by_role("alert")).to_be_visible()
    nothing_acts(page)


def test_reports_of_hostile_threads_run_nothing(visit: Visits, server: DevServer) -> None:
    person = among_hostile(visit)
    for name in ("image", "script", "closing", "base", "style"):
        thread = written(server, {name: MARKUP[name]})
        report = person.context.new_page()
        report.goto(f"/app/runs/{thread}/report.html")
        expect(report.locator("body")).to_contain_text(MARKUP[name])
        assert report.locator("img[src='x'], base, iframe:not([sandbox]), form, math").count() == 0


def plain(text: str) -> str:
    """Its letters, with Markdown's entities read and without spaces and what cannot be seen."""
    text = html.unescape(text)
    return "".join(letter for letter in text if letter.isprintable() and not letter.isspace())

"""Threads: going on with one, the list of them, a link to one, back and forward."""

import re

from tests.browser.browser_page import ask, ends, part, thread_of
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import EN, ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
PARKING = "那附近有停车场吗"


def line(page: Page, thread: str) -> Locator:
    return part(page, "threads").locator(f'[data-thread-id="{thread}"]')


def test_a_follow_up_is_answered_on_the_same_thread(visit: Visits) -> None:
    page = visit().tab()
    first = ends(ask(page, ZH))
    thread = thread_of(page)
    second = ends(ask(page, PARKING))
    assert thread_of(page) == thread
    expect(page.locator("article.turn")).to_have_count(2)
    expect(second).to_contain_text(PARKING)
    expect(second.locator(".place").first).to_contain_text("停车场")
    expect(first.locator(".place", has_text="停车场")).to_have_count(0)
    expect(line(page, thread)).to_have_count(1)
    texts = part(page, "answer").all_inner_texts()
    steps = second.locator(".step").all_text_contents()
    earlier = first.locator(".step").all_text_contents()
    page.reload()
    ends(second)
    assert part(page, "answer").all_inner_texts() == texts
    expect(second.locator(".step")).to_have_text(steps)
    sources = part(first, "sources").locator("[data-source-number]").count()
    assert sources
    assert earlier[-1] == f"答案已写好，引用 {sources} 个来源"
    expect(first.locator(".step")).to_have_text(earlier)


def test_the_map_shows_the_answer_one_looks_at(visit: Visits, server: DevServer) -> None:
    page = visit().tab(f"/app?thread={answered_thread(server, ZH, PARKING)}")
    turns = page.locator("article.turn")
    ends(turns.last)
    pins = part(page, "map").locator("[data-place-id]")
    expect(pins.first).to_have_attribute("aria-label", re.compile("停车场"))
    turns.first.locator(".place-line").first.click()
    expect(pins.first).to_have_attribute("aria-label", re.compile("和平菓局"))
    expect(pins.first).to_have_attribute("aria-pressed", "true")


def test_a_link_opens_the_thread_for_somebody_else_on_this_server(
    visit: Visits, server: DevServer
) -> None:
    thread = answered_thread(server, EN)
    page = visit().tab(f"/app?thread={thread}")
    turn = ends(page.locator("article.turn"))
    expect(turn.get_by_role("heading", name=EN)).to_be_visible()
    expect(part(turn, "sources")).to_be_visible()
    expect(line(page, thread).get_by_role("link")).to_have_attribute("aria-current", "page")


def test_the_list_leads_to_each_thread_and_the_browser_leads_back(
    visit: Visits, server: DevServer
) -> None:
    one, two = answered_thread(server, ZH), answered_thread(server, EN)
    page = visit().tab()
    heading = page.locator("article.turn").get_by_role("heading", level=2)
    line(page, one).get_by_role("link").click()
    expect(heading).to_have_text([ZH])
    line(page, two).get_by_role("link").click()
    expect(heading).to_have_text([EN])
    expect(line(page, two).get_by_role("link")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(heading).to_have_text([ZH])
    assert thread_of(page) == one
    page.go_back()
    expect(heading).to_have_count(0)
    page.go_forward()
    expect(heading).to_have_text([ZH])


def test_a_thread_is_deleted_after_a_second_thought(visit: Visits, server: DevServer) -> None:
    thread = answered_thread(server, EN)
    person = visit()
    person.forgive("status of 404")
    page = person.tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    remove = re.compile("^删除“")
    line(page, thread).get_by_role("button", name=remove).click()
    line(page, thread).get_by_role("button", name="不删").click()
    expect(line(page, thread)).to_be_visible()
    line(page, thread).get_by_role("button", name=remove).click()
    line(page, thread).get_by_role("button", name=remove).click()
    expect(line(page, thread)).to_have_count(0)
    expect(page.locator("article.turn")).to_have_count(0)
    expect(page).to_have_url(re.compile("/app$"))
    page.goto(f"/app?thread={thread}")
    expect(part(page, "turns").get_by_role("alert")).to_contain_text("打不开这个对话")


def test_a_question_asked_elsewhere_shows_when_one_comes_back(
    visit: Visits, server: DevServer
) -> None:
    person = visit()
    page = person.tab()
    expect(page.get_by_role("heading", name="我的问题")).to_be_visible()
    thread = answered_thread(server, EN)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(line(page, thread)).to_be_visible()


def test_a_question_is_found_by_words_of_it_in_any_order(visit: Visits, server: DevServer) -> None:
    page = visit().tab(f"/app?thread={(thread := answered_thread(server, EN))}")
    search = page.get_by_role("searchbox")
    for words, found in (("WORK batteries", 1), ("batteries parrots", 0)):
        search.fill(words)
        expect(line(page, thread)).to_have_count(found)

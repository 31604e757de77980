"""The last question changed in its place, asked again, and asked from the address."""

import re

from agent.texts import say
from tests.browser.browser_page import ask, ends, part, question_box
from tests.support.browser import BROWSER, Visits, expect

pytestmark = BROWSER
FIRST = "Where can children play near Wangfujing, Beijing?"
OTHER = "How do I get from Wangfujing to the Palace Museum?"


def test_the_last_question_is_changed_in_its_place(visit: Visits) -> None:
    page = visit(locale="en-US").tab()
    ends(ask(page, FIRST))
    question_box(page).press("ArrowUp")
    editor = part(page, "edit")
    expect(editor.get_by_role("textbox")).to_have_value(FIRST)
    editor.get_by_role("textbox").press("Escape")
    expect(page.get_by_role("heading", name=FIRST)).to_be_visible()
    page.get_by_role("button", name=say("page.turn_list.edit", "en")).click()
    editor.get_by_role("textbox").fill(OTHER)
    editor.get_by_role("button", name="Ask again").click()
    turns = page.locator("article.turn")
    expect(turns).to_have_count(1)
    expect(page.get_by_role("heading", name=OTHER)).to_be_visible()
    ends(turns.first)
    expect(part(page, "threads").locator(".thread").first).to_contain_text(OTHER)
    page.reload()
    ends(turns.first)
    expect(turns).to_have_count(1)
    expect(page.get_by_role("heading", name=OTHER)).to_be_visible()


def test_a_day_is_planned_once_more_in_its_place(visit: Visits) -> None:
    page = visit(locale="en-US").tab()
    ends(ask(page, FIRST))
    page.get_by_role("button", name="Make a day of it").click()
    turns = page.locator("article.turn")
    expect(turns).to_have_count(2)
    ends(turns.nth(1))
    question = turns.nth(1).locator(".question").inner_text()
    ends(ask(page, "Start at 11"))
    expect(turns).to_have_count(3)
    once_more = turns.nth(2).get_by_role("button", name="Answer once more")
    expect(turns.nth(1).get_by_role("button", name="Answer once more")).to_be_hidden()
    expect(turns.first.get_by_role("button", name="Answer once more")).to_have_count(0)
    address = page.url
    with page.expect_request(re.compile("/threads/[^/]+/runs"), timeout=15_000):
        once_more.click()
    ends(turns.nth(2))
    expect(turns).to_have_count(3)
    assert page.url == address
    expect(turns.nth(1).locator(".question")).to_have_text(question)
    expect(turns.nth(2).locator(".question")).to_have_text("Start at 11")
    expect(turns.nth(2).locator("table")).to_contain_text("11:00")


def test_an_address_asks_when_it_is_typed_and_only_suggests_when_it_is_linked(
    visit: Visits,
) -> None:
    person = visit(locale="en-US")
    page = person.tab(f"/app?q={OTHER}")
    ends(page.locator("article.turn"))
    page.wait_for_url(re.compile("thread="))
    page.goto(f'data:text/html,<a href="{person.url}/app?q={OTHER.replace(" ", "+")}">go</a>')
    page.get_by_role("link", name="go").click()
    expect(question_box(page)).to_have_value(OTHER)
    expect(page.locator("article.turn")).to_have_count(0)

"""The page shows a place's card where the text tells it first, as the files do."""

import json

from agent.export.markdown import told_in_bullets
from tests.browser.browser_page import part
from tests.browser.test_trust import judged_thread
from tests.support.browser import BROWSER, Visits, expect
from tests.support.dev_server import DevServer
from tests.unit.test_cards_told import CHOICE, SOURCES, finished

pytestmark = BROWSER


def test_a_card_stands_behind_its_paragraph_and_in_the_bullet_of_two(
    visit: Visits, server: DevServer
) -> None:
    told = told_in_bullets(finished(CHOICE))
    kept = json.loads(json.dumps({"sources": SOURCES, "places": told, "checks": {}}))
    thread = judged_thread(server, "Museums?", CHOICE, kept)
    page = visit().tab(f"/app?thread={thread}")
    answer = part(page, "answer")
    behind = answer.locator("p:has-text('My choice') + .place-list .place-name")
    expect(behind).to_have_text(["Oodi"])
    inside = answer.locator("li:has-text('To eat') > .place-list .place-name")
    expect(inside).to_have_text(["Ateneum", "Annantalo"])
    others = part(page, "places").locator(".place-name")
    expect(others).to_have_text(["Suomen Pankin rahamuseo"])
    answer.locator(".place-list .place-line").first.click()
    expect(answer.locator(".place-list .place-more").first).to_be_visible()

"""What another window asked on the thread is there when this one is looked at again."""

import pytest

from tests.browser.browser_page import ask, ends, part, thread_of
from tests.support.browser import BROWSER, Visits, expect
from tests.support.command_line import EN

pytestmark = BROWSER
_LOOKED_AT = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.mark.parametrize("by", ["looking", "network"])
def test_another_windows_turn_comes_in(visit: Visits, by: str) -> None:
    person = visit()
    person.forgive("ERR_INTERNET_DISCONNECTED")
    page = person.tab()
    ends(ask(page, EN))
    other = person.tab(f"/app?thread={thread_of(page)}")
    ends(other.locator("article.turn"))
    theirs = ends(ask(other, "And what do they cost?"))
    expect(page.locator("article.turn")).to_have_count(1)
    if by == "looking":
        page.evaluate(_LOOKED_AT)
    else:
        person.context.set_offline(True)
        person.context.set_offline(False)
    turns = page.locator("article.turn")
    expect(turns).to_have_count(2)
    ends(turns.nth(1))
    assert part(turns.nth(1), "answer").inner_text() == part(theirs, "answer").inner_text()

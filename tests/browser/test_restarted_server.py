"""A server killed seconds after a question goes on once it is started again; so does the page."""

import re
from collections.abc import Iterator

import pytest
from langgraph_sdk import get_sync_client

from agent.texts import say
from tests.browser.browser_page import ask, ends, part, thread_of
from tests.browser.held_server import service_fixture
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import ASPECTS_EN
from tests.support.dev_server import DevServer
from tests.support.page_gemini import HeldGemini
from tests.support.page_server import page_server

__all__ = ["service_fixture"]
pytestmark = BROWSER
LOST = say("page.timeline.lost", "zh")
DOWN = "ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)|404"


@pytest.fixture(scope="module", name="server")
def server_fixture(
    service: HeldGemini, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """It is killed before it saved its run, however slow the machine is."""
    folder = tmp_path_factory.mktemp("server")
    with page_server(folder, env=service.environment, forgetful=True) as started:
        yield started


def searching(page: Page, gemini: HeldGemini) -> Locator:
    """A turn whose searches are under way."""
    gemini.requests.clear()
    gemini.hold()
    turn = ask(page, ASPECTS_EN)
    expect(turn.locator('.step[data-kind="search_started"]')).to_have_count(2)
    gemini.waits()
    return turn


def test_a_run_lost_by_kill_9_is_waited_for_and_answered_once(
    visit: Visits, service: HeldGemini, server: DevServer
) -> None:
    person = visit(fresh=True)
    person.forgive(DOWN)
    page = person.tab()
    turn = searching(page, service)
    thread_id = thread_of(page)
    runs = re.compile(r"/threads/[^/]+/runs\?")
    page.route(runs, lambda route: route.fulfill(status=404, body="{}"))
    # As for a person, the page has to wait for it.
    with page.expect_event("requestfailed", lambda sent: thread_id in sent.url):
        server.kill()
    with page.expect_event("requestfailed", lambda sent: thread_id in sent.url):
        pass
    server.start()
    expect(part(turn, "timeline").locator(".now")).to_have_text(LOST)
    expect(turn).to_have_attribute("data-status", "running")
    page.unroute(runs)
    service.let_go()
    ends(turn)
    expect(page.locator("article.turn")).to_have_count(1)
    words = turn.locator(".step .words").all_text_contents()
    assert len(words) == len(set(words)) > 4, words
    expect(turn.locator('.step[data-kind="search_done"]')).to_have_count(2)
    with get_sync_client(url=server.url) as client:
        (run,) = client.runs.list(thread_id)
        assert run["metadata"]["tanlu_run"] != run["run_id"]  # type: ignore[index]
    later = visit().tab(f"/app?thread={thread_id}")
    ends(later.locator("article.turn"))
    assert part(turn, "answer").inner_text() == part(later, "answer").inner_text()
    expect(part(later, "threads").get_by_role("link", name=re.compile("sodium"))).to_be_visible()

"""A server with keys: signing in and out, two people, a key that is no longer taken."""

import re
from collections.abc import Iterator

import pytest

from tests.browser.browser_labels import nameless
from tests.browser.browser_page import ask, ends, part, question_box, thread_of
from tests.support.browser import BROWSER, Locator, Page, Visit, Visits, expect
from tests.support.dev_server import DevServer
from tests.support.page_server import page_server
from tests.support.two_owners import ALICE, BOB, KEYS

BUND = "外滩附近有哪些咖啡馆？"
"""No card of the first screen says it."""
pytestmark = BROWSER
_GUESS = """async (keys) => {
  const headers = { "content-type": "application/json" };
  const offer = (key) => ({ method: "POST", headers, body: JSON.stringify({ key }) });
  await Promise.all(keys.map((key) => fetch("/app/sign-in", offer(key))));
}"""
REFUSED = r"status of 40[14]"
"""What the browser itself notes of a refusal that a test is about."""


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with page_server(tmp_path_factory.mktemp("keys"), env=KEYS) as started:
        yield started


@pytest.fixture(name="person")
def person_fixture(visit: Visits) -> Visit:
    begun = visit()
    begun.forgive(REFUSED)
    return begun


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="登录")


def offer(page: Page, key: str) -> None:
    """Types the key and sends it."""
    expect(dialog(page).get_by_label("密钥")).to_be_focused()
    dialog(page).get_by_label("密钥").fill(key)
    page.keyboard.press("Enter")


def sign_in(page: Page, key: str, name: str) -> None:
    offer(page, key)
    expect(account(page)).to_contain_text(name)
    expect(dialog(page)).to_have_count(0)


def account(page: Page) -> Locator:
    return page.get_by_role("button", name="账号")


def sign_out(page: Page) -> None:
    account(page).click()
    page.get_by_role("button", name="退出").click()
    expect(dialog(page)).to_be_visible()


def test_a_stranger_sees_the_sign_in_and_nothing_else(person: Visit) -> None:
    page = person.tab()
    expect(dialog(page)).to_be_visible()
    assert nameless(page) == []
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_visible()
    expect(question_box(page)).to_have_count(0)
    asked = {request.url.removeprefix(person.url) for request in person.requests}
    assert all(path.startswith("/app") for path in asked), asked
    offer(page, "not-a-key-0123456789")
    expect(dialog(page).get_by_role("alert")).to_have_text("这个密钥不对。")
    expect(dialog(page).get_by_label("密钥")).to_be_focused()


def test_a_key_opens_the_page_and_no_script_can_read_it(person: Visit) -> None:
    page = person.tab()
    sign_in(page, ALICE, "alice")
    (cookie,) = person.context.cookies()
    assert cookie["name"] == "tanlu_key"
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    kept = page.evaluate(
        "() => [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)]"
    )
    assert kept == ["", "{}", "{}"]
    assert ALICE not in page.url + page.content()
    turn = ends(ask(page, BUND))
    part(turn, "exports").get_by_role("button", name="另存").click()
    with page.expect_download() as taken:
        part(turn, "exports").get_by_role("link", name="Markdown").click()
    assert BUND in taken.value.path().read_text("utf-8")


def test_after_signing_out_nothing_is_left(person: Visit) -> None:
    page = person.tab()
    sign_in(page, ALICE, "alice")
    ends(ask(page, BUND))
    thread = thread_of(page)
    sign_out(page)
    assert person.context.cookies() == []
    assert BUND not in page.content()
    page.goto(f"/app?thread={thread}")
    expect(dialog(page)).to_be_visible()
    assert BUND not in page.content()


def test_a_second_person_sees_nothing_of_the_first(person: Visit) -> None:
    page = person.tab()
    sign_in(page, ALICE, "alice")
    ends(ask(page, BUND))
    thread = thread_of(page)
    expect(part(page, "threads").locator(".thread")).not_to_have_count(0)
    sign_out(page)
    sign_in(page, BOB, "bob")
    expect(part(page, "threads").locator(".none")).to_be_visible()
    page.goto(f"/app?thread={thread}")
    expect(page.get_by_role("alert")).to_contain_text("打不开这个对话")
    assert BUND not in page.content()
    for name in ("answer.md", "report.html", "places.geojson", "places.gpx"):
        reply = page.request.get(f"/app/runs/{thread}/{name}")
        assert reply.status == 404, name


def test_where_the_key_is_no_longer_taken_one_signs_in_and_goes_on(person: Visit) -> None:
    page = person.tab()
    sign_in(page, ALICE, "alice")
    turn = ends(ask(page, BUND))
    thread = thread_of(page)
    person.context.clear_cookies()
    again = ask(page, "那附近有停车场吗")
    expect(dialog(page)).to_be_visible()
    offer(page, ALICE)
    expect(dialog(page)).to_have_count(0)
    expect(turn).to_have_attribute("data-status", "done")
    assert thread_of(page) == thread
    again.get_by_role("button", name=re.compile("再试|再问")).click()
    ends(page.locator("article.turn").last)
    assert thread_of(page) == thread


def test_another_who_signs_in_then_finds_their_own_page(person: Visit) -> None:
    page = person.tab()
    sign_in(page, ALICE, "alice")
    ends(ask(page, BUND))
    person.context.clear_cookies()
    ask(page, "那附近有停车场吗")
    offer(page, BOB)
    expect(account(page)).to_contain_text("bob")
    expect(page.get_by_role("alert")).to_contain_text("打不开这个对话")
    assert BUND not in page.content()


def test_a_wrong_key_too_often_has_to_wait(visit: Visits) -> None:
    # The last one here: for a minute, nobody signs in from this address.
    person = visit()
    person.forgive(r"status of 4\d\d")
    page = person.tab()
    expect(dialog(page)).to_be_visible()
    # All at once: to type them might take longer than the minute in which they are counted.
    page.evaluate(_GUESS, [f"not-a-key-{number:010}" for number in range(40)])
    offer(page, "not-a-key-either-01")
    expect(dialog(page).get_by_role("alert")).to_contain_text("试得太多")

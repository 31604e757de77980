"""A run under way: its answer grows, it outlives reloads and lost connections, and it stops."""

import re
from collections.abc import Iterator

import pytest
from langgraph_sdk import get_sync_client

from agent.texts import say
from tests.browser.browser_page import STOP, ask, ends, part, thread_of, watch, watched
from tests.browser.held_server import server_fixture, service_fixture
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import ASPECTS_EN, EN, searches, until
from tests.support.dev_server import DevServer
from tests.support.page_gemini import HeldGemini

__all__ = ["server_fixture", "service_fixture"]
pytestmark = BROWSER
SUBJECT = "sodium"
OTHER = "What is a good coffee grinder?"


@pytest.fixture(name="gemini")
def gemini_fixture(service: HeldGemini) -> Iterator[HeldGemini]:
    service.requests.clear()
    yield service
    service.let_go()


def searching(page: Page, gemini: HeldGemini) -> Locator:
    """A turn whose searches have been sent and wait for their replies."""
    gemini.hold()
    turn = ask(page, ASPECTS_EN)
    expect(turn.locator('.step[data-kind="search_started"]')).to_have_count(2)
    gemini.waits()
    return turn


def everything_once(page: Page, visit: Visits) -> None:
    """The page shows what somebody sees who opens the thread afterwards."""
    turn = page.locator("article.turn")
    expect(turn).to_have_count(1)
    ends(turn)
    later = visit().tab(f"/app?thread={thread_of(page)}")
    ends(later.locator("article.turn"))
    for name in ("answer", "sources"):
        assert part(turn, name).inner_text() == part(later, name).inner_text()
    part(turn, "timeline").locator("summary").click()
    words = turn.locator(".step .words").all_inner_texts()
    assert len(words) > 4
    assert len(words) == len(set(words)), words
    expect(turn.locator('.step[data-kind="search_done"]')).to_have_count(2)


def test_the_answer_comes_in_while_it_is_written(visit: Visits) -> None:
    page = visit().tab()
    watch(page)
    turn = ends(ask(page, EN))
    growing = [m["text"] for m in watched(page) if m["status"] == "running" and m["text"]]
    assert len(set(growing)) > 2
    assert [len(text) for text in growing] == sorted(len(text) for text in growing)
    final = part(turn, "answer").locator(".prose").text_content() or ""
    plain = re.sub(r"\[?\d\]?|\s", "", final)
    assert all(plain.startswith(re.sub(r"\[?\d\]?|\s", "", text)) for text in growing)


def test_the_next_question_can_be_asked_while_a_slow_judge_reads_the_answer(
    visit: Visits, gemini: HeldGemini
) -> None:
    gemini.hold(judges)
    page = visit(locale="en-US").tab()
    first = ask(page, EN)
    expect(first.locator('.step[data-kind="checking"]')).to_have_count(1)
    assert len(part(first, "answer").locator(".prose").inner_text()) > 100
    second = ask(page, OTHER)
    expect(first).to_have_attribute("data-status", "running")
    gemini.let_go()
    ends(first)
    ends(second)
    expect(page.locator("article.turn")).to_have_count(2)


def judges(_: object, body: object) -> bool:
    """Tell a call of the judge from others."""
    return "claim_check" in str(body)


def test_a_page_loaded_anew_goes_on_with_the_run(visit: Visits, gemini: HeldGemini) -> None:
    page = visit(viewport={"width": 360, "height": 740}).tab()
    searching(page, gemini)
    thread_of(page)
    page.reload()
    turn = page.locator("article.turn")
    now = part(turn, "timeline").locator(".now")
    expect(now).to_contain_text("搜索")
    assert (now.bounding_box() or {"height": 99})["height"] < 30, "long lines make the steps jump"
    expect(turn).to_have_attribute("data-status", "running")
    expect(turn.locator('.step[data-kind="queries"]')).to_have_count(1)
    expect(turn.locator('.step[data-kind="search_started"][data-state="open"]')).to_have_count(2)
    gemini.let_go()
    everything_once(page, visit)


def test_a_lost_connection_is_taken_up_where_it_was(visit: Visits, gemini: HeldGemini) -> None:
    person = visit()
    person.forgive("ERR_INTERNET_DISCONNECTED")
    page = person.tab()
    turn = searching(page, gemini)
    thread_of(page)
    with page.expect_event("requestfailed"):
        person.context.set_offline(True)
        gemini.let_go()
    expect(turn).to_have_attribute("data-status", "running")
    person.context.set_offline(False)
    everything_once(page, visit)


def test_a_stopped_run_makes_no_further_call(
    visit: Visits, gemini: HeldGemini, server: DevServer
) -> None:
    page = visit().tab()
    turn = searching(page, gemini)
    until(lambda: gemini.asked(SUBJECT) == 3)
    page.get_by_role("button", name=STOP).click()
    ends(turn, "stopped")
    with get_sync_client(url=server.url) as client:
        (run,) = client.runs.list(thread_of(page))
        assert run["status"] == "interrupted"
    asked = gemini.asked(SUBJECT)
    assert asked == 3, "its queries, then two searches"
    gemini.let_go()
    page.get_by_role("button", name="新问题").click()
    ends(ask(page, OTHER))
    assert len(gemini.requests) >= asked + 3
    assert gemini.asked(SUBJECT) == asked


def test_after_a_stop_the_same_thread_answers_the_next_question(
    visit: Visits, gemini: HeldGemini
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(**phone).tab()
    stopped = searching(page, gemini)
    stopped.locator(".question").tap()
    expect(page.get_by_role("button", name=re.compile("^由谁来答"))).to_be_hidden()
    page.get_by_role("button", name=STOP).tap()
    ends(stopped, "stopped")
    gemini.let_go()
    ends(ask(page, OTHER))
    page.reload()
    turns = page.locator("article.turn")
    expect(turns).to_have_count(2)
    ends(turns.nth(0), "stopped")
    ends(turns.nth(1))


def stop_and_answer(page: Page, turn: Locator, gemini: HeldGemini) -> None:
    """Stop a run, and have it answer of what was found: no search follows."""
    page.get_by_role("button", name=STOP).click()
    ends(turn, "stopped")
    gemini.let_go()
    asked = sum(searches(None, request.body) for request in gemini.requests)
    turn.get_by_role("button", name="用已查到的作答").click()
    ends(turn)
    assert sum(searches(None, request.body) for request in gemini.requests) == asked


def test_a_stopped_run_answers_from_what_it_had_found(visit: Visits, gemini: HeldGemini) -> None:
    page, sent = visit().tab(), list[str]()

    def later_search(_: object, body: object) -> bool:
        """The first search is answered, the other waits."""
        sent.extend([str(body)] * searches(None, body))
        return searches(None, body) and str(body) != sent[0]

    gemini.hold(later_search)
    turn = ask(page, ASPECTS_EN)
    expect(turn.locator('.step[data-kind="search_done"]')).to_have_count(1)
    until(lambda: len(set(sent)) == 2)
    stop_and_answer(page, turn, gemini)
    expect(page.locator("article.turn")).to_have_count(1)
    expect(turn.locator(".prose a.cite")).not_to_have_count(0)
    page.reload()
    ends(page.locator("article.turn"))
    expect(page.locator(".prose a.cite")).not_to_have_count(0)


@pytest.mark.parametrize(
    ("assistant", "writer"),
    [("深入研究", "deep_report"), ("求一个准确答案", "team_verifier"), ("资料汇编", "dossier")],
)
def test_what_was_found_is_answered_from_whoever_was_asked(
    visit: Visits, gemini: HeldGemini, assistant: str, writer: str
) -> None:
    page = visit().tab()
    page.get_by_role("button", name="由谁来答").click()
    page.get_by_role("radio", name=re.compile(f"^{assistant}")).check()

    def writes(_: object, body: object) -> bool:
        return f"<task>{writer}</task>" in str(body)

    gemini.hold(writes)
    turn = ask(page, ASPECTS_EN)
    gemini.waits(writes)
    stop_and_answer(page, turn, gemini)
    expect(part(turn, "answer")).to_contain_text("You stopped the search")


def test_a_run_stopped_before_its_first_queries_has_nothing_to_answer_from(
    visit: Visits, gemini: HeldGemini
) -> None:
    page = visit().tab()
    gemini.hold(lambda _method, _body: True)
    turn = ask(page, ASPECTS_EN)
    until(lambda: len(gemini.requests) > 0)
    page.get_by_role("button", name=STOP).click()
    ends(turn, "stopped")
    gemini.let_go()
    expect(turn.get_by_role("button", name="再问一次")).to_be_visible()
    expect(turn.get_by_role("button", name="用已查到的作答")).to_have_count(0)


def test_two_tabs_see_the_same_run(visit: Visits, gemini: HeldGemini) -> None:
    person = visit()
    first = person.tab()
    searching(first, gemini)
    second = person.tab(f"/app?thread={thread_of(first)}")
    other = second.locator("article.turn")
    expect(other.locator('.step[data-kind="search_started"]')).to_have_count(2)
    gemini.let_go()
    ends(other)
    ends(first.locator("article.turn"))
    assert part(other, "answer").inner_text() == part(first, "answer").inner_text()


def test_a_run_stopped_in_one_tab_is_stopped_in_the_other(
    visit: Visits, gemini: HeldGemini
) -> None:
    person = visit()
    first = person.tab()
    turn = searching(first, gemini)
    second = person.tab(f"/app?thread={thread_of(first)}")
    expect(second.locator("article.turn")).to_have_attribute("data-status", "running")
    second.get_by_role("button", name=STOP).click()
    ends(second.locator("article.turn"), "stopped")
    ends(turn, "stopped")


def test_a_question_that_could_not_be_sent_is_sent_again(visit: Visits) -> None:
    person = visit()
    person.forgive("ERR_INTERNET_DISCONNECTED")
    page = person.tab()
    person.context.set_offline(True)
    turn = ends(ask(page, EN), "failed")
    expect(turn.get_by_role("alert")).to_be_visible()
    person.context.set_offline(False)
    turn.get_by_role("button", name="再试一次").click()
    ends(page.locator("article.turn").last)
    expect(part(page, "threads").locator(".thread").first).to_contain_text(EN)


def test_a_wish_for_a_run_under_way_is_passed_on_and_told_once_it_is_taken_up(
    visit: Visits, gemini: HeldGemini
) -> None:
    page = visit().tab()
    turn = searching(page, gemini)
    box = page.get_by_role("textbox", name="问题")
    add = page.get_by_role("button", name="补充", exact=True)
    expect(add).to_be_hidden()
    box.fill("also the price")
    expect(page.get_by_role("button", name=STOP)).to_be_visible()
    add.click()
    expect(page.get_by_role("status").filter(has_text="已转达")).to_be_visible()
    expect(box).to_have_value("")
    box.fill("-cathodes")
    box.press("Enter")
    expect(box).to_have_value("")
    gemini.let_go()
    ends(turn)
    part(turn, "timeline").locator("summary").click()
    expect(turn.locator('.step[data-kind="wish"]')).to_contain_text("also the price")
    expect(turn.locator('.step[data-kind="drop"]')).to_contain_text("cathodes")
    assert any("also the price" in str(request.body) for request in gemini.requests)


def test_a_wish_that_comes_too_late_is_given_back_with_the_reason_beside_the_answer(
    visit: Visits, gemini: HeldGemini
) -> None:
    person = visit()
    person.forgive("409")
    person.context.route("**/steer", lambda route: route.fulfill(status=409, json={}))
    page = person.tab()
    turn = searching(page, gemini)
    box = page.get_by_role("textbox", name="问题")
    box.fill("also the price")
    box.press("Enter")
    reason = page.get_by_role("status").filter(has_text=say("page.server.not_now", "zh"))
    expect(reason).to_be_visible()
    gemini.let_go()
    ends(turn)
    expect(box).to_have_value("also the price")
    expect(reason).to_be_visible()
    box.fill("also the prices")
    expect(reason).to_be_hidden()

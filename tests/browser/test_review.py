"""A plan read before anything is searched: changed, taken as it is, left for later, unwanted."""

from collections.abc import Iterator

import pytest

from agent.texts import say
from tests.browser.browser_page import ask, ends, part, question_box
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import ZH, searches
from tests.support.dev_server import DevServer
from tests.support.page_gemini import HeldGemini, held_gemini
from tests.support.page_server import page_server

pytestmark = BROWSER
PLAN = [ZH, "王府井 带孩子 吃饭"]
OWN = "王府井 雨天 亲子"


@pytest.fixture(scope="module", name="gemini")
def gemini_fixture() -> Iterator[HeldGemini]:
    with held_gemini() as started:
        yield started


@pytest.fixture(scope="module", name="keyed")
def keyed_fixture(
    gemini: HeldGemini, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """A server with a Gemini key and no map, whose calls can be counted."""
    with page_server(tmp_path_factory.mktemp("keyed"), env=gemini.environment) as started:
        yield started


def planned(page: Page, question: str = ZH) -> Locator:
    """A turn that waits with its plan."""
    page.get_by_text("先看计划").click()
    expect(page.get_by_role("switch", name="先看计划")).to_be_checked()
    turn = ends(ask(page, question), "waiting")
    expect(part(turn, "review")).to_be_visible()
    return turn


def queries(turn: Locator) -> list[str]:
    boxes = part(turn, "review").get_by_role("textbox")
    return [box.input_value() for box in boxes.all()]


def shown_plan(turn: Locator) -> str:
    """The queries that were searched, as the timeline says them."""
    part(turn, "timeline").locator("summary").click()
    return part(turn, "timeline").locator('.step[data-kind="queries"]').last.inner_text()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844), (360, 740)])
def test_a_short_plan_and_the_question_box_are_whole_in_the_window(
    visit: Visits, width: int, height: int
) -> None:
    page = visit(viewport={"width": width, "height": height}).tab()
    turn = planned(page)
    expect(page.locator(".composer-box")).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("计划等待确认")).to_be_in_viewport(ratio=1)
    if width > 390:
        expect(part(turn, "review")).to_be_in_viewport(ratio=1)
    go = part(turn, "review").get_by_role("button", name="按这个计划继续").bounding_box()
    box = page.locator(".composer").bounding_box()
    assert go
    assert box
    assert box["y"] - go["height"] >= go["y"] > 0
    files = part(page, "documents").get_by_role("button").first
    files.click()
    expect(files).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    question_box(page).focus()
    expect(page.get_by_role("switch", name="先看计划")).to_be_visible()
    expect(page.locator(".composer-box")).to_be_in_viewport(ratio=1)


def test_a_changed_plan_is_what_is_searched(visit: Visits) -> None:
    turn = planned(visit().tab())
    review = part(turn, "review")
    expect(review.get_by_role("heading", name="检索计划")).to_be_focused()
    assert queries(turn) == PLAN
    expect(review.get_by_role("checkbox", name="查地图")).to_be_checked()
    expect(review).to_contain_text("网页搜索 2 次，地图 8 次，模型 5 次")
    expect(review).to_contain_text("免费")
    review.get_by_role("button", name="添加一条").click()
    expect(review.get_by_role("textbox", name="第 3 条", exact=True)).to_be_focused()
    review.get_by_role("textbox", name="第 3 条", exact=True).fill("王府井 避坑")
    review.get_by_role("button", name="删除第 2 条").click()
    expect(review).to_contain_text("网页搜索 2 次，地图 8 次")
    expect(review.get_by_role("textbox", name="第 2 条", exact=True)).to_be_focused()
    review.get_by_role("button", name="添加一条").click()
    expect(review.get_by_role("textbox", name="第 3 条", exact=True)).to_be_focused()
    review.get_by_role("textbox", name="第 3 条", exact=True).fill(OWN)
    review.get_by_role("button", name="按这个计划继续").click()
    ends(turn)
    expect(review).to_be_hidden()
    assert shown_plan(turn) == f"检索词：{ZH}；王府井 避坑；{OWN}"
    expect(part(turn, "timeline").locator('.step[data-kind="search_done"]')).to_have_count(3)
    expect(turn.locator(".place")).not_to_have_count(0)


def test_a_plan_without_its_map_task_asks_no_map(visit: Visits) -> None:
    turn = planned(visit().tab())
    part(turn, "review").get_by_role("checkbox", name="查地图").uncheck()
    part(turn, "review").get_by_role("button", name="按这个计划继续").click()
    ends(turn)
    expect(part(turn, "timeline").locator('.step[data-kind^="map"]')).to_have_count(0)
    expect(part(turn, "places")).to_be_hidden()
    expect(part(turn, "sources")).to_be_visible()


def test_a_plan_of_which_nothing_is_left_cannot_go_on(visit: Visits) -> None:
    turn = planned(visit().tab())
    review = part(turn, "review")
    for _ in PLAN[1:]:
        review.get_by_role("button", name="删除第 1 条").click()
    expect(review.get_by_role("button", name="删除第 1 条")).to_be_disabled()
    review.get_by_role("textbox").fill(" ")
    review.get_by_role("button", name="按这个计划继续").click()
    expect(review.get_by_role("alert")).to_have_text("至少要留一条。")
    ends(turn, "waiting")


def test_another_question_puts_a_plan_aside_and_says_so(visit: Visits) -> None:
    page = visit().tab()
    turn = planned(page)
    expect(question_box(page)).to_have_attribute("placeholder", say("page.composer.aside", "zh"))
    question_box(page).focus()
    page.get_by_text("先看计划").click()
    ends(ask(page, ZH))
    for _ in range(2):
        expect(part(turn, "timeline").locator("summary")).to_contain_text("计划已放下")
        expect(turn.get_by_role("button", name="再问一次")).to_be_visible()
        expect(part(turn, "review")).to_be_hidden()
        page.reload()
        turn = page.locator("article.turn").first


def test_a_plan_of_an_english_question_says_its_language_on_a_chinese_page(visit: Visits) -> None:
    review = part(planned(visit().tab(), "Cafes near the Bund, Shanghai"), "review")
    expect(review.get_by_role("textbox").first).to_have_attribute("lang", "en")
    expect(review.locator(".review-map [lang]").first).to_have_attribute("lang", "en")
    expect(review.locator(".review-estimate")).to_contain_text("估计（按所写计划")


def test_a_cancelled_plan_ends_the_question(visit: Visits) -> None:
    page = visit().tab()
    turn = planned(page)
    part(turn, "review").get_by_role("button", name="取消").click()
    expect(part(turn, "review")).to_be_hidden()
    ends(turn)
    expect(part(turn, "answer")).to_contain_text(say("answer.cancelled", "zh"))
    expect(part(turn, "timeline").locator('.step[data-kind^="search"]')).to_have_count(0)
    page.get_by_text("先看计划").click()
    ends(ask(page, ZH))


def test_a_plan_still_waits_when_the_thread_is_opened_again(visit: Visits) -> None:
    page = visit().tab()
    planned(page)
    page.get_by_role("button", name="新问题").click()
    expect(page.locator("article.turn")).to_have_count(0)
    waiting = part(page, "threads").locator('.thread[data-status="interrupted"]').first
    expect(waiting).to_contain_text("等待决定")
    page.go_back()
    page.reload()
    turn = ends(page.locator("article.turn"), "waiting")
    assert queries(turn) == PLAN
    part(turn, "review").get_by_role("button", name="按这个计划继续").click()
    ends(turn)
    assert shown_plan(turn) == f"检索词：{'；'.join(PLAN)}"


def test_while_a_plan_waits_nothing_is_searched_and_then_what_it_says(
    visit: Visits, gemini: HeldGemini, keyed: DevServer
) -> None:
    page = visit(keyed.url).tab()
    turn = planned(page, "How do sodium-ion batteries work?")
    review = part(turn, "review")
    expect(review).to_contain_text("约 $0.")
    assert not any(searches(None, request.body) for request in gemini.requests)
    removed = queries(turn)
    while review.get_by_role("textbox").count() > 1:
        review.get_by_role("button", name="删除第 1 条").click()
    review.get_by_role("textbox").fill("sodium batteries in buses")
    review.get_by_role("button", name="按这个计划继续").click()
    ends(turn)
    first, *follow_ups = [str(r.body) for r in gemini.requests if searches(None, r.body)]
    assert "<query>sodium batteries in buses</query>" in first
    assert not any(f"<query>{query}</query>" in str(follow_ups) for query in removed)

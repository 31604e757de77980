"""Without a pointer, and without seeing: focus, names, what is read out."""

import re

import pytest

from agent.texts import say
from tests.browser.browser_labels import nameless
from tests.browser.browser_page import ends, part, question_box
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
_MOST_STOPS = 120


def tab_to(page: Page, wanted: Locator, *, key: str = "Tab") -> Locator:
    """Goes on with the keyboard until this has the focus, which must be seen there."""
    visited = []
    for _ in range(_MOST_STOPS):
        page.keyboard.press(key)
        if wanted.evaluate("(node) => node === document.activeElement"):
            assert is_ringed(wanted), wanted
            return wanted
        visited.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
    raise AssertionError(f"{wanted} is not reached with {key}: {visited}")


def is_ringed(focused: Locator) -> bool:
    """Whether one sees that it has the focus: by its outline, or by the border of its box."""
    ringed: bool = focused.evaluate(
        """(node) => {
          const { outlineStyle, outlineWidth } = getComputedStyle(node);
          if (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) return true;
          const box = node.closest(".composer-box");
          if (!node.matches("textarea") || !box) return false;
          const focused = getComputedStyle(box).borderColor;
          node.blur();
          const border = getComputedStyle(box).borderColor;
          node.focus();
          return border !== focused;
        }"""
    )
    return ringed


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    return answered_thread(server, ZH)


def begun(visit: Visits, path: str = "/app") -> Page:
    page = visit().tab(path)
    expect(question_box(page)).to_be_visible()
    return page


def test_one_asks_and_reads_without_a_pointer(visit: Visits) -> None:
    page = begun(visit)
    expect(question_box(page)).to_be_focused()
    page.keyboard.type(ZH)
    page.keyboard.press("Enter")
    turn = ends(page.locator("article.turn"))
    # One may go on writing; the answer is before the question box.
    expect(question_box(page)).to_be_focused()
    fold = tab_to(page, part(turn, "timeline").locator("summary"), key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(part(turn, "timeline").locator(".step").first).to_be_visible()
    expect(fold).to_be_focused()
    skip = tab_to(page, page.get_by_role("link", name="跳到提问框"), key="Shift+Tab")
    expect(skip).to_be_in_viewport()
    page.keyboard.press("/")
    expect(question_box(page)).to_be_focused()
    page.keyboard.press("ArrowUp")
    editor = part(page, "edit").get_by_role("textbox")
    expect(editor).to_be_focused()
    expect(editor).to_have_value(ZH)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="修改问题或重新提问")).to_be_focused()


def test_the_list_is_one_stop_and_is_worked_by_keys(visit: Visits, server: DevServer) -> None:
    threads = [answered_thread(server, name) for name in ("你好", "谢谢")]
    page = begun(visit)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox", name="查找问题")).to_be_focused()
    page.keyboard.type("你好")
    rows = part(page, "threads").locator("[data-thread-id]")
    expect(rows).to_have_count(1)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(rows.nth(1)).to_be_visible()
    page.keyboard.press("Tab")
    expect(rows.first.get_by_role("link")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1).get_by_role("link")).to_be_focused()
    page.keyboard.press("F2")
    page.keyboard.type("问候")
    page.keyboard.press("Enter")
    row = part(page, "threads").locator(f'[data-thread-id="{threads[0]}"]')
    expect(row).to_contain_text("问候")
    expect(row.get_by_role("link")).to_be_focused()
    page.keyboard.press("Delete")
    row.get_by_role("button", name="删除“问候”").press("Enter")
    expect(row).to_have_count(0)


def test_a_citation_opens_closes_and_gives_the_focus_back(visit: Visits, thread: str) -> None:
    page = begun(visit, f"/app?thread={thread}")
    turn = ends(page.locator("article.turn"))
    cited = tab_to(page, turn.locator("a.cite").first)
    expect(cited).to_have_accessible_name(re.compile(r"^来源 1：\[示例\] 和平菓局"))
    told = part(page, "citation")
    expect(told).to_be_visible()
    expect(cited).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    expect(cited).to_be_focused()
    page.keyboard.press("Enter")
    expect(told.get_by_role("link", name="打开来源")).to_be_focused()
    page.keyboard.press("Tab")
    expect(told.get_by_role("button", name="在地图上看")).to_be_focused()
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    expect(cited).to_be_focused()
    tab_to(page, turn.locator("a.cite").nth(1))
    expect(told).to_contain_text("乐高品牌旗舰店")


def test_places_are_chosen_in_the_list_and_on_the_map(visit: Visits, thread: str) -> None:
    page = begun(visit, f"/app?thread={thread}")
    turn = ends(page.locator("article.turn"))
    line = tab_to(page, turn.locator(".place-line").nth(2))
    page.keyboard.press("Enter")
    expect(line).to_have_attribute("aria-expanded", "true")
    expect(line).to_be_focused()
    pins = part(page, "map").locator(".map-pin")
    expect(pins.nth(2)).to_have_attribute("aria-pressed", "true")
    source = tab_to(
        page, turn.locator(".place-more").get_by_role("link", name=re.compile("^来源")).first
    )
    page.keyboard.press("Enter")
    expect(part(turn, "sources").locator(".source:focus")).to_contain_text("中国妇女儿童博物馆")
    expect(source).to_be_visible()
    tab_to(page, pins.first)
    page.keyboard.press(" ")
    expect(pins.first).to_have_attribute("aria-pressed", "true")
    expect(pins.first).to_be_focused()
    expect(turn.locator(".place-line").first).to_have_attribute("aria-expanded", "true")


def test_a_plan_is_read_changed_and_sent(visit: Visits) -> None:
    page = begun(visit)
    tab_to(page, page.get_by_role("switch", name="先看计划"))
    page.keyboard.press(" ")
    tab_to(page, question_box(page), key="Shift+Tab")
    page.keyboard.type(ZH)
    page.keyboard.press("Enter")
    turn = ends(page.locator("article.turn"), "waiting")
    review = part(turn, "review")
    expect(review.get_by_role("heading", name="检索计划")).to_be_focused()
    tab_to(page, review.get_by_role("button", name="删除第 1 条"))
    page.keyboard.press("Enter")
    expect(review.get_by_role("textbox")).to_have_count(1)
    expect(review.get_by_role("textbox").first).to_be_focused()
    tab_to(page, review.get_by_role("button", name="添加一条"))
    page.keyboard.press("Enter")
    expect(review.get_by_role("textbox").nth(1)).to_be_focused()
    page.keyboard.type("王府井 书店")
    tab_to(page, review.get_by_role("button", name="按这个计划继续"))
    page.keyboard.press("Enter")
    ends(turn)
    # What had the focus is gone; one is where the answer begins, not at the page's beginning.
    expect(turn.get_by_role("heading", level=2)).to_be_focused()
    tab_to(page, part(turn, "timeline").locator("summary"))
    page.keyboard.press("Enter")
    expect(part(turn, "timeline")).to_contain_text("王府井 书店")


def test_panels_and_the_drawer_fold_with_escape_and_give_the_focus_back(
    visit: Visits, thread: str
) -> None:
    page = visit(viewport={"width": 360, "height": 740}).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    tab_to(page, question_box(page))
    for name in ("由谁来答", "位置"):
        opener = tab_to(page, page.get_by_role("button", name=re.compile(f"^{name}: ")))
        page.keyboard.press("Enter")
        expect(opener).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        expect(opener).to_have_attribute("aria-expanded", "false")
        expect(opener).to_be_focused()
    opener = tab_to(page, page.get_by_role("button", name="打开问题列表"), key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(part(page, "threads")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="关上")).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()


def test_how_a_run_goes_and_ends_is_read_out(visit: Visits) -> None:
    page = begun(visit)
    said: list[str] = []
    page.expose_binding("said", lambda _source, told: said.append(told))
    page.evaluate(
        """() => new MutationObserver((changes) => {
          for (const { target } of changes) {
            const live = (target.closest ? target : target.parentElement)?.closest("[role=status]");
            if (live?.textContent.trim()) said(live.textContent.trim());
          }
        }).observe(document.body, { subtree: true, childList: true, characterData: true })"""
    )
    question_box(page).fill(ZH)
    page.keyboard.press("Enter")
    ends(page.locator("article.turn"))
    expect(part(page, "status")).to_have_text("回答好了")
    assert said.count(say("page.page.done", "zh")) == 1
    assert 1 < len(said) < 12, said
    expect(part(page, "answer").locator(".prose")).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize("width", [360, 1440])
def test_everything_has_a_name(visit: Visits, thread: str, width: int) -> None:
    page = visit(viewport={"width": width, "height": 800}).tab()
    expect(page.locator(".example").first).to_be_visible()
    assert nameless(page) == []
    page.get_by_role("button", name="由谁来答").click()
    assert nameless(page) == []
    page.goto(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    page.locator("a.cite").first.click()
    assert nameless(page) == []
    page.keyboard.press("Escape")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    # What was unfolded at the top covers it.
    page.locator(".place-line").first.dispatch_event("click")
    assert nameless(page) == []
    question_box(page).focus()
    part(page, "near").get_by_role("button").first.click()
    assert nameless(page) == []


def test_a_plan_has_names_and_landmarks_do_too(visit: Visits) -> None:
    page = begun(visit)
    page.get_by_role("switch", name="先看计划").check()
    question_box(page).fill(ZH)
    page.keyboard.press("Enter")
    ends(page.locator("article.turn"), "waiting")
    assert nameless(page) == []
    expect(page.get_by_role("main", name="问与答")).to_be_visible()
    expect(page.get_by_role("navigation", name="我的问题")).to_be_visible()
    expect(page.get_by_role("banner")).to_be_visible()


def test_a_page_in_english_is_english(visit: Visits, thread: str) -> None:
    page = visit(locale="en-GB").tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert nameless(page) == []
    ours = page.locator(
        ".button:not([lang]), .tabs button, label:not(:has([lang])), h3, summary, .notice"
    ).all_inner_texts()
    assert len(ours) > 10
    assert [text for text in ours if re.search("[\u4e00-\u9fff]", text)] == []

"""An answer taken along: a file of each kind, and a link that opens the thread again."""

import json
import re
from pathlib import Path

import httpx
import pytest

from agent.texts import say
from tests.browser.browser_page import ends, part
from tests.support.browser import BROWSER, Page, Visits, expect
from tests.support.command_line import EN, ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
PLACES = [
    "和平菓局",
    "乐高品牌旗舰店(北京王府井店)",
    "中国妇女儿童博物馆",
    "海底捞火锅(王府井店)",
    "东单公园",
    "西贝莜面村(东方新天地店)",
]
"""What the answer names, four in its list, the park in its text; last what a page names."""


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    """Two answers: one with places, then one without."""
    return answered_thread(server, ZH, EN)


@pytest.fixture(name="page")
def page_fixture(visit: Visits, thread: str) -> Page:
    page = visit().tab(f"/app?thread={thread}")
    ends(page.locator("article.turn").last)
    return page


def unfold(page: Page, turn: int) -> None:
    page.locator("article.turn").nth(turn).evaluate("(one) => one.scrollIntoView()")
    part(page, "exports").nth(turn).get_by_role("button", name="另存").click()


def downloaded(page: Page, name: str) -> tuple[str, str]:
    """File name and text of an export of the first answer."""
    unfold(page, 0)
    with page.expect_download() as download:
        part(page, "exports").first.get_by_role("link", name=name).click()
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def test_the_markdown_is_the_answer_with_its_sources(page: Page) -> None:
    name, text = downloaded(page, "Markdown")
    assert name == f"{ZH}.md"
    assert all(place in text for place in PLACES)
    assert re.search(r"(?m)^\[1\]: https://uri\.amap\.com/", text)
    assert "**来源**" in text
    assert "sodium" not in text


def test_the_geojson_has_the_places_and_what_they_lie_around(page: Page) -> None:
    name, text = downloaded(page, "GeoJSON")
    assert name == f"{ZH}.geojson"
    features = json.loads(text)["features"]
    assert {f["properties"]["name"] for f in features} == {*PLACES, "王府井"}
    assert all(39.8 < f["geometry"]["coordinates"][1] < 40 for f in features)


def test_the_gpx_has_a_waypoint_for_each_place(page: Page) -> None:
    name, text = downloaded(page, "GPX")
    assert name == f"{ZH}.gpx"
    assert re.findall("<name>(.+?)</name>", text)[-len(PLACES) :] == PLACES


def test_the_report_opens_in_a_tab_and_needs_nothing_else(page: Page) -> None:
    unfold(page, 0)
    with page.context.expect_page() as opened:
        part(page, "exports").first.get_by_role("link", name="网页").click()
    report = opened.value
    report.wait_for_load_state()
    for place in PLACES:
        expect(report.locator("body")).to_contain_text(place)
    expect(report.locator("svg").first).to_be_visible()
    asked = report.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert asked == []


def test_an_answer_without_places_offers_no_file_of_places(page: Page) -> None:
    unfold(page, 1)
    last = part(page, "exports").last
    expect(last.get_by_role("link")).to_have_text(
        [
            "PDF",
            "Word",
            "Markdown",
            "网页",
            "BibTeX",
            "RIS",
        ]
    )
    with page.expect_download() as download:
        last.get_by_role("link", name="Markdown").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert "sodium" in text
    assert PLACES[0] not in text


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_menu_of_an_earlier_answer_is_whole(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    ends(page.locator("article.turn").last)
    unfold(page, 0)
    link = page.locator("article.turn").first.get_by_role("link", name="Markdown")
    # What a turn's containment clips away is not what lies under a pointer either.
    on_top = """(link) => {
      const { left, right, top, bottom } = link.getBoundingClientRect();
      const at = [[left + 2, (top + bottom) / 2], [right - 2, (top + bottom) / 2]];
      return at.map(([x, y]) => x >= 0 && x <= innerWidth
        && link.contains(document.elementFromPoint(x, y)));
    }"""
    assert link.evaluate(on_top) == [True, True]


def test_the_pdf_is_one(page: Page) -> None:
    unfold(page, 1)
    with page.expect_download() as download:
        part(page, "exports").last.get_by_role("link", name="PDF").click()
    assert download.value.suggested_filename == f"{EN.rstrip('?')}.pdf"
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF")


def test_the_copied_link_opens_the_thread(visit: Visits, thread: str) -> None:
    person = visit(permissions=["clipboard-read", "clipboard-write"])
    page = person.tab(f"/app?thread={thread}")
    footer = part(page, "exports").first
    footer.get_by_role("button", name="复制对话链接").click()
    expect(footer.get_by_role("status")).to_have_text("已复制")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == f"{person.url}/app?thread={thread}"


def test_a_shared_answer_is_read_without_a_script_and_its_sharing_is_ended_beside_it(
    visit: Visits, thread: str
) -> None:
    person = visit(permissions=["clipboard-read", "clipboard-write"])
    page = person.tab(f"/app?thread={thread}")
    footer = part(page, "exports").first
    footer.get_by_role("button", name="分享这个回答").click()
    status = footer.get_by_role("status")
    expect(status).to_contain_text("有链接的人")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{person.url}/shared/")
    read = httpx.get(address, trust_env=False, timeout=60)
    assert "<script" not in read.text
    assert thread not in read.text
    footer.get_by_role("button", name="结束分享").click()
    expect(status).to_have_text("已结束分享")
    assert httpx.get(address, trust_env=False, timeout=60).status_code == 404


_LINES = """(status) => {
  const texts = [...status.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
  const range = document.createRange();
  range.setStartBefore(texts[0]);
  range.setEndAfter(texts.at(-1));
  const lines = Map.groupBy(range.getClientRects(), ({ top }) => Math.round(top));
  return [...lines.values()].map((parts) =>
    Math.max(...parts.map(({ right }) => right)) - Math.min(...parts.map(({ left }) => left)));
}"""
"""Returns how long the lines of a status are, without its button."""


@pytest.mark.parametrize("width", [360, 390, 1024, 1440])
@pytest.mark.parametrize(("locale", "name", "end"), [
    ("zh-CN", "分享这个回答", "结束分享"), ("en-US", "Share this answer", "End sharing"),
])  # fmt: skip
def test_what_is_said_of_sharing_leaves_no_word_alone_on_a_line(
    visit: Visits, thread: str, width: int, locale: str, name: str, end: str
) -> None:
    viewport, rights = {"width": width, "height": 844}, ["clipboard-read", "clipboard-write"]
    page = visit(viewport=viewport, locale=locale, permissions=rights).tab(f"/app?thread={thread}")
    footer = part(page, "exports").first
    footer.get_by_role("button", name=name).click()
    button = footer.get_by_role("button", name=end)
    expect(button).to_be_visible()
    lines = footer.get_by_role("status").evaluate(_LINES)
    assert min(lines) > max(lines) / 2, lines
    box, around = button.bounding_box(), footer.bounding_box()
    assert box
    assert around
    assert box["height"] < 48, "its own words stay on one line"
    assert box["x"] + box["width"] <= around["x"] + around["width"]


def test_a_question_asked_anew_says_what_changed_also_after_a_reload(
    visit: Visits, thread: str
) -> None:
    person = visit(fresh=True)
    page = person.tab(f"/app?thread={thread}")
    first, second = part(page, "exports").first, part(page, "exports").nth(1)
    anew = say("page.answer_footer.anew", "zh")
    expect(second).to_be_visible()
    expect(second.get_by_role("button", name=anew)).to_have_count(0)
    first.get_by_role("button", name=anew).click()
    changes = part(page, "changes")
    expect(changes).to_contain_text("以来的变化", timeout=60_000)
    assert thread in page.url
    assert f"thread={thread}" not in page.url
    page.reload()
    expect(changes).to_contain_text("以来的变化")


def test_without_a_clipboard_the_link_can_be_copied_by_hand(visit: Visits, thread: str) -> None:
    person = visit(fresh=True)
    person.context.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: null })")
    page = person.tab(f"/app?thread={thread}")
    footer = part(page, "exports").first
    footer.get_by_role("button", name="复制对话链接").click()
    field = footer.get_by_role("textbox", name="请手动复制")
    expect(field).to_have_value(f"{person.url}/app?thread={thread}")
    expect(field).to_be_focused()

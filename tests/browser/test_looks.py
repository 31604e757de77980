"""The page on a phone and on a desk, by day and by night; its pictures for people."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.browser.browser_page import ask, ends, part, question_box
from tests.browser.page_looks import faint, moves, overflow, small, watch_moves
from tests.support.browser import BROWSER, Locator, Page, Route, Visits, artifacts, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread, thread_in

pytestmark = BROWSER
HEIGHTS = {360: 740, 390: 844, 1024: 768, 1440: 900}
SCHEMES = ("light", "dark")
EN = "Where can children play near Wangfujing, Beijing?"
LOOKS = [("zh-CN", 360, "dark"), ("zh-CN", 1440, "light"), ("zh-CN", 1440, "dark")]
LOOKS += [("en-US", 390, "light"), ("ar", 390, "light")]
SHOTS = bool(os.environ.get("TANLU_SHOTS"))
if SHOTS:
    LOOKS = [
        (locale, width, scheme)
        for locale in ("zh-CN", "en-US", "ar") for width in (390, 1024, 1440) for scheme in SCHEMES
    ]  # fmt: skip
"""The extremes; `make shots` takes pictures of all."""
MAP, THREADS = re.compile("^(地图|Map)$"), re.compile("^(打开问题列表|Open the list of questions)$")
MENU = re.compile("^(菜单|Menu)")
"""It comes last: the page has begun."""
EXPORT = re.compile("(导出|Export)$")
WHO, PLAN = re.compile("^(由谁来答|Who answers)"), re.compile("^(先看计划|Plan first)$")
WATCH_SHIFTS = """
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries()) {
    shifts.push(`${value} ${sources.map(({ node }) => node?.className)}`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
STILL = {"reduced_motion": "reduce"}
TOUCH = 44
"""Pixels a finger needs."""
LIGHTEST = 350_000
"""Bytes of the whole page as they come over the line."""
FIRST_PAINT_MS = 3000
"""A second is meant; machines that run many servers at once take longer."""


def titled(server: DevServer, question: str) -> str:
    """A thread with an answer, in the list of the page."""
    thread = answered_thread(server, question)
    with get_sync_client(url=server.url) as client:
        client.threads.update(thread, metadata={"title": question, "asked_over": "page"})
    return thread


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    return titled(server, ZH)


@pytest.fixture(scope="module", name="threads")
def threads_fixture(server: DevServer, thread: str) -> dict[str, str]:
    """A thread in each language; of Arabic the page has none of its own words."""
    english = titled(server, EN)
    return {"zh-CN": thread, "en-US": english, "ar": thread_in(server, "ar", english)}


def states(page: Page, thread: str, question: str = ZH) -> Iterator[str]:
    """Brings the page from one state to the next, and names it."""
    page.goto("/app")
    expect(page.get_by_role("button", name=MENU)).to_be_visible()
    expect(page.locator(".example").first).to_be_visible()
    yield "welcome"
    page.get_by_role("button", name=WHO).click()
    yield "assistants"
    page.goto(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    yield "answer"
    page.get_by_role("button", name=EXPORT).click()
    yield "export"
    page.keyboard.press("Escape")
    page.locator("a.cite").nth(2).click()
    page.mouse.move(5, 5)
    expect(part(page, "citation")).to_be_visible()
    yield "citation"
    page.keyboard.press("Escape")
    page.locator(".place-line").nth(1).click()
    expect(page.locator(".place.selected")).to_be_in_viewport()
    yield "place"
    question_box(page).focus()
    part(page, "near").get_by_role("button").first.click()
    yield "near"
    page.keyboard.press("Escape")
    if page.get_by_role("button", name=MAP).is_visible():
        page.get_by_role("button", name=MAP).click()
        yield "map"
        page.get_by_role("button", name=THREADS).click()
        expect(part(page, "threads")).to_be_focused()
        expect(part(page, "threads")).to_have_css("transform", "none")
        yield "threads"
    page.goto("/app")
    page.get_by_role("switch", name=PLAN).check()
    ends(ask(page, question), "waiting")
    yield "review"


def box_of(shown: Locator) -> dict[str, Any]:
    """Where something is, once it is there and has come to rest."""
    expect(shown).to_be_visible()
    shown.element_handle().wait_for_element_state("stable")
    found = shown.bounding_box()
    assert found is not None
    return {**found}


def assert_none(wrong: dict[str, list[str]]) -> None:
    """Nothing is wrong in any state; tells all that is."""
    told = {state: what for state, what in wrong.items() if what}
    assert not told, json.dumps(told, ensure_ascii=False, indent=1)


@pytest.mark.parametrize(("locale", "width", "scheme"), LOOKS)
def test_nothing_sticks_out_and_all_can_be_read(
    visit: Visits, threads: dict[str, str], tmp_path: Path, locale: str, width: int, scheme: str
) -> None:
    viewport = {"width": width, "height": HEIGHTS[width]}
    page = visit(viewport=viewport, color_scheme=scheme, locale=locale, **STILL).tab()
    wrong = {}
    for state in states(page, threads[locale], ZH if locale == "zh-CN" else EN):
        if SHOTS:
            picture = f"{state}-{locale[:2]}-{width}-{scheme}.png"
            page.screenshot(path=artifacts(tmp_path) / picture)
        wrong[state] = overflow(page) + faint(page)
    assert_none(wrong)


def test_the_measures_see_what_they_measure(visit: Visits) -> None:
    page = visit().tab()
    expect(page.locator(".example").first).to_be_visible()
    assert [*overflow(page), *faint(page)] == []
    page.evaluate("document.querySelector('.welcome p').style.color = '#8a8f8d'")
    page.evaluate("document.querySelector('.welcome h2').style.width = '120rem'")
    assert len(faint(page)) == 1
    assert any("<h2" in told for told in overflow(page))


_ENDS_OF_LENGTH = r"""(fact) => {
  const text = document.createTreeWalker(fact, NodeFilter.SHOW_TEXT).nextNode();
  const found = /\d+(?= k?m)/.exec(text.data), end = found.index + found[0].length;
  return [found.index, end + 1].map((at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().x;
  });
}"""
"""Returns how far left a length's first digit and its unit stand."""


def test_an_answer_in_arabic_runs_from_the_right_and_the_page_around_it_from_the_left(
    visit: Visits, threads: dict[str, str]
) -> None:
    page = visit(locale="en-US", **STILL).tab(f"/app?thread={threads['ar']}")
    turn = ends(page.locator("article.turn"))
    for runs in (turn.locator(".question"), turn.locator(".prose"), turn.locator(".place-list")):
        expect(runs.first).to_have_css("direction", "rtl")
    card, opened = turn.locator(".place").first, turn.locator(".place-rows")
    card.get_by_role("button").first.click()
    name, number, hours = (box_of(card.locator(f".place-{part}")) for part in
                           ("name", "number", "facts"))  # fmt: skip
    assert name["x"] < number["x"]
    assert hours["x"] + hours["width"] <= number["x"]
    lengths = turn.locator(".place-facts > span:visible").filter(has_text=re.compile(r"\d k?m"))
    figure, unit = lengths.first.evaluate(_ENDS_OF_LENGTH)
    assert figure < unit
    label, told = (box_of(opened.locator(part).first) for part in ("dt", "dd"))
    assert told["x"] < label["x"]
    expect(turn.locator("td.figure").last).to_have_css("direction", "ltr")
    title = part(page, "threads").locator(".thread-title", has_text="بكين")
    expect(title).to_have_css("direction", "rtl")
    for own in (part(page, "checks"), part(page, "sources"), part(page, "composer")):
        expect(own).to_have_css("direction", "ltr")
    question_box(page).fill("مرحبا")
    expect(question_box(page)).to_have_css("direction", "rtl")


def test_the_labels_of_a_card_are_whole_in_a_language_of_long_words(
    visit: Visits, thread: str
) -> None:
    page = visit(viewport={"width": 360, "height": 740}, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    page.locator(".place-line").first.click()
    labels = page.locator(".place-rows dt")
    line = box_of(labels.last)["height"]
    labels.first.evaluate("(one) => { one.textContent = 'Rollstuhlgerecht'; }")
    assert box_of(labels.first)["height"] == line
    told = [box_of(each)["x"] for each in page.locator(".place-rows dd").all()]
    assert len(set(told)) == 1, "what they label begins in one line"
    assert overflow(page) == []


def test_a_finger_hits_every_control(visit: Visits, thread: str) -> None:
    viewport = {"width": 360, "height": 740}
    page = visit(viewport=viewport, has_touch=True, is_mobile=True, **STILL).tab()
    wrong = {state: small(page, TOUCH) for state in states(page, thread)}
    assert_none(wrong)


@pytest.mark.parametrize("zoom", [2, 4])
def test_it_can_be_zoomed(visit: Visits, thread: str, zoom: int) -> None:
    viewport = {"width": 1280 // zoom, "height": 1024 // zoom}
    page = visit(viewport=viewport, device_scale_factor=zoom, **STILL).tab()
    wrong = {state: overflow(page) for state in states(page, thread)}
    assert_none(wrong)


def test_on_an_english_phone_the_options_are_one_row(visit: Visits) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(**phone, locale="en-US", **STILL).tab()
    options = page.locator(".composer-options > :visible")
    expect(options).to_have_count(4)
    assert len({round(box_of(options.nth(at))["y"]) for at in range(4)}) == 1
    switch = options.nth(3).get_by_role("switch")
    expect(switch).to_have_css("opacity", "1")
    expect(switch).to_have_css("width", "24px")
    for folded in options.locator(".disclosure").all():
        expect(folded.locator(".icon").last).to_be_visible()


@pytest.mark.parametrize("locale", ["zh-CN", "en-US"])
def test_the_first_screen_stays_where_it_is(visit: Visits, locale: str) -> None:
    person = visit(fresh=True, viewport={"width": 390, "height": 844}, locale=locale, **STILL)
    person.context.add_init_script(WATCH_SHIFTS)
    page = person.tab()
    expect(page.get_by_role("button", name=MENU)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("shifts") == []


def test_a_question_can_be_written_before_all_is_loaded(visit: Visits) -> None:
    person = visit(fresh=True, viewport={"width": 390, "height": 844})
    held: list[Route] = []
    person.context.route("**/start.js", lambda route: held.append(route))
    page = person.tab()
    question_box(page).fill(ZH)
    question_box(page).press("Enter")
    assert page.locator("article.turn").count() == 0
    held.pop().continue_()
    ends(page.locator("article.turn"))
    expect(page.locator(".question")).to_have_text(ZH)


def test_a_follow_up_begins_below_what_stays_at_the_top(
    visit: Visits, threads: dict[str, str]
) -> None:
    page = visit(viewport={"width": 390, "height": 844}, locale="en-US", **STILL).tab(
        f"/app?thread={threads['en-US']}"
    )
    ends(page.locator("article.turn"))
    page.get_by_role("button", name="Make a day of it").click()
    turns = page.locator("article.turn")
    expect(turns).to_have_count(2)
    ends(turns.nth(1))
    top = box_of(part(page, "top"))
    assert box_of(turns.nth(1))["y"] >= top["y"] + top["height"]


def test_on_a_phone_a_planned_day_is_a_line_of_stops(visit: Visits, server: DevServer) -> None:
    address = f"/app?thread={answered_thread(server, ZH)}"
    page = visit(viewport={"width": 480, "height": 844}, **STILL).tab(address)
    ends(page.locator("article.turn"))
    page.get_by_role("button", name="排成一日游").click()
    expect(page.locator("article.turn")).to_have_count(2)
    rows = ends(page.locator("article.turn").nth(1)).get_by_role("row")
    assert rows.count() >= 4, "screen readers have a table in either form"
    for width, is_line in ((480, True), (481, False), (320, True)):
        page.set_viewport_size({"width": width, "height": 844})
        when, where, way = (box_of(rows.nth(2).get_by_role("cell").nth(at)) for at in range(3))
        assert when["x"] + when["width"] <= where["x"], width
        assert (way["x"] == where["x"] and way["y"] < where["y"]) is is_line, width
        assert (way["y"] == where["y"]) is not is_line, width
        assert overflow(page) == [], width


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_a_card_keeps_together_what_belongs_together(
    visit: Visits, threads: dict[str, str], width: int
) -> None:
    viewport = {"width": width, "height": HEIGHTS[width]}
    page = visit(viewport=viewport, locale="en-US", **STILL).tab(f"/app?thread={threads['en-US']}")
    turn = ends(page.locator("article.turn").first)
    cards = turn.locator(".place")
    assert cards.count() >= 3
    for card in cards.all():
        pieces = card.locator(".place-local").evaluate("(name) => name.getClientRects().length")
        assert pieces == 1, "a short local name is not broken"
        name, local = (box_of(card.locator(part)) for part in (".place-name", ".place-local"))
        is_below = local["y"] >= name["y"] + name["height"] / 2 and local["x"] < name["x"] + 16
        assert not is_below or local["x"] == name["x"], "on a line of its own it has the same edge"
        tag, hours = (box_of(card.locator(part)) for part in (".tag[data-open]", ".place-when"))
        assert tag["height"] <= hours["height"] < 2 * tag["height"], "the hours stand beside it"
    edge = box_of(turn.locator(".prose p").first)["x"]
    assert left_edges(cards) == {edge}, "text and cards have one edge"
    cards.first.get_by_role("button").first.click()
    assert box_of(cards.first.locator(".place-number"))["x"] == edge, "nothing moves sideways"
    chosen = cards.first.evaluate("(card) => getComputedStyle(card).backgroundColor")
    expect(cards.first.locator(".tag[data-open]")).not_to_have_css("background-color", chosen)


def left_edges(cards: Locator) -> set[float]:
    """Where cards and their numbers begin."""
    return {box_of(one)["x"] for one in (*cards.all(), *cards.locator(".place-number").all())}


@pytest.mark.parametrize("width", [390, 1440])
def test_cards_in_the_text_and_below_it_begin_where_the_text_does(
    visit: Visits, thread: str, width: int
) -> None:
    page = visit(viewport={"width": width, "height": HEIGHTS[width]}, **STILL).tab(
        f"/app?thread={thread}"
    )
    turn = ends(page.locator("article.turn").first)
    cards, told = turn.locator(".place"), turn.locator(".prose .place")
    assert 0 < told.count() < cards.count()
    assert left_edges(cards) == {box_of(turn.locator(".prose p").first)["x"]}


def test_on_a_phone_a_day_of_weather_has_a_line(visit: Visits, server: DevServer) -> None:
    address = (
        f"/app?thread={answered_thread(server, 'What will the weather be in Beijing tomorrow?')}"
    )
    phone = {"viewport": {"width": 390, "height": 844}, "locale": "en-US"}
    page = visit(**phone, **STILL).tab(address)
    days = ends(page.locator("article.turn")).locator(".day")
    ends_of_line = set()
    for day in days.all():
        date, sky, warmth = (box_of(day.locator("> *").nth(at)) for at in range(3))
        assert date["y"] == sky["y"] == warmth["y"]
        ends_of_line.add(warmth["x"] + warmth["width"])
    assert len(ends_of_line) == 1
    chosen = page.locator(".day[aria-current] > *")
    assert box_of(chosen.nth(1))["height"] == box_of(chosen.nth(0))["height"], "one line of sky"


@pytest.mark.parametrize("name", ["打开问题列表", "位置: 我附近"])
def test_what_folds_leaves_the_text_where_it_is(visit: Visits, thread: str, name: str) -> None:
    page = visit(viewport={"width": 390, "height": 844}, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    question_box(page).focus()
    page.evaluate("scrollTo(0, 300)")
    opener = page.get_by_role("button", name=name)
    at = box_of(opener)
    # A click by its locator would scroll to it first.
    page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    assert page.evaluate("scrollY") == 300
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    assert page.evaluate("scrollY") == 300


@pytest.mark.parametrize(("width", "height"), [(640, 512), (800, 360)], ids=["zoomed", "sideways"])
def test_a_low_window_is_for_reading(visit: Visits, thread: str, width: int, height: int) -> None:
    page = visit(viewport={"width": width, "height": height}, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    sizes = [box_of(part(page, name)) for name in ("top", "composer")]
    assert height - sum(size["height"] for size in sizes) > height / 2
    page.get_by_role("button", name="由谁来答").click()
    choices = box_of(page.locator(".composer .unfolded:visible"))
    assert choices["y"] >= sizes[0]["height"], "the choices begin under the page's head"
    page.keyboard.press("Escape")
    page.locator("a.cite").nth(2).click()
    card = box_of(part(page, "citation"))
    assert card["y"] >= 0
    assert card["y"] + card["height"] <= height, "the card's end is out of reach"


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1440, 640), (1024, 768)])
def test_a_source_is_told_beside_its_number_and_not_over_the_map(
    visit: Visits, thread: str, width: int, height: int
) -> None:
    page = visit(viewport={"width": width, "height": height}, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    card, talk = part(page, "citation"), box_of(part(page, "talk"))
    for at in range(4):
        number = page.locator("a.cite").nth(at)
        number.click()
        box, own = box_of(card), box_of(number)
        assert talk["x"] <= box["x"], at
        assert box["x"] + box["width"] <= talk["x"] + talk["width"], at
        assert box["y"] >= own["y"] + own["height"] or box["y"] + box["height"] <= own["y"], at
        # A low window has no room for both.
        free = box["y"] + box["height"] <= box_of(page.locator(".composer-box"))["y"]
        assert free or height < 704, at
        for way in card.locator(".card-ways > *").all():
            expect(way).to_be_in_viewport(ratio=1)
        page.keyboard.press("Escape")


def test_the_number_tapped_stays_above_the_sheet_that_tells_its_source(
    visit: Visits, thread: str
) -> None:
    viewport = {"width": 390, "height": 844}
    page = visit(viewport=viewport, has_touch=True, is_mobile=True, **STILL).tab(
        f"/app?thread={thread}"
    )
    ends(page.locator("article.turn"))
    number = page.locator(".place a.cite").first
    number.tap()
    sheet = box_of(part(page, "citation"))
    own = box_of(number)
    assert own["y"] + own["height"] < sheet["y"]
    part(page, "citation").get_by_role("button", name="在地图上看").tap()
    expect(part(page, "map")).to_be_visible()


def test_its_letters_can_be_twice_as_large(visit: Visits, thread: str) -> None:
    page = visit(fresh=True, viewport={"width": 360, "height": 740}, **STILL).tab()
    cdp = page.context.new_cdp_session(page)
    cdp.send("Page.enable")
    cdp.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "32px"
    wrong = {state: overflow(page) for state in states(page, thread)}
    assert_none(wrong)


def test_a_phone_on_its_side_shows_whose_map_it_is(visit: Visits, thread: str) -> None:
    page = visit(viewport={"width": 740, "height": 360}, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    page.get_by_role("button", name="地图", exact=True).click()
    credit = box_of(part(page, "map").get_by_text("© 高德地图"))
    assert credit["y"] + credit["height"] <= 360


def test_on_the_smallest_phone_the_map_tells_the_names_in_the_answer_and_whose_data_it_is(
    visit: Visits, thread: str
) -> None:
    phone = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
    page = visit(**phone, locale="en-US", **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    page.get_by_role("button", name="Map", exact=True).tap()
    drawn = part(page, "map")
    drawn.locator(".map-pin").nth(1).tap()
    card, credit = box_of(page.locator(".map-choice")), box_of(drawn.locator(".map-credit"))
    assert card["y"] + card["height"] <= credit["y"]
    assert credit["y"] + credit["height"] <= 640
    names = drawn.locator(".map-name:not(.centre)")
    expect(names).to_have_count(drawn.locator(".map-pin:not(.faint)").count())
    assert overflow(page) == []


def test_what_is_chosen_shows_without_our_colours(visit: Visits, thread: str) -> None:
    person = visit(viewport={"width": 360, "height": 740}, forced_colors="active", **STILL)
    page = person.tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    for chosen, other in (("回答", "地图"), ("地图", "回答"), ("回答", "地图")):
        tabs = [page.get_by_role("button", name=name, exact=True) for name in (chosen, other)]
        tabs[0].click()
        page.get_by_role("button", name="新问题").focus()
        assert [outlined(tab) for tab in tabs] == [True, False]
    switch = part(page, "composer").locator("label.switch")
    assert not outlined(switch)
    question_box(page).focus()
    switch.click()
    page.get_by_role("button", name="新问题").focus()
    assert outlined(switch)
    places = page.locator(".place")
    places.nth(1).get_by_role("button").click()
    assert [outlined(places.nth(at)) for at in (0, 1)] == [False, True]
    ground = part(page, "composer").evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert ground != "rgba(0, 0, 0, 0)", "the answer shows through around the question box"


def test_on_paper_there_is_the_answer_with_numbers_and_addresses(
    visit: Visits, thread: str
) -> None:
    page = visit(fresh=True, color_scheme="dark", **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    place = page.locator(".place").first
    expect(place.get_by_text("王府井大街255号")).to_be_hidden()
    page.emulate_media(media="print")
    expect(place.get_by_text("王府井大街255号")).to_be_visible()
    expect(place.locator(".place-number")).to_have_css("color", "rgb(0, 0, 0)")
    expect(place.locator(".place-number")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    for name in ("header", "threads", "composer", "map", "timeline", "exports"):
        expect(part(page, name)).to_be_hidden()


def test_on_paper_nothing_is_chosen_and_no_address_is_there_twice(
    visit: Visits, thread: str
) -> None:
    page = visit(fresh=True, **STILL).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    place = page.locator(".place").nth(2)
    page.emulate_media(media="print")
    assert place.inner_text().count("北极阁路") == 1, "its bullet says the address"
    page.emulate_media(media="screen")
    page.locator(".place-line").first.click()
    page.emulate_media(media="print")
    chosen = page.locator(".place.selected")
    expect(chosen).to_have_css("box-shadow", "none")
    expect(chosen.locator(".place-number")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    assert chosen.inner_text().count("王府井大街255号") == 1
    expect(chosen.locator(".place-more")).to_be_hidden()
    folded = part(page, "sources").locator(".map-sources > summary")
    expect(folded).to_have_css("list-style-type", "none")


def outlined(node: Locator) -> bool:
    style: str = node.evaluate("(one) => getComputedStyle(one).outlineStyle")
    return style != "none"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_for_those_who_want_no_motion(visit: Visits, motion: str) -> None:
    page = visit(reduced_motion=motion).tab()
    watch_moves(page)
    turn = ends(ask(page, ZH))
    turn.locator("a.cite").first.click()
    page.keyboard.press("Escape")
    part(page, "map").locator(".map-pin").nth(2).click()
    expect(page.locator(".place.selected")).to_be_visible()
    part(page, "map").get_by_role("button", name="放大").click()
    assert bool(moves(page)) == (motion == "no-preference"), moves(page)


def test_the_page_is_light_and_quick(visit: Visits) -> None:
    for _ in range(5):
        bytes_, painted = loaded(visit(fresh=True).tab())
        print(f"{bytes_} bytes, first paint after {painted:.0f} ms")
        assert 50_000 < bytes_ < LIGHTEST
        if painted < FIRST_PAINT_MS:
            return
    pytest.fail("none of five visits was quick")


def loaded(page: Page) -> tuple[int, float]:
    """Bytes that came, and milliseconds until something was to be seen."""
    page.wait_for_load_state("networkidle")
    bytes_, painted = page.evaluate(
        """() => [
          ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
            .filter(({ name }) => /\\/app(\\/files\\/|$)/.test(name))
            .reduce((sum, { transferSize }) => sum + transferSize, 0),
          performance.getEntriesByName("first-contentful-paint")[0].startTime,
        ]"""
    )
    return bytes_, painted


def test_headings_follow_one_another_and_no_id_is_there_twice(visit: Visits, thread: str) -> None:
    page = visit().tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    levels = page.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip([0, *levels], levels, strict=False))
    ids = page.locator("[id]").evaluate_all("all => all.map((one) => one.id)")
    assert sorted(set(ids)) == sorted(ids)
    expect(page.locator("html")).to_have_attribute("lang", re.compile("^zh"))

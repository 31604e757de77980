"""A question about a place: watched, answered, and read on the page and the map."""

import re
from collections import Counter
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from agent.texts import say
from tests.browser.browser_page import ask, ends, part, question_box, watch, watched
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
PLACES = ["和平菓局", "乐高品牌旗舰店(北京王府井店)", "中国妇女儿童博物馆", "海底捞火锅(王府井店)"]
MORE = ["东单公园", "西贝莜面村(东方新天地店)"]
"""The park stands in the answer's text, the restaurant on a page alone: behind the list's own."""


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    """With the answer to the question, to be opened as often as wanted."""
    return answered_thread(server, ZH)


@pytest.fixture(name="page")
def page_fixture(visit: Visits, thread: str) -> Page:
    """The thread on a wide screen."""
    page = visit().tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    return page


def pin(page: Page, name: str) -> Locator:
    return part(page, "map").get_by_role("button", name=re.compile(rf"^\d\. {re.escape(name)}"))


def card(page: Page, name: str) -> Locator:
    return page.locator(".place-line").filter(has_text=name)


def test_a_run_is_watched_from_the_question_to_the_answer(visit: Visits) -> None:
    page = visit().tab()
    expect(part(page, "notice")).to_contain_text("示例模式")
    watch(page)
    turn = ends(ask(page, ZH))
    begun = {kind for moment in watched(page) for kind in moment["open"]}
    # What the sample does may begin and end between two frames of a busy machine.
    ends_of = {"map_started": "map_done", "search_started": "search_done", "answering": "done"}
    steps = (
        part(turn, "timeline")
        .locator(".step")
        .evaluate_all("all => all.map((step) => step.dataset.kind)")
    )
    assert begun & ends_of.keys(), "nothing was seen while it was worked on"
    assert all(start in begun or end in steps for start, end in ends_of.items())
    assert all(moment["folded"] for moment in watched(page) if moment["text"]), "the text moves"
    final = part(turn, "answer").locator(".prose").inner_text()
    expect(part(turn, "answer").locator("a.cite")).not_to_have_count(0)
    assert all(name in final for name in PLACES)
    assert "[" not in final, "a citation was left as its number in brackets"
    expect(part(page, "notice")).to_contain_text("示例模式")
    expect(page).to_have_title(re.compile(ZH))


def test_the_research_can_be_read_afterwards(visit: Visits) -> None:
    turn = ends(ask(visit().tab(), ZH))
    timeline = part(turn, "timeline")
    expect(timeline.locator("details")).not_to_have_attribute("open", "")
    expect(timeline.locator("summary")).to_contain_text(
        re.compile(r"研究过程 +· [\d.]+ 秒 · \d+ 次网页搜索")
    )
    timeline.locator("summary").click()
    kinds = timeline.locator(".step").evaluate_all("all => all.map((step) => step.dataset.kind)")
    planned = timeline.locator('.step[data-kind="queries"]').inner_text().split("；")
    assert len(planned) > 1
    once = dict.fromkeys(("notice", "queries", "map_done", "reflection", "done"), 1)
    assert Counter(kinds) == {**once, "search_done": len(planned)}
    expect(timeline.locator('.step[data-kind="search_done"]').first).to_contain_text(
        re.compile(r"\d+ 条来源")
    )


def test_a_citation_tells_title_site_and_sentence(page: Page) -> None:
    answer = part(page, "answer")
    cited = answer.locator("a.cite", has_text=re.compile("^5$")).first
    told = part(page, "citation")
    cited.hover()
    expect(told).to_be_visible()
    expect(told.locator(".card-title")).to_contain_text("王府井带孩子怎么玩")
    expect(told.locator(".card-site")).to_contain_text("sample.tanlu.invalid")
    expect(told.locator("blockquote.nearest")).to_contain_text("步行十几分钟")
    page.mouse.move(5, 5)
    expect(told).to_be_hidden()
    cited.click()
    page.mouse.move(5, 5)
    expect(told).to_be_visible()
    expect(told.get_by_role("link")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()


_QUOTES = """async () => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { quotesFor } = await import(new URL("./answer/citation.js", main));
  const block = document.createElement("p");
  block.innerHTML = `It is open daily.
    <a class=cite data-quote="It is open daily. Entry is free.">1</a>`;
  const quotes = ["Entry is free.", "It is open daily. Entry is free.", "It was built in 1420."];
  return quotesFor(block.querySelector("a"), { quotes }, []);
}"""


def test_a_card_says_no_sentence_again_that_its_own_quote_has(visit: Visits) -> None:
    told = visit().tab().evaluate(_QUOTES)
    assert told == ["It is open daily. Entry is free.", "It was built in 1420."]


_LINES = """async () => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { quotesFor } = await import(new URL("./answer/citation.js", main));
  const block = document.createElement("p");
  block.innerHTML = "Gas costs 12 €. <a class=cite>1b</a>";
  const quotes = ["a. gas for two: 2 * 6 = 12 €", "b. all: 12 * 3 = 36 €"];
  return quotesFor(block.querySelector("a"), { quotes }, []);
}"""


def test_a_card_shows_the_line_first_that_its_citation_names(visit: Visits) -> None:
    assert visit().tab().evaluate(_LINES)[0] == "b. all: 12 * 3 = 36 €"


def test_the_citation_of_a_place_shows_it_on_the_map(page: Page) -> None:
    cited = part(page, "answer").locator("a.cite", has_text=re.compile("^4$")).first
    cited.click()
    expect(pin(page, PLACES[3])).to_have_attribute("aria-pressed", "true")
    part(page, "citation").get_by_role("button", name="在地图上看").click()
    expect(part(page, "citation")).to_be_hidden()
    expect(pin(page, PLACES[3])).to_have_attribute("aria-pressed", "true")


def test_map_and_list_select_each_other(page: Page) -> None:
    expect(part(page, "map").locator("[data-place-id]")).to_have_count(len([*PLACES, *MORE]))
    pin(page, PLACES[1]).click()
    expect(card(page, PLACES[1])).to_have_attribute("aria-expanded", "true")
    expect(card(page, PLACES[1])).to_be_in_viewport()
    shown = page.locator(".place.selected")
    expect(shown).to_contain_text("高德地图")
    card(page, PLACES[3]).click()
    expect(shown).to_have_count(1)
    expect(pin(page, PLACES[3])).to_have_attribute("aria-pressed", "true")
    expect(pin(page, PLACES[1])).to_have_attribute("aria-pressed", "false")
    expect(shown.get_by_role("link", name="在高德地图中打开")).to_have_attribute(
        "href", re.compile("^https://uri.amap.com/marker")
    )
    rows = shown.locator(".place-rows > div", has_text="高德")
    expect(rows.locator("dt")).to_have_text(["导航", "来源"])
    card(page, PLACES[3]).click()
    expect(shown).to_have_count(0)
    expect(pin(page, PLACES[3])).to_have_attribute("aria-pressed", "false")


def test_each_place_is_told_once_by_a_card_in_the_text_with_its_number(page: Page) -> None:
    """The number is the pin's; what the text says of the place its card does not say again."""
    told = page.locator(".prose li.place")
    expect(told).to_have_count(len(PLACES))
    expect(part(page, "places").locator(".place-name")).to_have_text(MORE)
    for number, name in enumerate(PLACES, 1):
        expect(told.nth(number - 1).locator(".place-number")).to_have_text(str(number))
        expect(told.nth(number - 1).locator(".place-name")).to_have_text(name)
        shown = told.nth(number - 1).text_content() or ""
        assert shown.count(" m") == shown.count("★") == 1, shown
        expect(pin(page, name)).to_have_text(str(number))
        assert " · " not in (told.nth(number - 1).text_content() or ""), "a line may begin with it"
    expect(told.last.locator(".place-said")).to_have_text(
        "逛完可以在这里吃饭，直线 229 m，★4.7，人均 ¥130，全天营业4。"
    )
    expect(part(page, "places").locator(".place-facts").first).to_contain_text(
        re.compile("距王府井.*★.*(¥|免费)")
    )


def test_pages_of_the_sample_are_no_links(page: Page) -> None:
    sources = part(page, "sources")
    expect(sources.locator("h3")).to_contain_text("网页来源 · ")
    expect(sources.locator(".source-title", has_text="[示例]").first).to_be_visible()
    expect(page.locator('a[href*=".invalid"]')).to_have_count(0)


def test_a_place_leads_to_the_sources_that_name_it(page: Page) -> None:
    card(page, PLACES[0]).click()
    page.locator(".place-more").get_by_role("link", name=re.compile("^来源 1$")).click()
    source = part(page, "sources").locator('[data-source-number="1"]')
    expect(source).to_be_focused()
    expect(source).to_contain_text(PLACES[0])


def test_on_a_phone_the_map_has_a_side_of_its_own(visit: Visits, thread: str) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    page = visit(**phone).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    expect(part(page, "map")).to_be_hidden()
    page.get_by_role("button", name="地图", exact=True).tap()
    pin(page, PLACES[2]).tap()
    chosen = page.locator(".map-choice")
    expect(chosen).to_contain_text(PLACES[2])
    chosen.get_by_role("button", name="看详情").tap()
    expect(part(page, "map")).to_be_hidden()
    expect(card(page, PLACES[2])).to_be_in_viewport()
    expect(card(page, PLACES[2])).to_have_attribute("aria-expanded", "true")


def test_that_it_is_a_sample_stands_over_the_page_until_it_is_put_away_and_below_an_answer(
    page: Page,
) -> None:
    answer, notice = part(page, "answer"), part(page, "notice")
    told = answer.get_by_text(say("sample.recorded", "zh"))
    prose, box = answer.locator(".prose").bounding_box(), told.bounding_box()
    assert prose
    assert box
    assert box["y"] >= prose["y"] + prose["height"]
    expect(part(page, "suggestions")).to_be_hidden()
    notice.get_by_role("button", name="收起这条提示").click()
    expect(notice).to_be_empty()
    page.reload()
    ends(page.locator("article.turn"))
    expect(notice).to_be_empty()


def test_the_page_speaks_english_to_those_who_do(visit: Visits) -> None:
    page = visit(locale="en-GB").tab()
    expect(part(page, "notice")).to_contain_text("Sample mode")
    turn = ends(ask(page, "How do sodium-ion batteries work?"))
    expect(part(turn, "timeline").locator("summary")).to_contain_text("Research")
    expect(part(turn, "sources")).to_contain_text("Sources")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    words = page.get_by_role("main").inner_text() + part(page, "map").inner_text()
    assert not re.search(r"[\u4e00-\u9fff]", words), words


def test_an_example_is_asked_with_one_click(visit: Visits) -> None:
    page = visit().tab()
    page.locator(".example").filter(has_text=ZH).click()
    turn = ends(page.locator("article.turn"))
    expect(turn.get_by_role("heading", name=ZH)).to_be_visible()
    expect(turn.locator(".place")).to_have_count(len([*PLACES, *MORE]))


def test_another_assistant_answers_where_it_is_chosen(visit: Visits) -> None:
    page = visit().tab()
    chooser = page.get_by_role("button", name=re.compile("^由谁来答"))
    chooser.click()
    page.get_by_role("radio", name=re.compile("^求一个准确答案")).check()
    expect(chooser).to_contain_text("求一个准确答案")
    expect(page.get_by_role("switch", name="先看计划")).to_be_visible()
    page.keyboard.press("Escape")
    turn = ends(ask(page, "东京塔和埃菲尔铁塔哪个更高，高多少米？"))
    part(turn, "timeline").locator("summary").click()
    expect(part(turn, "timeline").locator('.step[data-kind="turn"]')).not_to_have_count(0)
    expect(part(page, "map")).to_be_hidden()
    page.reload()
    ends(page.locator("article.turn"))
    expect(chooser).to_contain_text("求一个准确答案")


def test_a_way_is_told_step_by_step_and_leads_to_the_map_service(visit: Visits) -> None:
    page = visit().tab()
    turn = ends(ask(page, "从王府井到故宫怎么走？"))
    route = part(turn, "routes").locator(".route")
    expect(route).to_have_count(1)
    expect(route).to_contain_text(re.compile("步行 王府井 → 故宫 1.7 km · 23 分钟"))
    expect(route.get_by_role("link", name="在高德地图中打开")).to_have_attribute(
        "href", re.compile("^https://uri.amap.com/navigation")
    )
    route.locator("summary").click()
    expect(route.get_by_role("listitem")).to_contain_text("到达目的地")
    route.locator("a.cite").click()
    expect(part(page, "citation")).to_contain_text("步行 王府井 → 故宫")
    told = turn.inner_text()
    assert told.count("© 高德地图") == told.splitlines().count("路线") == 1


def test_another_mode_of_a_way_is_asked_for_with_one_tap(visit: Visits) -> None:
    page = visit().tab()
    turn = ends(ask(page, "从王府井到故宫怎么走？"))
    expect(part(page, "map-column")).to_contain_text("© 高德地图")
    modes = turn.get_by_role("group", name="出行方式").get_by_role("button")
    expect(modes).to_have_text(["步行 23 分钟", "问公交怎么走", "问驾车怎么走"])
    modes.nth(1).click()
    again = ends(page.locator("article.turn").nth(1))
    expect(again.get_by_role("heading", level=2)).to_have_text("从王府井到故宫，公交怎么走？")
    expect(part(again, "routes").locator(".tag")).to_have_text("公交")


def test_on_a_phone_the_question_box_is_one_row_until_it_is_used(
    visit: Visits, thread: str
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(**phone).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    chooser = page.get_by_role("button", name=re.compile("^由谁来答"))
    expect(chooser).to_be_hidden()
    assert (page.locator(".composer-box").bounding_box() or {"height": 99})["height"] < 64
    question_box(page).tap()
    expect(chooser).to_be_visible()
    page.locator(".question").first.tap()
    expect(chooser).to_be_hidden()
    files = part(page, "documents").get_by_role("button").first
    files.tap()
    expect(files).to_have_attribute("aria-expanded", "true")
    expect(files).to_have_css("outline-style", "none")


def test_the_weather_is_told_by_the_day_of_the_week(visit: Visits) -> None:
    page = visit().tab()
    turn = ends(ask(page, "北京明天天气怎么样？"))
    days = part(turn, "weather").get_by_role("listitem")
    expect(days.first).to_contain_text(re.compile(r"月\d+日周[一二三四五六日].*°C"))
    assert days.count() > 1
    for day in days.all():
        expect(day.locator("svg[aria-hidden=true]")).to_have_count(1)
    asked = part(turn, "weather").locator("[aria-current=date]")
    expect(asked).to_have_count(1)
    tomorrow = datetime.now(ZoneInfo("Asia/Shanghai")) + timedelta(days=1)
    expect(asked).to_contain_text(f"周{'一二三四五六日'[tomorrow.weekday()]}")
    told = turn.inner_text()
    assert told.count("© 高德地图") == told.splitlines().count("天气") == 1


def test_the_enter_that_ends_a_composition_asks_nothing(visit: Visits) -> None:
    page = visit().tab()
    question_box(page).focus()
    keyboard = page.context.new_cdp_session(page)

    def enter(code: int) -> None:
        told = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": code}
        keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **told})
        keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **told})

    composed = {"text": "waitan", "selectionStart": 6, "selectionEnd": 6}
    keyboard.send("Input.imeSetComposition", composed)
    enter(229)
    keyboard.send("Input.imeSetComposition", composed)
    enter(13)
    keyboard.send("Input.insertText", {"text": "外滩附近有哪些咖啡馆？"})
    enter(229)  # Safari's, which comes once the composition has ended.
    expect(question_box(page)).to_have_value("外滩附近有哪些咖啡馆？")
    expect(page.locator("article.turn")).to_have_count(0)
    enter(13)
    expect(page.locator("article.turn")).to_have_count(1)
    expect(question_box(page)).to_have_value("")


def test_a_site_that_is_none_is_said_in_words(visit: Visits) -> None:
    page = visit().tab()
    rules = part(page, "rules")
    rules.get_by_role("button").first.click()
    sites = rules.get_by_role("textbox")
    sites.fill("gov.cn not!!a!!site")
    expect(rules.get_by_role("status")).to_contain_text("不是网站")
    question_box(page).fill("外滩附近有哪些咖啡馆？")
    expect(page.get_by_role("button", name="提问", exact=True)).to_be_disabled()
    expect(page.locator(".composer-note")).to_have_text(say("page.composer.rules", "zh"))
    question_box(page).press("Enter")
    expect(page.locator("article.turn")).to_have_count(0)
    rules.get_by_role("button").first.click()
    sites.fill("gov.cn")
    expect(page.get_by_role("button", name="提问", exact=True)).to_be_enabled()
    expect(rules.get_by_role("status")).to_contain_text("只用这些网站")

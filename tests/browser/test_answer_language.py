"""An answer's own parts speak its language, whichever the page's is around them."""

import re
from typing import Any

import pytest

from tests.browser.browser_page import ends, part
from tests.support.browser import BROWSER, Page, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread, thread_in

pytestmark = BROWSER
HAN = re.compile(r"[\u4e00-\u9fff]")
EN = "Where can children play near Wangfujing, Beijing?"
WAY = {"zh": "从王府井到故宫怎么走？", "en": "How do I get from Wangfujing to the Palace Museum?"}
SKY = {"zh": "北京明天天气怎么样？", "en": "What is the weather in Beijing tomorrow?"}


@pytest.fixture(scope="module", name="threads")
def threads_fixture(server: DevServer) -> dict[str, str]:
    english = answered_thread(server, EN)
    return {
        "zh": answered_thread(server, ZH), "en": english, "de": thread_in(server, "de", english)
    }  # fmt: skip


def opened(visit: Visits, thread: str, locale: str) -> Page:
    page = visit(locale=locale, reduced_motion="reduce").tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    return page


_GERMAN = {"far": "ab Wangfujing", "now": "Jetzt", "label": "Adresse", "open": "In Amap öffnen"}
_ENGLISH = {"far": "from Wangfujing", "now": "now", "label": "Address", "open": "Open in Amap"}
_CHINESE = {"far": "距王府井", "now": "营业", "label": "地址", "open": "在高德地图中打开"}
_CARDS = [
    ("en-US", "zh", _CHINESE), ("zh-CN", "en", _ENGLISH), ("zh-CN", "de", _GERMAN),
    ("en-US", "de", _GERMAN),
]  # fmt: skip


@pytest.mark.parametrize(("locale", "language", "told"), _CARDS)
def test_a_card_speaks_the_answer_s_language_and_its_buttons_the_page_s(
    visit: Visits, threads: dict[str, str], locale: str, language: str, told: dict[str, str]
) -> None:
    page = opened(visit, threads[language], locale)
    told_far = page.locator(".place-facts", has_text=told["far"])
    card = page.locator(".place:visible", has=told_far).first
    expect(card.locator(".place-facts")).to_contain_text(told["far"])
    expect(card.locator(".place-facts")).to_contain_text(told["now"])
    name = card.locator(".place-name").text_content() or ""
    assert bool(HAN.search(name)) == (language == "zh"), name
    expect(page.locator(".prose")).to_have_attribute("lang", language)
    card.get_by_role("button").first.click()
    rows = card.locator(".place-rows")
    expect(rows).to_contain_text(told["label"])
    expect(rows).to_contain_text(told["open"])
    way = rows.locator(".place-way").first
    expect(way).to_have_text("Amap" if locale == "en-US" else "高德")
    expect(way).to_have_attribute("lang", "en" if locale == "en-US" else "zh-CN")
    ticks = card.locator(".place-ticks")
    assert not ticks.count() or bool(HAN.search(ticks.inner_text())) == (language == "zh")


@pytest.mark.parametrize(("locale", "language", "_"), _CARDS)
def test_pins_and_the_names_beside_them_are_those_of_the_cards(
    visit: Visits, threads: dict[str, str], locale: str, language: str, _: Any
) -> None:
    page = opened(visit, threads[language], locale)
    drawn, first = part(page, "map"), page.locator(".place-name").first.text_content() or ""
    pin = drawn.locator(".map-pin").first
    expect(pin).to_have_attribute("aria-label", re.compile(f"1. {re.escape(first)}.*"))
    facts = (pin.get_attribute("aria-label") or "").partition(first)[2]
    assert bool(HAN.search(facts)) == (language == "zh"), facts
    pin.click()
    expect(drawn.locator(".map-tip strong, .map-choice strong").first).to_have_text(first)
    expect(drawn.locator(".map-tip").first).to_have_css("opacity", "1")
    names = drawn.locator(".map-name").all_text_contents()
    assert names
    assert all(bool(HAN.search(name)) == (language == "zh") for name in names), names


@pytest.mark.parametrize(("locale", "language"), [("en-US", "zh"), ("zh-CN", "en")])
def test_ways_and_forecasts_do_too_and_what_they_ask_next_is_asked_in_it(
    visit: Visits, server: DevServer, locale: str, language: str
) -> None:
    page = opened(visit, answered_thread(server, WAY[language]), locale)
    ways = part(page, "routes")
    way = {"zh-CN": "路线", "en-US": "Routes"}[locale]
    expect(ways.get_by_role("heading")).to_have_text(way)
    expect(ways.locator(".tag").first).to_have_text({"zh": "步行", "en": "Walk"}[language])
    expect(ways.locator("strong").first).to_have_text(
        re.compile("王府井" if language == "zh" else "Wang")
    )
    asks = ways.locator(".tabs .quiet").first
    assert bool(HAN.search(asks.inner_text())) == (locale == "zh-CN")
    assert bool(HAN.search(asks.get_attribute("title") or "")) == (language == "zh")
    page = opened(visit, answered_thread(server, SKY[language]), locale)
    sky = part(page, "weather")
    heading = {"zh-CN": "天气", "en-US": "Weather"}[locale]
    expect(sky.get_by_role("heading")).to_have_text(heading)
    for day in sky.locator(".day").all_inner_texts():
        assert bool(HAN.search(day)) == (language == "zh"), day

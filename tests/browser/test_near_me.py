"""The person's position: asked for, sent with the question, given up; or a spot on the map."""

import re
from typing import Any

import pytest

from agent.texts import say
from tests.browser.browser_page import ask, ends, part, question_box, thread_of
from tests.support.browser import BROWSER, Locator, Page, Visit, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
HERE = {"longitude": 116.4039, "latitude": 39.9121, "accuracy": 40}
NEAR = "我附近的咖啡馆"


@pytest.fixture(name="thread")
def thread_fixture(server: DevServer) -> str:
    return answered_thread(server, ZH)


def near(page: Page) -> Locator:
    return part(page, "near")


def opened(page: Page) -> Locator:
    """The control with its panel unfolded; on a phone the question box unfolds first."""
    question_box(page).focus()
    near(page).get_by_role("button", name="位置").click()
    return near(page)


def sent(person: Visit) -> list[Any]:
    """The position in the input of every run that was begun."""
    begun = [
        request.post_data_json or {}
        for request in person.requests
        if request.method == "POST" and request.url.endswith("/runs")
    ]
    return [run["input"].get("user_location") for run in begun]


def is_at(point: dict[str, float], lng: float, lat: float, *, within: float = 1e-6) -> bool:
    return abs(point["lng"] - lng) < within and abs(point["lat"] - lat) < within


def test_a_position_goes_with_the_question_after_one_has_agreed(
    visit: Visits, server: DevServer
) -> None:
    person = visit(geolocation=HERE, permissions=["geolocation"])
    page = person.tab()
    panel = opened(page)
    expect(panel).to_contain_text(say("page.location.how", "zh"))
    panel.get_by_role("button", name="使用我的位置").click()
    expect(near(page).get_by_role("button").first).to_be_focused()
    expect(near(page)).to_contain_text("±40 m")
    turn = ends(ask(page, NEAR))
    expect(turn.locator(".place")).not_to_have_count(0)
    (position,) = sent(person)
    assert position == {"lng": HERE["longitude"], "lat": HERE["latitude"]}
    expect(part(page, "map").get_by_role("img", name=re.compile("的位置，误差约"))).to_be_visible()
    state = page.request.get(f"/threads/{thread_of(page)}/state").json()
    assert is_at(state["values"]["turn"]["near"], *position.values(), within=0.02)


def test_a_position_is_forgotten_where_one_says_so_and_with_the_page(visit: Visits) -> None:
    person = visit(geolocation=HERE, permissions=["geolocation"])
    page = person.tab()
    opened(page).get_by_role("button", name="使用我的位置").click()
    expect(near(page)).to_contain_text("±40 m")
    kept = page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert kept == "[{},{}]"
    near(page).get_by_role("button", name="不再使用").click()
    expect(near(page)).not_to_contain_text("±40 m")
    ends(ask(page, ZH))
    assert sent(person) == [None]
    opened(page).get_by_role("button", name="使用我的位置").click()
    expect(near(page)).to_contain_text("±40 m")
    page.reload()
    expect(near(page)).to_contain_text("我附近")
    expect(near(page)).not_to_contain_text("±40 m")


def test_nothing_is_asked_of_the_browser_before_one_says_so(visit: Visits) -> None:
    person = visit(fresh=True)
    person.context.expose_binding(
        "asked", lambda _source: person.problems.append("the position was asked for")
    )
    person.context.add_init_script("navigator.geolocation.getCurrentPosition = () => asked()")
    page = person.tab()
    expect(opened(page)).to_contain_text(say("page.location.how", "zh"))
    ends(ask(page, ZH))
    assert sent(person) == [None]


@pytest.mark.parametrize("width", [1024, 1440])
def test_the_panel_stands_over_the_box_and_not_on_its_text(
    visit: Visits, thread: str, width: int
) -> None:
    page = visit(viewport={"width": width, "height": 800}).tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    panel = opened(page).locator(".near-panel")
    shown, text = panel.bounding_box(), question_box(page).bounding_box()
    first = panel.get_by_role("button").first.bounding_box()
    assert shown
    assert text
    assert first
    assert shown["y"] + shown["height"] <= text["y"]
    assert first["y"] - shown["y"] < 16, "a strip of nothing over the buttons"


def test_where_it_is_denied_one_types_a_place(visit: Visits) -> None:
    person = visit()
    page = person.tab()
    panel = opened(page)
    panel.get_by_role("button", name="使用我的位置").click()
    expect(panel.get_by_role("status")).to_contain_text(say("page.location.denied", "zh"))
    expect(panel.get_by_role("status")).to_contain_text(say("page.location.instead", "zh"))
    expect(panel.get_by_role("button", name="再试一次")).to_be_focused()
    expect(panel.get_by_role("button", name="在地图上点选")).to_have_count(0)
    turn = ends(ask(page, ZH))
    expect(turn.locator(".place")).not_to_have_count(0)


@pytest.mark.parametrize("width", [360, 1440])
def test_where_it_is_denied_one_taps_the_map(visit: Visits, thread: str, width: int) -> None:
    person = visit(viewport={"width": width, "height": 800})
    page = person.tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    panel = opened(page)
    panel.get_by_role("button", name="使用我的位置").click()
    expect(panel.get_by_role("status")).to_contain_text(say("page.location.denied", "zh"))
    panel.get_by_role("button", name="在地图上点选").click()
    anchor = part(page, "map").locator(".map-anchor").bounding_box()
    assert anchor
    expect(part(page, "map").get_by_role("status")).to_contain_text("点一下地图")
    page.mouse.click(anchor["x"] + anchor["width"] / 2 + 30, anchor["y"] + anchor["height"] / 2)
    expect(near(page)).to_contain_text("地图上选的位置")
    ends(ask(page, NEAR))
    (position,) = sent(person)
    assert is_at(position, 116.404, 39.9129, within=0.01), position


def test_a_spot_can_be_chosen_with_the_keyboard_or_not_at_all(visit: Visits, thread: str) -> None:
    person = visit()
    page = person.tab(f"/app?thread={thread}")
    ends(page.locator("article.turn"))
    opened(page).get_by_role("button", name="在地图上点选").press("Enter")
    expect(part(page, "map").get_by_role("status")).to_contain_text("点一下地图")
    page.keyboard.press("Escape")
    expect(near(page).get_by_role("button").first).to_be_focused()
    expect(near(page)).to_contain_text("我附近")
    opened(page).get_by_role("button", name="在地图上点选").press("Enter")
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="就用中心点").press("Enter")
    expect(near(page)).to_contain_text("地图上选的位置")
    ends(ask(page, NEAR))
    (position,) = sent(person)
    assert is_at(position, 116.41, 39.91, within=0.05), position


def test_who_was_asked_for_a_place_asks_again_with_the_position(visit: Visits) -> None:
    phone = {"width": 360, "height": 740}
    person = visit(geolocation=HERE, permissions=["geolocation"], viewport=phone)
    page = person.tab()
    turn = ends(ask(page, "附近的咖啡馆"))
    turn.get_by_role("button", name="附上我的位置").click()
    expect(near(page)).to_contain_text(say("page.location.how", "zh"))
    expect(near(page).get_by_role("button", name="使用我的位置")).to_be_focused()
    page.keyboard.press("Enter")
    again = page.locator("article.turn").nth(1)
    expect(ends(again).locator(".place")).not_to_have_count(0)
    position = {"lng": HERE["longitude"], "lat": HERE["latitude"]}
    assert sent(person) == [None, position]
    controls = page.locator(".composer-options > *:visible")
    tops = controls.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert max(tops) - min(tops) < 20, "a phone has room for one row of controls"


def test_a_position_given_later_asks_nothing_by_itself(visit: Visits) -> None:
    person = visit(geolocation=HERE, permissions=["geolocation"])
    page = person.tab()
    turn = ends(ask(page, "附近的咖啡馆"))
    turn.get_by_role("button", name="附上我的位置").click()
    page.keyboard.press("Escape")
    opened(page).get_by_role("button", name="使用我的位置").click()
    expect(near(page)).to_contain_text("±40 m")
    expect(page.locator("article.turn")).to_have_count(1)

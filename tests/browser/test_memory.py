"""What a person prefers, in the menu: set, used by the next question, shown again, deleted."""

from collections.abc import Iterator

import httpx
import pytest

from agent.texts import say
from tests.browser.browser_labels import nameless
from tests.browser.browser_page import part
from tests.browser.test_axe import AXE, violations
from tests.support.browser import BROWSER, Locator, Page, Visits, expect
from tests.support.dev_server import DevServer
from tests.support.page_server import page_server

pytestmark = BROWSER


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with page_server(tmp_path_factory.mktemp("memory"), env={"TANLU_MEMORY": "1"}) as started:
        yield started


def words(key: str) -> str:
    return say(f"page.memory.{key}", "zh")


def opened(page: Page) -> Locator:
    page.get_by_role("button", name=say("page.menu.menu", "zh")).click()
    panel = part(page, "memory")
    panel.locator("summary").click()
    expect(panel.get_by_role("button", name=words("keep"))).to_be_visible()
    return panel


def kept(server: DevServer) -> dict[str, object]:
    told: dict[str, object] = httpx.get(f"{server.url}/memory", trust_env=False).json()
    return told


def test_what_is_preferred_is_set_shown_again_and_deleted(visit: Visits, server: DevServer) -> None:
    page = visit().tab()
    panel = opened(page)
    panel.get_by_label(words("home_city")).fill("<b>北京</b>")
    panel.get_by_label(words("budget")).fill("100")
    panel.get_by_label(say("preferred.diets.vegan", "zh")).check()
    panel.get_by_label(words("on")).check()
    panel.get_by_label(words("language")).select_option("fi")
    panel.get_by_role("button", name=words("keep")).click()
    expect(panel.get_by_role("status")).to_have_text(words("kept"))
    assert kept(server) == {
        "on": True, "home_city": "<b>北京</b>", "with_children": False, "budget": 100,
        "currency": "CNY", "diet": ["vegan"], "language": "fi",
    }  # fmt: skip
    page.reload()
    panel = opened(page)
    expect(panel.get_by_label(words("home_city"))).to_have_value("<b>北京</b>")
    expect(panel.get_by_label(words("on"))).to_be_checked()
    panel.get_by_role("button", name=words("forget")).click()
    expect(panel.get_by_role("status")).to_have_text(words("forgotten"))
    expect(panel.get_by_label(words("home_city"))).to_have_value("")
    assert kept(server)["home_city"] == ""


def test_what_the_server_refuses_is_said_and_stays_written(
    visit: Visits, server: DevServer
) -> None:
    begun = visit()
    begun.forgive(r"status of 422")
    page = begun.tab()
    panel = opened(page)
    city = panel.get_by_label(words("home_city"))
    city.evaluate("field => { field.removeAttribute('maxlength'); field.value = 'x'.repeat(81); }")
    panel.get_by_role("button", name=words("keep")).click()
    expect(panel.get_by_role("status")).to_contain_text("home_city")
    expect(city).to_have_value("x" * 81)
    assert kept(server)["home_city"] == ""


@pytest.mark.parametrize("width", [390, 1440])
def test_the_form_has_names_and_fits(visit: Visits, width: int) -> None:
    page = visit(reduced_motion="reduce").tab()
    page.set_viewport_size({"width": width, "height": 800})
    panel = opened(page)
    assert nameless(page) == []
    box = panel.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.get_by_role("button", name=words("forget")).scroll_into_view_if_needed()
    expect(page.get_by_role("button", name=words("forget"))).to_be_in_viewport()


@pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed: make types")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_form(visit: Visits, scheme: str) -> None:
    page = visit(reduced_motion="reduce", color_scheme=scheme).tab()
    opened(page)
    assert violations(page) == []

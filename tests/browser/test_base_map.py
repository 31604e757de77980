"""A base map of licensed tiles: asked for as its makers want it, and credited to them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.browser_page import part
from tests.support.browser import BROWSER, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread, page_server
from tests.support.programs import REPOSITORY

pytestmark = BROWSER
TILES = "https://tile.openstreetmap.org"
TILE = '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"/>'


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with page_server(tmp_path_factory.mktemp("server"), env={"MAP_TILES": "osm"}) as started:
        yield started


def test_streets_are_shown_when_the_reader_says_so_with_the_site_and_a_credit(
    visit: Visits, server: DevServer
) -> None:
    person = visit(fresh=True)
    person.forgive(f"^foreign: GET {TILES}/")
    drawn = {"content_type": "image/svg+xml", "body": TILE}
    person.context.route(f"{TILES}/**", lambda route: route.fulfill(**drawn))
    asked: list[str] = []
    person.context.on("request", lambda sent: asked.append(sent.url))
    page = person.tab(f"/app?thread={answered_thread(server, ZH)}")
    streets = part(page, "streets")
    expect(streets).to_contain_text("tile.openstreetmap.org")
    expect(page.locator(".map-sheet circle").first).to_be_visible()
    assert not any(url.startswith(TILES) for url in asked), "nobody said so yet"
    assert not any("protomaps" in url for url in asked), "its renderer is not for these"
    with person.context.expect_event("request", lambda sent: sent.url.startswith(TILES)) as tile:
        streets.get_by_role("button", name="显示街道").click()
    assert tile.value.headers["referer"] == f"{server.url}/"
    expect(page.locator(".map-sheet")).to_be_hidden()
    link = part(page, "map").get_by_role("link", name="© OpenStreetMap 贡献者")
    expect(link).to_have_attribute("href", "https://www.openstreetmap.org/copyright")
    with person.context.expect_event("request", lambda sent: sent.url.startswith(TILES)):
        page.reload()
    streets.get_by_role("button", name="隐藏街道").click()
    expect(page.locator(".map-sheet circle").first).to_be_visible()
    expect(link).to_have_count(0)
    expect(page.locator("img.leaflet-tile")).to_have_count(0)


def test_streets_of_the_operators_own_file_are_drawn_and_nobody_else_is_asked(
    visit: Visits, tmp_path: Path
) -> None:
    file = REPOSITORY / "tests/fixtures/water.pmtiles"
    with page_server(tmp_path / "server", env={"MAP_TILES": f"pmtiles:{file}"}) as server:
        page = visit(server.url, fresh=True).tab(f"/app?thread={answered_thread(server, ZH)}")
        expect(part(page, "streets")).to_contain_text("隐藏街道")
        expect(page.locator("canvas.leaflet-tile-loaded").first).to_be_visible()
        drawn = page.locator("canvas.leaflet-tile-loaded").first.evaluate(
            "(tile) => [...tile.getContext('2d').getImageData(9, 9, 1, 1).data].slice(0, 3)"
        )
        assert drawn == [0xBC, 0xD9, 0xE8], "the colour of water"
        credit = part(page, "map").get_by_role("link", name="© OpenStreetMap 贡献者")
        expect(credit).to_be_visible()
        part(page, "streets").get_by_role("button").click()
        expect(page.locator("canvas.leaflet-tile")).to_have_count(0)

"""A base map of licensed tiles: asked for as its makers want it, and credited to them."""

from collections.abc import Iterator

import pytest

from tests.support.browser import BROWSER, Visits, expect
from tests.support.browser_page import part
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread, page_server

pytestmark = BROWSER
TILES = "https://tile.openstreetmap.org"
TILE = '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"/>'


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with page_server(tmp_path_factory.mktemp("server"), env={"MAP_TILES": "osm"}) as started:
        yield started


def test_tiles_are_asked_for_with_the_site_and_credited_with_a_link(
    visit: Visits, server: DevServer
) -> None:
    person = visit()
    person.forgive(f"^foreign: GET {TILES}/")
    drawn = {"content_type": "image/svg+xml", "body": TILE}
    person.context.route(f"{TILES}/**", lambda route: route.fulfill(**drawn))
    with person.context.expect_event("request", lambda sent: sent.url.startswith(TILES)) as tile:
        page = person.tab(f"/app?thread={answered_thread(server, ZH)}")
    assert tile.value.headers["referer"] == f"{server.url}/"
    link = part(page, "map").get_by_role("link", name="© OpenStreetMap 贡献者")
    expect(link).to_have_attribute("href", "https://www.openstreetmap.org/copyright")

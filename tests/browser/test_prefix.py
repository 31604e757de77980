"""The page below a path of a site, whose proxy takes the path off."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.browser import BROWSER, Visits, expect
from tests.support.browser_page import ask, ends, part
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.prefix_proxy import PREFIX, below_prefix

pytestmark = BROWSER


@pytest.fixture(name="site")
def site_fixture(server: DevServer) -> Iterator[str]:
    with below_prefix(server.url) as url:
        yield url.removesuffix(PREFIX)


def test_a_question_is_asked_and_opened_again_below_a_prefix(visit: Visits, site: str) -> None:
    begun = visit(site, fresh=True)
    page = begun.tab(f"{PREFIX}/")
    expect(part(page, "notice")).to_contain_text("示例模式")
    turn = ends(ask(page, ZH))
    expect(part(turn, "answer").locator("a.cite")).not_to_have_count(0)
    page.wait_for_url(f"**{PREFIX}/app?thread=*")
    page.reload()
    expect(part(page.locator("article.turn"), "answer").locator("a.cite")).not_to_have_count(0)
    links = page.locator("a[href]").evaluate_all("all => all.map((link) => link.href)")
    own = [link for link in links if link.startswith(site)]
    assert own
    assert all(urlsplit(link).path.startswith(f"{PREFIX}/") for link in own), own
    asked = {urlsplit(request.url).path for request in begun.requests}
    assert all(path.startswith(f"{PREFIX}/") for path in asked if path != "blank"), asked
    assert f"{PREFIX}/app/config.json" in asked

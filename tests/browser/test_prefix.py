"""The page below a path of a site, whose proxy takes the path off."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from tests.browser.browser_page import ask, ends, part
from tests.support.browser import BROWSER, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.served import serve_in_thread

pytestmark = BROWSER
PREFIX = "/tanlu"
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}


@contextmanager
def below_prefix(upstream: str) -> Iterator[str]:
    """Yield the address below which the server is; anything beside the prefix is not found."""
    app = web.Application(client_max_size=1 << 26)
    session: list[aiohttp.ClientSession] = []

    async def opened(_: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(auto_decompress=True) as made:
            session.append(made)
            yield

    async def passed_on(request: web.Request) -> web.StreamResponse:
        url = f"{upstream}/{request.match_info['path']}"
        if request.query_string:
            url += f"?{request.query_string}"
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        body = await request.read()
        async with session[0].request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in _HOP]
            response = web.StreamResponse(status=answer.status)
            for name, value in kept:
                response.headers.add(name, value)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    app.cleanup_ctx.append(opened)
    app.router.add_route("*", f"{PREFIX}/{{path:.*}}", passed_on)
    with serve_in_thread(app) as running:
        yield f"{running.url}{PREFIX}"


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

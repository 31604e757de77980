"""What a real browser lets a foreign page do with a developer's server, headers and all."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.server_fixtures import server_fixture
from tests.support.dev_server import DevServer

pytest.importorskip("playwright.sync_api", reason="no Playwright: uv sync --group browser")

__all__ = ["server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ATTACKS = """async server => {
  const told = [];
  const settled = ask => ask.then(r => told.push(r.type + r.status), () => told.push("no"));
  const post = (mode, type) => settled(fetch(server + "/threads", {
    method: "POST", mode, headers: {"content-type": type}, body: "{}"}));
  await post("no-cors", "text/plain");
  await post("cors", "text/plain");
  await post("cors", "application/json");
  await settled(fetch(server + "/openapi.json"));
  await new Promise(done => {
    const image = new Image();
    image.onload = image.onerror = event => done(told.push(event.type));
    image.src = server + "/app/files/0/favicon.svg";
  });
  await new Promise(done => {
    const path = "/threads/5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11/stream/events";
    const socket = new WebSocket(server.replace("http", "ws") + path);
    socket.onopen = socket.onerror = event => done(told.push(event.type));
  });
  return told;
}"""
FORM = """server => {
  const form = document.createElement("form"), field = document.createElement("input");
  Object.assign(form, {method: "POST", enctype: "text/plain", action: server + "/threads"});
  Object.assign(field, {name: '{"metadata": {"a": "', value: '"}}'});
  form.append(field); document.body.append(form); form.submit();
}"""
LINK = """server => {
  const link = document.createElement("a");
  Object.assign(link, {href: server + "/app?thread=1", textContent: "go"});
  document.body.append(link); link.click();
}"""
FRAME = """server => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.onload = () => done(); frame.src = server + "/app"; document.body.append(frame);
})"""


class _Elsewhere(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module", name="elsewhere")
def elsewhere_fixture() -> Iterator[int]:
    """The port of somebody else's server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", name="chromium")
def chromium_fixture() -> Iterator[Any]:
    from tests.support.browser import chromium

    with chromium("MAP *.example 127.0.0.1") as browser:
        yield browser


@pytest.fixture(name="page")
def page_fixture(chromium: Any) -> Iterator[Any]:
    """In a context of its own."""
    page = chromium.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
def test_a_foreign_page_reads_and_starts_nothing_but_may_link(
    host: str, elsewhere: int, page: Any, server: DevServer
) -> None:
    """Also one on another port of the same machine, which is the same site to a browser."""
    address = f"http://{host}:{elsewhere}/"
    page.goto(address)
    assert page.evaluate(ATTACKS, server.url) == ["opaque0", "no", "no", "no", "error", "error"]
    page.evaluate(FRAME, server.url)
    assert "may not call the server" in page.frames[1].content()
    with page.expect_navigation() as sent:
        page.evaluate(FORM, server.url)
    assert sent.value.status == 403
    page.goto(address)
    with page.expect_navigation() as followed:
        page.evaluate(LINK, server.url)
    assert followed.value.status == 200
    threads = page.request.post(f"{server.url}/threads/search", data={})
    assert threads.json() == []


def test_a_name_that_a_foreign_page_led_here_is_not_answered(page: Any, server: DevServer) -> None:
    assert page.goto(f"http://evil.example:{server.port}/app").status == 403


def test_the_server_s_own_page_may_call_it(page: Any, server: DevServer) -> None:
    page.goto(f"{server.url}/app")
    own = """fetch("/threads", {method: "POST", body: "{}", headers: {"content-type":
             "application/json"}}).then(reply => reply.status)"""
    assert page.evaluate(own) == 200

"""A web page that the developer of a local server visits cannot drive that server."""

from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.e2e.server_fixtures import server_fixture
from tests.support.at_the_door import STUDIO
from tests.support.dev_server import DevServer

__all__ = ["server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
EVIL = "https://evil.example"
ASKED = '{"assistant_id": "agent", "input": {"messages": "hi"}}'
THREAD = "5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"
SOCKET = f"/threads/{THREAD}/stream/events"


@pytest.fixture(scope="module", name="http")
def http_fixture(server: DevServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as opened:
        yield opened


def runs_begun(http: httpx.Client) -> int:
    threads = http.post("/threads/search", json={"limit": 100}).json()
    return len(threads)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": EVIL, "content-type": "text/plain"},
        {"origin": EVIL, "content-type": "application/json"},
        {"origin": "null", "content-type": "text/plain"},
        {"origin": "http://localhost:3000", "content-type": "text/plain"},
        {"sec-fetch-site": "cross-site", "content-type": "text/plain"},
        {"host": "evil.example", "content-type": "application/json"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": "0.0.0.0", "origin": "http://0.0.0.0", "content-type": "application/json"},
        {"x-forwarded-for": "203.0.113.9", "content-type": "application/json"},
    ],
)
def test_a_page_elsewhere_starts_no_run_and_reads_nothing(
    http: httpx.Client, headers: dict[str, str]
) -> None:
    before = runs_begun(http)
    for path in ("/runs/wait", "/runs/stream", "/threads", "/mcp", "/threads/search",
                 "/v1/chat/completions", "/v1/responses", f"/threads/{THREAD}/share"):  # fmt: skip
        reply = http.post(path, content=ASKED, headers=headers)
        assert reply.status_code == 403
        assert "access-control-allow-origin" not in reply.headers
    for path in ("/threads/x/stream", "/docs", "/openapi.json", f"/threads/{THREAD}/state",
                 "/v1/models", "/shared/x", f"/app/runs/{THREAD}/changes"):  # fmt: skip
        assert http.get(path, headers=headers).status_code == 403
    assert http.delete(f"/threads/{THREAD}/share", headers=headers).status_code == 403
    assert runs_begun(http) == before


def test_it_gets_no_leave_either(http: httpx.Client) -> None:
    asked = {"origin": EVIL, "access-control-request-method": "POST",
             "access-control-request-private-network": "true"}  # fmt: skip
    reply = http.options("/threads", headers=asked)
    assert reply.status_code == 403
    assert [name for name in reply.headers if name.startswith("access-control")] == []


def test_studio_is_let_in_on_the_developer_s_own_machine(http: httpx.Client) -> None:
    asked = {"origin": STUDIO, "access-control-request-method": "POST",
             "access-control-request-headers": "content-type",
             "access-control-request-private-network": "true"}  # fmt: skip
    leave = http.options("/assistants/search", headers=asked)
    assert leave.status_code == 204
    assert leave.headers["access-control-allow-origin"] == STUDIO
    assert leave.headers["access-control-allow-private-network"] == "true"
    assert "access-control-allow-credentials" not in leave.headers
    for sent in ({"origin": STUDIO}, {"origin": STUDIO, "x-auth-scheme": "langsmith"}):
        found = http.post("/assistants/search", json={}, headers=sent)
        assert {one["graph_id"] for one in found.json()} >= {"agent", "team_answer"}
        assert found.headers.get_list("access-control-allow-origin") == [STUDIO]
        assert "content-location" in found.headers["access-control-expose-headers"]


def test_the_page_and_links_to_it_work(http: httpx.Client, server: DevServer) -> None:
    linked = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate",
              "sec-fetch-dest": "document"}  # fmt: skip
    assert http.get(f"/app?thread={THREAD}", headers=linked).status_code == 200
    assert http.get("/docs", headers=linked).status_code == 200
    own = {"origin": server.url, "sec-fetch-site": "same-origin"}
    assert http.post("/threads/search", json={}, headers=own).status_code == 200
    assert http.post("/threads/search", json={}).status_code == 200


def test_every_name_of_this_machine_is_answered(http: httpx.Client, server: DevServer) -> None:
    for host in ("localhost", "LOCALHOST.", "tanlu.localhost", "127.0.0.1", "[::1]"):
        named = {"host": f"{host}:{server.port}"}
        assert http.post("/threads/search", json={}, headers=named).status_code == 200


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:3000"])
def test_a_page_elsewhere_opens_no_web_socket(server: DevServer, origin: str) -> None:
    address = server.url.replace("http", "ws", 1) + SOCKET
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(address, origin=Origin(origin), proxy=None),
    ):
        pass


@pytest.mark.parametrize("origin", [None, STUDIO, "own"])
def test_a_program_studio_and_the_page_open_one(server: DevServer, origin: str | None) -> None:
    address = server.url.replace("http", "ws", 1) + SOCKET
    sent = Origin(server.url if origin == "own" else origin) if origin else None
    with connect(address, origin=sent, proxy=None) as socket:
        assert socket.response


def test_what_empties_and_deploys_is_closed_without_keys_too(http: httpx.Client) -> None:
    for path in ("/internal/truncate", "/deploy", "/internal/debug/thread/1", "/ui/agent"):
        for method in ("GET", "POST", "DELETE"):
            assert http.request(method, path).status_code == 404

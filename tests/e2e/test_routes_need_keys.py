"""With keys set, every route of the server asks for one, except those that are listed here."""

import json
import re
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.dev_server import REPOSITORY, DevServer, dev_server

pytestmark = [pytest.mark.server, pytest.mark.slow]
KEY, FRIEND = "anna-0123456789abcdef", "https://friend.example"
OPEN = {
    ("GET", "/"), ("GET", "/ok"),
    ("GET", "/app"), ("GET", "/app/"), ("GET", "/app/config.json"),
    ("GET", "/app/files/{hash}/{name}"), ("GET", "/app/files/{hash}/{name:path}"),
    ("GET", "/shared/{token}"),
    ("POST", "/app/sign-in"), ("POST", "/app/sign-out"), ("POST", "/app/csp-report"),
}  # fmt: skip
"""What anybody may ask. A new route is not among them unless somebody writes it down here."""
STRANGERS: list[dict[str, str]] = [
    {},
    {"x-api-key": "wrong-0123456789abcdef"},
    {"authorization": "Bearer wrong", "cookie": "tanlu_key=wrong"},
    {"x-auth-scheme": "langsmith", "x-api-key": "lsv2_anything"},
    {"x-user-id": "anna", "x-forwarded-for": "127.0.0.1", "origin": FRIEND},
]
CLOSED = re.compile("/(internal|deploy)")
VALUES = {"hash": "0", "name": "js/main.js"}
KNOWN = {"/threads", "/threads/{thread_id}/runs/stream", "/store/items", "/assistants", "/mcp",
         "/app/runs/{thread_id}/places.geojson", "/runs/crons", "/internal/truncate",
         "/threads/{thread_id}/stream/events"}  # fmt: skip
"""A few that must have been found."""
WAYS_ROUND = (
    b"//internal/truncate", b"/internal%2ftruncate", b"/%69nternal/truncate",
    b"/x/../internal/truncate", b"/internal//truncate", b"/ui/agent/x.js",
)  # fmt: skip


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    environment = {
        "TANLU_API_KEYS": f"anna:{KEY},bo:bo-0123456789abcdef",
        "TANLU_CORS_ORIGINS": FRIEND,
        "TANLU_HEADER_SECONDS": "2",
        "PYTHONPATH": str(REPOSITORY),
    }
    ours = json.loads((REPOSITORY / "langgraph.json").read_text("utf-8"))["http"]
    probed = {"http": {**ours, "app": "tests.e2e.route_probe:app"}}
    with dev_server(tmp_path_factory.mktemp("keys"), env=environment, config=probed) as started:
        yield started


@pytest.fixture(scope="module", name="http")
def http_fixture(server: DevServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module", name="table")
def table_fixture(http: httpx.Client) -> set[tuple[str, str]]:
    """Every (method, path) of the server, by its routes and by its own description."""
    mine = {"x-api-key": KEY}
    routes = {(method, path) for method, path in http.get("/probe/routes", headers=mine).json()}
    described: dict[str, Any] = http.get("/openapi.json", headers=mine).json()["paths"]
    written = {
        (method.upper(), path)
        for path, methods in described.items()
        for method in methods
        if method in {"get", "post", "put", "patch", "delete"}
    }
    return routes | written


def filled(path: str) -> str:
    """An address of the route; the ids are of nothing."""

    def value(found: re.Match[str]) -> str:
        name, _, kind = found[1].partition(":")
        return VALUES.get(name) or ("1" if kind == "int" else str(uuid.UUID(int=7)))

    return re.sub(r"\{([^}]+)\}", value, path)


def test_the_table_has_the_server_s_routes_and_ours(table: set[tuple[str, str]]) -> None:
    assert {path for _, path in table} >= KNOWN
    assert {method for method, _ in table} == {
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "WEBSOCKET",
    }  # fmt: skip
    assert len(table) > 80


def test_no_route_answers_without_a_key_except_the_listed_ones(
    http: httpx.Client, table: set[tuple[str, str]]
) -> None:
    """401 exactly: a 404 could be the word of a route that looked for what was asked."""
    answered = set()
    for method, path in sorted(route for route in table if route[0] != "WEBSOCKET"):
        refused = 404 if CLOSED.match(path) else 401
        for headers in STRANGERS:
            if http.request(method, filled(path), headers=headers).status_code != refused:
                answered.add((method, path))
    assert answered - {("HEAD", path) for _, path in OPEN} == OPEN


def test_other_methods_of_a_route_tell_strangers_nothing(
    http: httpx.Client, table: set[tuple[str, str]]
) -> None:
    for path in sorted({path for _, path in table} - {path for _, path in OPEN}):
        for method in ("OPTIONS", "TRACE", "PROPFIND"):
            assert http.request(method, filled(path)).status_code in {401, 404}


def test_a_route_that_nobody_thought_of_needs_a_key(http: httpx.Client) -> None:
    assert http.get("/probe/routes").status_code == 401
    assert http.get("/probe/routes", headers={"authorization": f"Bearer {KEY}"}).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"x-api-key": KEY}])
def test_what_empties_deploys_and_looks_inside_is_closed_to_everybody(
    http: httpx.Client, table: set[tuple[str, str]], headers: dict[str, str]
) -> None:
    inside = {(method, path) for method, path in table if CLOSED.match(path)}
    assert len(inside) >= 3
    for method, path in inside:
        assert http.request(method, filled(path), headers=headers).status_code == 404
    for address in WAYS_ROUND:
        url = httpx.URL(
            scheme="http", host="127.0.0.1", port=http.base_url.port, raw_path=address
        )  # fmt: skip
        assert http.post(url, headers=headers).status_code in {401, 404}


def test_web_sockets_need_a_key(server: DevServer, table: set[tuple[str, str]]) -> None:
    paths = sorted(path for method, path in table if method == "WEBSOCKET")
    assert paths
    for path in paths:
        address = server.url.replace("http", "ws", 1) + filled(path)
        for headers in STRANGERS:
            with (
                pytest.raises(InvalidStatus, match="403"),
                connect(address, additional_headers=headers, proxy=None),
            ):
                pass


def test_a_key_opens_what_the_server_says_of_itself(http: httpx.Client) -> None:
    for path in ("/openapi.json", "/info", "/metrics"):
        assert http.get(path).status_code == 401
        for headers in ({"x-api-key": KEY}, {"cookie": f"tanlu_key={KEY}"}):
            assert http.get(path, headers=headers).status_code == 200


def test_prometheus_reads_our_metrics_beside_the_server_s_own(http: httpx.Client) -> None:
    text = http.get("/metrics", headers={"x-api-key": KEY}).text
    for name in ("tanlu_runs_total", "tanlu_cost_usd_total", "python_info"):
        assert f"# HELP {name}" in text


def test_a_body_above_a_megabyte_is_refused_whoever_sends_it(http: httpx.Client) -> None:
    mine = {"x-api-key": KEY, "content-type": "application/json"}
    large = b'{"metadata": {"a": "' + b"x" * 1_000_000 + b'"}}'
    assert http.post("/threads", content=large, headers=mine).status_code == 413
    pieces = (large[n : n + 65_536] for n in range(0, len(large), 65_536))
    assert http.post("/threads/search", content=pieces, headers=mine).status_code == 413


@pytest.mark.parametrize("sent", [b"", b"GET /ok HTTP/1.1\r\nhost: localhost\r\n"])
def test_who_asks_for_nothing_is_not_waited_for(server: DevServer, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as waiting:
        waiting.sendall(sent)
        assert waiting.recv(1) == b""


def test_no_key_is_in_the_log(server: DevServer, http: httpx.Client) -> None:
    http.get(f"/nothing?key={KEY}", headers={"x-api-key": KEY})
    http.get(f"/{KEY}")
    output = server.output()
    assert "asks for a key; owners with one: 2" in output
    assert KEY not in output
    assert "bo-0123456789abcdef" not in output

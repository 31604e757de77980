"""Who gets past the door: paths, hosts, peers, keys and sizes."""

import pytest

from agent.server.auth import guard
from agent.server.auth.api_keys import access
from agent.server.auth.guard import LARGEST_BODY
from tests.support.at_the_door import KEY, ask, raw
from tests.support.rows import by_examples

LAN = ("192.168.1.30", 50000)


@pytest.fixture(name="keys")
def keys_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY}")


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.4.5.6", "::1", "::ffff:127.0.0.1"])
async def test_an_open_server_answers_its_own_machine(peer: str) -> None:
    assert (await ask(peer=(peer, 1))).text == "GET 0"


@pytest.mark.parametrize("peer", [LAN, ("::ffff:10.0.0.1", 1), ("0.0.0.0", 1), ("", 1), None])
async def test_an_open_server_answers_nobody_else_and_says_which_setting_would(
    peer: tuple[str, int] | None,
) -> None:
    reply = await ask(peer=peer)
    assert reply.status_code == 403
    assert "TANLU_API_KEYS" in reply.json()["detail"]


@by_examples
async def test_what_came_through_a_proxy_is_not_this_machine(name: str) -> None:
    """A proxy beside the server is the peer of every stranger it lets through."""
    assert (await ask(headers={name: "127.0.0.1"})).status_code == 403


async def test_a_proxy_that_adds_nothing_is_told_by_the_old_protocol_it_speaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`proxy_pass http://127.0.0.1:2024;` alone: nginx asks in HTTP/1.0, for 127.0.0.1:2024."""
    old = {"type": "http", "http_version": "1.0"}
    named = [(b"host", b"127.0.0.1:2024"), (b"connection", b"close")]
    assert (await raw(old, named))[0]["status"] == 403
    assert (await raw({**old, "path": "/ok"}, named))[0]["status"] == 200
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY}")
    access.cache_clear()
    assert (await raw(old, [*named, (b"x-api-key", KEY.encode())]))[0]["status"] == 200


@pytest.mark.parametrize(
    "name",
    ["User-Agent", "Traceparent", "X-Auth-Scheme", "X-Api-Key", "X-Request-Id", "Sec-Fetch-Site",
     "Last-Event-ID", "Mcp-Session-Id", "Upgrade-Insecure-Requests", "Proxy-Connection"],
)  # fmt: skip
async def test_what_programs_on_this_machine_send_is_no_proxy_s(name: str) -> None:
    assert (await ask(headers={name: "none"})).status_code == 200


@pytest.mark.parametrize("claimed", ["127.0.0.1", "::1", "127.0.0.1, 127.0.0.1", "localhost"])
async def test_nobody_becomes_this_machine_by_saying_so(claimed: str) -> None:
    for peer in (LAN, ("127.0.0.1", 1)):
        assert (await ask(headers={"x-forwarded-for": claimed}, peer=peer)).status_code == 403


async def test_a_proxy_on_this_machine_that_says_nothing_is_told_by_the_name_it_passes_on() -> None:
    reply = await ask(headers={"host": "tanlu.example.org"}, peer=("127.0.0.1", 1))
    assert reply.status_code == 403
    assert "TANLU_ALLOWED_HOSTS" in reply.text


async def test_naming_a_host_opens_a_server_without_keys_to_those_who_reach_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_ALLOWED_HOSTS", "192.168.1.20")
    assert (await ask(headers={"host": "192.168.1.20:2024"}, peer=LAN)).status_code == 200
    assert (await ask(headers={"host": "evil.example"}, peer=LAN)).status_code == 403


@pytest.mark.parametrize("host", ["evil.example:2024", "0.0.0.0:2024", "localhost@evil.example"])
async def test_a_name_that_was_led_here_is_refused(host: str, keys: None) -> None:
    reply = await ask(headers={"host": host, "x-api-key": KEY})
    assert reply.status_code == 403
    assert "TANLU_ALLOWED_HOSTS" in reply.json()["detail"]
    assert "\n" not in reply.text


@pytest.mark.parametrize("hosts", [[], [b"localhost", b"evil.example"], [b""], [b"\xff"]])
async def test_a_request_has_exactly_one_host(hosts: list[bytes]) -> None:
    sent = await raw({"type": "http"}, [(b"host", host) for host in hosts])
    assert sent[0]["status"] == 403


@pytest.mark.parametrize("path", ["/ok", "/healthz", "/readyz"])
async def test_a_supervisor_may_ask_for_health_by_any_name_from_anywhere(path: str) -> None:
    assert (await ask(path=path, headers={"host": "10.1.2.3"}, peer=LAN)).status_code == 200
    strange = {"host": "10.1.2.3", "origin": "https://evil.example"}
    assert (await ask(path=path, headers=strange)).status_code == 403


async def test_with_keys_only_that_it_is_up_is_said_to_anybody(keys: None) -> None:
    named = {"host": "10.1.2.3"}
    assert (await ask(path="/ok", headers=named, peer=LAN)).status_code == 200
    for path in ("/healthz", "/readyz"):
        assert (await ask(path=path, headers=named, peer=LAN)).status_code == 401
        told = await ask(path=path, headers={**named, "x-api-key": KEY}, peer=LAN)
        assert told.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/internal/truncate", "/internal", "//internal/truncate", "/internal/debug/thread/1",
        "/deploy", "/deploy/status", "/deployments", "/ui/agent", "/uikit",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_is_not_ours_is_closed_with_and_without_a_key(
    path: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await ask(method, path)).status_code == 404
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY}")
    assert (await ask(method, path, headers={"x-api-key": KEY})).status_code == 404


@pytest.mark.parametrize("sign", ["\n", "\r", "\x00", "\x1b[2J", "\x7f", "\x9b", "\u2028"])
async def test_no_path_writes_lines_of_its_own_into_the_log(sign: str, keys: None) -> None:
    """The server logs what it answers, also what needs no key, as it was asked."""
    for path in (f"/app/files/0/{sign}x", f"/threads/{sign}x"):
        named = [(b"host", b"localhost"), (b"x-api-key", KEY.encode())]
        assert (await raw({"type": "http", "path": path}, named))[0]["status"] == 404


async def test_every_answer_says_that_it_is_what_it_says(keys: None) -> None:
    for path in ("/threads", "/app", "/internal", "/ok"):
        reply = await ask(path=path)
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_only_whole_names_are_closed() -> None:
    assert (await ask(path="/internals")).status_code == 200
    assert (await ask(path="/threads/internal/state")).status_code == 200


@pytest.mark.parametrize("path", ["/threads", "/openapi.json", "/info", "/metrics", "/mcp",
                                  "/app/runs/1/answer.md", "/a/new/route"])  # fmt: skip
async def test_with_keys_every_path_needs_one(path: str, keys: None) -> None:
    refused = await ask(path=path)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json() == {"detail": "A key is needed: x-api-key or Authorization: Bearer."}
    for wrong in ({"x-api-key": "wrong"}, {"authorization": "Bearer wrong"},
                  {"cookie": "tanlu_key=wrong"}):  # fmt: skip
        refused = await ask(path=path, headers=wrong)
        assert refused.status_code == 401
        assert refused.json()["detail"].startswith("This key is not known here")
    for given in ({"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"},
                  {"cookie": f"tanlu_key={KEY}"}):  # fmt: skip
        assert (await ask(path=path, headers=given)).status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/docs/", "//docs"])
async def test_with_keys_no_page_of_ours_runs_a_script_of_another_site(
    path: str, keys: None
) -> None:
    assert (await ask(path=path)).status_code == 401
    refused = await ask(path=path, headers={"cookie": f"tanlu_key={KEY}"})
    assert refused.status_code == 404
    assert "/openapi.json" in refused.json()["detail"]


async def test_an_open_server_shows_its_routes() -> None:
    assert (await ask(path="/docs")).status_code == 200


async def test_with_keys_strangers_reach_the_server_but_need_one(keys: None) -> None:
    assert (await ask(peer=LAN)).status_code == 401
    proxied = {"x-api-key": KEY, "x-forwarded-for": "203.0.113.9"}
    assert (await ask(peer=LAN, headers=proxied)).status_code == 200


async def test_the_page_loads_before_signing_in(keys: None) -> None:
    for path in ("/app", "/app/", "/app/files/0/js/main.js", "/app/config.json"):
        assert (await ask(path=path)).status_code == 200
    assert (await ask("POST", "/app/sign-in", body=b"{}")).status_code == 200


async def test_keys_that_cannot_be_used_close_everything_but_health(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY},bo:short")
    for path in ("/threads", "/app", "/mcp"):
        reply = await ask(path=path, headers={"x-api-key": KEY})
        assert reply.status_code == 503
        assert reply.json()["detail"].startswith("TANLU_API_KEYS: Entry 2")
        assert "short" not in reply.text
    assert (await ask(path="/healthz")).status_code == 200


async def test_the_server_s_own_client_passes(keys: None) -> None:
    for root in ("/noauth", "/noauth/prefix"):
        assert (await ask(path="/threads", root_path=root, peer=LAN)).status_code == 200
    for root in ("/noauthority", "/x/noauth"):
        assert (await ask(path="/threads", root_path=root)).status_code == 401


async def test_what_the_server_is_mounted_at_is_no_part_of_the_path(keys: None) -> None:
    reply = await ask(path="/prefix/internal/truncate", root_path="/prefix")
    assert reply.status_code == 404
    assert (await ask(path="/prefix/app", root_path="/prefix")).status_code == 200


async def test_a_body_is_at_most_a_megabyte() -> None:
    assert (await ask("POST", body=b"x" * LARGEST_BODY)).text == f"POST {LARGEST_BODY}"
    reply = await ask("POST", body=b"x" * (LARGEST_BODY + 1))
    assert reply.status_code == 413
    assert reply.json() == {"detail": "The body is larger than 1000000 bytes."}


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"9" * 5000, b"", b"+5"])
async def test_a_length_that_is_none_or_absurd_is_refused(length: bytes) -> None:
    named = [(b"host", b"localhost"), (b"content-length", length)]
    assert (await raw({"type": "http", "method": "POST"}, named))[0]["status"] == 413


async def test_a_body_without_a_length_is_counted() -> None:
    parts = [b"x" * 400_000] * 3
    sent = await raw({"type": "http", "method": "POST"}, [(b"host", b"localhost")], parts)
    assert sent[0]["status"] == 413


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.0)
    named = [(b"host", b"localhost")]
    sent = await raw({"type": "http", "method": "POST"}, named, [b"{"], stalls=True)
    assert sent[0]["status"] == 408


async def test_a_web_socket_that_says_too_much_at_once_is_left() -> None:
    socket = {"type": "websocket", "path": "/threads/1/stream/events", "scheme": "ws"}
    said = [b"x" * LARGEST_BODY, b"x" * (LARGEST_BODY + 1), b"more"]
    accepted, *heard = await raw(socket, [(b"host", b"localhost")], said)
    assert accepted["type"] == "websocket.accept"
    assert [message.get("text") for message in heard] == [f"heard {LARGEST_BODY}"]

"""What a web page may do with its visitor's server: nothing, unless its origin is listed."""

import pytest

from tests.support.at_the_door import KEY, STUDIO, ask, raw
from tests.support.rows import by_examples

EVIL = "https://evil.example"
FOREIGN = [
    EVIL, "null", "", "http://localhost:3000", "http://127.0.0.1:2024", "http://localhost",
    "https://smith.langchain.com.evil.example", "http://smith.langchain.com", "file://",
    "http://localhost:2024@evil.example", "http://localhost:2024/", "chrome-extension://abc",
]  # fmt: skip
PREFLIGHT = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,x-api-key",
    "access-control-request-private-network": "true",
}


@pytest.fixture(name="keys")
def keys_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY}")
    monkeypatch.setenv("TANLU_CORS_ORIGINS", "https://friend.example")


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
async def test_a_page_of_a_foreign_origin_gets_nothing(origin: str, method: str) -> None:
    reply = await ask(method, headers={"origin": origin, **PREFLIGHT})
    assert reply.status_code == 403
    assert "TANLU_CORS_ORIGINS" in reply.json()["detail"]
    assert [name for name in reply.headers if name.startswith("access-control")] == []


async def test_the_log_names_the_origin_that_was_refused_and_where_to_add_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("WARNING"):
        await ask("POST", headers={"origin": "http://localhost:5173"})
        await ask("POST", headers={"origin": "null"})
    (line,) = caplog.messages
    assert line.endswith("to let its pages in, add http://localhost:5173 to TANLU_CORS_ORIGINS")


async def test_a_program_s_window_that_says_it_is_a_file_can_be_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_CORS_ORIGINS", "file://")
    assert (await ask("POST", headers={"origin": "file://"})).status_code == 200
    for other in ("null", "file://evil.example", "file:///"):
        assert (await ask("POST", headers={"origin": other})).status_code == 403


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_a_form_or_text_that_a_page_posts_without_asking_is_refused(kind: str) -> None:
    body = b'{"assistant_id": "agent"}'
    for extra in ({"origin": EVIL}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
                  {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}):  # fmt: skip
        reply = await ask("POST", "/runs/wait", headers={"content-type": kind, **extra}, body=body)
        assert reply.status_code == 403


async def test_a_cookie_does_not_help_a_foreign_page(keys: None) -> None:
    signed_in = {"cookie": f"tanlu_key={KEY}"}
    assert (await ask("POST", headers=signed_in)).status_code == 200
    for extra in ({"origin": EVIL}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert (await ask("POST", headers={**signed_in, **extra})).status_code == 403


async def test_the_server_s_own_pages_may_do_everything(keys: None) -> None:
    own = {"origin": "http://localhost:2024", "sec-fetch-site": "same-origin"}
    reply = await ask("POST", headers={**own, "cookie": f"tanlu_key={KEY}"})
    assert reply.status_code == 200
    assert [name for name in reply.headers if name.startswith("access-control")] == []


@by_examples
async def test_an_origin_is_its_own_also_behind_a_proxy_that_takes_tls_off(
    host: str, origin: str, scheme: str, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_ALLOWED_HOSTS", "*")
    named = [(b"host", host.encode()), (b"origin", origin.encode())]
    sent = await raw({"type": "http", "method": "POST", "scheme": scheme}, named)
    assert sent[0]["status"] == (200 if own else 403)


@by_examples
async def test_a_link_elsewhere_opens_the_page_and_nothing_is_embedded(
    path: str, mode: str, dest: str, opened: bool
) -> None:
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert (await ask(path=path, headers=sent)).status_code == (200 if opened else 403)
    assert (await ask("POST", path, headers=sent)).status_code == 403
    typed = {**sent, "sec-fetch-site": "none"}
    assert (await ask(path=path, headers=typed)).status_code == 200


async def test_studio_may_call_an_open_server_on_this_machine() -> None:
    reply = await ask("OPTIONS", headers={"origin": STUDIO, **PREFLIGHT})
    assert reply.status_code == 204
    allowed = {name: text for name, text in reply.headers.items() if "control-allow" in name}
    assert allowed == {
        "access-control-allow-origin": STUDIO,
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": "content-type,x-api-key",
        "access-control-allow-private-network": "true",
    }
    reply = await ask("POST", headers={"origin": STUDIO, "sec-fetch-site": "cross-site"})
    assert reply.text == "POST 0"
    assert reply.headers["access-control-allow-origin"] == STUDIO
    assert "content-location" in reply.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in reply.headers


async def test_a_private_network_is_opened_only_when_it_is_asked_for() -> None:
    asked = {"origin": STUDIO, "access-control-request-method": "GET"}
    reply = await ask("OPTIONS", headers=asked)
    assert "access-control-allow-private-network" not in reply.headers


async def test_with_keys_studio_is_a_page_like_any_other(keys: None) -> None:
    for method in ("OPTIONS", "POST"):
        sent = {"origin": STUDIO, "x-api-key": KEY, **PREFLIGHT}
        assert (await ask(method, headers=sent)).status_code == 403


async def test_a_listed_origin_is_asked_for_the_key_in_words_it_can_read(keys: None) -> None:
    friend = {"origin": "https://friend.example", "sec-fetch-site": "cross-site"}
    assert (await ask("OPTIONS", headers={**friend, **PREFLIGHT})).status_code == 204
    refused = await ask("POST", headers=friend)
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://friend.example"
    assert (await ask("POST", headers={**friend, "x-api-key": KEY})).status_code == 200


async def test_options_without_an_origin_is_no_preflight(keys: None) -> None:
    assert (await ask("OPTIONS", headers=PREFLIGHT)).status_code == 401


async def test_an_answer_differs_by_origin_for_caches_too() -> None:
    assert "Origin" in (await ask()).headers["vary"]


@pytest.mark.parametrize(
    ("headers", "opened"),
    [
        ({}, True),
        ({b"origin": b"http://localhost:2024"}, True),
        ({b"origin": STUDIO.encode()}, True),
        ({b"origin": EVIL.encode()}, False),
        ({b"origin": b"null"}, False),
        ({b"host": b"evil.example", b"origin": b"http://evil.example"}, False),
        ({b"sec-fetch-site": b"cross-site", b"sec-fetch-mode": b"websocket"}, False),
    ],
)
async def test_web_sockets_have_the_same_rules(headers: dict[bytes, bytes], opened: bool) -> None:
    named = {b"host": b"localhost:2024", **headers}
    socket = {"type": "websocket", "path": "/threads/1/stream/events", "scheme": "ws"}
    sent = await raw(socket, named.items())
    assert sent[0]["type"] == ("websocket.accept" if opened else "websocket.close")


async def test_web_sockets_need_the_key(keys: None) -> None:
    socket = {"type": "websocket", "path": "/threads/1/stream/events", "scheme": "ws"}
    host = (b"host", b"localhost:2024")
    assert (await raw(socket, [host]))[0]["type"] == "websocket.close"
    accepted = await raw(socket, [host, (b"x-api-key", KEY.encode())])
    assert accepted[0]["type"] == "websocket.accept"

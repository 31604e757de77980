"""Signing in: a key becomes a cookie, and guessing keys takes for ever."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.types import Message

from agent.server.auth.api_keys import COOKIE, access, identify
from agent.server.http import NotRead, limited_body
from tests.unit.page_client import KEY, page_client

MOST_TRIES = 10
WRONG = "k-wrong-0123456789"


@pytest.fixture(name="keys", autouse=True)
def keys_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY},bob:b;b\"b=b\\'-0123456789")


async def sign_in(http: httpx.AsyncClient, key: Any = KEY, **options: Any) -> httpx.Response:
    return await http.post("/app/sign-in", json={"key": key}, **options)


async def test_the_right_key_becomes_a_cookie_that_identifies_and_no_script_reads() -> None:
    async with page_client() as http:
        response = await sign_in(http, f" {KEY} ")
    assert response.json() == {"user": "alice"}
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={KEY};")
    flags = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert flags == {"httponly", "samesite=strict", "path=/", "max-age=2592000"}
    assert response.headers["cache-control"] == "no-store"
    assert KEY not in response.text


async def test_what_anybody_may_send_is_not_waited_for() -> None:
    async def nothing_comes() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(NotRead):
        await limited_body(Request({"type": "http"}, nothing_comes), 10, seconds=0.01)


async def test_a_key_of_unusual_characters_survives_the_cookie() -> None:
    async with page_client() as http:
        response = await sign_in(http, "b;b\"b=b\\'-0123456789")
        sent = http.build_request("GET", "/app").headers["cookie"]
    assert response.json() == {"user": "bob"}
    assert identify({"cookie": sent}, access()) == "bob"


@pytest.mark.parametrize(
    ("url", "headers", "peer", "secure"),
    [
        ("https://box.example", {}, "203.0.113.5", True),
        ("http://box.example", {"x-forwarded-proto": "https"}, "127.0.0.1", True),
        ("http://box.example", {"x-forwarded-proto": "https"}, "203.0.113.5", False),
        ("http://127.0.0.1:2024", {}, "127.0.0.1", False),
    ],
)
async def test_over_https_the_cookie_stays_there(
    url: str, headers: dict[str, str], peer: str, secure: bool
) -> None:
    async with page_client(peer, url) as http:
        cookie = (await sign_in(http, headers=headers)).headers["set-cookie"]
    assert ("; Secure" in cookie) is secure


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"key": "k-alice-0123456789"}', "text/plain", 400),
        (b'{"key": "k-alice-0123456789"}', "application/json; charset=utf-8", 200),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"key": 5}', "application/json", 400),
        (b'{"key": "  "}', "application/json", 400),
        (b'{"key": "' + b"k" * 5000 + b'"}', "application/json", 400),
        (b"[" * 4000, "application/json", 400),
        (b'{"key": "k-wrong-0123456789"}', "application/json", 401),
        ('{"key": "\\ud800-长长长长长长长长长长长长长长长"}'.encode(), "application/json", 401),
    ],
)
async def test_anything_but_a_known_key_in_json_gives_no_cookie(
    content: bytes, kind: str, status: int
) -> None:
    async with page_client() as http:
        response = await http.post("/app/sign-in", content=content, headers={"content-type": kind})
    assert response.status_code == status
    assert ("set-cookie" in response.headers) is (status == 200)
    assert WRONG not in response.text


async def test_signing_out_takes_the_cookie_back() -> None:
    async with page_client() as http:
        await sign_in(http)
        assert COOKIE in http.cookies
        response = await http.post("/app/sign-out")
        assert COOKIE not in http.cookies
    assert response.json() == {"user": None}


async def test_an_open_server_signs_everybody_in_without_a_cookie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TANLU_API_KEYS")
    async with page_client() as http:
        response = await sign_in(http, "whatever")
    assert (response.status_code, response.json()) == (200, {"user": None})
    assert "set-cookie" not in response.headers


async def test_after_too_many_wrong_keys_even_the_right_one_waits() -> None:
    async with page_client() as http:
        tried = [(await sign_in(http, f"{WRONG}{n}")).status_code for n in range(MOST_TRIES)]
        blocked = await sign_in(http)
    assert set(tried) == {401}
    assert blocked.status_code == 429
    assert 0 < int(blocked.headers["retry-after"]) <= 60
    assert "set-cookie" not in blocked.headers


async def test_many_at_once_are_no_more_tries_than_one_after_the_other() -> None:
    """Each may have been let in before any of them was found to be wrong."""
    begun, together = 0, asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        nonlocal begun
        begun += 1
        key = f"{WRONG}{begun}"
        if begun == 3 * MOST_TRIES:
            together.set()
        await together.wait()
        yield b'{"key": "%s"}' % key.encode()

    async with page_client() as http:
        kind = {"content-type": "application/json"}
        replies = await asyncio.gather(
            *(http.post("/app/sign-in", content=slowly(), headers=kind)
              for _ in range(3 * MOST_TRIES))
        )  # fmt: skip
    assert [reply.status_code for reply in replies].count(401) == MOST_TRIES

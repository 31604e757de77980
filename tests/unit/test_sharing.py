"""Sharing an answer: who may, what the page shows, when it ends, and what it never has."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from agent.export.html import export_policy
from agent.mcp.amap.records import PHOTO_HOSTS
from agent.runs.shares import MOST, Shares
from agent.server import exports, sharing
from agent.server.auth.api_keys import access
from agent.server.auth.guard import RequestGuard
from tests.unit.export_samples import source
from tests.unit.page_client import KEY
from tests.unit.test_page_routes_exports import THREAD, Threads, asked, said, two_turns

SHARE = f"/threads/{THREAD}/share"
MINE = {"x-api-key": KEY}


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def clock_fixture() -> Clock:
    return Clock()


@pytest.fixture(name="kept")
async def kept_fixture(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> AsyncIterator[Shares]:
    kept = Shares(None, clock)
    monkeypatch.setattr(sharing, "_shares", lambda: kept)
    yield kept
    await kept.aclose()


@pytest.fixture(name="keys")
def keys_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY}")
    access.cache_clear()


@asynccontextmanager
async def opened(patch: pytest.MonkeyPatch, api: Any = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client at the door of a server with these routes."""
    patch.setattr(exports, "client_for", lambda _: api or Threads(two_turns()))
    app = RequestGuard(Starlette(routes=sharing.share_routes()))
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:2024") as http:
        yield http


async def test_whoever_has_the_address_reads_that_answer_and_nothing_else_of_the_thread(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    async with opened(monkeypatch) as http:
        made = await http.post(SHARE, json={"message": "m2"})
        page = await http.get(f"/{made.json()['path']}")
    assert made.status_code == 201
    assert "Two cafés." in page.text
    assert "Coffee near the Bund" in page.text
    assert "适合遛娃" not in page.text
    assert THREAD not in page.text
    assert "<script" not in page.text
    policy = export_policy(PHOTO_HOSTS)
    assert page.headers["content-security-policy"] == f"{policy}; frame-ancestors 'none'"
    assert "script-src" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert "noindex" in page.headers["x-robots-tag"]
    assert page.headers["referrer-policy"] == "no-referrer"


async def test_an_answer_keeps_its_address_until_its_end_date(
    monkeypatch: pytest.MonkeyPatch, kept: Shares, clock: Clock
) -> None:
    async with opened(monkeypatch) as http:
        first = (await http.post(SHARE, json={"days": 1})).json()
        clock.now += 80_000
        again = (await http.post(SHARE, json={"days": 2})).json()
        assert again["path"] == first["path"]
        assert again["ends_at"] > first["ends_at"]
        clock.now += 2 * 86_400 - 1
        assert (await http.get(f"/{first['path']}")).status_code == 200
        clock.now += 2
        gone = await http.get(f"/{first['path']}")
        assert (gone.status_code, (await http.get(SHARE)).json()) == (404, {"shares": []})


async def test_its_owner_ends_it_one_by_one_or_all_at_once(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    async with opened(monkeypatch) as http:
        paths = [
            (await http.post(SHARE, json={"message": name})).json()["path"] for name in ("m1", "m2")
        ]
        listed = (await http.get(SHARE)).json()["shares"]
        assert [row["path"] for row in listed] == paths
        assert (await http.delete(SHARE, params={"message": "m1"})).json() == {"withdrawn": 1}
        assert [(await http.get(f"/{path}")).status_code for path in paths] == [404, 200]
        await http.delete(SHARE)
        assert (await http.get(f"/{paths[1]}")).status_code == 404


async def test_with_keys_it_is_off_until_it_is_switched_on_and_off_hides_what_was_shared(
    monkeypatch: pytest.MonkeyPatch, kept: Shares, keys: None
) -> None:
    made = await kept.put(THREAD, "m1", "<p>page</p>", days=1)
    address = f"/shared/{made.token}"
    async with opened(monkeypatch) as http:
        refused = await http.post(SHARE, json={}, headers=MINE)
        assert (refused.status_code, "TANLU_SHARING" in refused.text) == (403, True)
        assert (await http.get(address)).status_code == 404
        monkeypatch.setenv("TANLU_SHARING", "on")
        access.cache_clear()
        assert (await http.post(SHARE, json={}, headers=MINE)).status_code == 201
        assert (await http.get(address)).text == "<p>page</p>"
        for method in ("POST", "GET", "DELETE"):
            assert (await http.request(method, SHARE)).status_code == 401


async def test_a_link_on_another_page_opens_it_but_no_script_or_frame_of_that_page(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    address = f"/shared/{(await kept.put(THREAD, 'm1', 'page', days=1)).token}"
    cross = {"sec-fetch-site": "cross-site"}
    followed = {**cross, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    framed = {**followed, "sec-fetch-dest": "iframe"}
    async with opened(monkeypatch) as http:
        assert (await http.get(address, headers=followed)).status_code == 200
        for headers in (cross, framed, {"origin": "https://evil.example"}):
            assert (await http.get(address, headers=headers)).status_code == 403
        for headers in (cross, followed, {"origin": "https://evil.example"}, {"origin": "null"}):
            assert (await http.post(SHARE, json={}, headers=headers)).status_code == 403
            assert (await http.delete(SHARE, headers=headers)).status_code == 403
    assert len(await kept.of(THREAD)) == 1


async def test_what_an_answer_says_is_text_on_the_page_never_markup(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    evil = '<script>alert(1)</script><img src=x onerror=alert(1)>[x](javascript:alert(1))"><svg>'
    messages = [asked(evil), said(1, evil, sources=[], places=[], mode="online")]
    async with opened(monkeypatch, Threads({"messages": messages})) as http:
        made = (await http.post(SHARE, json={})).json()
        page = (await http.get(f"/{made['path']}")).text
    for tag in ("<script", "<img", 'javascript:alert(1)"', "<svg>"):
        assert tag not in page
    assert "&lt;script&gt;" in page


async def test_nobody_shares_lists_or_ends_what_of_a_thread_that_is_not_theirs(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    await kept.put(THREAD, "m1", "page", days=1)
    async with opened(monkeypatch, Threads(refusal=404)) as http:
        for method in ("POST", "GET", "DELETE"):
            reply = await http.request(method, SHARE)
            assert (reply.status_code, reply.json()["detail"]) == (404, "There is no such thread.")
    assert len(await kept.of(THREAD)) == 1


async def test_a_thread_that_is_deleted_while_it_is_shared_leaves_no_page(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    api, put = Threads(two_turns()), kept.put

    async def put_late(*row: Any, **days: Any) -> Any:
        await kept.forget(THREAD)
        api.empty()
        return await put(*row, **days)

    monkeypatch.setattr(kept, "put", put_late)
    async with opened(monkeypatch, api) as http:
        reply = await http.post(SHARE)
    assert (reply.status_code, await kept.of(THREAD)) == (404, [])


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("[", 422, "must be JSON"),
        ("[]", 422, "both optional"),
        ('{"token": "mine"}', 422, "both optional"),
        ('{"days": 0}', 422, "Days must be 1 to 365."),
        ('{"days": true}', 422, "Days must be"),
        ('{"days": 366}', 422, "Days must be"),
        ('{"message": 1}', 422, "Message must be"),
        ('{"message": "m9"}', 404, "no such answer"),
        (json.dumps({"message": "x" * 5_000}), 422, "at most 4 kB"),
    ],
)
async def test_a_wrong_wish_is_refused_in_one_line_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, kept: Shares, body: str, status: int, words: str
) -> None:
    async with opened(monkeypatch) as http:
        reply = await http.post(SHARE, content=body)
    assert (reply.status_code, words in reply.json()["detail"]) == (status, True)
    assert await kept.of(THREAD) == []


async def test_what_is_the_owner_s_own_is_told_and_so_is_who_can_open_the_page(
    monkeypatch: pytest.MonkeyPatch, kept: Shares
) -> None:
    values = {**two_turns(), "turn": {"language": "en", "near": {"lng": 116.4, "lat": 39.9}}}
    own = {**source(), "kind": "document", "provider": "own documents"}
    sum_ = {**own, "provider": "run_code"}
    cites = {"messages": [asked("?"), said(1, "Yes.", sources=[own, sum_])]}
    sums = {"messages": [asked("?"), said(1, "Yes.", sources=[sum_])]}
    for held, shows in ((values, ["position"]), (cites, ["documents"]), (sums, []),
                        (two_turns(), [])):  # fmt: skip
        async with opened(monkeypatch, Threads(held)) as http:
            told = (await http.post(SHARE)).json()
        assert (told["shows"], told["this_machine_only"]) == (shows, True)


async def test_addresses_are_long_each_another_and_a_thread_has_so_many(
    kept: Shares,
) -> None:
    tokens = {(await kept.put(THREAD, f"m{n}", "page", days=1)).token for n in range(MOST)}
    assert (len(tokens), min(map(len, tokens))) == (MOST, 32)
    with pytest.raises(ValueError, match="are shared already"):
        await kept.put(THREAD, "one more", "page", days=1)
    await kept.put(THREAD, "m1", "page", days=1)
    await kept.put("another", "m1", "page", days=1)


@pytest.mark.parametrize("token", ["", "x", "../app", "%00", "a" * 5_000, "' OR 1=1 --"])
async def test_another_address_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch, kept: Shares, token: str
) -> None:
    await kept.put(THREAD, "m1", "page", days=1)
    async with opened(monkeypatch) as http:
        assert (await http.get(f"/shared/{token}")).status_code == 404

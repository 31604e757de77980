"""How often keys may be guessed, at the sign-in and everywhere else."""

import pytest
from starlette.requests import HTTPConnection

from agent.server.auth.api_keys import access
from agent.server.auth.guard import RateLimit, peer_of
from tests.support.at_the_door import KEY, ask, raw
from tests.support.rows import by_examples

MOST = 10
STRANGER, NEIGHBOUR = ("203.0.113.5", 50000), ("203.0.113.6", 50000)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"anna:{KEY}")


def wrong(number: int) -> dict[str, str]:
    """A wrong key, sent in each of the ways there are."""
    key = f"wrong-key-of-somebody-{number}"
    ways = [{"x-api-key": key}, {"authorization": f"Bearer {key}"}, {"cookie": f"tanlu_key={key}"}]
    return ways[number % 3]


async def test_keys_are_guessed_ten_times_a_minute_and_then_even_the_right_one_waits() -> None:
    rate_limit = RateLimit()
    tried = [
        (await ask(headers=wrong(n), peer=STRANGER, rate_limit=rate_limit)).status_code
        for n in range(MOST + 5)
    ]
    right = await ask(headers={"x-api-key": KEY}, peer=STRANGER, rate_limit=rate_limit)
    assert tried == [401] * MOST + [429] * 5
    assert right.status_code == 429
    assert "Too many wrong keys" in right.json()["detail"]
    assert 0 < int(right.headers["retry-after"]) <= 60


async def test_nobody_waits_for_the_wrong_keys_of_another_address() -> None:
    rate_limit = RateLimit()
    for number in range(2 * MOST):
        await ask(headers=wrong(number), peer=STRANGER, rate_limit=rate_limit)
    for peer in (NEIGHBOUR, ("127.0.0.1", 1)):
        reply = await ask(headers={"x-api-key": KEY}, peer=peer, rate_limit=rate_limit)
        assert reply.status_code == 200


async def test_behind_a_proxy_on_this_machine_its_visitors_are_counted_not_the_proxy() -> None:
    rate_limit, proxy = RateLimit(), ("127.0.0.1", 1)
    for number in range(MOST):
        forwarded = {**wrong(number), "x-forwarded-for": f"198.51.100.1, {STRANGER[0]}"}
        await ask(headers=forwarded, peer=proxy, rate_limit=rate_limit)
    key = {"x-api-key": KEY}
    for visitor, status in ((STRANGER[0], 429), (NEIGHBOUR[0], 200), ("198.51.100.1", 200)):
        forwarded = {**key, "x-forwarded-for": visitor}
        reply = await ask(headers=forwarded, peer=proxy, rate_limit=rate_limit)
        assert reply.status_code == status, visitor


async def test_one_key_that_was_taken_away_does_not_keep_its_address_waiting() -> None:
    """A supervisor goes on sending it; that is no guessing."""
    rate_limit = RateLimit()
    for _ in range(5 * MOST):
        reply = await ask(path="/readyz", headers=wrong(0), peer=STRANGER, rate_limit=rate_limit)
        assert reply.status_code == 401
    assert (
        await ask(headers={"x-api-key": KEY}, peer=STRANGER, rate_limit=rate_limit)
    ).status_code == 200


async def test_what_needs_no_key_answers_who_has_guessed_too_often() -> None:
    rate_limit = RateLimit()
    for number in range(MOST):
        await ask(headers=wrong(number), peer=STRANGER, rate_limit=rate_limit)
    assert (await ask(path="/ok", peer=STRANGER, rate_limit=rate_limit)).status_code == 200
    assert (
        await ask(path="/app", headers=wrong(0), peer=STRANGER, rate_limit=rate_limit)
    ).status_code == 200
    assert (await ask(peer=STRANGER, rate_limit=rate_limit)).status_code == 401


async def test_how_many_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_WRONG_KEYS_PER_MINUTE", "2")
    rate_limit = RateLimit()
    tried = [(await ask(headers=wrong(n), rate_limit=rate_limit)).status_code for n in range(3)]
    assert tried == [401, 401, 429]


async def test_a_number_that_cannot_be_used_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_WRONG_KEYS_PER_MINUTE", "0")
    reply = await ask(headers={"x-api-key": KEY})
    assert reply.status_code == 503
    assert "TANLU_WRONG_KEYS_PER_MINUTE" in reply.json()["detail"]


async def test_a_web_socket_is_one_more_way_to_guess() -> None:
    rate_limit = RateLimit()
    for number in range(MOST):
        await ask(headers=wrong(number), rate_limit=rate_limit)
    headers = [(b"host", b"localhost:2024"), (b"x-api-key", KEY.encode())]
    socket = {"type": "websocket", "path": "/threads/1/stream/events"}
    sent = await raw(socket, headers, rate_limit=rate_limit)
    assert (sent[0]["type"], sent[0]["code"]) == ("websocket.close", 1008)
    assert "Too many wrong keys" in sent[0]["reason"]


@by_examples
def test_a_network_of_ipv6_is_one_peer_for_its_owner_has_every_address_in_it(
    host: str, peer: str
) -> None:
    assert peer_of(HTTPConnection({"type": "http", "client": (host, 1)})) == peer
    assert peer_of(HTTPConnection({"type": "http"})) == ""


def test_only_who_tried_waits_and_only_for_a_minute() -> None:
    now = [100.0]
    rate_limit = RateLimit(clock=lambda: now[0])
    for number in range(MOST):
        assert rate_limit.wait("a", MOST) == 0
        rate_limit.count("a", str(number))
    assert (rate_limit.wait("a", MOST), rate_limit.wait("b", MOST)) == (60.0, 0.0)
    now[0] += 45
    assert rate_limit.wait("a", MOST) == 15.0
    now[0] += 15
    assert rate_limit.wait("a", MOST) == 0
    rate_limit.count("a", "another")
    assert rate_limit.wait("a", MOST) == 0.0


def test_tries_that_are_spread_over_time_let_through_ten_a_minute() -> None:
    now, counted = [0.0], 0
    rate_limit = RateLimit(clock=lambda: now[0])
    for number in range(600):
        if not rate_limit.wait("a", MOST):
            rate_limit.count("a", str(number))
            counted += 1
        now[0] += 1
    assert counted == 10 * MOST


def test_many_peers_do_not_fill_the_memory() -> None:
    rate_limit = RateLimit()
    for number in range(10_000):
        rate_limit.count(str(number), "wrong")
    assert len(rate_limit._failed._entries) <= 4096
    assert access().wrong_keys == MOST

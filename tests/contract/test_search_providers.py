"""Every search service against its stand-in: a result, and each way to fail."""

import contextlib
import json
import time
from dataclasses import asdict
from typing import Any

import pytest

from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from tests.contract.search_bench import KEY, Bench, bench_fixture, failure, running_fixture
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter

__all__ = ["bench_fixture", "running_fixture"]


async def test_a_result_comes_back_as_hits(bench: Bench) -> None:
    account = meter()
    hits = await bench.provider().search("故宫", meter=account, count=3)
    assert [hit.url for hit in hits] == [f"https://example.com/{n}" for n in range(3)]
    assert (hits[0].title, hits[0].snippet, hits[0].site) == ("第 0 页", "正文 0。", "example.com")
    assert account.usage["searches"] == 1


async def test_the_default_count_is_the_setting(bench: Bench) -> None:
    provider = bench.provider(**{f"{bench.name}_default_count": 4})
    assert len(await provider.search("故宫", meter=meter())) == 4


async def test_nothing_found_is_an_empty_list(bench: Bench) -> None:
    assert await bench.provider().search("无", meter=meter()) == []


async def test_null_lists_are_an_empty_list(bench: Bench) -> None:
    bench.service.null_lists()
    assert await bench.provider().search("故宫", meter=meter()) == []


async def test_a_wrong_key_is_refused_at_once(bench: Bench) -> None:
    provider = bench.provider(**{f"{bench.name}_api_key": f"{KEY}-wrong"})
    error = await failure(provider)
    assert isinstance(error, ProviderRefused)
    assert error.code == "search_key_invalid"
    assert len(bench.service.requests) == 1


@pytest.mark.parametrize(("status", "code"), [(401, "search_key_invalid"), (403, "search_refused")])
async def test_an_echoed_key_never_reaches_the_error(bench: Bench, status: int, code: str) -> None:
    echo = {"message": f"{'x' * 190} {KEY} is not known"}
    bench.service.fail("status", status=status, body=echo, times=None)
    error = await failure(bench.provider())
    assert isinstance(error, ProviderRefused)
    assert error.code == code
    assert KEY[:6] not in str(error)


async def test_a_rate_limit_waits_as_told_and_goes_on(bench: Bench) -> None:
    bench.service.fail("status", status=429, headers={"Retry-After": "0.3"})
    began = time.monotonic()
    assert await bench.provider().search("故宫", meter=meter())
    assert time.monotonic() - began >= 0.3
    assert len(bench.service.requests) == 2


async def test_a_long_rate_limit_is_handed_on(bench: Bench) -> None:
    bench.service.fail("status", status=429, headers={"Retry-After": "120"}, times=None)
    error = await failure(bench.provider())
    assert isinstance(error, RateLimited)
    assert error.retry_after == 120
    assert len(bench.service.requests) == 1


@pytest.mark.parametrize(
    "kind", ["status", "drop", "drop_mid_body", "garbage", "cut_json", "deep_json", "empty"]
)
async def test_a_passing_fault_is_retried(bench: Bench, kind: Any) -> None:
    bench.service.fail(kind, status=503)
    account = meter()
    assert await bench.provider().search("故宫", meter=account)
    assert len(bench.service.requests) == 2
    assert account.usage["searches"] == 2


@pytest.mark.parametrize(
    ("kind", "kept"),
    [("html", ProviderUnavailable), ("garbage", MalformedReply),
     ("deep_json", MalformedReply), ("drop", ProviderUnavailable)],
)  # fmt: skip
async def test_a_lasting_fault_is_an_error_of_its_kind(
    bench: Bench, kind: Any, kept: type[ProviderError]
) -> None:
    bench.service.fail(kind, status=502, times=None)
    assert type(await failure(bench.provider())) is kept
    assert len(bench.service.requests) == 3


async def test_numbers_beyond_all_bounds_cost_no_hit(bench: Bench) -> None:
    bench.service.fail("odd_numbers", times=None)
    with contextlib.suppress(ProviderError):  # a status that is no number is the service's failure
        found = await bench.provider().search("故宫", meter=meter())
        assert found
        json.dumps([asdict(hit) for hit in found], allow_nan=False)


async def test_silence_ends_at_the_time_limit(bench: Bench) -> None:
    bench.service.fail("hang", times=None)
    provider = bench.provider(search_timeout_seconds=0.2)
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.search("故宫", meter=meter(seconds=1))
    assert caught.value.code == "timeout"


async def test_a_bad_request_is_not_repeated(bench: Bench) -> None:
    bench.service.fail("status", status=400, body={"message": "no"}, times=None)
    assert (await failure(bench.provider())).code == "search_refused"
    assert len(bench.service.requests) == 1


async def test_a_paid_reply_is_not_paid_twice_in_a_turn(bench: Bench) -> None:
    reply_cache = MemoryReplyCache()
    first = await bench.provider(reply_cache=reply_cache).search("故宫", meter=meter("one"))
    again = await bench.provider(reply_cache=reply_cache).search("故宫", meter=meter("one"))
    assert first == again
    assert len(bench.service.requests) == 1
    await bench.provider(reply_cache=reply_cache).search("故宫", meter=meter("two"))
    assert len(bench.service.requests) == 2
    assert KEY not in json.dumps(list(reply_cache.kept.values()))


async def test_a_failing_service_is_left_alone_for_a_while(bench: Bench) -> None:
    bench.service.fail("status", status=500, times=None)
    provider = bench.provider()
    await failure(provider)
    assert (await failure(provider)).code == "breaker_open"
    assert len(bench.service.requests) == 3


NO_ANSWERS: list[tuple[Any, str]] = [
    ({"error": "Unauthorized"}, "search_key_invalid"),
    ({"error": {"code": 401, "message": "no"}}, "search_key_invalid"),
    ({"detail": {"error": "rate limit"}}, "rate_limited"),
    ({"detail": "You have no credits left"}, "search_quota"),
    ({"error": {"status": 503, "message": "upstream"}}, "unavailable"),
    ({"error": "odd"}, "search_refused"),
    ({"ok": True}, "malformed"),
    ({"results": {}, "organic": {}, "data": None}, "malformed"),
]


@pytest.mark.parametrize(("body", "code"), NO_ANSWERS)
async def test_an_error_under_http_200_is_never_nothing_found(
    bench: Bench, body: Any, code: str
) -> None:
    bench.service.fail("status", status=200, body=body, times=None)
    assert (await failure(bench.provider())).code == code


@pytest.mark.parametrize("status", [200, 403])
async def test_a_web_page_instead_of_hits_is_named(bench: Bench, status: int) -> None:
    bench.service.fail("html", status=status, times=None)
    assert (await failure(bench.provider())).code == "web_page"

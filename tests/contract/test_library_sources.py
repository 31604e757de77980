"""Every source of documents against its stand-in: a result, and each way to fail."""

import contextlib
import json
import time
from typing import Any

import ormsgpack
import pytest

from agent.core.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from tests.support.library_bench import (
    KEY,
    QUERY,
    SourceBench,
    failed,
    running_source_fixture,
    source_fixture,
)
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter

__all__ = ["running_source_fixture", "source_fixture"]

KINDS = {
    "wikipedia": "encyclopedia",
    "openalex": "paper",
    "semantic_scholar": "paper",
    "sec_edgar": "filing",
}


async def test_a_result_comes_back_as_documents_in_order(source: SourceBench) -> None:
    account = meter()
    found = await source.sources().search(source.name, QUERY, meter=account, count=3)
    assert len(found) == 3
    assert {(document["source"], document["kind"]) for document in found} == {
        (source.name, KINDS[source.name])
    }
    assert all(document["title"] and document["text"] for document in found)
    if source.name != "sec_edgar":
        assert [document["text"] for document in found] == ["Text 0.", "Text 1.", "Text 2."]
    assert account.usage["searches"] == 1


async def test_the_default_count_is_the_setting(source: SourceBench) -> None:
    found = await source.search(**{f"{source.name}_default_count": 4})
    assert len(found) == 4


async def test_a_name_may_be_that_of_the_tool(source: SourceBench) -> None:
    assert await source.sources().search(f"{source.name}_search", QUERY, meter=meter())


@pytest.mark.parametrize("query", ["nothing of the kind", " \u200b "])
async def test_nothing_found_is_an_empty_list(source: SourceBench, query: str) -> None:
    assert await source.search(query) == []


async def test_null_lists_are_an_empty_list(source: SourceBench) -> None:
    source.service.null_lists()
    assert await source.search() == []


async def test_we_say_who_we_are(source: SourceBench) -> None:
    await source.search()
    agents = {request.headers["User-Agent"] for request in source.service.requests}
    wanted = "bench@example.org" if source.name in ("wikipedia", "sec_edgar") else "tanlu/"
    assert all(wanted in agent for agent in agents)
    assert KEY not in str([request.query for request in source.service.requests])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_is_not_repeated_and_shows_no_key(source: SourceBench, status: int) -> None:
    echo = {"message": f"{'x' * 190} {KEY} is not known"}
    source.fail("status", status=status, body=echo, times=None)
    error = await failed(source)
    assert isinstance(error, ProviderRefused)
    assert KEY[:6] not in str(error)
    assert source.asked == 1


async def test_a_rate_limit_waits_as_told_and_goes_on(source: SourceBench) -> None:
    source.fail("status", status=429, headers={"Retry-After": "0.3"})
    began = time.monotonic()
    assert await source.search()
    assert time.monotonic() - began >= 0.3
    assert source.asked == 2


async def test_a_long_rate_limit_is_handed_on(source: SourceBench) -> None:
    source.fail("status", status=429, headers={"Retry-After": "120"}, times=None)
    error = await failed(source)
    assert isinstance(error, RateLimited)
    assert (error.retry_after, error.code) == (120, "rate_limited")
    assert source.asked == 1


@pytest.mark.parametrize(
    "kind", ["status", "drop", "drop_mid_body", "garbage", "cut_json", "deep_json", "empty"]
)
async def test_a_passing_fault_is_retried(source: SourceBench, kind: Any) -> None:
    source.fail(kind, status=503)
    account = meter()
    assert await source.sources().search(source.name, QUERY, meter=account)
    assert source.asked == 2
    assert account.usage["searches"] == 2


@pytest.mark.parametrize(
    ("kind", "status", "kept"),
    [
        ("html", 502, ProviderUnavailable),
        ("html", 200, MalformedReply),
        ("garbage", 200, MalformedReply),
        ("deep_json", 200, MalformedReply),
        ("drop", 200, ProviderUnavailable),
    ],
)
async def test_a_lasting_fault_is_an_error_of_its_kind(
    source: SourceBench, kind: Any, status: int, kept: type[ProviderError]
) -> None:
    source.fail(kind, status=status, times=None)
    assert type(await failed(source)) is kept
    assert source.asked == 3


async def test_numbers_beyond_all_bounds_leave_documents_that_can_be_kept(
    source: SourceBench,
) -> None:
    source.fail("odd_numbers", times=None)
    with contextlib.suppress(ProviderError):
        ormsgpack.packb(await source.search())


async def test_a_huge_reply_is_not_read_to_its_end(source: SourceBench) -> None:
    source.fail("status", status=200, body={"results": "x" * 3_000_000}, times=None)
    assert (await failed(source)).code == "too_large"


@pytest.mark.parametrize("body", [[], ["x"], {"hits": [3]}, {"query": 7, "data": {}, "results": 1}])
async def test_json_of_another_shape_is_an_error(source: SourceBench, body: Any) -> None:
    source.fail("status", status=200, body=body or [None], times=None)
    assert isinstance(await failed(source), MalformedReply)


async def test_silence_ends_at_the_time_limit(source: SourceBench) -> None:
    source.fail("hang", times=None)
    sources = source.sources(search_timeout_seconds=0.2)
    with pytest.raises(ProviderUnavailable) as caught:
        await sources.search(source.name, QUERY, meter=meter(seconds=1.5))
    assert caught.value.code == "timeout"


async def test_a_paid_reply_is_not_paid_twice_in_a_turn(source: SourceBench) -> None:
    reply_cache = MemoryReplyCache()
    first = await source.sources(reply_cache=reply_cache).search(
        source.name, QUERY, meter=meter("one")
    )
    requests = len(source.service.requests)
    account = meter("one")
    again = await source.sources(reply_cache=reply_cache).search(source.name, QUERY, meter=account)
    assert first == again
    assert len(source.service.requests) == requests
    assert account.usage["searches"] == 1
    await source.sources(reply_cache=reply_cache).search(source.name, QUERY, meter=meter("two"))
    assert source.asked == 2
    assert KEY not in json.dumps(list(reply_cache.kept.values()))


async def test_a_failing_source_is_left_alone_for_a_while(source: SourceBench) -> None:
    source.fail("status", status=500, times=None)
    sources = source.sources()
    for code in ("unavailable", "breaker_open"):
        with pytest.raises(ProviderUnavailable) as caught:
            await sources.search(source.name, QUERY, meter=meter())
        assert caught.value.code == code
    assert source.asked == 3


async def test_an_unusable_base_url_names_its_variable(source: SourceBench) -> None:
    error = await failed(source, **{f"{source.name}_base_url": "ftp://example.com"})
    assert error.code == "search_misconfigured"
    assert f"{source.name.upper()}_BASE_URL" in str(error)


async def test_health_tells_what_works_and_what_does_not(source: SourceBench) -> None:
    report = {row["provider"]: row for row in await source.sources().health()}
    assert report[source.name]["works"] is True
    source.fail("status", status=403, times=None)
    closed = {f"{name}_base_url": "http://127.0.0.1:9" for name in KINDS if name != source.name}
    report = {row["provider"]: row for row in await source.sources(**closed).health()}
    assert report[source.name]["works"] is False
    assert "403" in report[source.name]["message"]


async def test_a_source_that_is_off_is_a_setting_that_is_missing(source: SourceBench) -> None:
    unset = {"wikipedia_user_agent": "nobody", "sec_user_agent": "nobody", "openalex_api_key": None}
    sources = source.sources(**unset)
    assert list(sources.off()) == ["wikipedia", "openalex", "tavily", "sec_edgar", "akshare"]
    assert sources.offered() == ["semantic_scholar"]
    for variable in (
        "WIKIPEDIA_USER_AGENT",
        "OPENALEX_API_KEY",
        "SEC_USER_AGENT",
        "TAVILY_API_KEY",
    ):
        assert variable in str(sources.off())
    with pytest.raises(ConfigurationError, match="OPENALEX_API_KEY"):
        await sources.search("openalex", QUERY, meter=meter())
    with pytest.raises(ConfigurationError, match="not a source"):
        await sources.search("the_moon", QUERY, meter=meter())

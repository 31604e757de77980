"""Every search service against its stand-in: a result, and each way to fail."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from agent.calls import Calls
from agent.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.offline.corpus import Page
from agent.offline.search import BochaService, SerperService, TavilyService
from agent.offline.service import Service, serve
from agent.search.http import SearchHttp
from agent.search.registry import configured
from agent.search.types import SearchProvider
from agent.settings import Settings
from tests.support.search_scripts import meter

KEY = "canary-key-7f3a9c1e5b2d"
SERVICES: dict[str, type[Any]] = {
    "tavily": TavilyService,
    "serper": SerperService,
    "bocha": BochaService,
}


def pages(query: str, limit: int) -> list[Page]:
    if "无" in query:
        return []
    return [
        Page(
            id=f"p{n}",
            url=f"https://example.com/{n}",
            title=f"第 {n} 页",
            site="example.com",
            language="zh",
            published="2026-05-01",
            subjects=(),
            topics=(),
            text=f"正文 {n}。",
        )
        for n in range(min(limit, 30))
    ]


class MemoryJournal:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def load(self, turn_id: str, key: str) -> str | None:
        return self.kept.get((turn_id, key))

    async def save(self, turn_id: str, key: str, reply: str) -> None:
        self.kept[turn_id, key] = reply


@dataclass
class Bench:
    """One service running, and our side of it."""

    name: str
    service: Any
    url: str
    http: SearchHttp

    def provider(self, *, journal: MemoryJournal | None = None, **changes: Any) -> SearchProvider:
        given = {
            f"{self.name}_api_key": KEY,
            f"{self.name}_base_url": self.url,
            "search_timeout_seconds": 5,
            **changes,
        }
        settings = Settings(**given)
        return configured(settings, self.http, Calls(journal=journal))[self.name]


@pytest.fixture(params=list(SERVICES))
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    service = SERVICES[request.param](key=KEY, pages=pages)
    with serve(service.app) as server:
        yield request.param, service, server.url


@pytest.fixture
async def bench(running: tuple[str, Service, str]) -> AsyncIterator[Bench]:
    http = SearchHttp(timeout=5)
    yield Bench(*running, http=http)
    await http.aclose()


async def failure(provider: SearchProvider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.search("故宫", meter=meter())
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value


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


@pytest.mark.parametrize(("status", "code"), [(401, "search_key_invalid"), (403, None)])
async def test_an_echoed_key_never_reaches_the_error(
    bench: Bench, status: int, code: str | None
) -> None:
    echo = {"message": f"{'x' * 190} {KEY} is not known"}
    bench.service.fail("status", status=status, body=echo, times=None)
    error = await failure(bench.provider())
    assert isinstance(error, ProviderRefused)
    assert error.code == (code or ("search_quota" if bench.name == "bocha" else "search_refused"))
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
    "kind", ["status", "drop", "drop_mid_body", "garbage", "cut_json", "empty"]
)
async def test_a_passing_fault_is_retried(bench: Bench, kind: Any) -> None:
    bench.service.fail(kind, status=503)
    account = meter()
    assert await bench.provider().search("故宫", meter=account)
    assert len(bench.service.requests) == 2
    assert account.usage["searches"] == 2


@pytest.mark.parametrize(
    ("kind", "kept"),
    [("html", ProviderUnavailable), ("garbage", MalformedReply), ("drop", ProviderUnavailable)],
)
async def test_a_lasting_fault_is_an_error_of_its_kind(
    bench: Bench, kind: Any, kept: type[ProviderError]
) -> None:
    bench.service.fail(kind, status=502, times=None)
    assert type(await failure(bench.provider())) is kept
    assert len(bench.service.requests) == 3


async def test_silence_ends_at_the_time_limit(bench: Bench) -> None:
    bench.service.fail("hang", times=None)
    provider = bench.provider(search_timeout_seconds=0.2)
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.search("故宫", meter=meter(seconds=0.3))
    assert caught.value.code == "timeout"


async def test_a_bad_request_is_not_repeated(bench: Bench) -> None:
    bench.service.fail("status", status=400, body={"message": "no"}, times=None)
    assert (await failure(bench.provider())).code == "search_refused"
    assert len(bench.service.requests) == 1


async def test_a_redirect_is_not_followed(bench: Bench) -> None:
    elsewhere = {"Location": f"{bench.url}/elsewhere"}
    bench.service.fail("status", status=302, headers=elsewhere, times=None)
    error = await failure(bench.provider())
    assert f"{bench.name.upper()}_BASE_URL" in str(error)
    assert len(bench.service.requests) == 1


async def test_a_paid_reply_is_not_paid_twice_in_a_turn(bench: Bench) -> None:
    journal = MemoryJournal()
    first = await bench.provider(journal=journal).search("故宫", meter=meter("one"))
    again = await bench.provider(journal=journal).search("故宫", meter=meter("one"))
    assert first == again
    assert len(bench.service.requests) == 1
    await bench.provider(journal=journal).search("故宫", meter=meter("two"))
    assert len(bench.service.requests) == 2
    assert KEY not in json.dumps(list(journal.kept.values()))


async def test_loopback_never_goes_through_a_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert await bench.provider().search("故宫", meter=meter())
    named = bench.url.replace("127.0.0.1", "localhost")
    provider = bench.provider(**{f"{bench.name}_base_url": named})
    assert await provider.search("故宫", meter=meter())


async def test_other_hosts_go_through_the_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.url)
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid/"})
    assert await provider.search("故宫", meter=meter())
    assert bench.service.requests[0].headers["Host"] == "search.invalid"


async def test_an_unusable_proxy_is_one_line_that_names_the_variable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks4://user:proxy-password@127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="ALL_PROXY") as caught:
        await bench.provider().search("故宫", meter=meter())
    assert "proxy-password" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_dead_socks_proxy_is_unavailable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    provider = bench.provider(**{f"{bench.name}_base_url": "http://search.invalid"})
    assert isinstance(await failure(provider), ProviderUnavailable)


@pytest.mark.parametrize("base", ["ftp://example.com", "no address", "http://"])
async def test_an_unusable_base_url_names_its_variable(bench: Bench, base: str) -> None:
    error = await failure(bench.provider(**{f"{bench.name}_base_url": base}))
    assert error.code == "search_misconfigured"
    assert f"{bench.name.upper()}_BASE_URL" in str(error)


async def test_a_failing_service_is_left_alone_for_a_while(bench: Bench) -> None:
    bench.service.fail("status", status=500, times=None)
    provider = bench.provider()
    await failure(provider)
    assert (await failure(provider)).code == "breaker_open"
    assert len(bench.service.requests) == 3


async def test_clients_of_several_loops_share_one_http(bench: Bench) -> None:
    provider = bench.provider()

    def elsewhere() -> int:
        async def search() -> int:
            found = await provider.search("故宫", meter=meter())
            # The loop ends here, so its connections have to be closed on it.
            await bench.http.aclose()
            return len(found)

        return asyncio.run(search())

    assert await asyncio.to_thread(elsewhere) == 8
    assert await provider.search("故宫", meter=meter())


async def test_the_size_limit_holds_for_the_decoded_reply() -> None:
    async def bomb(_: web.Request) -> web.Response:
        response = web.Response(text=json.dumps({"x": "0" * 5_000_000}))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    app = web.Application()
    app.router.add_post("/", bomb)
    http = SearchHttp()
    with serve(app) as server:
        with pytest.raises(MalformedReply) as caught:
            await http.post("tavily", server.url + "/", {})
        await http.aclose()
    assert caught.value.code == "too_large"

"""What is particular to one search service, or to Google's redirect links."""

from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote_plus

import pytest

from agent.batch.jobs import spent_quota
from agent.core.calls import Calls
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.hosts import Hosts
from agent.sample.services.search import KEY
from agent.search.google import REDIRECTS, resolve_links
from agent.search.hits import SearchProvider
from agent.search.http import SearchHttp
from agent.search.rules import today_here
from agent.search.web import configured_services
from agent.settings import Settings
from tests.support.meters import meter
from tests.support.served import serve_in_thread
from tests.support.standins import (
    BochaService,
    RedirectService,
    SerperService,
    TavilyService,
    keyless_limit,
)

QUERY = "故宫博物院 开放时间"


@pytest.fixture
async def http() -> AsyncIterator[SearchHttp]:
    shared = SearchHttp(timeout=60)
    yield shared
    await shared.aclose()


def provider(name: str, http: SearchHttp, **settings: Any) -> SearchProvider:
    return configured_services(Settings(**settings), http, Calls())[name]


def bocha(http: SearchHttp, url: str) -> SearchProvider:
    return provider("bocha", http, bocha_api_key=KEY, bocha_base_url=url)


def serper(http: SearchHttp, url: str) -> SearchProvider:
    return provider("serper", http, serper_api_key=KEY, serper_base_url=url)


@pytest.mark.parametrize(
    ("code", "kept", "word"),
    [
        (401, ProviderRefused, "search_key_invalid"),
        (403, ProviderRefused, "search_quota"),
        (400, ProviderRefused, "search_refused"),
        (429, RateLimited, "rate_limited"),
        (500, ProviderUnavailable, "unavailable"),
    ],
)
async def test_bocha_failures_with_status_200_are_failures(
    http: SearchHttp, code: int, kept: type[ProviderError], word: str
) -> None:
    service = BochaService()
    service.fail_with_code(code, "失败", times=None)
    with serve_in_thread(service.app) as server, pytest.raises(ProviderError) as caught:
        await bocha(http, server.url).search(QUERY, meter=meter())
    assert (type(caught.value), caught.value.code) == (kept, word)


async def test_bocha_without_money_is_a_quota(http: SearchHttp) -> None:
    service = BochaService()
    service.spend_money()
    with serve_in_thread(service.app) as server, pytest.raises(ProviderRefused) as caught:
        await bocha(http, server.url).search(QUERY, meter=meter())
    assert caught.value.code == "search_quota"
    assert len(service.requests) == 1


async def test_a_wrong_serper_key_is_no_spent_account(http: SearchHttp) -> None:
    with serve_in_thread(SerperService().app) as server:
        wrong = provider("serper", http, serper_api_key="wrong", serper_base_url=server.url)
        with pytest.raises(ProviderRefused) as caught:
            await wrong.search(QUERY, meter=meter())
    assert caught.value.code == "search_key_invalid"
    # A batch pauses until tomorrow for the second, which would hide the first.
    assert spent_quota([], caught.value) is None


async def test_a_bocha_reply_of_nothing_is_no_answer(http: SearchHttp) -> None:
    service = BochaService()
    service.null_reply(times=None)
    with serve_in_thread(service.app) as server, pytest.raises(MalformedReply):
        await bocha(http, server.url).search(QUERY, meter=meter())


async def test_a_bocha_reply_that_a_gateway_has_unwrapped_is_read(http: SearchHttp) -> None:
    service = BochaService()
    row = {"name": "N", "url": "https://a.example.com/x", "snippet": "s"}
    body = {"_type": "SearchResponse", "webPages": {"value": [row]}}
    service.fail("status", status=200, body=body)
    with serve_in_thread(service.app) as server:
        hits = await bocha(http, server.url).search(QUERY, meter=meter())
    assert [hit.url for hit in hits] == [row["url"]]


async def test_bocha_dates_come_from_date_published_and_never_claim_utc(http: SearchHttp) -> None:
    row = {"name": "页", "url": "https://a.cn/1", "snippet": "短", "summary": "长摘要"}
    dated = {**row, "datePublished": "2026-05-01T08:00:00+08:00", "dateLastCrawled": "x"}
    crawled = {**row, "url": "https://a.cn/2", "dateLastCrawled": "2026-05-01T08:00:00Z"}
    service = BochaService()
    body = {"code": 200, "data": {"webPages": {"value": [dated, crawled, None, {"url": 7}]}}}
    service.fail("status", status=200, body=body)
    with serve_in_thread(service.app) as server:
        hits = await bocha(http, server.url).search(QUERY, meter=meter())
    assert [hit.published for hit in hits] == ["2026-05-01T08:00:00+08:00", "2026-05-01T08:00:00"]
    assert hits[0].snippet == "长摘要"
    sent = service.requests[0].body
    assert (sent["freshness"], sent["summary"], sent["count"]) == ("noLimit", True, 8)


async def test_serper_spent_credits_are_a_quota(http: SearchHttp) -> None:
    service = SerperService()
    service.spend_credits()
    with serve_in_thread(service.app) as server, pytest.raises(ProviderRefused) as caught:
        await serper(http, server.url).search(QUERY, meter=meter())
    assert caught.value.code == "search_quota"


async def test_serper_boxes_without_a_link_are_cited_from_googles_page(
    http: SearchHttp,
) -> None:
    service = SerperService()
    body = {
        "answerBox": {"title": "票价", "link": "https://a.cn/box", "answer": "60 元"},
        "knowledgeGraph": {
            "title": "故宫",
            "description": "博物馆",
            "website": "https://www.dpm.org.cn/",
            "attributes": {"电话": "010-1"},
        },
        "organic": [{"title": "页", "link": "https://a.cn/1", "snippet": "文", "date": "3 天前"}],
    }
    service.fail("status", status=200, body=body)
    panel = {"title": "故宫", "attributes": {"建成": "1420 年"}}
    service.fail("status", status=200, body={**body, "answerBox": {"answer": "60 元"}})
    loose = {"answerBox": {"answer": "60 元"}, "knowledgeGraph": panel}
    service.fail("status", status=200, body=loose)
    with serve_in_thread(service.app) as server:
        first = await serper(http, server.url).search(QUERY, meter=meter())
        second = await serper(http, server.url).search(QUERY, meter=meter())
        third = await serper(http, server.url).search(QUERY, meter=meter())
    assert [hit.url for hit in first] == [
        "https://a.cn/box",
        "https://www.dpm.org.cn/",
        "https://a.cn/1",
    ]
    assert first[1].snippet == "博物馆 · 电话: 010-1"
    day = date.fromisoformat(today_here()) - timedelta(days=3)
    assert first[2].published == day.isoformat()
    page = f"https://www.google.com/search?q={quote_plus(QUERY)}"
    assert {hit.url: hit.snippet for hit in second}[page] == "60 元"
    assert len(second) == 3
    assert [(hit.title, hit.url, hit.snippet) for hit in third] == [
        ("Google: 故宫", page, "60 元 · 建成: 1420 年")
    ]


async def test_tavily_keyless_is_opt_in_and_sends_its_header(http: SearchHttp) -> None:
    assert "tavily" not in configured_services(Settings(), http, Calls())
    service = TavilyService(keyless=True)
    with serve_in_thread(service.app) as server:
        keyless = provider("tavily", http, tavily_keyless=True, tavily_base_url=server.url)
        await keyless.search(QUERY, meter=meter())
    sent = service.requests[0].headers
    assert sent["X-Tavily-Access-Mode"] == "keyless"
    assert "Authorization" not in sent


@pytest.mark.parametrize("status", [200, 403, 429])
async def test_tavily_keyless_limit_says_when_to_come_back(http: SearchHttp, status: int) -> None:
    service = TavilyService(keyless=True)
    service.fail("status", status=status, body=keyless_limit(3600), times=None)
    with serve_in_thread(service.app) as server:
        keyless = provider("tavily", http, tavily_keyless=True, tavily_base_url=server.url)
        with pytest.raises(RateLimited) as caught:
            await keyless.search(QUERY, meter=meter())
    assert caught.value.retry_after == 3600
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [402, 432, 433])
async def test_tavily_plan_limits_are_a_quota(http: SearchHttp, status: int) -> None:
    service = TavilyService()
    body = {"detail": {"error": "plan limit"}}
    service.fail("status", status=status, body=body, times=None)
    with serve_in_thread(service.app) as server:
        paid = provider("tavily", http, tavily_api_key=KEY, tavily_base_url=server.url)
        with pytest.raises(ProviderRefused, match="plan limit") as caught:
            await paid.search(QUERY, meter=meter())
    assert caught.value.code == "search_quota"
    assert len(service.requests) == 1


@pytest.mark.parametrize("head", [True, False])
async def test_redirect_links_are_resolved_without_going_there(
    http: SearchHttp, head: bool
) -> None:
    service = RedirectService(head=head)
    with serve_in_thread(service.app) as server:
        base = server.url + RedirectService.PATH
        links = [service.link(server.url, f"https://example.com/{n}") for n in range(20)]
        outside = f"{server.url}/other/x"
        found = await resolve_links(http, [*links, outside], hosts=Hosts(60), base=base)
    assert [found[link] for link in links[:12]] == [f"https://example.com/{n}" for n in range(12)]
    assert [found[link] for link in links[12:]] == [None] * 8
    assert outside not in found
    assert len(service.requests) == (12 if head else 24)


async def test_redirects_into_private_places_have_no_target(http: SearchHttp) -> None:
    targets = ["http://127.0.0.1/x", "http://10.0.0.1/", "file:///etc/passwd", "http://a:b@c.com/"]
    service = RedirectService()
    with serve_in_thread(service.app) as server:
        links = [service.link(server.url, target) for target in targets]
        base = server.url + RedirectService.PATH
        found = await resolve_links(http, links, hosts=Hosts(60), base=base)
    assert found == dict.fromkeys(links)


async def test_slow_and_failing_redirects_have_no_target(http: SearchHttp) -> None:
    service = RedirectService()
    with serve_in_thread(service.app) as server:
        links = [service.link(server.url, f"https://example.com/{n}") for n in range(3)]
        service.fail("hang", match=lambda request, _: request.path in links[0], times=None)
        service.fail("drop", match=lambda request, _: request.path in links[1], times=None)
        base = server.url + RedirectService.PATH
        found = await resolve_links(http, links, hosts=Hosts(60), base=base, timeout=1.5)
    assert list(found.values()) == [None, None, "https://example.com/2"]


async def test_a_host_of_redirects_that_does_not_answer_is_left_alone_for_a_while(
    http: SearchHttp,
) -> None:
    now, service = [0.0], RedirectService()
    hosts = Hosts(300, clock=lambda: now[0])
    with serve_in_thread(service.app) as server:
        links = [service.link(server.url, f"https://example.com/{n}") for n in range(3)]
        base = server.url + RedirectService.PATH
        service.fail("hang", times=3)
        for _ in range(3):
            found = await resolve_links(http, links, hosts=hosts, base=base, timeout=1)
            assert found == dict.fromkeys(links)
        assert len(service.requests) == 3
        now[0] += 301
        found = await resolve_links(http, links, hosts=hosts, base=base)
    assert None not in found.values()


async def test_a_host_of_redirects_that_is_not_found_is_looked_up_once(http: SearchHttp) -> None:
    names = list[str]()

    def nowhere(host: str, port: int) -> list[str]:
        names.append(host)
        raise OSError("no such name")

    hosts = Hosts(300, nowhere)
    links = [f"{REDIRECTS}{n}" for n in range(3)]
    for _ in range(3):
        assert await resolve_links(http, links, hosts=hosts) == dict.fromkeys(links)
    assert len(names) == 1

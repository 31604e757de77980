"""Every search service running, with our side of it; import the fixtures."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import ProviderError
from agent.sample.records import SamplePage
from agent.sample.services.loopback import Service
from agent.search.hits import SearchProvider
from agent.search.http import SearchHttp
from agent.search.web import configured_services
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.served import serve_in_thread
from tests.support.standins import BochaService, SerperService, TavilyService

KEY = "canary-key-7f3a9c1e5b2d"
SERVICES: dict[str, type[Any]] = {
    "tavily": TavilyService,
    "serper": SerperService,
    "bocha": BochaService,
}


def pages(query: str, limit: int) -> list[SamplePage]:
    if "无" in query:
        return []
    return [
        SamplePage(
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


@dataclass
class Bench:
    """One service running, and our side of it."""

    name: str
    service: Any
    url: str
    http: SearchHttp

    def provider(
        self, *, reply_cache: MemoryReplyCache | None = None, **changes: Any
    ) -> SearchProvider:
        given = {
            f"{self.name}_api_key": KEY,
            f"{self.name}_base_url": self.url,
            "search_timeout_seconds": 60,
            **changes,
        }
        settings = Settings(**given)
        return configured_services(settings, self.http, Calls(reply_cache=reply_cache))[self.name]


@pytest.fixture(params=list(SERVICES), name="running")
def running_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    service = SERVICES[request.param](key=KEY, pages=pages)
    with serve_in_thread(service.app) as server:
        yield request.param, service, server.url


@pytest.fixture(name="bench")
async def bench_fixture(running: tuple[str, Service, str]) -> AsyncIterator[Bench]:
    http = SearchHttp(timeout=60)
    yield Bench(*running, http=http)
    await http.aclose()


async def failure(provider: SearchProvider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.search("故宫", meter=meter())
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value

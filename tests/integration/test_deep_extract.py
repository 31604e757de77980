"""Reading pages by Tavily: batches, replies that are too large, failures, and what was paid."""

import pytest

from agent.core.calls import Calls
from agent.core.errors import ConfigurationError, ProviderRefused, ProviderUnavailable
from agent.sample.services.search import KEY
from agent.search.http import SearchHttp
from agent.search.web import WebSearch
from agent.settings import Settings
from tests.support.long_lab import Web
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.search_scripts import ScriptedModels
from tests.support.served import serve_in_thread
from tests.support.standins import TavilyService


async def search_over(url: str | None, *, reply_cache: MemoryReplyCache | None = None,
                    http: SearchHttp | None = None) -> WebSearch:  # fmt: skip
    where = {"tavily_api_key": KEY, "tavily_base_url": url} if url else {}
    return WebSearch(Settings(**where), ScriptedModels(), Calls(reply_cache=reply_cache), http=http)


def made(count: int, text: str = "正文。") -> tuple[Web, list[str]]:
    """A web that has so many pages, and their addresses."""
    web = Web(text=lambda query, number: text, count=count)
    return web, [page.url for page in web("甲", count)]


async def test_forty_five_pages_are_read_in_three_batches() -> None:
    web, urls = made(45)
    service = TavilyService(key=KEY, pages=web)
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url)
        pages = await search.extract(urls, meter=meter())
        await search.aclose()
    assert sorted(page.url for page in pages) == sorted(urls)
    assert sorted(len(request.body["urls"]) for request in service.requests) == [5, 20, 20]


async def test_a_reply_that_is_too_large_is_asked_for_in_halves() -> None:
    web, urls = made(4, "字" * 4000)
    service = TavilyService(key=KEY, pages=web)
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url, http=SearchHttp(max_bytes=60_000))
        pages = await search.extract(urls, meter=meter())
        await search.aclose()
    assert len(pages) == 4
    assert {len(request.body["urls"]) for request in service.requests} == {4, 2}


async def test_a_batch_that_fails_leaves_the_others() -> None:
    web, urls = made(25)
    service = TavilyService(key=KEY, pages=web)
    service.fail("status", status=400, times=None,
                 match=lambda request, body: len(body["urls"]) == 5)  # fmt: skip
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url)
        pages = await search.extract(urls, meter=meter())
        await search.aclose()
    assert len(pages) == 20


async def test_where_every_batch_fails_the_error_is_told() -> None:
    service = TavilyService(key=KEY, pages=made(1)[0])
    service.spend_plan()
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url)
        with pytest.raises(ProviderRefused):
            await search.extract(["https://pages.example/1"], meter=meter())
        await search.aclose()


async def test_where_no_page_can_be_had_it_can_still_be_searched() -> None:
    web, urls = made(2)
    service = TavilyService(key=KEY, pages=web)
    service.fail("status", times=None, match=lambda request, body: request.path == "/extract")
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url)
        for code in ("unavailable", "breaker_open"):
            with pytest.raises(ProviderUnavailable) as caught:
                await search.extract(urls, meter=meter())
            assert caught.value.code == code
        found = await search.provider("tavily", model="").search("甲", meter=meter())
        await search.aclose()
    assert len(found) == 2


async def test_what_was_read_in_a_turn_is_not_paid_again() -> None:
    web, urls = made(3)
    service, reply_cache = TavilyService(key=KEY, pages=web), MemoryReplyCache()
    with serve_in_thread(service.app) as running:
        search = await search_over(running.url, reply_cache=reply_cache)
        first = await search.extract(urls, meter=meter())
        again = await search.extract(urls, meter=meter())
        await search.aclose()
    assert first == again
    assert len(service.requests) == 1


async def test_without_tavily_nothing_can_be_extracted() -> None:
    search = await search_over(None)
    assert not search.can_extract
    with pytest.raises(ConfigurationError, match="TAVILY_API_KEY"):
        await search.extract(["https://pages.example/1"], meter=meter())
    await search.aclose()

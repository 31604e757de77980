"""Every source of documents that speaks HTTP running, with our side of it; import the fixtures."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import ProviderError
from agent.sample.services.filings import Company, Filing
from agent.sample.services.loopback import Service
from agent.sample.services.scholar import SampleArticle, SamplePaper
from agent.search.document_sources import DocumentSources
from agent.search.documents import Document
from agent.search.http import SearchHttp
from agent.search.sec_edgar import DATA
from agent.search.web import WebSearch
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.search_scripts import ScriptedModels
from tests.support.served import serve_in_thread
from tests.support.standin import Fault
from tests.support.standins import (
    OpenAlexService,
    SecService,
    SemanticScholarService,
    WikipediaService,
)

KEY = "canary-key-4d1e8b7a90c3"
QUERY = "sodium battery"
CONTACT = "Test Bench bench@example.org"
NOTHING = re.compile("nothing")
YEAR = ("2024-01-01", "2024-12-31")


def articles(query: str, language: str, limit: int) -> list[SampleArticle]:
    numbers = range(0 if NOTHING.search(query) else min(limit, 30))
    return [
        # The numbers fall as the ranks rise: the order of the reply is not that of the hits.
        SampleArticle(100 - n, language, f"Title {n}", f"https://example.com/{n}", (), f"Text {n}.")
        for n in numbers
    ]


def papers(query: str, limit: int) -> list[SamplePaper]:
    return [
        SamplePaper(
            id=f"W{n}", title=f"Title {n}", year=2024, doi=None, authors=("A. Author",), venue="",
            abstract=f"Text {n}.", subjects=(), topics=(), cited_by=n,
            url=f"https://example.com/{n}", pdf=f"https://example.com/{n}.pdf",
        )
        for n in range(0 if NOTHING.search(query) else min(limit, 30))
    ]  # fmt: skip


def companies() -> tuple[Company, ...]:
    """The one that files, with thirty filings; and one that reports nothing."""
    filings = tuple(
        Filing(f"0000000042-25-{n:06d}", "10-K", f"2025-02-{n % 28 + 1:02d}", "2024-12-31",
               f"f{n}.htm", "sodium battery cells")
        for n in range(30)
    )  # fmt: skip
    value = {"start": YEAR[0], "end": YEAR[1], "val": 7, "adsh": filings[0].adsh, "fy": 2024,
             "fp": "FY", "form": "10-K", "filed": "2025-02-01"}  # fmt: skip
    facts = {"Revenues": {"unit": "USD", "values": [value]}}
    filing = Company(42, "VLTC", "Voltaic Cells Inc.", (), "Batteries", filings, facts)
    return filing, replace(filing, cik=43, ticker="QUIT", title="Quiet Corp", filings=(), facts={})


def build(name: str) -> Any:
    """A source's stand-in over the documents above."""
    match name:
        case "wikipedia":
            return WikipediaService(articles=articles)
        case "openalex":
            return OpenAlexService(key=KEY, papers=papers)
        case "semantic_scholar":
            return SemanticScholarService(key=KEY, papers=papers)
    return SecService(companies=companies)


ADDRESSES = {"wikipedia": "{url}/{{lang}}", "sec_edgar": "{url}/{{host}}"}
PATHS = {
    "wikipedia": "/en/w/api.php",
    "openalex": "/works",
    "semantic_scholar": "/graph/v1/paper/search",
    "sec_edgar": SecService.SEARCH,
}
"""Where each is searched; the SEC is asked for its list of companies before that."""


@dataclass
class SourceBench:
    """One source running, and our side of it."""

    name: str
    service: Any
    url: str
    http: SearchHttp

    def sources(
        self, *, reply_cache: MemoryReplyCache | None = None, **changes: Any
    ) -> DocumentSources:
        """The sources of a process."""
        address = ADDRESSES.get(self.name, "{url}").format(url=self.url)
        given = {
            "wikipedia_user_agent": CONTACT,
            "sec_user_agent": CONTACT,
            "openalex_api_key": KEY,
            "semantic_scholar_api_key": KEY,
            f"{self.name}_base_url": address,
            "search_timeout_seconds": 60,
            **changes,
        }
        settings = Settings(**given)
        calls = Calls(reply_cache=reply_cache)
        web = WebSearch(settings, ScriptedModels(), calls, http=self.http)
        sources = DocumentSources(settings, calls, web)
        if "sec_edgar_qps" not in changes:
            for name in (*PATHS, DATA):
                calls.pace(name, rate=0)
        return sources

    async def search(self, query: str = QUERY, **changes: Any) -> list[Document]:
        return await self.sources(**changes).search(self.name, query, meter=meter())

    def fail(self, kind: Any, **details: Any) -> Fault:
        """A fault of the search itself."""
        path = PATHS[self.name]
        fault: Fault = self.service.fail(
            kind, match=lambda request, _: request.path == path, **details
        )
        return fault

    @property
    def asked(self) -> int:
        """How often it was searched."""
        return sum(request.path == PATHS[self.name] for request in self.service.requests)


@pytest.fixture(scope="module", params=list(PATHS), name="running_source")
def running_source_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    service = build(request.param)
    with serve_in_thread(service.app) as server:
        yield request.param, service, server.url


@pytest.fixture(name="source")
async def source_fixture(running_source: tuple[str, Service, str]) -> AsyncIterator[SourceBench]:
    """The same server for all tests of a module, each time as if new."""
    _, service, _ = running_source
    service.requests.clear()
    service.faults.clear()
    http = SearchHttp(timeout=60)
    yield SourceBench(*running_source, http=http)
    await http.aclose()


async def failed(bench: SourceBench, query: str = QUERY, **changes: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await bench.search(query, **changes)
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value

"""What is particular to one source of documents."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agent import __version__
from agent.core.errors import ProviderError, ProviderRefused, ProviderUnavailable, RateLimited
from agent.search.http import SearchHttp
from agent.search.rules import SearchRules
from tests.support.library_bench import KEY, QUERY, SourceBench, build, failed
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.served import serve_in_thread, serving
from tests.support.standins import BochaService, TavilyService

COMPANY = "Voltaic Cells"


@pytest.fixture
async def http() -> AsyncIterator[SearchHttp]:
    shared = SearchHttp(timeout=60)
    yield shared
    await shared.aclose()


@contextmanager
def bench(name: str, http: SearchHttp, service: Any = None) -> Iterator[SourceBench]:
    service = service or build(name)
    with serve_in_thread(service.app) as server:
        yield SourceBench(name, service, server.url, http)


async def test_wikipedia_is_asked_in_the_language_of_the_query(http: SearchHttp) -> None:
    with bench("wikipedia", http) as source:
        await source.search("钠离子电池 battery")
        await source.search("sodium battery")
    paths = [request.path for request in source.service.requests]
    assert paths == ["/zh/w/api.php", "/en/w/api.php"]


@pytest.mark.parametrize(
    ("contact", "told"),
    [(None, "self-hosted research assistant"), ("me@example.org", "me@example.org")],
)
async def test_wikipedia_is_told_the_program_and_the_contact_there_is_and_no_invented_one(
    http: SearchHttp, contact: str | None, told: str
) -> None:
    with bench("wikipedia", http) as source:
        assert await source.search(wikipedia_user_agent=None, tanlu_contact=contact)
    (agent,) = {request.headers["User-Agent"] for request in source.service.requests}
    assert agent == f"tanlu/{__version__} ({told})"


async def test_wikipedia_says_it_is_busy_with_status_200(http: SearchHttp) -> None:
    with bench("wikipedia", http) as source:
        source.service.limit_rate()
        assert await source.search()
        assert source.asked == 2
        error = {"error": {"code": "badvalue", "info": "no such thing"}}
        source.fail("status", status=200, body=error)
        with pytest.raises(ProviderRefused, match="no such thing"):
            await source.search()


async def test_wikipedia_gets_one_request_at_a_time(http: SearchHttp) -> None:
    with bench("wikipedia", http) as source:
        source.service.latency = lambda request, body: 0.15
        sources, began = source.sources(), time.monotonic()
        searches = (sources.search("wikipedia", f"{QUERY} {n}", meter=meter()) for n in range(3))
        assert all(await asyncio.gather(*searches))
    assert time.monotonic() - began >= 0.45


@pytest.mark.parametrize("name", ["openalex", "semantic_scholar"])
async def test_a_wrong_key_is_refused_at_once(http: SearchHttp, name: str) -> None:
    with bench(name, http) as source:
        error = await failed(source, **{f"{name}_api_key": f"{KEY}-wrong"})
    assert isinstance(error, ProviderRefused)
    assert error.code == "search_key_invalid"
    assert source.asked == 1


@pytest.mark.parametrize(("day", "told"), [("2010-01-01", ""), ("2010-03-04", "2010-03-04")])
async def test_of_a_work_whose_year_alone_openalex_knows_no_day_is_told(
    http: SearchHttp, day: str, told: str
) -> None:
    work = {"id": "https://openalex.org/W1", "display_name": "Hard carbon",
            "publication_year": 2010, "publication_date": day}  # fmt: skip
    with bench("openalex", http) as source:
        source.fail("status", status=200, body={"results": [work]})
        [document] = await source.search()
    assert (document.get("year"), document.get("published") or "") == (2010, told)


async def test_openalex_abstracts_are_put_together_again(http: SearchHttp) -> None:
    index = {"carbon": [1], "Hard": [0], "stores": [2, 5], "sodium,": [3], "and": [4], "it.": [6]}
    work = {"id": "https://openalex.org/W1", "display_name": "<i>Hard</i> carbon",
            "abstract_inverted_index": index, "doi": "https://doi.org/10.1000/ABC",
            "best_oa_location": None, "publication_year": "2024"}  # fmt: skip
    with bench("openalex", http) as source:
        source.fail("status", status=200, body={"results": [work, {"id": None}, None]})
        [paper] = await source.search()
    assert paper["text"] == "Hard carbon stores sodium, and stores it."
    assert (paper["title"], paper["doi"]) == ("Hard carbon", "10.1000/abc")
    assert paper["url"] == "https://doi.org/10.1000/abc"
    assert not {"pdf_url", "year", "authors"} & set(paper)


async def test_an_abstract_that_would_fill_the_memory_does_not(http: SearchHttp) -> None:
    index = {"far": [10**15], "word": list(range(100_000)), "odd": "x", "none": None, "b": [True]}
    work = {"id": "https://openalex.org/W1", "display_name": "T", "abstract_inverted_index": index}
    with bench("openalex", http) as source:
        source.fail("status", status=200, body={"results": [work]})
        [paper] = await source.search()
    assert len(paper["text"]) <= 6000


async def test_markers_in_a_document_are_dropped(http: SearchHttp) -> None:
    row = {"title": "T [^e1-0]", "url": "https://a.org/1", "abstract": "Said.[^w0-1] And [w0-0]."}
    with bench("semantic_scholar", http) as source:
        source.fail("status", status=200, body={"data": [row]})
        [paper] = await source.search()
    assert (paper["title"], paper["text"]) == ("T", "Said. And.")


async def test_only_an_open_paper_has_a_pdf(http: SearchHttp) -> None:
    closed = {"title": "T", "url": "https://a.org/1", "openAccessPdf": {"url": "", "status": "X"}}
    opened = {"title": "U", "url": "https://a.org/2", "openAccessPdf": {"url": "https://a.org/p"}}
    local = {"title": "V", "url": "https://a.org/3", "openAccessPdf": {"url": "file:///etc/x"}}
    with bench("semantic_scholar", http) as source:
        source.fail("status", status=200, body={"data": [closed, opened, local]})
        found = await source.search()
    assert [paper.get("pdf_url") for paper in found] == [None, "https://a.org/p", None]


async def test_a_busy_pool_without_a_key_is_degraded_after_three_tries(http: SearchHttp) -> None:
    with bench("semantic_scholar", http) as source:
        source.service.crowd()
        sources = source.sources(semantic_scholar_api_key=None)
        for _ in range(2):
            with pytest.raises(RateLimited, match="SEMANTIC_SCHOLAR_API_KEY") as caught:
                await sources.search("semantic_scholar", QUERY, meter=meter())
            assert caught.value.code == "degraded"
        assert source.asked == 3
        assert all("x-api-key" not in request.headers for request in source.service.requests)
        source.service.faults.clear()
        assert await source.search(semantic_scholar_api_key=None)


async def test_a_busy_pool_is_no_fault_of_the_installation(http: SearchHttp) -> None:
    closed = {f"{name}_base_url": "http://127.0.0.1:9" for name in ("wikipedia", "openalex")}
    with bench("semantic_scholar", http) as source:
        source.service.crowd()
        sources = source.sources(semantic_scholar_api_key=None, sec_user_agent=None, **closed)
        report = {row["provider"]: row for row in await sources.health()}
    assert report["semantic_scholar"]["works"] is True
    assert "busy" in report["semantic_scholar"]["message"]
    assert (report["sec_edgar"]["configured"], report["sec_edgar"]["works"]) == (False, None)
    assert report["openalex"]["works"] is False


async def test_a_named_company_brings_its_figures_with_unit_period_and_source(
    http: SearchHttp,
) -> None:
    with bench("sec_edgar", http) as source:
        statement, filing, *_ = await source.search(f"{COMPANY} sodium annual report")
    assert (statement["kind"], filing["kind"]) == ("statement", "filing")
    address = "https://www.sec.gov/Archives/edgar/data/42/000000004225000000"
    assert statement["figures"] == [
        {
            "name": "Revenues", "value": "7", "unit": "USD",
            "period": "FY2024 to 2024-12-31, 10-K",
            "url": f"{address}/0000000042-25-000000-index.htm",
        }
    ]  # fmt: skip
    assert statement["text"] == "Revenues: 7 USD (FY2024 to 2024-12-31, 10-K)"
    assert filing["url"] == f"{address}/f0.htm"
    asked = next(r for r in source.service.requests if r.path == source.service.SEARCH)
    assert (asked.query["q"], asked.query["ciks"]) == ("sodium", "0000000042")
    assert "10-K" in asked.query["forms"]


async def test_a_company_alone_brings_its_newest_filings(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        account = meter()
        found = await source.sources().search("sec_edgar", "$VLTC 10-K", meter=account, count=3)
        assert [document["kind"] for document in found] == ["statement", "filing", "filing"]
        assert (source.asked, account.usage["searches"]) == (0, 1)
        assert found[1]["published"] == "2025-02-28"


async def test_words_that_no_filing_has_fall_back_to_the_newest(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        found = await source.search(f"{COMPANY} perovskite")
    assert "filing" in {document["kind"] for document in found}


async def test_a_company_by_international_standards_is_asked_by_those(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        assert await source.search("Quiet Corp") == []
    concepts = [r.path for r in source.service.requests if "/companyconcept/" in r.path]
    assert any("/us-gaap/" in path for path in concepts)
    assert any(path.endswith("/ifrs-full/ProfitLoss.json") for path in concepts)


@pytest.mark.parametrize(
    ("part", "kind", "told"),
    [
        ("/companyconcept/", "filing", "Figures could not be had"),
        ("/search-index", "statement", "Filings could not be searched"),
        ("/us-gaap/Assets", "statement", "Some figures could not be had"),
    ],
)
async def test_a_part_that_fails_is_told_in_the_other(
    http: SearchHttp, part: str, kind: str, told: str
) -> None:
    with bench("sec_edgar", http) as source:
        source.service.fail(
            "status", status=503, times=None, match=lambda request, _: part in request.path
        )
        first, *_ = await source.search(f"{COMPANY} sodium")
    assert first["kind"] == kind
    assert told in first["text"]
    assert "503" in first["text"]


async def test_where_every_part_fails_the_search_fails(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        source.service.fail(
            "status", status=503, times=None,
            match=lambda request, _: not request.path.endswith("tickers.json"),
        )  # fmt: skip
        with pytest.raises(ProviderUnavailable):
            await source.search(f"{COMPANY} sodium")


async def test_the_secs_list_is_loaded_once_and_its_pace_is_kept(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        sources, began = source.sources(sec_edgar_qps=10), time.monotonic()
        await asyncio.gather(
            *(
                sources.search("sec_edgar", f"{COMPANY} {w}", meter=meter(w))
                for w in ("sodium", "cell")
            )
        )
        paths = [request.path for request in source.service.requests]
    assert sum(path.endswith("company_tickers.json") for path in paths) == 1
    assert time.monotonic() - began >= 0.1 * (len(paths) - 2)


async def test_a_run_that_died_pays_no_part_of_a_company_twice(http: SearchHttp) -> None:
    reply_cache, query = MemoryReplyCache(), f"{COMPANY} sodium"
    with bench("sec_edgar", http) as source:
        fault = source.fail("status", status=400, times=None)
        await source.search(query, reply_cache=reply_cache)
        fault.times = 0
        before = len(source.service.requests)
        assert len(await source.search(query, reply_cache=reply_cache)) > 1
    paths = [request.path for request in source.service.requests[before:]]
    assert paths == [source.service.SEARCH]
    assert len(json.dumps(list(reply_cache.kept.values()))) < 20_000


async def test_an_empty_list_of_companies_is_a_malformed_reply(http: SearchHttp) -> None:
    with bench("sec_edgar", http) as source:
        source.service.fail("status", status=200, times=None, body={"0": {"cik_str": "x"}})
        with pytest.raises(ProviderError, match="list of companies"):
            await source.search(COMPANY)


async def test_the_web_is_tavily_or_whoever_else_is_configured(http: SearchHttp) -> None:
    with serving(TavilyService(), BochaService()) as served:
        both = served.settings
        source = SourceBench("tavily", None, served.urls["tavily"], http)
        sources = source.sources(**both)
        assert "tavily" in sources.offered()
        found = await sources.search("tavily_search", "西湖 门票", meter=meter(), count=2)
        assert [(page["source"], page["kind"]) for page in found] == [("tavily", "page")] * 2
        chosen = await sources.search("tavily", "西湖 门票", meter=meter(), choice="bocha")
        assert {page["source"] for page in chosen} == {"bocha"}
        other = source.sources(**{**both, "tavily_api_key": None})
        assert "tavily" in other.offered()
        assert (await other.search("tavily", "西湖 门票", meter=meter()))[0]["source"] == "bocha"


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("openalex", {"filter": "from_publication_date:2026-10-23"}),
        ("semantic_scholar", {"publicationDateOrYear": "2026-10-23:"}),
        ("wikipedia", {}),
    ],
)
async def test_papers_are_as_new_as_the_reader_asked_for(
    name: str, parameter: dict[str, str], http: SearchHttp
) -> None:
    rules = SearchRules(since="month")
    with bench(name, http) as source:
        library = source.sources()
        for today in ("2026-11-23", ""):
            await library.search(name, QUERY, meter=meter(), rules=rules, today=today)
        dated, undated = (request.query for request in source.service.requests[-2:])
    assert {k: v for k, v in dated.items() if k not in undated} == parameter

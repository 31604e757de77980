"""Serve the encyclopedia and the catalogues of papers on loopback, over `data/scholar_*.json`.

Each checks its key or who asks as the real one does; `data/README.md` says what a file holds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aiohttp import web

from agent.core.strings import has_any
from agent.sample.corpus import search_records
from agent.sample.records import JsonRow, frozen, read_sheets
from agent.sample.services.loopback import RefusedRequest, Service, check_bearer


@dataclass(frozen=True)
class SampleArticle:
    id: int
    language: str
    title: str
    url: str
    subjects: tuple[str, ...]
    extract: str

    @property
    def text(self) -> str:
        return self.extract

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.subjects)


@dataclass(frozen=True)
class SamplePaper:
    id: str
    title: str
    year: int
    doi: str | None
    authors: tuple[str, ...]
    venue: str
    abstract: str
    subjects: tuple[str, ...]
    topics: tuple[str, ...]
    cited_by: int
    url: str
    pdf: str | None
    indexed_by: tuple[str, ...] = ("openalex", "semantic_scholar")

    @property
    def text(self) -> str:
        return self.abstract

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.subjects, *self.topics)


@cache
def sample_articles() -> tuple[SampleArticle, ...]:
    return tuple(SampleArticle(**row) for row in _rows("articles"))


@cache
def sample_papers() -> tuple[SamplePaper, ...]:
    return tuple(SamplePaper(**row) for row in _rows("papers"))


def _rows(kind: str) -> Iterator[JsonRow]:
    for sheet in read_sheets("scholar_"):
        yield from map(frozen, sheet.get(kind, ()))


KEY = "offline-scholar-key"
_CONTACT = ("@", "http://", "https://", "(")
"""What names itself: generic agents are refused."""
Articles = Callable[[str, str, int], Sequence[SampleArticle]]
"""(query, language, limit)"""
Papers = Callable[[str, int], Sequence[SamplePaper]]


def search_articles(query: str, language: str, limit: int) -> Sequence[SampleArticle]:
    own = (article for article in sample_articles() if article.language == language)
    return search_records(query, own, limit)


def paper_search(catalogue: str) -> Papers:
    """Return the bundled papers a catalogue has that fit a query."""

    def found(query: str, limit: int) -> Sequence[SamplePaper]:
        own = (paper for paper in sample_papers() if catalogue in paper.indexed_by)
        return search_records(query, own, limit)

    return found


class WikipediaService(Service):
    """Answer GET /{lang}/w/api.php; 403 in HTML where no contact is named."""

    def __init__(self, *, articles: Articles = search_articles) -> None:
        super().__init__("wikipedia")
        # Before requests come: they are answered on an event loop, which must not read files.
        sample_articles()
        self._articles = articles
        self.app.router.add_get("/{lang}/w/api.php", self._search)

    async def _search(self, request: web.Request) -> web.Response:
        if not has_any(request.headers.get("User-Agent", ""), _CONTACT):
            text = "<html><body>Please set a user-agent and respect our policy</body></html>"
            return web.Response(text=text, status=403, content_type="text/html")
        query = request.query.get("gsrsearch", "")
        if not query or request.query.get("generator") != "search":
            error = {"code": "missingparam", "info": 'The "gsrsearch" parameter must be set.'}
            return web.json_response({"error": error})
        limit = int(request.query.get("gsrlimit", "10"))
        articles = self._articles(query, request.match_info["lang"], limit)
        if not articles:
            return web.json_response({"batchcomplete": True})
        pages = [_page(index, article) for index, article in enumerate(articles, 1)]
        # The service puts them in the order of their numbers, not of their ranks.
        pages.sort(key=lambda page: int(page["pageid"]))
        return web.json_response({"batchcomplete": True, "query": {"pages": pages}})


class OpenAlexService(Service):
    """Answer GET /works with the key as bearer."""

    def __init__(self, *, key: str = KEY, papers: Papers | None = None) -> None:
        super().__init__("openalex")
        sample_papers()
        self._key, self._papers = key, papers or paper_search("openalex")
        self.app.router.add_get("/works", self._works)

    def refusal(self, error: RefusedRequest) -> Any:
        return {"error": error.reason, "message": error.message}

    async def _works(self, request: web.Request) -> web.Response:
        check_bearer(request, self._key, "API key is not valid", "Invalid API key")
        query = request.query.get("search", "")
        if not query:
            raise RefusedRequest("search is empty", reason="Invalid query parameters error.")
        size = int(request.query.get("per_page", "25"))
        works = [_work(paper) for paper in self._papers(query, size)]
        meta = {"count": len(works), "page": 1, "per_page": size}
        return web.json_response({"meta": meta, "results": works, "group_by": []})


class SemanticScholarService(Service):
    """Answer GET /graph/v1/paper/search, without a key, too."""

    def __init__(self, *, key: str = KEY, papers: Papers | None = None) -> None:
        super().__init__("semantic_scholar")
        sample_papers()
        self._key, self._papers = key, papers or paper_search("semantic_scholar")
        self.app.router.add_get("/graph/v1/paper/search", self._search)

    def refusal(self, error: RefusedRequest) -> Any:
        return {error.reason: error.message}

    async def _search(self, request: web.Request) -> web.Response:
        if request.headers.get("x-api-key", self._key) != self._key:
            raise RefusedRequest("Forbidden", 403, "message")
        query = request.query.get("query", "")
        limit = int(request.query.get("limit", "100"))
        if not query or not 0 < limit <= 100:
            raise RefusedRequest("Unacceptable query params", reason="error")
        papers = [_scholarly(paper) for paper in self._papers(query, limit)]
        # No hit is a reply without `data`.
        data = {"data": papers} if papers else {}
        return web.json_response({"total": len(papers), "offset": 0, **data})


def inverted_index(text: str) -> dict[str, list[int]] | None:
    """Return a text as {word: [places]}."""
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index or None


def _page(index: int, article: SampleArticle) -> dict[str, Any]:
    return {
        "pageid": article.id,
        "ns": 0,
        "title": article.title,
        "index": index,
        "extract": article.extract,
        "contentmodel": "wikitext",
        "pagelanguage": article.language,
        "touched": "2026-11-01T00:00:00Z",
        "fullurl": article.url,
    }


def _work(paper: SamplePaper) -> dict[str, Any]:
    location = {"is_oa": True, "landing_page_url": paper.url, "pdf_url": paper.pdf}
    return {
        "id": f"https://openalex.org/{paper.id}",
        "doi": f"https://doi.org/{paper.doi}" if paper.doi else None,
        "display_name": paper.title,
        "publication_year": paper.year,
        "publication_date": f"{paper.year}-01-01",
        "authorships": [
            {"author_position": "middle", "author": {"display_name": name}}
            for name in paper.authors
        ],
        "abstract_inverted_index": inverted_index(paper.abstract),
        "best_oa_location": location if paper.pdf else None,
        "open_access": {"is_oa": paper.pdf is not None, "oa_url": paper.pdf},
        "cited_by_count": paper.cited_by,
    }


def _scholarly(paper: SamplePaper) -> dict[str, Any]:
    return {
        "paperId": f"s2-{paper.id}",
        "externalIds": {"DOI": paper.doi} if paper.doi else {},
        "url": paper.url,
        "title": paper.title,
        "abstract": paper.abstract or None,
        "year": paper.year,
        "publicationDate": None,
        "citationCount": paper.cited_by,
        "openAccessPdf": {"url": paper.pdf or "", "status": "GREEN" if paper.pdf else "CLOSED"},
        "authors": [
            {"authorId": str(number), "name": name} for number, name in enumerate(paper.authors)
        ],
    }

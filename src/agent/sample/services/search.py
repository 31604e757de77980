"""Speak the protocols of the web searches on loopback, with answers from the sample.

Each provider checks its key as the real one does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from agent.sample.corpus import search_pages
from agent.sample.model.minimum import ranked_sentences, source_sentences
from agent.sample.records import SamplePage, load_sample
from agent.sample.services.loopback import BODY, RefusedRequest, Service, check_bearer

Pages = Callable[[str, int], Sequence[SamplePage]]
KEY = "offline-search-key"
_SNIPPET = 160
_PASSAGE = 420
_MOST = 50
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


def newer(pages: Pages, query: str, limit: int, since: str) -> Sequence[SamplePage]:
    """Return pages of that ISO date or later, as the real services do; all without a date."""
    if not since:
        return pages(query, limit)
    return [page for page in pages(query, _MOST) if page.published >= since][:limit]


def _asked(request: web.Request, name: str, message: str) -> dict[str, Any]:
    """Return the body; refuse one without a query, which is called so."""
    body = request[BODY]
    if not isinstance(body, dict) or not body.get(name):
        raise RefusedRequest(message)
    return body


def days_back(days: int) -> str:
    """Return the ISO date so many days before the service's own."""
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def page_excerpt(text: str, query: str) -> str:
    """Return the sentences that a query is about, as Google shows a page, with dots between."""
    whole = source_sentences(text)
    best = ranked_sentences(whole, query)[:3] or whole[:3]
    return " … ".join(row.text for row in whole if row in best)[:_PASSAGE]


class TavilyService(Service):
    """Answer POST /search and /extract."""

    def __init__(self, *, key: str = KEY, pages: Pages = search_pages):
        super().__init__("tavily")
        self._key, self._pages = key, pages
        self.app.router.add_post("/search", self._search)
        self.app.router.add_post("/extract", self._extract)

    def refusal(self, error: RefusedRequest) -> Any:
        return {"detail": {"error": error.message}}

    def check_key(self, request: web.Request) -> None:
        """Refuse a wrong key."""
        check_bearer(request, self._key, "Unauthorized: missing or invalid API key.")

    async def _search(self, request: web.Request) -> web.Response:
        self.check_key(request)
        body = _asked(request, "query", "Query is missing.")
        full = bool(body.get("include_raw_content"))
        count = int(body.get("max_results", 5))
        pages = newer(self._pages, body["query"], count, _tavily_since(body))
        results = [
            {
                "title": page.title,
                "url": page.url,
                "content": page.text[:_SNIPPET],
                "score": round(0.95 - 0.05 * index, 2),
                "raw_content": page.text if full else None,
            }
            for index, page in enumerate(pages)
        ]
        rest: dict[str, Any] = {"answer": None, "images": [], "follow_up_questions": None}
        rest |= {"response_time": 0.1, "request_id": "offline"}
        return web.json_response({"query": body["query"], "results": results} | rest)

    async def _extract(self, request: web.Request) -> web.Response:
        self.check_key(request)
        urls = request[BODY].get("urls") if isinstance(request[BODY], dict) else None
        urls = [urls] if isinstance(urls, str) else urls or []
        if not 0 < len(urls) <= 20:
            raise RefusedRequest("1 to 20 URLs.")
        texts = {url: self._text(url) for url in urls}
        read = [{"url": u, "raw_content": t, "images": []} for u, t in texts.items() if t]
        failed = [{"url": u, "error": "Failed to fetch url"} for u, t in texts.items() if not t]
        reply = {"results": read, "failed_results": failed, "response_time": 0.1}
        return web.json_response(reply)

    def _text(self, url: str) -> str | None:
        # Other pages than the sample's are looked up by the words that their address holds.
        words = url.replace("/", " ").replace("-", " ")
        pages = (*load_sample().pages, *self._pages(words, 50))
        return next((page.text for page in pages if page.url == url), None)


def _tavily_since(body: Mapping[str, Any]) -> str:
    if days := _DAYS.get(str(body.get("time_range"))):
        return days_back(days)
    return str(body.get("start_date") or "")


class SerperService(Service):
    """Answer POST /search with X-API-KEY."""

    def __init__(self, *, key: str = KEY, pages: Pages = search_pages):
        super().__init__("serper")
        self._key, self._pages = key, pages
        self.app.router.add_post("/search", self._search)

    def refusal(self, error: RefusedRequest) -> Any:
        return {"message": error.message, "statusCode": error.status}

    async def _search(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-KEY") != self._key:
            raise RefusedRequest("Unauthorized.", 403)
        body = _asked(request, "q", "Missing query parameter")
        count, since = int(body.get("num", 10)), _serper_since(str(body.get("tbs")))
        organic = [
            {
                "title": page.title,
                "link": page.url,
                "snippet": page_excerpt(page.text, body["q"]),
                "date": page.published,
                "position": index,
            }
            for index, page in enumerate(newer(self._pages, body["q"], count, since), 1)
        ]
        parameters = {"q": body["q"], "type": "search", "engine": "google"}
        reply = {"searchParameters": parameters, "organic": organic}
        return web.json_response(reply | {"relatedSearches": [], "credits": 1})


def _serper_since(range_: str) -> str:
    """Return the first day of `qdr:w` or `cdr:1,cd_min:1/31/2026`."""
    if day := range_.partition("cd_min:")[2].partition(",")[0]:
        return datetime.strptime(day, "%m/%d/%Y").date().isoformat()
    named = (days for word, days in _DAYS.items() if range_ == f"qdr:{word[0]}")
    return next(map(days_back, named), "")


class BochaService(Service):
    """Answer POST /v1/web-search; failures may come with HTTP 200."""

    def __init__(self, *, key: str = KEY, pages: Pages = search_pages):
        super().__init__("bocha")
        self._key, self._pages = key, pages
        self.app.router.add_post("/v1/web-search", self._search)

    def refusal(self, error: RefusedRequest) -> Any:
        return {"code": str(error.status), "message": error.message, "log_id": "offline"}

    async def _search(self, request: web.Request) -> web.Response:
        check_bearer(request, self._key, "Invalid API KEY")
        body = _asked(request, "query", "Missing parameter query")
        count, since = int(body.get("count", 10)), _bocha_since(str(body.get("freshness")))
        pages = newer(self._pages, body["query"], count, since)
        summary = bool(body.get("summary"))
        value = [_bocha_page(index, page, summary) for index, page in enumerate(pages)]
        found = {"totalEstimatedMatches": len(value), "value": value, "someResultsRemoved": False}
        context = {"originalQuery": body["query"]}
        reply = {"_type": "SearchResponse", "queryContext": context, "webPages": found}
        return web.json_response({"code": 200, "log_id": "offline", "msg": None, "data": reply})


def _bocha_since(freshness: str) -> str:
    """Return the first day of `oneWeek` or `2026-01-31..2099-12-31`."""
    if days := _DAYS.get(freshness.removeprefix("one").lower()):
        return days_back(days)
    return freshness.partition("..")[0] if ".." in freshness else ""


def _bocha_page(index: int, page: SamplePage, summary: bool) -> dict[str, Any]:
    return {
        "id": f"https://api.bochaai.com/v1/#WebPages.{index}",
        "name": page.title,
        "url": page.url,
        "displayUrl": page.url,
        "snippet": page.text[:_SNIPPET],
        **({"summary": page.text} if summary else {}),
        "siteName": page.site,
        "siteIcon": None,
        "datePublished": f"{page.published}T08:00:00+08:00",
        "dateLastCrawled": f"{page.published}T08:00:00Z",
    }

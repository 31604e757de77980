"""The search services on loopback: their protocols, their errors, answers from the sample.

Each provider checks its key as the real one does. The fault methods misbehave in its own words;
statuses, drops and garbage come from `Service.fail`.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web

from agent.sample.corpus import Page, load_sample, search_pages
from agent.sample.model.subject import subject_of
from agent.sample.model.text import quoted, sentences
from agent.sample.service import BODY, Service

Pages = Callable[[str, int], Sequence[Page]]
KEY = "offline-search-key"
_SNIPPET = 160
_PASSAGE = 420


def sample_pages(query: str, limit: int) -> Sequence[Page]:
    """The bundled pages that fit and name the subject, best first."""
    subject = subject_of(query)
    found = search_pages(query, limit=50)
    named = [p for p in found if subject.is_named_in(" ".join((p.title, p.text, *p.subjects)))]
    return named[:limit]


def passage(text: str, query: str) -> str:
    """The sentences that a query is about, as Google shows a page; left-out ones are dots."""
    shown = [s.bare for s in quoted(text, query, 3) or sentences(text)[:3]]
    return " … ".join(shown)[:_PASSAGE]


class TavilyService(Service):
    """POST /search and /extract; `keyless` lets the keyless mode in."""

    def __init__(self, *, key: str = KEY, keyless: bool = False, pages: Pages = sample_pages):
        super().__init__("tavily")
        self._key, self._keyless, self._pages = key, keyless, pages
        self.app.router.add_post("/search", self._search)
        self.app.router.add_post("/extract", self._extract)

    def refuse_keyless(self, seconds: float, times: int | None = 1) -> None:
        """The keyless allowance is used up for so many seconds."""
        self.fail("status", status=429, times=times, body=keyless_limit(seconds))

    def spend_plan(self) -> None:
        """The plan's credits are used up."""
        body = {"detail": {"error": "This request exceeds your plan's set usage limit."}}
        self.fail("status", status=432, times=None, body=body)

    def null_lists(self) -> None:
        body = {"query": "", "results": None, "answer": None, "images": None}
        self.fail("status", status=200, body=body)

    def _refusal(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization")
        keyless = request.headers.get("X-Tavily-Access-Mode") == "keyless"
        if given == f"Bearer {self._key}" or (given is None and keyless and self._keyless):
            return None
        error = "Unauthorized: missing or invalid API key."
        return web.json_response({"detail": {"error": error}}, status=401)

    async def _search(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        body = request[BODY]
        if not isinstance(body, dict) or not body.get("query"):
            return web.json_response({"detail": {"error": "Query is missing."}}, status=400)
        full = bool(body.get("include_raw_content"))
        pages = self._pages(body["query"], int(body.get("max_results", 5)))
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
        return web.json_response(
            {
                "query": body["query"],
                "follow_up_questions": None,
                "answer": None,
                "images": [],
                "results": results,
                "response_time": 0.1,
                "request_id": "offline",
            }
        )

    async def _extract(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        urls = request[BODY].get("urls") if isinstance(request[BODY], dict) else None
        urls = [urls] if isinstance(urls, str) else urls or []
        if not 0 < len(urls) <= 20:
            return web.json_response({"detail": {"error": "1 to 20 URLs."}}, status=400)
        known = {url: self._text(url) for url in urls}
        return web.json_response(
            {
                "results": [
                    {"url": u, "raw_content": t, "images": []} for u, t in known.items() if t
                ],
                "failed_results": [
                    {"url": u, "error": "Failed to fetch url"} for u, t in known.items() if not t
                ],
                "response_time": 0.1,
            }
        )

    def _text(self, url: str) -> str | None:
        # Other pages than the sample's are looked up by the words that their address holds.
        words = url.replace("/", " ").replace("-", " ")
        known = (*load_sample().pages, *self._pages(words, 50))
        return next((page.text for page in known if page.url == url), None)


class SerperService(Service):
    """POST /search with X-API-KEY."""

    def __init__(self, *, key: str = KEY, pages: Pages = sample_pages):
        super().__init__("serper")
        self._key, self._pages = key, pages
        self.app.router.add_post("/search", self._search)

    def spend_credits(self) -> None:
        body = {"message": "Not enough credits", "statusCode": 400}
        self.fail("status", status=400, times=None, body=body)

    def null_lists(self) -> None:
        body = {"searchParameters": {"q": ""}, "organic": None, "peopleAlsoAsk": None}
        self.fail("status", status=200, body={**body, "answerBox": None, "knowledgeGraph": None})

    async def _search(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-KEY") != self._key:
            refused = {"message": "Unauthorized.", "statusCode": 403}
            return web.json_response(refused, status=403)
        body = request[BODY]
        if not isinstance(body, dict) or not body.get("q"):
            error = {"message": "Missing query parameter", "statusCode": 400}
            return web.json_response(error, status=400)
        organic = [
            {
                "title": page.title,
                "link": page.url,
                "snippet": passage(page.text, body["q"]),
                "date": page.published,
                "position": index,
            }
            for index, page in enumerate(self._pages(body["q"], int(body.get("num", 10))), 1)
        ]
        parameters = {"q": body["q"], "type": "search", "engine": "google"}
        return web.json_response(
            {
                "searchParameters": parameters,
                "organic": organic,
                "relatedSearches": [],
                "credits": 1,
            }
        )


class BochaService(Service):
    """POST /v1/web-search; failures may come with HTTP 200."""

    def __init__(self, *, key: str = KEY, pages: Pages = sample_pages):
        super().__init__("bocha")
        self._key, self._pages = key, pages
        self.app.router.add_post("/v1/web-search", self._search)

    def fail_with_code(self, code: int, message: str, times: int | None = 1) -> None:
        """HTTP 200 whose body says that it failed."""
        body = {"code": str(code), "message": message, "log_id": "offline"}
        self.fail("status", status=200, times=times, body=body)

    def spend_money(self) -> None:
        body = {"code": "403", "message": "You do not have enough money", "log_id": "offline"}
        self.fail("status", status=403, times=None, body=body)

    def null_lists(self) -> None:
        pages = {"webPages": {"value": None}, "images": None}
        self.fail("status", status=200, body={"code": 200, "msg": None, "data": pages})

    def null_reply(self) -> None:
        self.fail("status", status=200, body={"code": 200, "msg": None, "data": None})

    async def _search(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            refused = {"code": "401", "message": "Invalid API KEY", "log_id": "offline"}
            return web.json_response(refused, status=401)
        body = request[BODY]
        if not isinstance(body, dict) or not body.get("query"):
            error = {"code": "400", "message": "Missing parameter query", "log_id": "offline"}
            return web.json_response(error, status=400)
        pages = self._pages(body["query"], int(body.get("count", 10)))
        summary = bool(body.get("summary"))
        value = [_bocha_page(index, page, summary) for index, page in enumerate(pages)]
        found = {"totalEstimatedMatches": len(value), "value": value, "someResultsRemoved": False}
        context = {"originalQuery": body["query"]}
        reply = {"_type": "SearchResponse", "queryContext": context, "webPages": found}
        return web.json_response({"code": 200, "log_id": "offline", "msg": None, "data": reply})


class RedirectService(Service):
    """Google's redirect links: `link(target)` answers 302 to the target; HEAD may be refused."""

    PATH = "/grounding-api-redirect/"

    def __init__(self, *, head: bool = True):
        super().__init__("redirects")
        self._head = head
        self.app.router.add_route("*", self.PATH + "{token}", self._redirect)

    def link(self, base_url: str, target: str) -> str:
        token = base64.urlsafe_b64encode(target.encode()).decode().rstrip("=")
        return f"{base_url}{self.PATH}{token}"

    async def _redirect(self, request: web.Request) -> web.Response:
        if request.method == "HEAD" and not self._head:
            return web.Response(status=405)
        token = request.match_info["token"]
        try:
            target = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            return web.Response(status=404)
        return web.Response(status=302, headers={"Location": target})


def keyless_limit(seconds: float) -> dict[str, Any]:
    """What Tavily answers where the keyless allowance is used up."""
    return {
        "error": {
            "code": "keyless_limit",
            "message": "The keyless allowance is used up.",
            "window": "day",
            "retry_after_seconds": seconds,
            "next_actions": ["Create an API key."],
        }
    }


def _bocha_page(index: int, page: Page, summary: bool) -> dict[str, Any]:
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

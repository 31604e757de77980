"""The sample's services as stand-ins, with the ways in which each provider fails."""

import base64
import binascii
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from agent.sample import server
from agent.sample.model.request import ModelReply
from agent.sample.services import amap, filings, gemini, pages, scholar, search
from agent.sample.services.loopback import RefusedRequest, Service
from tests.support import gemini_rules, openai_service, ranking_service
from tests.support.gemini_vectors import EmbeddingGemini
from tests.support.standin import FaultyEvent, Standin, StreamingStandin

KEY = search.KEY


def gemini_error(
    status: int,
    reason: str | None = None,
    retry_seconds: float | None = None,
    *,
    message: str = "injected fault",
    quota_id: str | None = None,
    word: str | None = None,
) -> dict[str, Any]:
    """Return an error body as Gemini writes it; `word` replaces the status word of `status`."""
    details: list[dict[str, Any]] = []
    if reason:
        info = {"@type": f"{gemini.TYPE}ErrorInfo", "reason": reason, "domain": "googleapis.com"}
        details.append(info)
    if quota_id:
        violation = {"quotaMetric": "generate_content_free_tier_requests", "quotaId": quota_id}
        details.append({"@type": f"{gemini.TYPE}QuotaFailure", "violations": [violation]})
    if retry_seconds is not None:
        details.append({"@type": f"{gemini.TYPE}RetryInfo", "retryDelay": f"{retry_seconds:g}s"})
    name = word or gemini.STATUS.get(status, "UNKNOWN")
    error = {"code": status, "message": message, "status": name}
    return {"error": error | ({"details": details} if details else {})}


class GeminiService(StreamingStandin, EmbeddingGemini):
    environment: dict[str, str]
    """Of somebody with a key for it, where a fixture serves it."""

    def check(self, body: Any, model: str) -> None:
        gemini_rules.check(body, model)

    def fault_event(self, reply: gemini.GeminiReply, kind: FaultyEvent) -> bytes:
        if kind == "error":
            return gemini.sse(gemini_error(503, message="The model is overloaded."))
        return gemini.sse(reply.chunk("", finish=kind.upper()))


@dataclass(frozen=True)
class Rules:
    """Name the requests that an endpoint of this kind refuses, switched on one by one."""

    no_json_schema: bool = False
    no_json_object: bool = False
    no_forced_tool: bool = False
    reasoning_back: bool = False
    """It thinks, and wants its thoughts back in a tool loop."""
    refuses: tuple[tuple[Callable[[Any], bool], int, str], ...] = ()
    """Requests that it refuses by their body, with the status and the words."""
    shapes: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What its replies, or the chunks of them, look like on the wire."""
    owner: str = ""
    """The name that it gives itself in its list of models."""


class OpenAIService(StreamingStandin, openai_service.OpenAIService):
    def __init__(self, *arguments: Any, rules: Rules | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.rules = rules or Rules()

    def check(self, body: Any) -> None:
        super().check(body)
        messages = body["messages"]
        kind = (body.get("response_format") or {}).get("type")
        text = " ".join(str(message.get("content")) for message in messages).lower()
        if kind == "json_object" and "json" not in text:
            raise RefusedRequest(
                "Prompt must contain the word 'json' to use 'response_format' json_object"
            )
        call_ids: set[str] = set()
        for message in messages:
            call_ids |= {call["id"] for call in message.get("tool_calls") or []}
            if message["role"] == "tool" and message.get("tool_call_id") not in call_ids:
                raise RefusedRequest("A tool message must answer a tool call")
        self._check_rules(body, kind)

    def shape(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.rules.shapes(body) if self.rules.shapes else body

    def listed(self, name: str) -> dict[str, Any]:
        return super().listed(name) | ({"owned_by": self.rules.owner} if self.rules.owner else {})

    def _check_rules(self, body: Any, kind: str | None) -> None:
        for is_meant, status, words in self.rules.refuses:
            if is_meant(body):
                raise RefusedRequest(words, status)
        if (kind == "json_schema" and self.rules.no_json_schema) or (
            kind == "json_object" and self.rules.no_json_object
        ):
            raise RefusedRequest("This response_format type is unavailable now")
        forced = body.get("tool_choice") not in (None, "auto", "none")
        if self.rules.no_forced_tool and forced:
            raise RefusedRequest("tool_choice is not supported while thinking")
        calls = [message for message in body["messages"] if message.get("tool_calls")]
        if self.rules.reasoning_back and not all(m.get("reasoning_content") for m in calls):
            text = "The reasoning_content in the thinking mode must be passed back"
            raise RefusedRequest(text)

    def write(self, answer: ModelReply) -> dict[str, Any]:
        thoughts = {"reasoning_content": "thinking about it"}
        return super().write(answer) | (thoughts if self.rules.reasoning_back else {})

    def fault_event(self, reply: openai_service.OpenAIReply, kind: FaultyEvent) -> bytes:
        if kind == "error":
            return openai_service.sse({"error": {"message": "overloaded", "code": 503}})
        return openai_service.sse(
            openai_service.chunk(reply.body, {}, openai_service.FINISHES[kind.upper()])
        )


class AmapService(Standin, amap.AmapService):
    """Limit the requests of one second to `qps`, and fail in Amap's own words.

    `daily_spent` answers every place search, `failing` every request, with an error's name.
    """

    def __init__(
        self, *, qps: int | None = None, clock: Callable[[], float] = time.monotonic, **options: Any
    ) -> None:
        super().__init__(**options)
        self.qps = qps
        self.daily_spent = False
        self.failing: str | None = None
        self.refused = 0
        self._clock = clock
        self._recent: deque[float] = deque()

    def asked(self, path: str) -> list[dict[str, str]]:
        """Return the parameters of the requests for a path so far, without the key."""
        return [
            {name: value for name, value in request.query.items() if name not in ("key", "source")}
            for request in self.requests
            if request.path == path
        ]

    def admit(self, request: web.Request) -> None:
        if self.failing:
            raise amap.AmapError(self.failing)
        super().admit(request)
        if self.daily_spent and request.path.startswith("/v3/place/"):
            raise amap.AmapError("DAILY_QUERY_OVER_LIMIT")
        if self.qps is not None:
            now = self._clock()
            while self._recent and now - self._recent[0] >= 1:
                self._recent.popleft()
            if len(self._recent) >= self.qps:
                self.refused += 1
                raise amap.AmapError("CUQPS_HAS_EXCEEDED_THE_LIMIT")
            self._recent.append(now)


class TavilyService(Standin, search.TavilyService):
    """Let the keyless mode in where `keyless` is set."""

    def __init__(self, *, keyless: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._keyless = keyless

    def check_key(self, request: web.Request) -> None:
        keyless = request.headers.get("X-Tavily-Access-Mode") == "keyless"
        if not (self._keyless and keyless and "Authorization" not in request.headers):
            super().check_key(request)

    def spend_plan(self) -> None:
        """Use the plan's credits up."""
        body = {"detail": {"error": "This request exceeds your plan's set usage limit."}}
        self.fail("status", status=432, times=None, body=body)

    def null_lists(self) -> None:
        body = {"query": "", "results": None, "answer": None, "images": None}
        self.fail("status", status=200, body=body)


def keyless_limit(seconds: float) -> dict[str, Any]:
    """Return Tavily's answer where the keyless allowance is used up."""
    return {
        "error": {
            "code": "keyless_limit",
            "message": "The keyless allowance is used up.",
            "window": "day",
            "retry_after_seconds": seconds,
            "next_actions": ["Create an API key."],
        }
    }


class SerperService(Standin, search.SerperService):
    def spend_credits(self) -> None:
        body = {"message": "Not enough credits", "statusCode": 400}
        self.fail("status", status=400, times=None, body=body)

    def null_lists(self) -> None:
        body = {"searchParameters": {"q": ""}, "organic": None, "peopleAlsoAsk": None}
        self.fail("status", status=200, body={**body, "answerBox": None, "knowledgeGraph": None})


class BochaService(Standin, search.BochaService):
    def fail_with_code(self, code: int, message: str, times: int | None = 1) -> None:
        """Fail with HTTP 200 and a body that says so."""
        body = {"code": str(code), "message": message, "log_id": "offline"}
        self.fail("status", status=200, times=times, body=body)

    def spend_money(self) -> None:
        body = {"code": "403", "message": "You do not have enough money", "log_id": "offline"}
        self.fail("status", status=403, times=None, body=body)

    def null_lists(self) -> None:
        data = {"webPages": {"value": None}, "images": None}
        self.fail("status", status=200, body={"code": 200, "msg": None, "data": data})

    def null_reply(self, times: int | None = 1) -> None:
        body = {"code": 200, "msg": None, "data": None}
        self.fail("status", status=200, times=times, body=body)


class WikipediaService(Standin, scholar.WikipediaService):
    def null_lists(self) -> None:
        self.fail("status", status=200, body={"batchcomplete": True, "query": {"pages": None}})

    def limit_rate(self, times: int | None = 1) -> None:
        """Refuse too many requests with HTTP 200."""
        error = {"code": "ratelimited", "info": "You've exceeded your rate limit."}
        self.fail("status", status=200, times=times, body={"error": error})


class OpenAlexService(Standin, scholar.OpenAlexService):
    def null_lists(self) -> None:
        self.fail("status", status=200, body={"meta": {"count": 0}, "results": None})


class SemanticScholarService(Standin, scholar.SemanticScholarService):
    def crowd(self, times: int | None = None) -> None:
        """Exhaust the pool of those without a key."""
        body = {"message": "Too Many Requests. Please wait and try again.", "code": "429"}
        self.fail("status", status=429, times=times, body=body)

    def null_lists(self) -> None:
        self.fail("status", status=200, body={"total": 0, "offset": 0, "data": None})


class SecService(Standin, filings.SecService):
    def null_lists(self) -> None:
        """Answer from every host with nothing in it but the list of companies."""
        nothing = {"hits": {"total": {"value": 0}, "hits": None}, "filings": None, "units": None}

        def elsewhere(request: web.Request, _: Any) -> bool:
            return not request.path.endswith("company_tickers.json")

        self.fail("status", status=200, times=None, match=elsewhere, body=nothing)


class PagesService(Standin, pages.PagesService):
    pass


class RankingService(Standin, ranking_service.RankingService):
    pass


class RedirectService(Standin, Service):
    """Serve Google's redirect links: `link(target)` answers 302; HEAD may be refused."""

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


def observe_sample() -> None:
    """Let the sample mode of this process run stand-ins, which tests can ask and break."""
    for name, kind in list(globals().items()):
        if isinstance(kind, type) and issubclass(kind, Standin) and hasattr(server, name):
            setattr(server, name, kind)

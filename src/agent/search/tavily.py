"""Search with Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from agent.core.budget import Meter
from agent.core.calls import Policy, retry_after_seconds
from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    RateLimited,
)
from agent.search.hits import Hit, HitSearch, PageContent, make_hit, rows_of
from agent.search.http import error_message
from agent.search.rules import DAYS, SearchRules

BATCH = 20
_EXTRACT_SECONDS = 60.0


def _filters(rules: SearchRules) -> dict[str, Any]:
    """Return the rules as fields of a request."""
    since = "time_range" if rules.since in DAYS else "start_date"
    filters = {
        since: rules.since,
        "include_domains": [_pattern(site) for site in rules.sites],
        "exclude_domains": [_pattern(site) for site in rules.without],
    }
    return {name: value for name, value in filters.items() if value}


def _pattern(site: str) -> str:
    """Return a domain as it is, an ending of domains (`gov`) as the pattern that Tavily knows."""
    return site if "." in site else f"*.{site}"


class TavilySearch(HitSearch):
    """Search with a key, or (TAVILY_KEYLESS) in the service's limited mode without one."""

    name = "tavily"
    max_count = 20

    async def fetch(self, query: str, count: int, rules: SearchRules) -> list[Hit | None]:
        body: dict[str, Any] = {"query": query, "max_results": count, "search_depth": "basic"}
        body |= _filters(rules)
        reply = await self._http.post(
            self.name,
            self._endpoint.url("/search"),
            body,
            headers=self._headers(),
            refine=_keyless_limit,
        )
        return [
            make_hit(
                row.get("title"),
                row.get("url"),
                row.get("content"),
                published=row.get("published_date"),
            )
            for row in rows_of(self.name, reply, "results")
        ]

    async def extract(self, urls: Sequence[str], *, meter: Meter) -> list[PageContent]:
        """Return the texts of the readable pages, in batches of 20, each paid for once.

        A batch whose reply is too large is asked for in halves. Raises ProviderError or
        BudgetExceeded only where no batch came.
        """
        batches = [urls[at : at + BATCH] for at in range(0, len(urls), BATCH)]
        replies = await asyncio.gather(
            *(self._batch(list(batch), meter) for batch in batches), return_exceptions=True
        )
        failures = [reply for reply in replies if isinstance(reply, BaseException)]
        for failure in failures:
            if len(failures) == len(batches) or not isinstance(failure, AgentError):
                raise failure
        return [page for reply in replies if isinstance(reply, list) for page in reply]

    async def _batch(self, urls: list[str], meter: Meter) -> list[PageContent]:
        # Where pages cannot be had, searches still can.
        policy = Policy(
            self.name, None, timeout=_EXTRACT_SECONDS, attempts=2, breaker=True, part="extract"
        )
        request = {"extract": urls}

        async def send() -> str:
            return json.dumps(await self._extract(urls), ensure_ascii=False)

        try:
            text = await self._calls.once(policy, send, meter=meter, request=request)
        except ProviderRefused as error:
            if error.code != "too_large" or len(urls) < 2:
                raise
            half = len(urls) // 2
            return [
                *await self._batch(urls[:half], meter),
                *await self._batch(urls[half:], meter),
            ]
        return [PageContent(url, page) for url, page in json.loads(text).items() if page.strip()]

    async def _extract(self, urls: list[str]) -> dict[str, str]:
        try:
            reply = await self._http.post(
                self.name,
                self._endpoint.url("/extract"),
                {"urls": urls, "extract_depth": "basic", "format": "markdown"},
                headers=self._headers(),
                refine=_keyless_limit,
            )
        except MalformedReply as error:
            if error.code != "too_large":
                raise
            # The same again would be as large.
            raise ProviderRefused(self.name, error.message, code="too_large") from None
        return {
            row["url"]: row["raw_content"]
            for row in rows_of(self.name, reply, "results")
            if isinstance(row.get("url"), str) and isinstance(row.get("raw_content"), str)
        }

    def _headers(self) -> dict[str, str]:
        if key := self._endpoint.secret():
            return {"Authorization": f"Bearer {key}"}
        return {"X-Tavily-Access-Mode": "keyless"}


def _keyless_limit(status: int, body: Any) -> ProviderError | None:
    """Return the error of `{"error": {code, message, …, retry_after_seconds}}`, at any status."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    message = error_message(body) or "refused without a key"
    if "retry_after_seconds" in error:
        wait = retry_after_seconds(error["retry_after_seconds"])
        return RateLimited("tavily", message, retry_after=wait)
    return None

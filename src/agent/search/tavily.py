"""Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search"""

from typing import Any

from agent.errors import ProviderError, ProviderRefused, RateLimited
from agent.search.hits import HitSearch, make_hit, rows
from agent.search.http import retry_after, said
from agent.search.types import Hit


class TavilySearch(HitSearch):
    """With a key, or (TAVILY_KEYLESS) in the service's limited mode without one."""

    name = "tavily"
    max_count = 20

    async def fetch(self, query: str, count: int) -> list[Hit | None]:
        body = {"query": query, "max_results": count, "search_depth": "basic"}
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
            for row in rows(reply.get("results"))
        ]

    def _headers(self) -> dict[str, str]:
        if key := self._endpoint.secret():
            return {"Authorization": f"Bearer {key}"}
        return {"X-Tavily-Access-Mode": "keyless"}


def _keyless_limit(status: int, body: Any) -> ProviderError | None:
    """The error of `{"error": {code, message, window, retry_after_seconds}}`, at any status."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    message = said(body) or "refused without a key"
    if "retry_after_seconds" in error:
        wait = retry_after(error["retry_after_seconds"])
        return RateLimited("tavily", message, retry_after=wait)
    if status == 200:
        return ProviderRefused("tavily", message, code="search_refused")
    return None

"""Search with Bocha (Chinese web search): POST {base}/v1/web-search"""

from typing import Any

from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.search.hits import Hit, HitSearch, fields, make_hit, object_rows
from agent.search.http import error_message
from agent.search.rules import DAYS, SearchRules

_OPEN_END = "2099-12-31"


class BochaSearch(HitSearch):
    """Read hits; failures also come as HTTP 200 with another `code`, and fields may be null."""

    name = "bocha"
    max_count = 50

    async def fetch(self, query: str, count: int, rules: SearchRules) -> list[Hit | None]:
        body = {"query": query, "count": count, "summary": True, "freshness": _freshness(rules)}
        # It knows whole domains only; what an ending such as `gov` rules out is dropped below.
        whole = [site for site in rules.without if "." in site]
        only = rules.sites if all("." in site for site in rules.sites) else ()
        sites = {"include": "|".join(only), "exclude": "|".join(whole)}
        body |= {name: value for name, value in sites.items() if value}
        reply = await self._http.post(
            self.name,
            self._endpoint.url("/v1/web-search"),
            body,
            headers={"Authorization": f"Bearer {self._endpoint.secret()}"},
            refine=_error_of,
        )
        # Gateways unwrap `data`.
        data = fields(reply.get("data")) or reply
        pages = fields(data.get("webPages"))
        if "webPages" not in data:
            raise MalformedReply(self.name, "the reply has no `webPages`")
        return [
            make_hit(
                row.get("name"),
                row.get("url"),
                row.get("summary") or row.get("snippet"),
                site=row.get("siteName"),
                # dateLastCrawled is the publication time too, but its "Z" is false.
                published=row.get("datePublished") or _local(row.get("dateLastCrawled")),
            )
            for row in object_rows(pages.get("value"))
        ]


def _freshness(rules: SearchRules) -> str:
    """Return the age of pages in the service's words; a date is the begin of an open range."""
    if rules.since in DAYS:
        return f"one{rules.since.capitalize()}"
    return f"{rules.since}..{_OPEN_END}" if rules.since else "noLimit"


def _local(crawled: Any) -> str | None:
    return crawled.removesuffix("Z") if isinstance(crawled, str) else None


def _error_of(status: int, body: Any) -> ProviderError | None:
    """Return the error of a reply by its own `code`, or None where the status says all."""
    code = str(fields(body).get("code", "200"))
    if status not in (200, 403) or code == "200":
        return None
    message = f"HTTP {status}, code {code}: {error_message(body)}"
    match code:
        case "429":
            return RateLimited("bocha", message)
        case "401":
            return ProviderRefused("bocha", message, code="search_key_invalid")
        case "403":
            # An account without money; a 403 of somebody on the way there has no such code.
            return ProviderRefused("bocha", message, code="search_quota")
    if code.startswith("4"):
        return ProviderRefused("bocha", message, code="search_refused")
    return ProviderUnavailable("bocha", message)

"""Search Wikipedia: GET {base}/w/api.php, with the openings of the articles."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from agent.core.budget import Meter
from agent.core.concurrency import SharedSemaphore
from agent.core.errors import ProviderError, ProviderRefused, RateLimited
from agent.search.documents import Document, DocumentSearch, make_document
from agent.search.hits import fields, rows_of
from agent.search.http import error_message
from agent.texts import detect_language

_MAX_QUERY = 300
# One request at a time is what the service asks of programs; shared by all runs of the process.
_ONE_AT_A_TIME = SharedSemaphore(1)
_BUSY = ("ratelimited", "maxlag")


class Wikipedia(DocumentSearch):
    """Search articles in the query's language, which replaces `{lang}` in the base URL."""

    name = "wikipedia"
    max_count = 20

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(max(0.0, meter.remaining())):
                    await stack.enter_async_context(_ONE_AT_A_TIME)
            except TimeoutError:
                raise meter.budget.out_of_time() from None
            return await super().search(query, meter=meter, count=count, since=since)

    async def fetch(self, query: str, count: int, since: str) -> list[Document | None]:
        reply = await self._http.get(
            self.name,
            self._endpoint.url("/w/api.php").replace("{lang}", detect_language(query)),
            params={
                "action": "query",
                "generator": "search",
                "gsrsearch": query[:_MAX_QUERY],
                "gsrlimit": str(count),
                "prop": "extracts|info",
                "inprop": "url",
                "exintro": "1",
                "explaintext": "1",
                "exlimit": "max",
                "format": "json",
                "formatversion": "2",
            },
            headers={"User-Agent": self._endpoint.user_agent},
            refine=_error_of,
        )
        # No hit is a reply without `query`.
        result = fields(reply.get("query")) or reply
        pages = rows_of(self.name, result, "pages", "batchcomplete", "continue")
        return [
            make_document(
                self.name, "encyclopedia", page.get("title"), page.get("fullurl"),
                page.get("extract"),
            )
            for page in sorted(pages, key=_place)
        ]  # fmt: skip


def _place(page: Any) -> int:
    index = page.get("index")
    return index if isinstance(index, int) else 1 << 30


def _error_of(status: int, body: Any) -> ProviderError | None:
    """Return the error of a reply; errors come with HTTP 200, too."""
    if status == 403:
        message = "HTTP 403: it wants to know whom to turn to; set TANLU_CONTACT"
        return ProviderRefused("wikipedia", message, code="search_refused")
    error = fields(fields(body).get("error"))
    if status != 200 or not error:
        return None
    message = error_message({"message": error.get("info")}) or "refused"
    if error.get("code") in _BUSY:
        return RateLimited("wikipedia", message)
    return ProviderRefused("wikipedia", message, code="search_refused")

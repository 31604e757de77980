"""Search Semantic Scholar (papers): GET {base}/graph/v1/paper/search"""

from typing import Any

from agent.core.budget import Meter
from agent.core.errors import ProviderError, ProviderRefused, RateLimited
from agent.search.documents import (
    Document,
    DocumentSearch,
    doi_of,
    link_of,
    make_document,
    whole_number,
)
from agent.search.hits import fields, object_rows, plain_line, rows_of
from agent.search.http import error_message

_MAX_AUTHORS = 12
_FIELDS = "title,abstract,year,url,authors,externalIds,openAccessPdf,citationCount,publicationDate"


class SemanticScholar(DocumentSearch):
    """Search papers; without a key from a shared pool that is often exhausted."""

    name = "semantic_scholar"
    max_count = 100
    base_delay = 1.0

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        """Return papers; raise RateLimited `degraded` where the shared pool is exhausted."""
        try:
            return await super().search(query, meter=meter, count=count, since=since)
        except ProviderError as error:
            crowded = isinstance(error, RateLimited) or error.code == "breaker_open"
            if self._endpoint.secret() or not crowded:
                raise
            wait = error.retry_after if isinstance(error, RateLimited) else None
            message = f"the pool shared without a key is busy ({error}); set {_KEY} for a share"
            raise RateLimited(self.name, message, retry_after=wait, code="degraded") from None

    async def fetch(self, query: str, count: int, since: str) -> list[Document | None]:
        key = self._endpoint.secret()
        reply = await self._http.get(
            self.name,
            self._endpoint.url("/graph/v1/paper/search"),
            params={
                "query": query,
                "limit": str(count),
                "fields": _FIELDS,
                **({"publicationDateOrYear": f"{since}:"} if since else {}),
            },
            headers={
                "User-Agent": self._endpoint.user_agent,
                **({"x-api-key": key} if key else {}),
            },
            refine=_error_of,
        )
        return [_paper(row) for row in rows_of(self.name, reply, "data", "total")]


_KEY = "SEMANTIC_SCHOLAR_API_KEY"


def _paper(row: Any) -> Document | None:
    doi = doi_of(fields(row.get("externalIds")).get("DOI"))
    authors = [
        plain_line(author.get("name"), 80)
        for author in object_rows(row.get("authors"))[:_MAX_AUTHORS]
    ]
    return make_document(
        "semantic_scholar",
        "paper",
        row.get("title"),
        f"https://doi.org/{doi}" if doi else row.get("url"),
        row.get("abstract"),
        published=plain_line(row.get("publicationDate"), 10),
        authors=[name for name in authors if name],
        year=whole_number(row.get("year")),
        doi=doi,
        # Without open access this is an object with an empty address.
        pdf_url=link_of(fields(row.get("openAccessPdf")).get("url")),
        cited_by=whole_number(row.get("citationCount")),
    )


def _error_of(status: int, body: Any) -> ProviderError | None:
    """Return the error of an unknown key, which is a 403 here."""
    if status != 403:
        return None
    message = f"HTTP 403: {error_message(body) or 'forbidden'}"
    return ProviderRefused("semantic_scholar", message, code="search_key_invalid")

"""Define documents: their fields, one paid search, and text made safe to pass on."""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol, cast

from typing_extensions import TypedDict

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.outside import objects, parse_json
from agent.evidence.markdown import canonical
from agent.evidence.queries import clean_text
from agent.search.hits import MAX_QUERY, Endpoint, TurnSearches, make_hit, plain_line
from agent.search.http import SearchHttp
from agent.search.rules import ANY, SearchRules

DocumentKind = Literal["encyclopedia", "paper", "filing", "statement", "page"]


class FiledFigure(TypedDict):
    """Hold a number as its source states it, always with unit, period and source."""

    name: str
    value: str
    unit: str
    period: str
    """`FY2024`, `2024-12-31`, `2025Q3`."""
    url: str


class Document(TypedDict):
    """Hold one result of a source."""

    source: str
    """wikipedia, openalex, semantic_scholar, sec_edgar, akshare, or the web search that served."""
    kind: DocumentKind
    title: str
    url: str
    text: str
    """Extract, abstract, snippet, or figures as text."""
    published: NotRequired[str | None]
    authors: NotRequired[list[str]]
    year: NotRequired[int | None]
    doi: NotRequired[str | None]
    pdf_url: NotRequired[str | None]
    """Only where the paper is open access."""
    cited_by: NotRequired[int | None]
    figures: NotRequired[list[FiledFigure]]
    id: NotRequired[str]
    """Under which a workspace keeps it."""
    score: NotRequired[float | None]
    """Of the reranker, where it was scored; comparable within one back-end only."""


class Documents(list[Document]):
    """Hold documents with the rules that left others out, as `Hits` has them."""

    older_than: str = ""
    ruled_out: SearchRules = ANY


class DocumentSource(Protocol):
    """Search documents by a query."""

    name: str

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        """Return at most `count` documents (default: the source's); raise ProviderError."""
        ...


def coerce_documents(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a tool's result: JSON text of a list, a list, or one object.

    Anything else in it is left out; text that is no JSON gives nothing.
    """
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return []
    if isinstance(value, dict):
        return [value]
    return objects(value)


MAX_TEXT = 6000
"""Characters kept of an extract or an abstract."""
_DOI = ("https://", "http://", "dx.", "doi.org/", "doi:")
"""What may stand before a DOI, in this order."""


@dataclass(frozen=True)
class SourceEndpoint(Endpoint):
    """Hold an endpoint that wants a User-Agent with a contact."""

    user_agent: str = "tanlu"


class DocumentSearch(ABC):
    """Search documents, paid for once in a turn; a subclass sends the request."""

    name: str
    max_count: int = 20
    base_delay: float = 0.3

    def __init__(self, http: SearchHttp, calls: Calls, endpoint: SourceEndpoint) -> None:
        self._http = http
        self._calls = calls
        self._endpoint = endpoint
        self._policy = Policy(
            self.name,
            spends="searches",
            timeout=endpoint.timeout,
            base_delay=self.base_delay,
            breaker=True,
        )
        self._searches = TurnSearches()

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        """Return at most `count` documents, paid for once in a turn.

        Raises ProviderError, BudgetExceeded.
        """
        cleaned = clean_text(query, MAX_QUERY)
        if not cleaned:
            return []
        most = max(1, min(count or self._endpoint.default_count, self.max_count))

        async def paid(words: str) -> list[Document]:
            async def fetch() -> list[Document]:
                return distinct_documents(await self.fetch(words, most, since))[:most]

            request = {"query": words, "count": most, **({"since": since} if since else {})}
            return await self._paid(request, fetch, meter=meter)

        return [*await self._searches.do(cleaned, most, meter, paid)]

    @abstractmethod
    async def fetch(self, query: str, count: int, since: str) -> list[Document | None]:
        """Send one request; return documents (None: unusable) or raise ProviderError.

        `since` is the ISO date of the oldest documents, for sources that know it; or empty.
        """

    async def _paid(
        self, request: Any, ask: Callable[[], Awaitable[list[Document]]], *, meter: Meter
    ) -> list[Document]:
        """Return the result of `ask`, from the cache where this turn has paid for it."""

        async def send() -> str:
            return json.dumps(await ask(), ensure_ascii=False)

        reply = await self._calls.once(self._policy, send, meter=meter, request=request)
        documents: list[Document] = json.loads(reply)
        return documents


def make_document(
    source: str, kind: DocumentKind, title: Any, url: Any, text: Any, **more: Any
) -> Document | None:
    """Return a document of plain texts, or None without an http(s) link; skip empty `more`.

    `more` are further fields of Document, already of their types.
    """
    hit = make_hit(title, url, "")
    if hit is None:
        return None
    extras = {name: value for name, value in more.items() if value not in (None, "", [])}
    document = Document(
        source=source, kind=kind, title=hit.title, url=hit.url, text=plain_passage(text)
    )
    return cast(Document, {**document, **extras})


def plain_passage(text: Any) -> str:
    """Return plain text in its paragraphs, without tags, hidden characters or markers."""
    if not isinstance(text, str):
        return ""
    lines = (plain_line(line, MAX_TEXT) for line in text[: 4 * MAX_TEXT].splitlines())
    return "\n".join(filter(None, lines))[:MAX_TEXT].strip()


def doi_of(value: Any) -> str | None:
    """Return a DOI without its address, in lower case."""
    bare = value.strip().casefold() if isinstance(value, str) else ""
    for begin in _DOI:
        bare = bare.removeprefix(begin).strip()
    return (
        bare if bare.startswith("10.") and "/" in bare and not any(map(str.isspace, bare)) else None
    )


def link_of(value: Any) -> str | None:
    """Return a usable http(s) address, or None."""
    hit = make_hit("", value, "")
    return hit.url if hit else None


def whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def distinct_documents(documents: Iterable[Document | None]) -> list[Document]:
    """Return the usable documents, each address once."""
    by_url: dict[str, Document] = {}
    for document in documents:
        if document:
            by_url.setdefault(canonical(document["url"]), document)
    return list(by_url.values())

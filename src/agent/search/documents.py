"""Documents: what a source answers with, and the three shapes in which tools hand them over."""

import json
from typing import Any, Literal, NotRequired, Protocol

from typing_extensions import TypedDict

from agent.budget import Meter

DocumentKind = Literal["encyclopedia", "paper", "filing", "statement", "page"]


class Figure(TypedDict):
    """A number as its source states it; never without unit, period and source."""

    name: str
    value: str
    unit: str
    period: str
    """`FY2024`, `2024-12-31`, `2025Q3`."""
    url: str


class Document(TypedDict):
    """One result of a source."""

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
    figures: NotRequired[list[Figure]]
    score: NotRequired[float | None]
    """Of the reranker, where it was scored; comparable within one back-end only."""


class DocumentSource(Protocol):
    """A service that turns a query into documents."""

    name: str

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Document]:
        """At most `count` documents (default: the source's); raises ProviderError."""
        ...


def coerce_documents(value: Any) -> list[dict[str, Any]]:
    """The objects in a tool's result: JSON text of a list, a list of objects, or one object.

    Anything else in it is left out; text that is no JSON gives nothing.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    if isinstance(value, dict):
        return [value]
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

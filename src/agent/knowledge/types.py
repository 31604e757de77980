"""Define the records of the knowledge base, and its results."""

from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Layer = Literal["base", "upper"]
"""`base` is records (a row of a table of companies), `upper` is texts on the same; upper first."""
DocumentStatus = Literal["ready", "failed"]


class Chunk(TypedDict):
    """Hold a stretch of a document that can be found and cited."""

    document: str
    number: int
    """Its place in the document, from 0."""
    text: str
    headings: list[str]
    """From the title down to the section it stands in."""
    page: int | None
    """Of a PDF, from 1."""


class KnownDocument(TypedDict):
    """Hold a document of a collection."""

    id: str
    """Stable for the same file in the same collection."""
    collection: str
    title: str
    path: str
    """Path the document was read from; a citation names it."""
    url: str | None
    """URL under which others can open it, if any."""
    kind: str
    """pdf, markdown, html, text, csv."""
    layer: Layer
    sha256: str
    """Of the file's bytes."""
    status: DocumentStatus
    error: str | None
    chunks: int
    metadata: NotRequired[dict[str, Any]]


class Collected(TypedDict):
    """Hold a collection: whose it is, and whether everybody may read it."""

    name: str
    owner: str
    """Empty for whoever runs the command line."""
    shared: bool
    documents: int


@dataclass(frozen=True)
class Scope:
    """Limit a search to these collections of this owner and to shared ones."""

    collections: tuple[str, ...] = ()
    """Empty: all that the owner may read."""
    owner: str = ""
    documents: tuple[str, ...] = ()
    """Only these, where given."""


@dataclass(frozen=True)
class KnowledgeHit:
    """Hold a chunk that was found, best first; `score` is comparable within one search only."""

    chunk: Chunk
    document: KnownDocument
    score: float
    ranks: dict[str, int] = field(default_factory=dict)
    """Its place (from 1) in each list that was fused: lexical, vector."""


@dataclass(frozen=True)
class Ranked:
    """Hold indices of texts with their scores, best first, cut by threshold and top-n."""

    order: list[tuple[int, float]]
    backend: str
    note: str = ""
    """Reason why another back-end than the configured one served; "" where it did not."""

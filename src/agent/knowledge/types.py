"""Define the records of the knowledge base, its results, and its interfaces."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol

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


class KnowledgeStore(Protocol):
    """Keep chunks; one implementation a file."""

    name: str

    async def put(
        self,
        document: KnownDocument,
        chunks: Sequence[Chunk],
        vectors: Sequence[Sequence[float]] | None = None,
        *,
        owner: str = "",
        shared: bool = False,
    ) -> None:
        """Replace a document and all its chunks at once: a crash leaves the old or the new."""
        ...

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, vector: Sequence[float] | None = None
    ) -> list[KnowledgeHit]:
        """Return hits by reciprocal rank fusion where a vector is given and vectors are kept."""
        ...

    async def documents(self, scope: Scope) -> list[KnownDocument]: ...

    async def texts(self, scope: Scope, *, most: int) -> list[KnowledgeHit]:
        """Return documents whole, small ones first as far as `most` characters hold them.

        A document's passages come in their order, documents by collection and path.
        """
        ...

    async def collections(self, owner: str = "") -> list[Collected]:
        """Return the collections the owner may read."""
        ...

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]:
        """Return distinct headings of the texts, for the question pool."""
        ...

    async def delete(self, documents: Collection[str]) -> None: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class Ranked:
    """Hold indices of texts with their scores, best first, cut by threshold and top-n."""

    order: list[tuple[int, float]]
    backend: str
    note: str = ""
    """Reason why another back-end than the configured one served; "" where it did not."""

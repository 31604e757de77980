"""Documents for a knowledge base, made in one line."""

from collections.abc import Sequence
from typing import Any

from agent.knowledge.sqlite import SqliteKnowledgeStore
from agent.knowledge.types import Chunk, KnowledgeHit, KnownDocument, Scope

Vectors = Sequence[Sequence[float]] | None


def document(name: str, title: str = "", **more: Any) -> KnownDocument:
    """A Markdown text of the collection `notes`."""
    known: KnownDocument = {
        "id": name,
        "collection": "notes",
        "title": title or name,
        "path": f"{name}.md",
        "url": None,
        "kind": "markdown",
        "layer": "upper",
        "sha256": "0" * 64,
        "status": "ready",
        "error": None,
        "chunks": 0,
    }
    return {**known, **more}  # type: ignore[typeddict-item]


def chunks(
    name: str, *texts: str, headings: Sequence[str] = (), page: int | None = None
) -> list[Chunk]:
    return [
        {"document": name, "number": n, "text": text, "headings": list(headings), "page": page}
        for n, text in enumerate(texts)
    ]


async def keep(
    store: SqliteKnowledgeStore, name: str, *texts: str, vectors: Vectors = None, **more: Any
) -> None:
    """Put a document; `owner` and `shared` go to the store, the rest into the document."""
    whose = {key: more.pop(key) for key in ("owner", "shared") if key in more}
    headings = more.pop("headings", ())
    await store.put(
        document(name, **more), chunks(name, *texts, headings=headings), vectors, **whose
    )


async def names(store: SqliteKnowledgeStore, query: str, scope: Scope | None = None) -> list[str]:
    """Ids of the documents found, best first, each once."""
    return found(await store.search(query, scope or Scope()))


def found(hits: Sequence[KnowledgeHit]) -> list[str]:
    return list(dict.fromkeys(hit.document["id"] for hit in hits))

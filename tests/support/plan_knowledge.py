"""A knowledge base in memory: what the assistant needs of one, and no more."""

import asyncio
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from agent.core.budget import Meter
from agent.core.errors import ProviderRefused
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.types import Chunk, Collected, KnowledgeHit, KnownDocument, Scope


@dataclass
class MemoryKnowledge:
    """Chunks by document; `read` counts the PDFs that were read, `read_whole` the collections."""

    held: dict[str, tuple[KnownDocument, list[Chunk]]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    read: int = 0
    read_whole: int = 0
    searched: list[tuple[str, Scope]] = field(default_factory=list)

    def put(self, name: str, text: str, *, collection: str = "own", owner: str = "") -> None:
        """A Markdown document, a paragraph a chunk."""
        document = known(name, collection, path=f"notes/{name}.md", kind="markdown")
        chunks = [
            Chunk(document=document["id"], number=n, text=part, headings=[name], page=None)
            for n, part in enumerate(text.split("\n\n"))
        ]
        self.held[document["id"]] = (document, chunks)
        self.owners[document["id"]] = owner

    async def add_pdf(
        self, path: Path, *, title: str, url: str, collection: str, shared: bool, meter: Meter
    ) -> KnownDocument:
        body = await asyncio.to_thread(path.read_bytes)
        digest = sha256(body).hexdigest()
        if digest in self.held:
            return self.held[digest][0]
        self.read += 1
        try:
            pages = [page.extract_text() for page in PdfReader(BytesIO(body)).pages]
        except PyPdfError:
            raise ProviderRefused(
                "files", "the document is broken", code="page_unreadable"
            ) from None
        document = known(title, collection, path=f"papers/{path.name}", kind="pdf", url=url)
        document["id"] = digest
        chunks = [
            Chunk(document=digest, number=n, text=text, headings=[title], page=n + 1)
            for n, text in enumerate(pages)
        ]
        self.held[digest] = (document, chunks)
        return document

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, meter: Meter
    ) -> list[KnowledgeHit]:
        self.searched.append((query, scope))
        found = [(d, c) for d, chunks in self._seen(scope) for c in chunks]
        texts = [" ".join([*chunk["headings"], chunk["text"]]) for _, chunk in found]
        ranked = best_first(Bm25(texts).scores(query)) if texts else []
        return [
            KnowledgeHit(found[at][1], found[at][0], score)
            for at, score in ranked[:limit]
            if score > 0
        ]

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]:
        seen = (h for _, chunks in self._seen(scope) for c in chunks for h in c["headings"])
        return list(dict.fromkeys(seen))[:limit]

    async def documents(self, scope: Scope) -> list[KnownDocument]:
        return [document for document, _ in self._seen(scope)]

    async def texts(self, scope: Scope, *, most: int) -> list[KnowledgeHit]:
        self.read_whole += 1

        def size(held: tuple[KnownDocument, list[Chunk]]) -> int:
            return sum(len(chunk["text"]) for chunk in held[1])

        whole = []
        for held in sorted(self._seen(scope), key=size):
            if (most := most - size(held)) < 0:
                break
            whole.append(held)
        whole.sort(key=lambda held: (held[0]["collection"], held[0]["path"]))
        return [
            KnowledgeHit(chunk, document, 0.0) for document, chunks in whole for chunk in chunks
        ]

    async def collections(self, owner: str = "") -> list[Collected]:
        names: dict[str, int] = {}
        for document, _ in self.held.values():
            if self.owners.get(document["id"], "") == owner and document["collection"] != "papers":
                names[document["collection"]] = names.get(document["collection"], 0) + 1
        return [Collected(name=n, owner=owner, shared=False, documents=c) for n, c in names.items()]

    async def aclose(self) -> None: ...

    def _seen(self, scope: Scope) -> list[tuple[KnownDocument, list[Chunk]]]:
        return [
            (document, chunks)
            for _, (document, chunks) in sorted(self.held.items())
            if document["collection"] in scope.collections
            and (not scope.documents or document["id"] in scope.documents)
        ]


def known(
    title: str, collection: str, *, path: str, kind: str, url: str | None = None
) -> KnownDocument:
    """A document that is ready."""
    return KnownDocument(
        id=f"{collection}/{title}", collection=collection, title=title, path=path, url=url,
        kind=kind, layer="upper", sha256="", status="ready", error=None, chunks=1,
    )  # fmt: skip


class With:
    """Services with some of them replaced."""

    def __init__(self, services: Any, **replaced: Any) -> None:
        self._services = services
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._services, name)

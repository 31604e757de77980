"""Keep the knowledge base in one SQLite file: full text by BM25, vectors with an embedder.

Queries and texts are split into the same terms (`segment`), so Chinese is found without a
dictionary. Several processes may use the file at once; searches never wait for writers.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from agent.core.errors import ConfigurationError, InputError, ProviderUnavailable, StoreFailed
from agent.knowledge import sqlite_search as reading
from agent.knowledge import sqlite_write as writing
from agent.knowledge.ranking import fuse, places, upper_first
from agent.knowledge.sqlite_write import make_tables
from agent.knowledge.types import Chunk, Collected, KnowledgeHit, KnownDocument, Scope
from agent.runs.sql import SqliteFile

T = TypeVar("T")
FILE_NAME = "knowledge.sqlite"
CANDIDATES = 60
_LONGEST_NAME = 64
_OWNER_LENGTH = 200

Nearest = Callable[[sqlite3.Connection, reading.Seen, int], list[int]]
"""Places by nearness within a scope, at most so many."""


class SqliteKnowledgeStore:
    """Keep documents in `knowledge.sqlite`; `embedder` names the model of the vectors put here.

    Without an embedder vectors are refused. Raises ConfigurationError where the file cannot be
    opened, ProviderUnavailable where it fails later (a full disk), InputError for bad names.
    """

    name = "sqlite"

    def __init__(
        self, folder: Path, *, embedder: str = "", frequent: reading.Frequent | None = None
    ) -> None:
        self.embedder = embedder
        self._frequent = frequent or reading.Frequent()
        self._writer = SqliteFile(folder / FILE_NAME, make_tables)
        self._reader = SqliteFile(folder / FILE_NAME, make_tables)

    async def put(
        self,
        document: KnownDocument,
        chunks: Sequence[Chunk],
        vectors: Sequence[Sequence[float]] | None = None,
        *,
        owner: str = "",
        shared: bool = False,
    ) -> None:
        """Replace a document and its chunks; the last put decides if its collection is shared."""
        check_collection_names(document["collection"], owner)
        if vectors and not self.embedder:
            raise ConfigurationError("EMBEDDING_MODEL", "is not set, but vectors were given")
        ready = await asyncio.to_thread(
            ready_document, document, chunks, owner=owner, shared=shared,
            vectors=vectors, embedder=self.embedder,
        )  # fmt: skip
        await self.keep(ready)

    async def keep(self, ready: writing.ReadyDocument) -> None:
        """Replace a document in one transaction, so that a crash leaves the old one or the new."""
        await self._write(lambda db: writing.replace_document(db, ready))

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, vector: Sequence[float] | None = None
    ) -> list[KnowledgeHit]:
        """Return hits, best first.

        With a vector, lexical and vector search fused by their ranks.
        """
        near: Nearest | None = None
        if vector is not None:

            def near(db: sqlite3.Connection, within: reading.Seen, most: int) -> list[int]:
                return [
                    p for p, _ in reading.nearest_vectors(db, vector, self.embedder, within, most)
                ]

        return await self.find(query, scope, limit=limit, near=near)

    async def find(
        self, query: str, scope: Scope, *, limit: int, near: Nearest | None = None
    ) -> list[KnowledgeHit]:
        """Return hits as `search` does, with any source of nearness."""

        def work(db: sqlite3.Connection) -> list[KnowledgeHit]:
            within = reading.seen(db, scope)
            most = max(CANDIDATES, 3 * limit)
            scored = reading.lexical(db, query, within, most, self._frequent)
            lists: dict[str, Sequence[int]] = {"lexical": [place for place, _ in scored]}
            if near is not None:
                lists["vector"] = near(db, within, most)
                scored = fuse(list(lists.values()))
            return upper_first(reading.hits_at(db, scored, places(lists)))[:limit]

        return await self.read(work)

    async def documents(self, scope: Scope) -> list[KnownDocument]:
        """Return documents by collection and path, failed ones too."""
        return await self.read(lambda db: reading.known_documents(db, reading.seen(db, scope)))

    async def texts(self, scope: Scope, *, most: int) -> list[KnowledgeHit]:
        """Return whole documents, small ones first as far as `most` characters hold them."""
        return await self.read(lambda db: reading.whole_texts(db, reading.seen(db, scope), most))

    async def collections(self, owner: str = "") -> list[Collected]:
        """Return the owner's and shared ones; a collection without documents does not exist."""
        return await self.read(lambda db: reading.collections_of_owner(db, owner))

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]:
        """Return distinct headings of texts (not of records), spread over the documents."""
        return await self.read(
            lambda db: reading.collection_headings(db, reading.seen(db, scope), limit)
        )

    async def not_embedded(self, scope: Scope) -> list[str]:
        """Return the ids of documents without vectors of the present embedder."""
        return await self.read(
            lambda db: reading.not_embedded(db, reading.seen(db, scope), self.embedder)
        )

    async def delete(self, documents: Collection[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        await self._write(lambda db: writing.remove_documents(db, documents))

    async def aclose(self) -> None:
        await self._reader.aclose()
        await self._writer.aclose()

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` over one state of the file, whatever is written meanwhile."""

        def at_once(db: sqlite3.Connection) -> T:
            db.execute("BEGIN")
            return work(db)

        # What is found there is a source like others: a run can do without it.
        try:
            return await self._guard(self._reader, at_once)
        except StoreFailed as error:
            message = f"the knowledge base's file fails: {error.problem}"
            raise ProviderUnavailable("knowledge", message) from None

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._guard(self._writer, work)

    async def _guard(self, file: SqliteFile, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await file.run(work)
        except sqlite3.Error as error:
            message = f"the knowledge base's file fails: {error}"
            raise ProviderUnavailable("knowledge", message) from None


def check_collection_names(collection: str, owner: str) -> None:
    """Check names of collections: 1 to 64 letters (Chinese ones too), digits, - and _."""
    letters = collection.replace("-", "a").replace("_", "a")
    if not letters.isalnum() or len(collection) > _LONGEST_NAME:
        raise InputError("collection", "must be 1 to 64 letters, digits, - or _")
    if len(owner) > _OWNER_LENGTH:
        raise InputError("owner", f"is longer than {_OWNER_LENGTH} characters")


def ready_document(
    document: KnownDocument,
    chunks: Sequence[Chunk],
    *,
    owner: str,
    shared: bool,
    vectors: Sequence[Sequence[float]] | None = None,
    embedder: str = "",
) -> writing.ReadyDocument:
    """Return a document's rows; blocks for some 0.3 ms a chunk."""
    packed, dimensions = writing.packed_vectors(vectors, len(chunks)) if vectors else ([], 0)
    return writing.ReadyDocument(
        document=document,
        owner=owner,
        shared=shared,
        chunks=writing.ready_chunks(document["title"], chunks),
        headings=writing.document_headings(chunks),
        embedder=embedder if vectors else "",
        signs=[writing.sign_bits(vector) for vector in vectors or ()],
        vectors=packed,
        dimensions=dimensions,
    )

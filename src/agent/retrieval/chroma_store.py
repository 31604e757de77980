"""The knowledge base with its vectors in Chroma: a folder (`tanlu[chroma]`) or a server.

Chroma has no ranking of words that knows Chinese, and no transactions. So texts, documents, owners
and lexical search stay in `knowledge.sqlite`; Chroma holds vectors only, and a vector counts only
where that file knows its edition. What a crash leaves behind in Chroma is never found.

A folder may be written by one process at a time; for several set CHROMA_URL.
"""

import asyncio
import contextlib
import hashlib
import logging
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agent.errors import ConfigurationError, ProviderUnavailable
from agent.retrieval import sqlite_reading as reading
from agent.retrieval.chroma_shelf import open_shelf
from agent.retrieval.sqlite_schema import place_of
from agent.retrieval.sqlite_store import Nearest, SqliteKnowledgeStore, check_names, ready_document
from agent.retrieval.types import Chunk, Collected, Hit, KnownDocument, Scope

T = TypeVar("T")
log = logging.getLogger(__name__)
FOLDER = "chroma"
_SLUG = re.compile(r"[^a-z0-9]+")


class ChromaKnowledgeStore:
    """`KnowledgeStore` with vectors in Chroma, one of its collections for each of ours and model.

    Raises ConfigurationError without the extra or an embedder, ProviderUnavailable where Chroma
    does not answer: ask again without a vector for the lexical half.
    """

    name = "chroma"

    def __init__(self, folder: Path, *, embedder: str, url: str | None = None) -> None:
        if not embedder:
            raise ConfigurationError(
                "EMBEDDING_MODEL", "must be set for KNOWLEDGE_STORE=chroma; nothing is downloaded"
            )
        self._model = embedder
        self._shelf = open_shelf(folder / FOLDER, url)
        self.text = SqliteKnowledgeStore(folder, embedder=f"chroma {embedder}")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chroma")

    async def put(
        self,
        document: KnownDocument,
        chunks: Sequence[Chunk],
        vectors: Sequence[Sequence[float]] | None = None,
        *,
        owner: str = "",
        shared: bool = False,
    ) -> None:
        """Vectors first, then the text in one transaction, then the old vectors go."""
        check_names(document["collection"], owner)
        ready = await asyncio.to_thread(
            ready_document, document, chunks, owner=owner, shared=shared,
            vectors=vectors, embedder=self.text.embedder,
        )  # fmt: skip
        before = await self.text.read(lambda db: _homes(db, [document["id"]]))
        if vectors:
            name = self._named(owner, document["collection"])
            numbered = dict(zip([c["number"] for c in chunks], vectors, strict=True))
            await self._do(self._shelf.add, name, ready.edition, numbered)
        ready.vectors.clear()
        ready.signs.clear()
        await self.text.keep(ready)
        await self._drop(before)

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, vector: Sequence[float] | None = None
    ) -> list[Hit]:
        """Best first; with a vector, lexical and vector search fused by their ranks."""
        near = None if vector is None else await self._near(vector, scope, max(60, 3 * limit))
        return await self.text.find(query, scope, limit=limit, near=near)

    async def documents(self, scope: Scope) -> list[KnownDocument]:
        return await self.text.documents(scope)

    async def collections(self, owner: str = "") -> list[Collected]:
        return await self.text.collections(owner)

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]:
        return await self.text.headings(scope, limit=limit)

    async def not_embedded(self, scope: Scope) -> list[str]:
        """Ids of documents without vectors of the present embedder in Chroma."""
        return await self.text.not_embedded(scope)

    async def delete(self, documents: Collection[str]) -> None:
        """Unknown ids are nothing."""
        before = await self.text.read(lambda db: _homes(db, list(documents)))
        await self.text.delete(documents)
        await self._drop(before)

    async def aclose(self) -> None:
        await self.text.aclose()
        with contextlib.suppress(RuntimeError):
            await self._do(self._shelf.close)
        self._thread.shutdown(wait=True)

    async def _near(self, vector: Sequence[float], scope: Scope, most: int) -> Nearest:
        homes = await self.text.read(lambda db: _seen_homes(db, scope))
        names = sorted({self._named(owner, name) for owner, name in homes.collections})
        found: list[tuple[float, str]] = []
        for name in names:
            found += await self._do(self._shelf.nearest, name, vector, most, homes.editions)
        found.sort()
        keys = [key for _, key in found[:most]]
        return lambda db, within, _: _places(db, keys, within)

    async def _drop(self, homes: list[tuple[str, str, str]]) -> None:
        """Make room; what stays because Chroma is away is never found."""
        try:
            for owner, collection, edition in homes:
                await self._do(self._shelf.remove, self._named(owner, collection), edition)
        except ProviderUnavailable as error:
            log.warning("vectors of replaced documents stay in Chroma: %s", error)

    def _named(self, owner: str, collection: str) -> str:
        """3 to 512 characters of a-z, 0-9 and -: readable where it can be, and never the same."""
        key = "\n".join([owner, collection, self._model])
        readable = _SLUG.sub("-", collection.lower()).strip("-")[:32]
        digest = hashlib.sha256(key.encode()).hexdigest()[:24]
        return "-".join(part for part in ("tanlu", readable, digest) if part)

    async def _do(self, work: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *given))


class _Homes:
    """Chroma's collections to ask, and the editions it may answer with (None: any)."""

    def __init__(self, collections: list[tuple[str, str]], editions: list[str] | None) -> None:
        self.collections, self.editions = collections, editions


def _seen_homes(db: sqlite3.Connection, scope: Scope) -> _Homes:
    within = reading.seen(db, scope)
    of = db.execute(
        "SELECT owner, name FROM collections WHERE number IN (SELECT value FROM json_each(:c))",
        {"c": within.named()["collections"]},
    ).fetchall()
    if within.documents is None:
        return _Homes(of, None)
    rows = db.execute(
        "SELECT edition FROM documents WHERE number IN (SELECT value FROM json_each(:d))",
        {"d": within.named()["documents"]},
    )
    return _Homes(of, [edition for (edition,) in rows])


def _homes(db: sqlite3.Connection, documents: list[str]) -> list[tuple[str, str, str]]:
    """Owner, collection and edition of documents, where they are known."""
    statement = (
        "SELECT c.owner, c.name, d.edition FROM documents d"
        " JOIN collections c ON c.number = d.collection WHERE d.id = ? AND d.embedder != ''"
    )
    return [row for known in documents for row in db.execute(statement, (known,))]


def _places(db: sqlite3.Connection, keys: list[str], within: reading.Seen) -> list[int]:
    """Where Chroma's ids stand in the file; those it does not know are left out."""
    places = []
    for key in keys:
        edition, _, number = key.rpartition("-")
        row = db.execute(
            "SELECT collection, number FROM documents WHERE edition = ?", (edition,)
        ).fetchone()
        if row and row[0] in within.collections:
            places.append(place_of(row[0], row[1], int(number)))
    return places

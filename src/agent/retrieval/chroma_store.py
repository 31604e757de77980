"""The knowledge base with its vectors in Chroma (`tanlu[chroma]`), in a folder or on a server.

Chroma has no ranking of words that knows Chinese, and no transactions. So texts, documents, owners
and lexical search stay in `knowledge.sqlite`; Chroma holds vectors only, and a vector counts only
where that file knows its edition. What a crash leaves behind in Chroma is never found.

A folder may be written by one process at a time; for several set CHROMA_URL.
"""

import asyncio
import hashlib
import importlib
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from agent.errors import ConfigurationError, ProviderUnavailable
from agent.retrieval import sqlite_reading as reading
from agent.retrieval.sqlite_schema import place_of
from agent.retrieval.sqlite_store import Nearest, SqliteKnowledgeStore, check_names, ready_document
from agent.retrieval.types import Chunk, Collected, Hit, KnownDocument, Scope

T = TypeVar("T")
FOLDER = "chroma"
BATCH = 1_000
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
        self._library = _library()
        self._model = embedder
        self._folder, self._url = folder / FOLDER, url
        self.text = SqliteKnowledgeStore(folder, embedder=f"chroma {embedder}")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chroma")
        self._client: Any = None

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
        name = self._named(owner, document["collection"])
        before = await self.text.read(lambda db: _homes(db, [document["id"]]))
        if vectors:
            numbers = [chunk["number"] for chunk in chunks]
            await self._do(partial(self._add, name, ready.edition, numbers, vectors))
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
        if self._client is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._client.close)
            self._client = None
        self._thread.shutdown(wait=True)

    async def _near(self, vector: Sequence[float], scope: Scope, most: int) -> Nearest:
        homes = await self.text.read(lambda db: _seen_homes(db, scope))
        names = sorted({self._named(owner, name) for owner, name in homes.collections})
        found: list[tuple[float, str]] = []
        for name in names:
            found += await self._do(partial(self._query, name, vector, most, homes))
        found.sort()
        keys = [key for _, key in found[:most]]
        return lambda db, within, _: _places(db, keys, within)

    def _query(
        self, name: str, vector: Sequence[float], most: int, homes: "_Homes"
    ) -> list[tuple[float, str]]:
        try:
            held = self._opened().get_collection(name, embedding_function=None)
        except self._library.errors.NotFoundError:
            return []
        only = {"edition": {"$in": homes.editions}} if homes.editions is not None else None
        reply = held.query([list(vector)], n_results=most, where=only, include=["distances"])
        pairs = zip(reply["distances"][0], reply["ids"][0], strict=True)
        return [(distance, key) for distance, key in pairs if distance < 1]

    def _add(
        self, name: str, edition: str, numbers: list[int], vectors: Sequence[Sequence[float]]
    ) -> None:
        held = self._opened().get_or_create_collection(
            name, embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        for start in range(0, len(numbers), BATCH):
            part = numbers[start : start + BATCH]
            held.upsert(
                ids=[f"{edition}-{number}" for number in part],
                embeddings=[list(vector) for vector in vectors[start : start + BATCH]],
                metadatas=[{"edition": edition}] * len(part),
            )

    async def _drop(self, homes: list[tuple[str, str, str]]) -> None:
        for owner, collection, edition in homes:
            name = self._named(owner, collection)
            await self._do(partial(self._remove, name, edition))

    def _remove(self, name: str, edition: str) -> None:
        try:
            held = self._opened().get_collection(name, embedding_function=None)
        except self._library.errors.NotFoundError:
            return
        held.delete(where={"edition": edition})

    def _named(self, owner: str, collection: str) -> str:
        """3 to 512 characters of a-z, 0-9 and -: readable where it can be, and never the same."""
        key = "\n".join([owner, collection, self._model])
        readable = _SLUG.sub("-", collection.lower()).strip("-")[:32]
        digest = hashlib.sha256(key.encode()).hexdigest()[:24]
        return "-".join(part for part in ("tanlu", readable, digest) if part)

    async def _do(self, work: Callable[[], T]) -> T:
        errors = (self._library.errors.ChromaError, httpx.HTTPError, OSError, ValueError)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except errors as error:
            raise ProviderUnavailable("chroma", f"Chroma does not answer: {error}") from None

    def _opened(self) -> Any:
        if self._client is None:
            quiet = self._library.config.Settings(anonymized_telemetry=False)
            self._client = (
                self._library.HttpClient(**_address(self._url), settings=quiet)
                if self._url
                else self._library.PersistentClient(str(self._folder), settings=quiet)
            )
        return self._client


def _library() -> ModuleType:
    try:
        for part in ("config", "errors"):
            importlib.import_module(f"chromadb.{part}")
        return importlib.import_module("chromadb")
    except ImportError:
        raise ConfigurationError(
            "KNOWLEDGE_STORE", 'chroma needs the extra: pip install "tanlu[chroma]"'
        ) from None


def _address(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("CHROMA_URL", "must be like http://host:8000")
    secure = parts.scheme == "https"
    return {"host": parts.hostname, "port": parts.port or (443 if secure else 8000), "ssl": secure}


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
        " JOIN collections c ON c.number = d.collection WHERE d.id = ?"
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

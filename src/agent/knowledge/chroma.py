"""Keep the knowledge base's vectors in Chroma: a folder (`tanlu[chroma]`) or a server.

The server is asked by a client of our own: the library's waits without limit and keeps its
connections open, and nothing need be installed for it.

Chroma has no ranking of words that knows Chinese, and no transactions. So texts, documents, owners
and lexical search stay in `knowledge.sqlite`; Chroma holds vectors only, and a vector counts only
where that file knows its edition. What a crash leaves behind in Chroma is never found.

A folder may be written by one process at a time; for several set CHROMA_URL.
"""

import asyncio
import contextlib
import hashlib
import importlib
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from agent.core.errors import ConfigurationError, ProviderUnavailable
from agent.core.outside import parse_json
from agent.core.private_files import private_folder, private_tree
from agent.core.proxies import proxy_for
from agent.knowledge import sqlite_search as reading
from agent.knowledge.sqlite import (
    Nearest,
    SqliteKnowledgeStore,
    check_collection_names,
    ready_document,
)
from agent.knowledge.sqlite_write import place_of
from agent.knowledge.types import Chunk, KnowledgeHit, KnownDocument, Scope

BATCH = 1_000
SECONDS = 30.0
_COSINE = {"hnsw:space": "cosine"}
_COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


AskCollection = Callable[..., Any]
"""Does what is named (upsert, query, delete) in one collection of Chroma, with these values."""


class VectorIndex(ABC):
    """Hold vectors by name of a collection; each belongs to an edition of a document."""

    @abstractmethod
    def collection(self, name: str, *, make: bool = False) -> AskCollection | None:
        """Return what asks a collection, made where it is missing; else None for a missing one."""

    @abstractmethod
    def close(self) -> None: ...

    def add(self, name: str, edition: str, vectors: dict[int, Sequence[float]]) -> None:
        if ask := self.collection(name, make=True):
            for part in _batches(edition, vectors):
                ask("upsert", **part)

    def nearest(
        self, name: str, vector: Sequence[float], most: int, editions: list[str] | None
    ) -> list[tuple[float, str]]:
        """Return (cosine distance, edition-number), nearest first; only of `editions` if set."""
        ask = self.collection(name)
        return _near(ask("query", **_question(vector, most, editions))) if ask else []

    def remove(self, name: str, edition: str) -> None:
        if ask := self.collection(name):
            ask("delete", where={"edition": edition})


class FolderIndex(VectorIndex):
    """Hold Chroma's files in a folder; one process at a time may write them."""

    def __init__(self, folder: Path) -> None:
        self._library, self._folder = _library(), folder
        self._client: Any = None

    def collection(self, name: str, *, make: bool = False) -> AskCollection | None:
        if self._client is None:
            self._call(private_folder, self._folder)
            private_tree(self._folder)
            quiet = self._library.config.Settings(anonymized_telemetry=False)
            self._client = self._call(
                self._library.PersistentClient, str(self._folder), settings=quiet
            )
        if make:
            handle = self._client.get_or_create_collection(
                name, embedding_function=None, metadata=_COSINE
            )
        else:
            try:
                handle = self._client.get_collection(name, embedding_function=None)
            except self._library.errors.NotFoundError:
                return None
        return lambda verb, **body: self._call(getattr(handle, verb), **body)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
            # Chroma gives its files the modes of the umask.
            private_tree(self._folder)

    def _call(self, work: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return work(*arguments, **named)
        except (self._library.errors.ChromaError, OSError, ValueError, RuntimeError) as error:
            raise ProviderUnavailable("chroma", f"Chroma fails: {error}") from None


class ServerIndex(VectorIndex):
    """AskCollection a Chroma server (1.x, its second REST interface), at most 30 s a call."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("CHROMA_URL", "must be like http://host:8000")
        self._client = httpx.Client(
            base_url=url,
            timeout=SECONDS,
            proxy=proxy_for(url),
            trust_env=False,
        )

    def collection(self, name: str, *, make: bool = False) -> AskCollection | None:
        if make:
            handle = self._call("POST", "", name=name, get_or_create=True, metadata=_COSINE)
        else:
            handle = self._call("GET", f"/{name}")
        if handle is None:
            return None
        return lambda verb, **body: self._call("POST", f"/{handle['id']}/{verb}", **body)

    def close(self) -> None:
        self._client.close()

    def _call(self, method: str, path: str, **body: Any) -> Any:
        """Return the reply's JSON; None where there is no such collection."""
        try:
            reply = self._client.request(method, _COLLECTIONS + path, json=body or None)
            if reply.status_code == httpx.codes.NOT_FOUND and method == "GET":
                return None
            reply.raise_for_status()
            return parse_json(reply.content)
        except httpx.HTTPStatusError as error:
            problem = f"HTTP {error.response.status_code}: {error.response.text[:200]}"
            raise ProviderUnavailable("chroma", f"the Chroma server answers {problem}") from None
        except (httpx.HTTPError, ValueError) as error:
            problem = str(error) or type(error).__name__
            raise ProviderUnavailable("chroma", f"the Chroma server fails: {problem}") from None


def _batches(edition: str, vectors: dict[int, Sequence[float]]) -> list[dict[str, Any]]:
    numbers = list(vectors)
    parts = [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]
    return [
        {
            "ids": [f"{edition}-{number}" for number in part],
            "embeddings": [list(vectors[number]) for number in part],
            "metadatas": [{"edition": edition}] * len(part),
        }
        for part in parts
    ]


def _question(vector: Sequence[float], most: int, editions: list[str] | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "query_embeddings": [list(vector)],
        "n_results": most,
        "include": ["distances"],
    }
    return body if editions is None else {**body, "where": {"edition": {"$in": editions}}}


def _near(reply: Any) -> list[tuple[float, str]]:
    """Return those that point the same way at all: a distance under 1."""
    try:
        pairs = zip(reply["distances"][0], reply["ids"][0], strict=True)
        return [(float(distance), str(key)) for distance, key in pairs if distance < 1]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ProviderUnavailable("chroma", "Chroma's reply cannot be read") from None


def _library() -> ModuleType:
    try:
        for part in ("config", "errors"):
            importlib.import_module(f"chromadb.{part}")
        return importlib.import_module("chromadb")
    except ImportError:
        raise ConfigurationError(
            "KNOWLEDGE_STORE",
            'needs the extra for Chroma in a folder, `pip install "tanlu[chroma]"`, or CHROMA_URL',
        ) from None


T = TypeVar("T")
log = logging.getLogger(__name__)
FOLDER = "chroma"


class ChromaKnowledgeStore(SqliteKnowledgeStore):
    """Keep vectors in Chroma, one of its collections for each of ours and model.

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
        self._index = ServerIndex(url) if url else FolderIndex(folder / FOLDER)
        super().__init__(folder, embedder=f"chroma {embedder}")
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
        """Write vectors first, then the text in one transaction; then the old vectors go."""
        check_collection_names(document["collection"], owner)
        ready = await asyncio.to_thread(
            ready_document, document, chunks, owner=owner, shared=shared,
            vectors=vectors, embedder=self.embedder,
        )  # fmt: skip
        before = await self.read(lambda db: _homes(db, [document["id"]]))
        if vectors:
            name = self._collection_name(owner, document["collection"])
            numbered = dict(zip([c["number"] for c in chunks], vectors, strict=True))
            await self._do(self._index.add, name, ready.edition, numbered)
        ready.vectors.clear()
        ready.signs.clear()
        await self.keep(ready)
        await self._drop(before)

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, vector: Sequence[float] | None = None
    ) -> list[KnowledgeHit]:
        """Return hits, best first.

        With a vector, lexical and vector search fused by their ranks.
        """
        near = None if vector is None else await self._near(vector, scope, max(60, 3 * limit))
        return await self.find(query, scope, limit=limit, near=near)

    async def delete(self, documents: Collection[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        before = await self.read(lambda db: _homes(db, list(documents)))
        await super().delete(documents)
        await self._drop(before)

    async def aclose(self) -> None:
        await super().aclose()
        with contextlib.suppress(RuntimeError):
            await self._do(self._index.close)
        self._thread.shutdown(wait=True)

    async def _near(self, vector: Sequence[float], scope: Scope, most: int) -> Nearest:
        homes, editions = await self.read(lambda db: _seen_homes(db, scope))
        names = sorted({self._collection_name(owner, name) for owner, name in homes})
        matches: list[tuple[float, str]] = []
        for name in names:
            matches += await self._do(self._index.nearest, name, vector, most, editions)
        matches.sort()
        keys = [key for _, key in matches[:most]]
        return lambda db, within, _: _places(db, keys, within)

    async def _drop(self, homes: list[tuple[str, str, str]]) -> None:
        """Make room; what stays because Chroma is away is never found."""
        try:
            for owner, collection, edition in homes:
                await self._do(
                    self._index.remove, self._collection_name(owner, collection), edition
                )
        except ProviderUnavailable as error:
            log.warning("vectors of replaced documents stay in Chroma: %s", error)

    def _collection_name(self, owner: str, collection: str) -> str:
        """Return a unique name of 3 to 512 characters of a-z, 0-9 and -, readable if possible."""
        key = "\n".join([owner, collection, self._model])
        plain = (c if c.isascii() and c.isalnum() else " " for c in collection.lower())
        readable = "-".join("".join(plain).split())[:32]
        digest = hashlib.sha256(key.encode()).hexdigest()[:24]
        return "-".join(part for part in ("tanlu", readable, digest) if part)

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, partial(work, *arguments)
        )


def _seen_homes(
    db: sqlite3.Connection, scope: Scope
) -> tuple[list[tuple[str, str]], list[str] | None]:
    """Return Chroma's collections to ask, and the editions it may answer with (None: any)."""
    within = reading.seen(db, scope)
    of = db.execute(
        "SELECT owner, name FROM collections WHERE number IN (SELECT value FROM json_each(:c))",
        {"c": within.named()["collections"]},
    ).fetchall()
    if within.documents is None:
        return of, None
    rows = db.execute(
        "SELECT edition FROM documents WHERE number IN (SELECT value FROM json_each(:d))",
        {"d": within.named()["documents"]},
    )
    return of, [edition for (edition,) in rows]


def _homes(db: sqlite3.Connection, documents: list[str]) -> list[tuple[str, str, str]]:
    """Return owner, collection and edition of documents, where they are known."""
    statement = (
        "SELECT c.owner, c.name, d.edition FROM documents d"
        " JOIN collections c ON c.number = d.collection WHERE d.id = ? AND d.embedder != ''"
    )
    return [row for document in documents for row in db.execute(statement, (document,))]


def _places(db: sqlite3.Connection, keys: list[str], within: reading.Seen) -> list[int]:
    """Return the rows of Chroma's ids in the file; unknown ones are left out."""
    places = []
    for key in keys:
        edition, _, number = key.rpartition("-")
        row = db.execute(
            "SELECT collection, number FROM documents WHERE edition = ?", (edition,)
        ).fetchone()
        if row and row[0] in within.collections:
            places.append(place_of(row[0], row[1], int(number)))
    return places

"""Vectors in Chroma, by the library in a folder or by its REST interface on a server; both block.

The server is asked by a client of our own: the library's waits without limit and keeps its
connections open, and nothing need be installed for it.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from agent.errors import ConfigurationError, ProviderUnavailable
from agent.models.proxy import is_loopback
from agent.private_files import private_folder, private_tree

BATCH = 1_000
SECONDS = 30.0
_COSINE = {"hnsw:space": "cosine"}
_COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


class Shelf(Protocol):
    """Vectors by name of a collection; each belongs to an edition of a document."""

    def add(self, name: str, edition: str, vectors: dict[int, Sequence[float]]) -> None: ...

    def nearest(
        self, name: str, vector: Sequence[float], most: int, editions: list[str] | None
    ) -> list[tuple[float, str]]:
        """(cosine distance, edition-number), nearest first; only of these editions if given."""
        ...

    def remove(self, name: str, edition: str) -> None: ...

    def close(self) -> None: ...


def open_shelf(folder: Path, url: str | None) -> Shelf:
    """On the server where there is a URL; raises ConfigurationError. Nothing is opened yet."""
    return ServerShelf(url) if url else FolderShelf(folder)


class FolderShelf:
    """Chroma's files in a folder; one process at a time may write them."""

    def __init__(self, folder: Path) -> None:
        self._library, self._folder = _library(), folder
        self._client: Any = None

    def add(self, name: str, edition: str, vectors: dict[int, Sequence[float]]) -> None:
        held = self._opened().get_or_create_collection(
            name, embedding_function=None, metadata=_COSINE
        )
        for part in _batches(edition, vectors):
            self._asked(held.upsert, **part)

    def nearest(
        self, name: str, vector: Sequence[float], most: int, editions: list[str] | None
    ) -> list[tuple[float, str]]:
        held = self._held(name)
        if held is None:
            return []
        return _near(self._asked(held.query, **_question(vector, most, editions)))

    def remove(self, name: str, edition: str) -> None:
        if (held := self._held(name)) is not None:
            self._asked(held.delete, where={"edition": edition})

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
            # Chroma gives its files the modes of the umask.
            private_tree(self._folder)

    def _opened(self) -> Any:
        if self._client is None:
            self._asked(private_folder, self._folder)
            private_tree(self._folder)
            quiet = self._library.config.Settings(anonymized_telemetry=False)
            self._client = self._asked(
                self._library.PersistentClient, str(self._folder), settings=quiet
            )
        return self._client

    def _held(self, name: str) -> Any:
        try:
            return self._opened().get_collection(name, embedding_function=None)
        except self._library.errors.NotFoundError:
            return None

    def _asked(self, work: Any, *given: Any, **named: Any) -> Any:
        try:
            return work(*given, **named)
        except (self._library.errors.ChromaError, OSError, ValueError, RuntimeError) as error:
            raise ProviderUnavailable("chroma", f"Chroma fails: {error}") from None


class ServerShelf:
    """A Chroma server (1.x, its second REST interface), at most 30 s a call."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("CHROMA_URL", "must be like http://host:8000")
        self._client = httpx.Client(
            base_url=url,
            timeout=SECONDS,
            trust_env=not is_loopback(parts.hostname),
        )

    def add(self, name: str, edition: str, vectors: dict[int, Sequence[float]]) -> None:
        made = self._asked("POST", "", name=name, get_or_create=True, metadata=_COSINE)
        for part in _batches(edition, vectors):
            self._asked("POST", f"/{made['id']}/upsert", **part)

    def nearest(
        self, name: str, vector: Sequence[float], most: int, editions: list[str] | None
    ) -> list[tuple[float, str]]:
        held = self._asked("GET", f"/{name}")
        if held is None:
            return []
        return _near(
            self._asked("POST", f"/{held['id']}/query", **_question(vector, most, editions))
        )

    def remove(self, name: str, edition: str) -> None:
        if (held := self._asked("GET", f"/{name}")) is not None:
            self._asked("POST", f"/{held['id']}/delete", where={"edition": edition})

    def close(self) -> None:
        self._client.close()

    def _asked(self, method: str, path: str, **body: Any) -> Any:
        """The reply's JSON; None where there is no such collection."""
        try:
            reply = self._client.request(method, _COLLECTIONS + path, json=body or None)
            if reply.status_code == httpx.codes.NOT_FOUND and method == "GET":
                return None
            reply.raise_for_status()
            return reply.json()
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
    asked: dict[str, Any] = {
        "query_embeddings": [list(vector)],
        "n_results": most,
        "include": ["distances"],
    }
    return asked if editions is None else {**asked, "where": {"edition": {"$in": editions}}}


def _near(reply: Any) -> list[tuple[float, str]]:
    """Those that point the same way at all: a distance under 1."""
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
            'chroma in a folder needs the extra: pip install "tanlu[chroma]"; or set CHROMA_URL',
        ) from None

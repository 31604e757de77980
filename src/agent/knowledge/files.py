"""Add one file to the knowledge base: read, split, embed, store, and register it.

A row is written after the documents it speaks of, so a crash leaves a file that is read again and
replaces what it has put there. Deleting this file costs reading everything again, nothing else.
"""

import asyncio
import hashlib
import logging
import os
import sqlite3
import tempfile
from array import array
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from agent.core.budget import Meter
from agent.core.errors import BudgetExceeded, ProviderError
from agent.knowledge.embeddings import BatchEmbedder
from agent.knowledge.file_events import ReadEvent, title_from_path
from agent.knowledge.formats import FAILURES
from agent.knowledge.mineru import MAX_BYTES as MINERU_BYTES
from agent.knowledge.mineru import MinerU, place_on_pages
from agent.knowledge.readers import FileReaders
from agent.knowledge.split import Stretch
from agent.knowledge.sqlite import SqliteKnowledgeStore
from agent.knowledge.types import Chunk, KnownDocument
from agent.reading.parts import CannotRead, Note, note_text
from agent.runs.sql import SqliteFile

FILE_NAME = "knowledge-files.sqlite"
FileStatus = Literal["ready", "failed", "same", "writing"]
"""`writing`: documents of a table may be half there; read it again."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    owner TEXT NOT NULL, collection TEXT NOT NULL, key BLOB NOT NULL, shown TEXT NOT NULL,
    size INTEGER NOT NULL, mtime INTEGER NOT NULL, sha256 TEXT NOT NULL, status TEXT NOT NULL,
    code TEXT NOT NULL, documents INTEGER NOT NULL, chunks INTEGER NOT NULL, model TEXT NOT NULL,
    PRIMARY KEY (owner, collection, key)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class FileEntry:
    """Hold a file of one collection."""

    key: bytes
    """Its absolute path, as the system spells it."""
    shown: str
    size: int
    mtime: int
    """In nanoseconds, as `size` before it was read."""
    sha256: str
    status: FileStatus
    code: str = ""
    """Reason of a failure, as a code."""
    documents: int = 0
    """Number of documents put into the store; of a table at most so many."""
    chunks: int = 0
    model: str = ""
    """Of its vectors; empty without."""


_COLUMNS = ", ".join(field.name for field in fields(FileEntry))
_PLACES = ", ".join("?" for _ in fields(FileEntry))


class FileRegister:
    """Record the ingested files; usable from any event loop and from several processes."""

    def __init__(self, folder: Path) -> None:
        self._file = SqliteFile(folder / FILE_NAME, _prepare)

    async def entries(self, owner: str, collection: str) -> dict[bytes, FileEntry]:
        """Return every file of a collection by its key."""
        rows = await self._file.run(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM files WHERE owner = ? AND collection = ?",  # noqa: S608
                (owner, collection),
            ).fetchall()
        )
        return {row[0]: FileEntry(*row) for row in rows}

    async def entry(self, owner: str, collection: str, key: bytes) -> FileEntry | None:
        """Return one file, where it is known."""
        row = await self._file.run(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM files "  # noqa: S608
                "WHERE owner = ? AND collection = ? AND key = ?",
                (owner, collection, key),
            ).fetchone()
        )
        return FileEntry(*row) if row else None

    async def save(self, owner: str, collection: str, entry: FileEntry) -> None:
        """Keep what is known of a file now."""
        row = tuple(getattr(entry, field.name) for field in fields(FileEntry))
        await self._file.run(
            lambda db: db.execute(
                f"INSERT OR REPLACE INTO files (owner, collection, {_COLUMNS}) "  # noqa: S608
                f"VALUES (?, ?, {_PLACES})",
                (owner, collection, *row),
            )
        )

    async def forget(self, owner: str, collection: str, keys: Iterable[bytes]) -> None:
        """Remove files from the record, as if they had never been read."""
        rows = [(owner, collection, key) for key in keys]
        await self._file.run(
            lambda db: db.executemany(
                "DELETE FROM files WHERE owner = ? AND collection = ? AND key = ?", rows
            )
        )

    async def aclose(self) -> None:
        await self._file.aclose()


def _prepare(connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)


log = logging.getLogger(__name__)
_RESERVED = 500
"""Rows of a table that are registered at a time, before they are put."""
_EMBEDDED = 128


@dataclass(frozen=True)
class Destination:
    """Name the owner and collection that documents go to."""

    collection: str
    owner: str = ""
    shared: bool = False

    def document_id(self, key: bytes) -> str:
        """Return the same for the same file of the same collection and owner."""
        name = f"{self.owner}\0{self.collection}\0".encode() + key
        return hashlib.sha256(name).hexdigest()[:24]


def hash_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content; blocks."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class HashedFile:
    """Hold a file whose content is known by its hash."""

    key: bytes
    path: str
    shown: str
    kind: str
    size: int
    mtime: int
    sha256: str
    title: str = ""
    """Instead of the file's own."""
    url: str | None = None

    def entry(self, **details: Any) -> FileEntry:
        """Return the record of this file."""
        return FileEntry(self.key, self.shown, self.size, self.mtime, self.sha256, **details)


@dataclass(frozen=True)
class Tools:
    """Hold the tools for reading and keeping files."""

    store: SqliteKnowledgeStore
    register: FileRegister
    embedder: BatchEmbedder | None = None
    mineru: MinerU | None = None


@dataclass
class _Text:
    """Hold a document on its way to the store."""

    document: dict[str, Any]
    pieces: list[Stretch] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    unread: dict[str, list[int]] = field(default_factory=dict)
    """Pages without text, by why."""

    def take(self, event: ReadEvent) -> None:
        self.pieces.extend(Stretch(*chunk) for chunk in event.get("chunks", ()))
        if note := event.get("note"):
            self.notes.append(note)
        if unread := event.get("unread"):
            self.unread.setdefault(unread, []).append(event["page"])

    def said(self) -> list[Note]:
        """Return what a reader of this document should know of it."""
        unread: list[Note] = [
            {"key": why, "n": len(pages), "pages": _ranges(pages)}
            for why, pages in self.unread.items()
        ]
        return self.notes + unread


class CollectionWriter:
    """Add files to one collection; the readers' event loop is its own."""

    def __init__(
        self, tools: Tools, target: Destination, readers: FileReaders, meter: Meter
    ) -> None:
        self._tools, self._target, self._readers, self._meter = tools, target, readers, meter
        self.embedding_problem = ""
        """Reason why documents are put without vectors; "" while they are made."""

    @property
    def model(self) -> str:
        """Return the model of the vectors that documents get."""
        return self._tools.embedder.model if self._tools.embedder else ""

    async def keep(
        self, source: HashedFile, before: FileEntry | None
    ) -> tuple[FileEntry, list[Note]]:
        """Put a file's documents; what the register keeps now, and notes for the reader.

        Raises CannotRead (and nothing of the file is left) and the store's errors.
        """
        try:
            entry, notes = await self._put(source, before)
        except CannotRead as error:
            if str(error) != "file_unreadable":
                await self.remove(source.key, await self._entry(source) or before)
            raise
        await self._tools.register.save(self._target.owner, self._target.collection, entry)
        return entry, notes

    async def remove(self, key: bytes, before: FileEntry | None) -> None:
        """Take everything out of the store that a file has put there."""
        if before is not None:
            await self._tools.store.delete(self._ids(key, before.documents))

    async def _entry(self, source: HashedFile) -> FileEntry | None:
        target = self._target
        return await self._tools.register.entry(target.owner, target.collection, source.key)

    def _ids(self, key: bytes, documents: int) -> list[str]:
        base = self._target.document_id(key)
        return [base, *(f"{base}-{number}" for number in range(1, documents + 1))]

    async def _put(
        self, source: HashedFile, before: FileEntry | None
    ) -> tuple[FileEntry, list[Note]]:
        if source.kind == "pdf":
            return await self._put_one(source, await self._pdf(source), before)
        events = self._readers.read(source.path, source.kind)
        text: _Text | None = None
        async for event in events:
            if "document" in event:
                if "row" in event["document"]:
                    return await self._put_rows(source, event, events, before)
                text = _Text(event["document"])
            elif text:
                text.take(event)
        if text is None:
            raise CannotRead("page_empty")
        return await self._put_one(source, text, before)

    async def _put_one(
        self, source: HashedFile, text: _Text, before: FileEntry | None
    ) -> tuple[FileEntry, list[Note]]:
        base = self._target.document_id(source.key)
        embedded = await self._put_document(source, text, base)
        if before is not None and source.kind == "csv":
            await self._tools.store.delete(self._ids(source.key, before.documents)[1:])
        model = self.model if embedded else ""
        details = {"documents": 1, "chunks": len(text.pieces), "model": model}
        return source.entry(status="ready", **details), text.said()

    async def _put_rows(
        self,
        source: HashedFile,
        first: ReadEvent,
        events: AsyncIterator[ReadEvent],
        before: FileEntry | None,
    ) -> tuple[FileEntry, list[Note]]:
        """Put one document a row as they come, each registered before it is there."""
        old = before.documents if before else 0
        base, count, chunks, embedded = self._target.document_id(source.key), 0, 0, True
        reserved, notes = 0, list[Note]()
        async for text in _documents(first, events):
            count += 1
            if count > reserved:
                reserved = count + _RESERVED
                entry = source.entry(status="writing", documents=max(old, reserved))
                await self._tools.register.save(self._target.owner, self._target.collection, entry)
            embedded = await self._put_document(source, text, f"{base}-{count}") and embedded
            chunks += len(text.pieces)
            notes += text.said()
        outdated = self._ids(source.key, max(old, reserved))
        await self._tools.store.delete([outdated[0], *outdated[count + 1 :]])
        details = {"documents": count, "chunks": chunks, "model": self.model if embedded else ""}
        return source.entry(status="ready", **details), notes

    async def _put_document(self, source: HashedFile, text: _Text, name: str) -> bool:
        """Put it; whether it has vectors where they are wanted."""
        if not any(piece.text.strip() for piece in text.pieces):
            raise CannotRead("page_empty")
        title = source.title or text.document["title"]
        chunks = [
            Chunk(document=name, number=number, text=piece.text,
                  headings=list(piece.headings), page=piece.page)
            for number, piece in enumerate(text.pieces)
        ]  # fmt: skip
        metadata = {**text.document["metadata"]}
        if note := note_text(text.said(), "en"):
            metadata["note"] = note
        if text.unread:
            metadata["unread_pages"] = _ranges(sorted(chain(*text.unread.values())))
        document_record = KnownDocument(
            id=name, collection=self._target.collection, title=title, path=source.shown,
            url=source.url or text.document["url"], kind=source.kind,
            layer=text.document["layer"], sha256=source.sha256, status="ready", error=None,
            chunks=len(chunks), metadata=metadata,
        )  # fmt: skip
        vectors = await self._vectors(title, chunks)
        owner, shared = self._target.owner, self._target.shared
        await self._tools.store.put(document_record, chunks, vectors, owner=owner, shared=shared)
        return vectors is not None

    async def _vectors(self, title: str, chunks: Sequence[Chunk]) -> list["array[float]"] | None:
        """Return the vectors of each chunk under its headings.

        None without an embedder or on failure.
        """
        embedder = self._tools.embedder
        if embedder is None or self.embedding_problem:
            return None
        texts = ["\n".join([*(chunk["headings"] or [title]), chunk["text"]]) for chunk in chunks]
        vectors: list[array[float]] = []
        try:
            for at in range(0, len(texts), _EMBEDDED):
                embedded = await embedder.embed(texts[at : at + _EMBEDDED], meter=self._meter)
                # Lists of Python's floats would take eight times as much memory.
                vectors.extend(array("f", vector) for vector in embedded)
        except (ProviderError, BudgetExceeded) as error:
            log.warning("no vectors any more: %s", error)
            self.embedding_problem = error.message
            return None
        return vectors

    async def _pdf(self, source: HashedFile) -> _Text:
        """Read a PDF by the MinerU server where there is one, with pypdf's pages; else by pypdf."""
        own: _Text | CannotRead
        try:
            own = await self._whole(source.path, "pdf")
        except CannotRead as error:
            own = error
        mineru = self._tools.mineru
        problem = ""
        if mineru and source.size <= MINERU_BYTES and str(own) != "file_unreadable":
            try:
                return await self._by_mineru(mineru, source, own)
            except (ProviderError, BudgetExceeded) as error:
                problem = error.message
            except CannotRead as error:
                problem = FAILURES.get(str(error), "no text")
        if isinstance(own, CannotRead):
            raise own
        if problem:
            own.notes.append({"key": "mineru", "reason": problem})
        return own

    async def _by_mineru(
        self, mineru: MinerU, source: HashedFile, own: _Text | CannotRead
    ) -> _Text:
        markdown = await mineru.markdown(Path(source.path), meter=self._meter)
        # Split where other files are: what a document holds can keep a pattern busy for minutes.
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "document.md")
            await asyncio.to_thread(Path(file).write_text, markdown, "utf-8", "replace")
            text = await self._whole(file, "markdown")
        if isinstance(own, _Text):
            text.document = own.document
            text.pieces = await asyncio.to_thread(place_on_pages, text.pieces, own.pieces)
        elif text.document["title"] == "document":
            text.document["title"] = title_from_path(source.path)
        return text

    async def _whole(self, path: str, kind: str) -> _Text:
        """Read a file that is one text."""
        text: _Text | None = None
        async for event in self._readers.read(path, kind):
            if text is None and "document" in event:
                text = _Text(event["document"])
            elif text:
                text.take(event)
        if text is None or not text.pieces:
            raise CannotRead("page_empty")
        return text


async def _documents(first: ReadEvent, events: AsyncIterator[ReadEvent]) -> AsyncIterator[_Text]:
    text = _Text(first["document"])
    async for event in events:
        if "document" in event:
            yield text
            text = _Text(event["document"])
        else:
            text.take(event)
    yield text


_RUNS_SHOWN = 12


def _ranges(pages: Sequence[int]) -> str:
    """Return `3, 5–9`."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    more = ["…"] if len(parts) > _RUNS_SHOWN else []
    return ", ".join(parts[:_RUNS_SHOWN] + more)

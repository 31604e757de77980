"""Write documents into the knowledge base's file and delete them, one transaction a call.

A chunk's number packs its collection, document and place, so that the full-text index itself can
tell what a search may see. The index keeps no texts: the terms it was given are kept compressed
beside it, because taking a chunk out of it needs exactly those. (Positions cannot be left out of an
index without texts: FTS5 would then rank everything alike.)
"""

import json
import math
import sqlite3
import sys
import uuid
import zlib
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import mul

from agent.core.errors import ConfigurationError, InputError
from agent.knowledge.terms import terms
from agent.knowledge.types import Chunk, KnownDocument

VERSION = 1
PLACE_BITS, DOCUMENT_BITS, COLLECTION_BITS = 20, 24, 19
DOCUMENT_MASK, PLACE_MASK = (1 << DOCUMENT_BITS) - 1, (1 << PLACE_BITS) - 1
WAIT_MS = 300_000
"""Milliseconds a writer waits for others; a book of 10,000 chunks can take a minute."""
CACHE_KIB = 16_384

_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS collections (
    number INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, shared INTEGER NOT NULL,
    UNIQUE (owner, name)
);
CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, collection INTEGER NOT NULL,
    edition TEXT NOT NULL UNIQUE, chunks INTEGER NOT NULL, embedder TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_of ON documents (collection);
CREATE TABLE IF NOT EXISTS chunks (
    place INTEGER PRIMARY KEY, text TEXT NOT NULL, headings TEXT NOT NULL, page INTEGER,
    terms BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS headings (
    document INTEGER NOT NULL, position INTEGER NOT NULL, heading TEXT NOT NULL,
    PRIMARY KEY (document, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, dimensions INTEGER NOT NULL,
    UNIQUE (name, dimensions)
);
CREATE TABLE IF NOT EXISTS signs (place INTEGER PRIMARY KEY, model INTEGER, signs BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (place INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT OR IGNORE INTO totals VALUES ('chunks', 0);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    title, headings, body, content='', tokenize="ascii tokenchars '.'"
);
PRAGMA user_version = {version};
COMMIT;
"""


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables where they are missing; raises ConfigurationError where it cannot be."""
    connection.execute(f"PRAGMA busy_timeout={WAIT_MS}")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ConfigurationError(
            "TANLU_DATA_DIR", "Its knowledge.sqlite was made by a newer version of this program"
        )
    if version == VERSION:
        return
    try:
        connection.executescript(_TABLES.format(version=VERSION))
    except sqlite3.OperationalError as error:
        connection.rollback()
        if "fts5" in str(error):
            raise ConfigurationError(
                "KNOWLEDGE_STORE", "This Python's SQLite has no full-text search (FTS5)"
            ) from None
        raise


def place_of(collection: int, document: int, number: int) -> int:
    """Return a chunk's number in every table; raises ValueError beyond what it can hold."""
    if collection >> COLLECTION_BITS or document >> DOCUMENT_BITS or number >> PLACE_BITS:
        raise ValueError("the knowledge base is full, or the document has over a million chunks")
    return (collection << DOCUMENT_BITS | document) << PLACE_BITS | number


HEADINGS_OF_ONE = 200
_SPLIT = "\n"
_TAKE_OUT = "INSERT INTO words (words, rowid, title, headings, body) VALUES ('delete', ?, ?, ?, ?)"


@dataclass(frozen=True)
class ReadyChunk:
    """Hold a chunk as its rows; only packed are the terms small enough to hold those of a book."""

    number: int
    text: str
    headings: str
    page: int | None
    packed: bytes
    """The terms of title, headings and body."""


@dataclass(frozen=True)
class ReadyDocument:
    """Hold a document as its rows, worked out before the file is locked."""

    document: KnownDocument
    owner: str
    shared: bool
    chunks: list[ReadyChunk]
    headings: list[str]
    embedder: str = ""
    signs: list[bytes] = field(default_factory=list)
    vectors: list[bytes] = field(default_factory=list)
    dimensions: int = 0
    edition: str = field(default_factory=lambda: uuid.uuid4().hex)


def ready_chunks(title: str, chunks: Sequence[Chunk]) -> list[ReadyChunk]:
    """Return the chunks with their terms; some 0.3 ms each."""
    title_terms = " ".join(terms(title))
    return [_ready(chunk, title_terms) for chunk in chunks]


def _ready(chunk: Chunk, title_terms: str) -> ReadyChunk:
    heading_terms = " ".join(terms("\n".join(chunk["headings"])))
    fields = (title_terms, heading_terms, " ".join(terms(chunk["text"])))
    return ReadyChunk(
        number=chunk["number"],
        text=chunk["text"],
        headings=json.dumps(chunk["headings"], ensure_ascii=False),
        page=chunk["page"],
        packed=zlib.compress(_SPLIT.join(fields).encode(), 1),
    )


def document_headings(chunks: Sequence[Chunk]) -> list[str]:
    """Return the headings in their order, at most 200 of one document."""
    headings = (heading.strip() for chunk in chunks for heading in chunk["headings"])
    return list(dict.fromkeys(h for h in headings if h))[:HEADINGS_OF_ONE]


def packed_vectors(vectors: Sequence[Sequence[float]], chunks: int) -> tuple[list[bytes], int]:
    """Return float32 vectors, little-endian, and their dimensions; raise where they do not fit."""
    sizes = {len(vector) for vector in vectors}
    if len(vectors) != chunks or len(sizes) != 1 or 0 in sizes:
        raise ConfigurationError(
            "EMBEDDING_MODEL",
            f"gave {len(vectors)} vectors of sizes {sorted(sizes)} for {chunks} texts",
        )
    return [pack(vector) for vector in vectors], sizes.pop()


def pack(vector: Sequence[float]) -> bytes:
    """Pack a unit vector, so that comparing two is one product; of zeros, zeros."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    packed = array("f", [value / length for value in vector])
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(packed: bytes) -> "array[float]":
    """Unpack what `pack` has packed."""
    vector = array("f")
    vector.frombytes(packed)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


def sign_bits(vector: Sequence[float]) -> bytes:
    """Return one bit a dimension: near vectors agree in most, and that is quick to count."""
    bits = int("".join("1" if value > 0 else "0" for value in vector), 2)
    return bits.to_bytes((len(vector) + 7) // 8, "big")


def replace_document(db: sqlite3.Connection, ready: ReadyDocument) -> None:
    """Put the document in place of what its id had; raises InputError for another owner's id."""
    db.execute("BEGIN IMMEDIATE")
    document = ready.document
    old = db.execute(
        "SELECT d.number, c.owner FROM documents d JOIN collections c ON c.number = d.collection"
        " WHERE d.id = ?",
        (document["id"],),
    ).fetchone()
    if old and old[1] != ready.owner:
        raise InputError("document", f"The id {document['id']} belongs to another owner")
    if old:
        _remove(db, old[0])
    collection = _collection(db, ready)
    number = old[0] if old else _next_number(db)
    record = json.dumps({**document, "chunks": len(ready.chunks)}, ensure_ascii=False)
    db.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            document["id"],
            collection,
            ready.edition,
            len(ready.chunks),
            ready.embedder,
            record,
        ),
    )
    places = [place_of(collection, number, chunk.number) for chunk in ready.chunks]
    _add_chunks(db, ready, places)
    _add_vectors(db, ready, places)
    db.executemany(
        "INSERT INTO headings VALUES (?, ?, ?)",
        ((number, position, heading) for position, heading in enumerate(ready.headings)),
    )
    _forget_empty(db)


def _next_number(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT coalesce(max(number), 0) + 1 FROM documents").fetchone()
    return int(number)


def _collection(db: sqlite3.Connection, ready: ReadyDocument) -> int:
    """Return the last document put into it decides whether a collection is shared."""
    key = (ready.owner, ready.document["collection"])
    db.execute(
        "INSERT INTO collections (owner, name, shared) VALUES (?, ?, ?)"
        " ON CONFLICT (owner, name) DO UPDATE SET shared = excluded.shared",
        (*key, ready.shared),
    )
    row = db.execute("SELECT number FROM collections WHERE owner = ? AND name = ?", key).fetchone()
    return int(row[0])


def _add_chunks(db: sqlite3.Connection, ready: ReadyDocument, places: list[int]) -> None:
    pairs = list(zip(places, ready.chunks, strict=True))
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)",
        ((place, c.text, c.headings, c.page, c.packed) for place, c in pairs),
    )
    db.executemany(
        "INSERT INTO words (rowid, title, headings, body) VALUES (?, ?, ?, ?)",
        ((place, *_unpack_terms(c.packed)) for place, c in pairs),
    )
    _count(db, len(places))


def _add_vectors(db: sqlite3.Connection, ready: ReadyDocument, places: list[int]) -> None:
    if not ready.vectors:
        return
    key = (ready.embedder, ready.dimensions)
    db.execute("INSERT OR IGNORE INTO models (name, dimensions) VALUES (?, ?)", key)
    (model,) = db.execute(
        "SELECT number FROM models WHERE name = ? AND dimensions = ?", key
    ).fetchone()
    db.executemany(
        "INSERT INTO signs VALUES (?, ?, ?)",
        ((place, model, signs) for place, signs in zip(places, ready.signs, strict=True)),
    )
    db.executemany("INSERT INTO vectors VALUES (?, ?)", zip(places, ready.vectors, strict=True))


def remove_documents(db: sqlite3.Connection, documents: Collection[str]) -> None:
    """Take documents out; unknown ids are nothing."""
    db.execute("BEGIN IMMEDIATE")
    for (number,) in db.execute(
        "SELECT number FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(documents)),),
    ).fetchall():
        _remove(db, number)
    _forget_empty(db)


def _remove(db: sqlite3.Connection, number: int) -> None:
    (collection,) = db.execute(
        "SELECT collection FROM documents WHERE number = ?", (number,)
    ).fetchone()
    first = place_of(collection, number, 0)
    span = (first, first + (1 << PLACE_BITS) - 1)
    rows = db.execute("SELECT place, terms FROM chunks WHERE place BETWEEN ? AND ?", span)
    places = []
    for place, packed in rows:
        places.append(place)
        db.execute(_TAKE_OUT, (place, *_unpack_terms(packed)))
    for table in ("chunks", "signs", "vectors"):
        db.execute(f"DELETE FROM {table} WHERE place BETWEEN ? AND ?", span)  # noqa: S608
    db.execute("DELETE FROM headings WHERE document = ?", (number,))
    db.execute("DELETE FROM documents WHERE number = ?", (number,))
    _count(db, -len(places))


def _unpack_terms(packed: bytes) -> list[str]:
    return zlib.decompress(packed).decode().split(_SPLIT)


def _forget_empty(db: sqlite3.Connection) -> None:
    db.execute(
        "DELETE FROM collections WHERE NOT EXISTS"
        " (SELECT 1 FROM documents d WHERE d.collection = collections.number)"
    )


def _count(db: sqlite3.Connection, more: int) -> None:
    db.execute("UPDATE totals SET value = value + ? WHERE name = 'chunks'", (more,))

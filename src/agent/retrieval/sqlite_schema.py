"""The tables of the knowledge base's file, and where a chunk stands in them.

A chunk's number packs its collection, document and place, so that the full-text index itself can
tell what a search may see. The index keeps no texts: the terms it was given are kept compressed
beside it, because taking a chunk out of it needs exactly those. (Positions cannot be left out of an
index without texts: FTS5 would then rank everything alike.)
"""

import sqlite3

from agent.errors import ConfigurationError

VERSION = 1
PLACE_BITS, DOCUMENT_BITS, COLLECTION_BITS = 20, 24, 19
DOCUMENT_MASK, PLACE_MASK = (1 << DOCUMENT_BITS) - 1, (1 << PLACE_BITS) - 1
WAIT_MS = 300_000
"""How long a writer waits for others; a book of 10,000 chunks can take a busy machine a minute."""
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


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where they are missing; raises ConfigurationError where it cannot be."""
    connection.execute(f"PRAGMA busy_timeout={WAIT_MS}")
    connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ConfigurationError(
            "TANLU_DATA_DIR", "its knowledge.sqlite was made by a newer version of this program"
        )
    if version == VERSION:
        return
    try:
        connection.executescript(_TABLES.format(version=VERSION))
    except sqlite3.OperationalError as error:
        connection.rollback()
        if "fts5" in str(error):
            raise ConfigurationError(
                "KNOWLEDGE_STORE", "this Python's SQLite has no full-text search (FTS5)"
            ) from None
        raise


def place_of(collection: int, document: int, number: int) -> int:
    """A chunk's number in every table; raises ValueError beyond what it can hold."""
    if collection >> COLLECTION_BITS or document >> DOCUMENT_BITS or number >> PLACE_BITS:
        raise ValueError("the knowledge base is full, or the document has over a million chunks")
    return (collection << DOCUMENT_BITS | document) << PLACE_BITS | number

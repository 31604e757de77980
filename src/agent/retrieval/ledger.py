"""What is known of files that were read into the knowledge base: `knowledge-files.sqlite`.

A row is written after the documents it speaks of, so a crash leaves a file that is read again and
replaces what it has put there. Deleting this file costs reading everything again, nothing else.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from agent.journal import SqliteFile

FILE_NAME = "knowledge-files.sqlite"
Status = Literal["ready", "failed", "same", "writing"]
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
class Entry:
    """A file of one collection."""

    key: bytes
    """Its absolute path, as the system spells it."""
    shown: str
    size: int
    mtime: int
    """In nanoseconds, as `size` before it was read."""
    sha256: str
    status: Status
    code: str = ""
    """Why it failed."""
    documents: int = 0
    """How many it has put into the store; of a table at most so many."""
    chunks: int = 0
    model: str = ""
    """Of its vectors; empty without."""


_COLUMNS = ", ".join(field.name for field in fields(Entry))
_PLACES = ", ".join("?" for _ in fields(Entry))


class Ledger:
    """Usable from any event loop and from several processes."""

    def __init__(self, folder: Path) -> None:
        self._file = SqliteFile(folder / FILE_NAME, lambda db: _prepare(db))

    async def entries(self, owner: str, collection: str) -> dict[bytes, Entry]:
        """Every file of a collection by its key."""
        rows = await self._file.run(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM files WHERE owner = ? AND collection = ?",  # noqa: S608
                (owner, collection),
            ).fetchall()
        )
        return {row[0]: Entry(*row) for row in rows}

    async def entry(self, owner: str, collection: str, key: bytes) -> Entry | None:
        """One file, where it is known."""
        row = await self._file.run(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM files "  # noqa: S608
                "WHERE owner = ? AND collection = ? AND key = ?",
                (owner, collection, key),
            ).fetchone()
        )
        return Entry(*row) if row else None

    async def save(self, owner: str, collection: str, entry: Entry) -> None:
        """Keep what is known of a file now."""
        row = tuple(getattr(entry, field.name) for field in fields(Entry))
        await self._file.run(
            lambda db: db.execute(
                f"INSERT OR REPLACE INTO files (owner, collection, {_COLUMNS}) "  # noqa: S608
                f"VALUES (?, ?, {_PLACES})",
                (owner, collection, *row),
            )
        )

    async def forget(self, owner: str, collection: str, keys: Iterable[bytes]) -> None:
        """These files were never read."""
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

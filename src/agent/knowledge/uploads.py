"""Keep the files that people give through the page, and read them into their collections.

Each owner has a folder below `uploads` of the data folder, and in it one for each collection. A
file stays there as long as its documents are in the knowledge base, and counts for its owner.
"""

import asyncio
import contextlib
import os
import tempfile
import time
import unicodedata
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from agent.core.private_files import private_folder
from agent.core.strings import one_line, valid_text
from agent.knowledge.base import KnowledgeBase
from agent.knowledge.files import Destination
from agent.knowledge.formats import FAILURES
from agent.knowledge.ingest import FileResult
from agent.knowledge.types import Scope

MOST_FILES: Final = 2000
"""Of one owner."""
MOST_LISTED: Final = 1000
"""Documents of a collection whose files are listed."""
_LONGEST_NAME: Final = 150
"""Bytes in UTF-8; file systems take 255, and a part has a longer name."""
_PIECE: Final = 1 << 20
_READ_SECONDS: Final = 600.0
_PART: Final = ".part-"
_IN: Final = "in-"
_STALE_SECONDS: Final = 3600.0


class NotKept(Exception):
    """Signal that a file is not taken, with a code: `too_large`, `no_room`, `no_name`."""


@dataclass(frozen=True)
class UploadLimits:
    """Bound what is taken, in bytes."""

    file: int
    owner: int


class Uploads:
    """Take, list and remove the files of owners; an owner's are taken one after another."""

    def __init__(self, folder: Path, knowledge: KnowledgeBase, limits: UploadLimits) -> None:
        """`folder` is absolute."""
        self._folder, self._knowledge, self.limits = folder, knowledge, limits
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._reading = asyncio.Semaphore(2)

    async def take(
        self, target: Destination, name: str, pieces: AsyncIterator[bytes]
    ) -> FileResult:
        """Write a file to its owner's folder and read it; what cannot be read is not kept.

        A file of the same name is replaced. Raises NotKept, and the knowledge base's errors.
        """
        if not (safe := upload_name(name)):
            raise NotKept("no_name")
        folder = self._collection(target)
        async with self._turns[target.owner]:
            part = await self._written(folder, target.owner, pieces)
            try:
                async with self._reading:
                    return await self._kept(part, folder / safe, target)
            finally:
                await asyncio.to_thread(part.unlink, missing_ok=True)

    async def listed(self, owner: str) -> list[dict[str, Any]]:
        """Return the owner's collections with their files, and the shared ones."""
        names: dict[str, dict[str, Any]] = {}
        for each in await self._knowledge.collections(owner):
            one = names.setdefault(each["name"], {"name": each["name"], "own": False, "count": 0})
            one["own"] = one["own"] or each["owner"] == owner
            one["count"] += each["documents"]
        for name in await asyncio.to_thread(self._given, owner):
            names.setdefault(name, {"name": name, "own": True, "count": 0})
        for name, one in names.items():
            one["files"] = await self._files(Destination(name, owner), one["count"])
        return [one for one in names.values() if one["count"] or one["files"]]

    async def used(self, owner: str) -> int:
        """Return the bytes that an owner's files take."""
        return await asyncio.to_thread(lambda: _used(self._owner(owner))[0])

    async def remove(self, target: Destination, file: str) -> bool:
        """Remove a file that was uploaded, with its documents; False where there is none."""
        async with self._turns[target.owner]:
            path = (await asyncio.to_thread(self._present, target)).get(file)
            if path is None:
                return False
            await self._knowledge.forget(path, target)
            await asyncio.to_thread(path.unlink, missing_ok=True)
        return True

    def _owner(self, owner: str) -> Path:
        # An owner may be called "..".
        return self._folder / f"of-{owner}"

    def _collection(self, target: Destination) -> Path:
        return self._owner(target.owner) / f"{_IN}{target.collection}"

    def _given(self, owner: str) -> list[str]:
        """Return the collections that an owner has given a file to."""
        with contextlib.suppress(OSError):
            return sorted(path.name.removeprefix(_IN) for path in self._owner(owner).iterdir())
        return []

    def _present(self, target: Destination) -> dict[str, Path]:
        """Return the uploaded files of a collection by the ids of their documents."""
        with contextlib.suppress(OSError):
            files = [path for path in self._collection(target).iterdir() if path.name[0] != "."]
            return {target.document_id(os.fsencode(path)): path for path in files}
        return {}

    async def _files(self, target: Destination, count: int) -> list[dict[str, Any]]:
        if count > MOST_LISTED:
            return []
        present = await asyncio.to_thread(self._present, target)
        # Where a server was killed as it read a file, that is there, and counts, without documents.
        files: dict[str, dict[str, Any]] = {
            id: {"id": id, "name": path.name, "passages": 0, "uploaded": True}
            for id, path in present.items()
        }
        scope = Scope((target.collection,), target.owner)
        for document in await self._knowledge.documents(scope):
            id = document["id"].partition("-")[0]
            new = {"id": id, "name": document["path"], "passages": 0, "uploaded": False}
            files.setdefault(id, new)["passages"] += document["chunks"]
        return list(files.values())

    async def _written(self, folder: Path, owner: str, pieces: AsyncIterator[bytes]) -> Path:
        """Write what comes to a part of a file; nothing is left of one that is not taken."""
        used, count = await asyncio.to_thread(_used, self._owner(owner))
        if count >= MOST_FILES:
            raise NotKept("no_room")
        file, path = await asyncio.to_thread(_part, folder)
        size, waiting = 0, bytearray()
        try:
            async for piece in pieces:
                size += len(piece)
                if size > self.limits.file:
                    raise NotKept("too_large")
                if used + size > self.limits.owner:
                    raise NotKept("no_room")
                waiting += piece
                if len(waiting) >= _PIECE:
                    await asyncio.to_thread(file.write, bytes(waiting))
                    waiting.clear()
            await asyncio.to_thread(file.write, bytes(waiting))
            await asyncio.to_thread(file.close)
        except BaseException:
            # In a thread: `langgraph dev` lets nothing wait for a disk in its event loop.
            await asyncio.to_thread(_discard, file, path)
            raise
        return path

    async def _kept(self, part: Path, path: Path, target: Destination) -> FileResult:
        """Read a file under its name; where that fails, what had the name before is there again."""
        before = part.with_name(f"{part.name}-before")
        had = await asyncio.to_thread(path.exists)
        if had:
            await asyncio.to_thread(os.replace, path, before)
        result = FileResult(path.name, "failed", FAILURES["timeout"], "timeout")
        try:
            await asyncio.to_thread(os.replace, part, path)
            result = await self._read(path, target)
        finally:
            if result.outcome not in ("read", "unchanged"):
                await self._knowledge.forget(path, target)
                await asyncio.to_thread(path.unlink, missing_ok=True)
                if had:
                    await asyncio.to_thread(os.replace, before, path)
                    await self._read(path, target)
            await asyncio.to_thread(before.unlink, missing_ok=True)
        return result

    async def _read(self, path: Path, target: Destination) -> FileResult:
        ingest = await self._knowledge.ingest([path], target=target, retry=True)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                report = await ingest.run()
        except TimeoutError:
            return FileResult(path.name, "failed", FAILURES["timeout"], "timeout")
        if not report.results:
            return FileResult(path.name, "unchanged")
        return replace(report.results[0], path=path.name)


def upload_name(name: str) -> str:
    """Return a file's name as it is kept: its last part, on one line, not hidden, not too long.

    >>> safe_name("../../etc/.bashrc")
    'bashrc'
    """
    last = valid_text(name).replace("\\", "/").rsplit("/", 1)[-1]
    plain = one_line(unicodedata.normalize("NFC", last)).strip(" .")
    stem, dot, ending = plain.rpartition(".")
    if not dot or len(ending.encode()) > _LONGEST_NAME // 4:
        return _cut(plain, _LONGEST_NAME)
    return f"{_cut(stem, _LONGEST_NAME - len(ending.encode()) - 1)}.{ending}"


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore").strip(" .")


def _part(folder: Path) -> tuple[BinaryIO, Path]:
    private_folder(folder)
    handle, name = tempfile.mkstemp(prefix=_PART, dir=folder)
    return cast(BinaryIO, os.fdopen(handle, "wb")), Path(name)


def _discard(file: BinaryIO, path: Path) -> None:
    try:
        file.close()
    finally:
        path.unlink(missing_ok=True)


def _used(folder: Path) -> tuple[int, int]:
    """Return the bytes and the number of an owner's files; parts that a crash left go."""
    size = count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                status = path.stat()
                if name.startswith(_PART) and status.st_mtime < time.time() - _STALE_SECONDS:
                    path.unlink()
                    continue
                size, count = size + status.st_size, count + 1
    return size, count

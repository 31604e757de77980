"""Add many files to the knowledge base: only new and changed ones, whatever ended the last run."""

import asyncio
import contextlib
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agent.core.budget import Meter
from agent.core.concurrency import together
from agent.core.errors import InputError
from agent.core.strings import valid_text
from agent.knowledge.files import (
    CollectionWriter,
    Destination,
    FileEntry,
    HashedFile,
    Tools,
    hash_of,
)
from agent.knowledge.formats import FAILURES, MAX_BYTES, file_kind
from agent.knowledge.readers import FileReaders, ReadLimits
from agent.knowledge.types import Scope
from agent.reading.parts import CannotRead, Note, note_text

FileOutcome = Literal["read", "unchanged", "same", "failed", "left_out", "gone", "removed"]
"""`same`: another file has this content; `left_out`: a type that is not read, in a folder;
`gone`: it was read once and is not there any more; `removed`: that is out of the store, too."""


@dataclass(frozen=True)
class FileResult:
    """Hold a file; `path` is as a citation names it."""

    path: str
    outcome: FileOutcome
    reason: str = ""
    """Reason of a failure or an omission, or the file it is the same as."""
    code: str = ""
    documents: int = 0
    chunks: int = 0
    notes: Sequence[Note] = ()
    """For the reader of a file that was read."""

    @property
    def note(self) -> str:
        """Return the notes for the command line."""
        return note_text(self.notes, "en")


AS_BEFORE: Note = {"key": "as_before"}


@dataclass
class Report:
    """Hold a run of reading files in."""

    results: list[FileResult] = field(default_factory=list)
    """All but unchanged files."""
    counts: Counter[str] = field(default_factory=Counter)
    total: int = 0
    chunks: int = 0
    documents: int = 0
    seconds: float = 0.0
    stopped: bool = False
    """It was interrupted; what is left is read by the next run."""
    notes: list[str] = field(default_factory=list)

    def add(self, result: FileResult) -> None:
        self.counts[result.outcome] += 1
        self.chunks += result.chunks
        self.documents += result.documents
        if result.outcome != "unchanged":
            self.results.append(result)

    def of(self, outcome: FileOutcome) -> Iterator[FileResult]:
        return (result for result in self.results if result.outcome == outcome)

    @property
    def failed(self) -> list[FileResult]:
        return list(self.of("failed"))

    @property
    def done(self) -> int:
        """Return the number of files that were looked at."""
        return sum(n for outcome, n in self.counts.items() if outcome not in ("gone", "removed"))


class IngestListener:
    """Hear of a run's progress; this one tells nobody."""

    def begin(self, total: int) -> None: ...

    def file_done(self, result: FileResult, report: Report) -> None: ...

    def notice(self, line: str) -> None: ...


@dataclass(frozen=True)
class FoundFile:
    """Hold a file to be read."""

    path: str
    """Absolute, as it was found; may hold surrogates where the name is not UTF-8."""
    shown: str
    """Below the folder that was named, with that folder's name."""
    kind: str | None
    size: int
    mtime: int
    named: bool
    """It was named itself, not found in a folder."""

    @property
    def key(self) -> bytes:
        return os.fsencode(self.path)


@dataclass
class Walk:
    """Hold the files of a walk; `problems` are folders and links that cannot be followed."""

    files: list[FoundFile] = field(default_factory=list)
    problems: list[FileResult] = field(default_factory=list)
    blind: list[bytes] = field(default_factory=list)
    """Folders that could not be listed: what is known below them is not gone."""
    roots: list[bytes] = field(default_factory=list)

    def covers(self, key: bytes) -> bool:
        """Tell whether a file of this key would have been found if it were there."""
        below = any(key == root or key.startswith(_below(root)) for root in self.roots)
        return below and not any(key.startswith(_below(folder)) for folder in self.blind)


def _below(folder: bytes) -> bytes:
    return folder.rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)


def walk(paths: Sequence[Path]) -> Walk:
    """Return files in the order of their names, without hidden and repeated ones.

    Blocks. Raises InputError for a path that is not there.
    """
    result, visited = Walk(), set[tuple[int, int]]()
    for path in paths:
        absolute = os.path.abspath(path)
        try:
            status = os.stat(absolute)
        except OSError as error:
            raise InputError(
                "PATH", f"cannot be read, {show(str(path))}: {error.strerror}"
            ) from None
        result.roots.append(os.fsencode(absolute))
        name = os.path.basename(absolute)
        if stat.S_ISDIR(status.st_mode):
            _walk_folder(absolute, name, result, visited)
        else:
            _add(absolute, name, status, result, visited, named=True)
    return result


def _walk_folder(top: str, label: str, result: Walk, visited: set[tuple[int, int]]) -> None:
    waiting = [(top, label)]
    while waiting:
        folder, name = waiting.pop()
        deeper: list[tuple[str, str]] = []
        for entry in _entries(folder, name, result, visited):
            below = os.path.join(name, entry.name) if name else entry.name
            try:
                status = entry.stat()
            except OSError as error:
                reason = error.strerror or "cannot be read"
                result.problems.append(FileResult(show(below), "failed", reason, "file_unreadable"))
                continue
            if stat.S_ISDIR(status.st_mode):
                deeper.append((entry.path, below))
            else:
                _add(entry.path, below, status, result, visited, named=False)
        waiting.extend(reversed(deeper))


def _entries(
    folder: str, label: str, result: Walk, visited: set[tuple[int, int]]
) -> Iterator["os.DirEntry[str]"]:
    """Yield a folder's visible entries by name; none of a folder that was listed already."""
    try:
        status = os.stat(folder)
        if _is_repeated(status, visited):
            return
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        reason = error.strerror or "cannot be listed"
        result.problems.append(FileResult(show(label), "failed", reason, "file_unreadable"))
        result.blind.append(os.fsencode(folder))
        return
    yield from (entry for entry in entries if not entry.name.startswith("."))


def _add(
    path: str, shown: str, status: os.stat_result, result: Walk, visited: set[tuple[int, int]],
    *, named: bool,
) -> None:  # fmt: skip
    """Add a file; a device or a pipe would keep its reader for ever."""
    if not stat.S_ISREG(status.st_mode):
        result.problems.append(FileResult(show(shown), "left_out", "not a file", "page_kind"))
        return
    if _is_repeated(status, visited):
        return
    result.files.append(
        FoundFile(
            path=path,
            shown=show(shown),
            kind=file_kind(Path(path)),
            size=status.st_size,
            mtime=status.st_mtime_ns,
            named=named,
        )
    )


def _is_repeated(status: os.stat_result, visited: set[tuple[int, int]]) -> bool:
    """Link lead to the same file or folder again; Windows may not number them."""
    place = (status.st_dev, status.st_ino)
    if not status.st_ino:
        return False
    if place in visited:
        return True
    visited.add(place)
    return False


def show(path: str) -> str:
    """Return a path as text, with `/` between its parts."""
    text = valid_text(os.fsencode(path).decode("utf-8", "replace"))
    return text.replace(os.sep, "/")


NOT_REMEMBERED = ("file_unreadable",)
"""Failures that may end without the file being changed."""


@dataclass(frozen=True)
class IngestPlan:
    """Hold the request of a run."""

    paths: tuple[Path, ...]
    target: Destination
    retry: bool = False
    """Try again what failed and has not changed."""
    prune: bool = False
    """Take files out that are not there any more."""
    workers: int = 0
    """Processes that read; 0 is as many as processors, at most four."""


class Ingest:
    """Ingest files in one run; `stop` lets the files in flight be finished."""

    def __init__(
        self,
        tools: Tools,
        plan: IngestPlan,
        meter: Meter,
        *,
        listener: IngestListener | None = None,
        limits: ReadLimits | None = None,
    ) -> None:
        self._tools, self._plan, self._meter = tools, plan, meter
        self._listener = listener or IngestListener()
        self._limits = limits
        self._known: dict[bytes, FileEntry] = {}
        self._first: dict[str, tuple[bytes, str]] = {}
        """Content → the file that has put it into the store: key and path."""
        self._busy: dict[str, asyncio.Lock] = {}
        self.report = Report()

    def stop(self) -> None:
        """Begin no further file."""
        self.report.stopped = True

    async def run(self) -> Report:
        """Read what is to be read. Raises InputError for paths, ProviderError for the store."""
        began, plan = time.monotonic(), self._plan
        result = await asyncio.to_thread(walk, plan.paths)
        await self._learn()
        self.report.total = len(result.files) + len(result.problems)
        self._listener.begin(self.report.total)
        for problem in result.problems:
            self._tell_of(problem)
        workers = plan.workers or min(4, os.cpu_count() or 1)
        async with FileReaders(workers, self._limits) as readers:
            filing = CollectionWriter(self._tools, plan.target, readers, self._meter)
            files = iter(result.files)
            # One more than reads, so that the store is not waited for.
            await together([self._work(files, filing) for _ in range(workers + 1)])
            await self._handle_missing(result, filing)
            self._note_embedding(filing)
        self.report.stopped = self.report.stopped and self.report.done < self.report.total
        self.report.seconds = time.monotonic() - began
        return self.report

    async def _learn(self) -> None:
        """Load the files that earlier runs have read, as far as the store still has them."""
        target, store = self._plan.target, self._tools.store
        self._known = await self._tools.register.entries(target.owner, target.collection)
        ready = {key: e for key, e in self._known.items() if e.status == "ready"}
        mine = [c for c in await store.collections(target.owner)
                if (c["name"], c["owner"]) == (target.collection, target.owner)]  # fmt: skip
        if sum(c["documents"] for c in mine) != sum(e.documents for e in ready.values()):
            await self._distrust(ready)
        present = await asyncio.to_thread(_still_there, ready)
        self._first = {e.sha256: (key, e.shown) for key, e in ready.items() if key in present}

    async def _distrust(self, ready: dict[bytes, FileEntry]) -> None:
        """Store and register differ: forget the files whose documents are not in the store."""
        target = self._plan.target
        scope = Scope((target.collection,), target.owner)
        there = {
            document["id"].partition("-")[0]
            for document in await self._tools.store.documents(scope)
        }
        for key in list(ready):
            if target.document_id(key) not in there:
                del ready[key], self._known[key]

    async def _work(self, files: Iterator[FoundFile], filing: CollectionWriter) -> None:
        for file in files:
            if self.report.stopped:
                return
            self._tell_of(await self._one(file, filing))
            await asyncio.sleep(0)

    def _tell_of(self, result: FileResult) -> None:
        self.report.add(result)
        self._listener.file_done(result, self.report)

    async def _one(self, file: FoundFile, filing: CollectionWriter) -> FileResult:
        """Ingest one file, or find that it needs no reading."""
        if file.kind is None:
            outcome: FileOutcome = "failed" if file.named else "left_out"
            return replace(_failure(file, "page_kind"), outcome=outcome)
        before = self._known.get(file.key)
        same = before and (before.size, before.mtime) == (file.size, file.mtime)
        if before and same and (result := self._as_before(file, before, filing.model)):
            return result
        try:
            if file.size == 0:
                raise CannotRead("page_empty")
            if file.size > MAX_BYTES[file.kind]:
                raise CannotRead("too_large")
            sha256 = await asyncio.to_thread(hash_of, file.path)
        except CannotRead as error:
            return await self._cannot(file, str(error), "", before, filing)
        except OSError:
            return _failure(file, "file_unreadable")
        async with self._busy.setdefault(sha256, asyncio.Lock()):
            return await self._by_content(file, file.kind, sha256, before, filing)

    async def _by_content(
        self,
        file: FoundFile,
        kind: str,
        sha256: str,
        before: FileEntry | None,
        filing: CollectionWriter,
    ) -> FileResult:
        if before and before.sha256 == sha256:
            result = self._as_before(file, before, filing.model)
            if result:
                await self._save(replace(before, size=file.size, mtime=file.mtime))
                return result
        source = HashedFile(file.key, file.path, file.shown, kind, file.size, file.mtime, sha256)
        first = self._first.get(sha256)
        if first and first[0] != file.key:
            await filing.remove(file.key, before)
            await self._save(source.entry(status="same"))
            return FileResult(file.shown, "same", f"the same as {first[1]}")
        try:
            entry, notes = await filing.keep(source, before)
        except CannotRead as error:
            return await self._cannot(file, str(error), sha256, None, filing)
        self._first[sha256] = (file.key, file.shown)
        return FileResult(
            file.shown, "read", documents=entry.documents, chunks=entry.chunks, notes=notes
        )

    def _as_before(self, file: FoundFile, before: FileEntry, model: str) -> FileResult | None:
        """Return the result for an unchanged file; None where it is to be read nevertheless."""
        if before.status == "failed" and not self._plan.retry:
            return replace(_failure(file, before.code), notes=[AS_BEFORE])
        first = self._first.get(before.sha256)
        if before.status == "same" and first and first[0] != file.key:
            return FileResult(file.shown, "unchanged")
        current = before.status == "ready" and (not model or before.model == model)
        return FileResult(file.shown, "unchanged") if current else None

    async def _cannot(
        self,
        file: FoundFile,
        code: str,
        sha256: str,
        before: FileEntry | None,
        filing: CollectionWriter,
    ) -> FileResult:
        """Record a failure until the file changes; the file's earlier content is outdated."""
        if code not in NOT_REMEMBERED:
            await filing.remove(file.key, before)
            name, size, mtime = file.shown, file.size, file.mtime
            await self._save(FileEntry(file.key, name, size, mtime, sha256, "failed", code))
        return _failure(file, code)

    async def _save(self, entry: FileEntry) -> None:
        target = self._plan.target
        await self._tools.register.save(target.owner, target.collection, entry)

    async def _handle_missing(self, result: Walk, filing: CollectionWriter) -> None:
        """Handle files that were read once and would be in the walk if they were still there."""
        here = {file.key for file in result.files}
        for key, entry in self._known.items():
            if key in here or not result.covers(key):
                continue
            if await asyncio.to_thread(os.path.lexists, os.fsdecode(key)):
                continue
            if self._plan.prune and not self.report.stopped:
                await filing.remove(key, entry)
                target = self._plan.target
                await self._tools.register.forget(target.owner, target.collection, [key])
                self._tell_of(FileResult(entry.shown, "removed"))
            elif entry.documents:
                self._tell_of(FileResult(entry.shown, "gone", self._present_path(entry)))

    def _present_path(self, entry: FileEntry) -> str:
        """Return the present path of a missing file's content: until pruned it is there twice."""
        now = self._first.get(entry.sha256)
        return f"its content is {now[1]} now" if now else ""

    def _note_embedding(self, filing: CollectionWriter) -> None:
        if filing.embedding_problem:
            self.report.notes.append(
                f"some files have no vectors yet ({filing.embedding_problem}); they are found by "
                "their words, and the next run adds the vectors"
            )


def _failure(file: FoundFile, code: str) -> FileResult:
    return FileResult(file.shown, "failed", _reason(file, code), code)


def _reason(file: FoundFile, code: str) -> str:
    """Return the reason of a failure, and its remedy where that is not plain."""
    reason = FAILURES.get(code, code)
    if code == "file_unreadable" and not os.path.lexists(file.path):
        return "it was removed meanwhile"
    if code == "too_large" and file.kind:
        return f"{reason} (over {MAX_BYTES[file.kind] >> 20} MiB)"
    if code == "page_empty" and file.kind == "pdf" and file.size:
        return f"{reason}; only MinerU reads scans (MINERU_URL)"
    return reason


def _still_there(ready: dict[bytes, FileEntry]) -> set[bytes]:
    """Return the files that are as they were when they were read."""
    there = set()
    for key, entry in ready.items():
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(os.fsdecode(key))
            if (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime):
                there.add(key)
    return there

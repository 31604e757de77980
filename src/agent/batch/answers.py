"""Keep the rows of a batch, and write ANSWERS from them in one of three formats."""

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NotRequired, Self, TypeVar, cast, get_args

from typing_extensions import TypedDict

from agent.batch.disk import FileLock, replace_file, sync_folder, unfinished
from agent.core.errors import AgentError, InputError

Status = Literal["answered", "no_answer", "failed", "skipped", "paused"]


class RowSource(TypedDict):
    number: int
    title: str
    url: str


class Row(TypedDict):
    """One answered (or not answered) question; `config` says under which configuration."""

    id: str
    question: str
    answer: str
    status: Status
    error: str | None
    sources: list[RowSource]
    usage: dict[str, Any]
    """agent.evidence.types.Usage; `cost_usd` is what counts towards a file's cost."""
    models: dict[str, str]
    seconds: float
    config: str
    attempt: int
    """Rows of this (id, config) that came before."""
    earlier_cost_usd: NotRequired[float]
    """US dollars that attempts before this row had cost."""


_KINDS: dict[str, tuple[type, ...]] = {
    "question": (str,),
    "answer": (str,),
    "error": (str, type(None)),
    "sources": (list,),
    "usage": (dict,),
    "models": (dict,),
    "seconds": (float, int),
    "attempt": (int,),
    "earlier_cost_usd": (float, int),
}


def parsed(line: bytes) -> Row | None:
    """Return a line's row, or None; a field that a foreign hand left out or broke is empty."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("status") not in get_args(Status):
        return None
    if not all(isinstance(found.get(name), str) for name in ("id", "config")):
        return None
    for name, kinds in _KINDS.items():
        if name not in found or not isinstance(found[name], kinds):
            found[name] = None if name == "error" else kinds[0]()
    if not found["earlier_cost_usd"]:
        del found["earlier_cost_usd"]
    return cast(Row, found)


def line_of(row: Row) -> bytes:
    """With its newline; half characters, which UTF-8 cannot hold, become question marks."""
    ordered = {"id": row["id"], **row}
    text = json.dumps(ordered, ensure_ascii=False, default=str)
    return f"{text}\n".encode(errors="replace")


def cost_of(row: Row) -> float:
    """Of this attempt alone, US dollars."""
    cost = row["usage"].get("cost_usd")
    return float(cost) if isinstance(cost, int | float) and cost > 0 else 0.0


_FIRST = b'{"id"'
"""The beginning of every line that we write."""
Key = tuple[str, str]
"""id and config"""


@dataclass(frozen=True)
class Entry:
    """Hold in memory what is needed of the last row of one (id, config)."""

    status: Status
    attempts: int
    """Rows so far: the number of the next attempt."""
    cost_usd: float
    """Of all its attempts."""
    offset: int
    length: int


class _Index:
    """Find the last row of each key; built line by line."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.broken = self.size = 0
        self.cost_usd = 0.0

    def add(self, line: bytes) -> None:
        row = parsed(line)
        if row is not None:
            key = (row["id"], row["config"])
            before = self.entries.get(key)
            cost = cost_of(row) + row.get("earlier_cost_usd", 0.0)
            self.entries[key] = Entry(
                status=row["status"],
                attempts=max(before.attempts if before else 0, row["attempt"]) + 1,
                cost_usd=(before.cost_usd if before else 0.0) + cost,
                offset=self.size,
                length=len(line),
            )
            self.cost_usd += cost
        elif line.strip():
            self.broken += 1
        self.size += len(line)

    def keys(self, order: Sequence[str], config: str | None) -> list[Key]:
        place = {id: number for number, id in enumerate(dict.fromkeys(order))}
        keys = [key for key in self.entries if config in (None, key[1])]
        return sorted(keys, key=lambda key: place.get(key[0], len(place)))


class Store:
    """InputError("ANSWERS", …) from `open`, AgentError from the rest."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.index = _Index()
        self.repaired = False
        self._file: FileIO | None = None
        self._lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))

    def open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            unfinished(self.path).unlink(missing_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise InputError("ANSWERS", f"{self.path} is not a file")
            self._load()
        except BlockingIOError:
            raise InputError("ANSWERS", f"another batch is writing {self.path}") from None
        except OSError as error:
            raise InputError("ANSWERS", f"{self.path}: {_reason(error)}") from error

    def _load(self) -> None:
        """Reads the index, mends the end, and opens the file for writing."""
        index = _Index()
        tail = self._scan(index) if self.path.exists() else b""
        size = index.size
        whole = tail.rstrip().endswith(b"}") and _is_json(tail)
        if whole:
            index.add(tail + b"\n")
        if not index.entries and (index.broken or not _is_begun(tail)):
            problem = f"{self.path} is not a file of answers; it was left as it is"
            raise InputError("ANSWERS", problem)
        self._file = FileIO(self.path, "a")
        if tail:
            self._mend(None if whole else size)
        sync_folder(self.path.parent)
        self.index = index

    def _scan(self, index: _Index) -> bytes:
        """Returns what comes after the last newline."""
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return line
                index.add(line)
        return b""

    def _mend(self, cut_at: int | None) -> None:
        """Completes the last line with its newline, or cuts it off."""
        assert self._file is not None
        if cut_at is None:
            self._file.write(b"\n")
        else:
            self._file.truncate(cut_at)
        os.fsync(self._file.fileno())
        self.repaired = True

    def append(self, row: Row) -> None:
        assert self._file is not None, "append after close"
        self._check_untouched(self._file)
        line = line_of(row)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self.index.size)
            raise self._unwritable(error) from error
        self.index.add(line)

    def _check_untouched(self, file: FileIO) -> None:
        """A row must not go into a file that was removed, nor behind somebody else's text."""
        now = os.fstat(file.fileno())
        if now.st_nlink == 0 or now.st_size != self.index.size:
            problem = f"{self.path} was changed or removed by another program"
            raise AgentError(problem, code="answers_changed")

    def kept(self, order: Sequence[str], config: str | None) -> Iterator[Row]:
        """The last row of each key; its earlier attempts' cost is in `earlier_cost_usd`."""
        with self.path.open("rb") as file:
            for key in self.index.keys(order, config):
                entry = self.index.entries[key]
                file.seek(entry.offset)
                row = parsed(file.read(entry.length))
                if row is None:
                    problem = f"{self.path} was changed by another program"
                    raise AgentError(problem, code="answers_changed")
                earlier = round(entry.cost_usd - cost_of(row), 9)
                if earlier > 0:
                    row["earlier_cost_usd"] = earlier
                yield row

    def compact(self, order: Sequence[str]) -> None:
        lines = (line_of(row) for row in self.kept(order, None))
        self._close_file()
        try:
            replace_file(self.path, lines)
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            self._load()

    def close(self) -> None:
        self._close_file()
        self._lock.release()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unwritable(self, error: OSError) -> AgentError:
        problem = f"{self.path} cannot be written: {_reason(error)}"
        return AgentError(problem, code="answers_unwritable")


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_begun(tail: bytes) -> bool:
    """Return True for the beginning of one of our lines, or for a block never filled."""
    return _FIRST.startswith(tail[: len(_FIRST)]) or not tail.strip(b"\0 \r\n\t")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


_T = TypeVar("_T")


def config_key(assistant: str, context: Mapping[str, Any]) -> str:
    """A short stable hash of all that changes an answer; the order of `context` does not."""
    told = json.dumps([assistant, context], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


class RowFile:
    """Append-only JSON lines; by (id, config) the last row wins.

    `async with await RowFile.open(path) as file:` holds the lock until the end. Only places
    in the file are kept in memory. Every access to the disk runs on one thread, in turn.
    """

    def __init__(self, store: Store, thread: ThreadPoolExecutor) -> None:
        self._store, self._thread = store, thread
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """InputError("ANSWERS", …) if another batch has it, or it is no file of rows."""
        store = Store(path)
        self = cls(store, ThreadPoolExecutor(1, thread_name_prefix="rows"))
        try:
            await self._run(store.open)
        except BaseException:
            await self.close()
            raise
        return self

    @property
    def path(self) -> Path:
        """Absolute, links followed."""
        return self._store.path

    @property
    def broken(self) -> int:
        """Lines that are no rows; they are left alone, and dropped by `compact`."""
        return self._store.index.broken

    @property
    def repaired(self) -> bool:
        """The last line had been cut short: it was removed, or got its newline."""
        return self._store.repaired

    @property
    def cost_usd(self) -> float:
        """Of all that is in the file: each attempt, each configuration."""
        return self._store.index.cost_usd

    def entry(self, id: str, config: str) -> Entry | None:
        """Return what the file holds about this question under this configuration."""
        return self._store.index.entries.get((id, config))

    async def append(self, row: Row) -> None:
        """Returns when the row is on disk, flushed and synced; AgentError if it cannot be."""
        await self._run(lambda: self._store.append(row))

    async def rows(self, config: str | None = None, order: Sequence[str] = ()) -> list[Row]:
        """The last row of each (id, config): ids of `order` first, then as first written."""
        return await self._run(lambda: list(self._store.kept(order, config)))

    async def compact(self, order: Sequence[str] = ()) -> None:
        """Rewrites the file atomically: each (id, config) once, ids of `order` first."""
        await self._run(lambda: self._store.compact(order))

    async def close(self) -> None:
        """Gives the lock back; may be called twice."""
        if not self._closed:
            self._closed = True
            closing = asyncio.wrap_future(self._thread.submit(self._store.close))
            self._thread.shutdown(wait=False)
            # Shielded: cancelled while it waits its turn it would never be done.
            await asyncio.shield(closing)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


Format = Literal["rows", "gaia", "minimal"]


def rows_path(answers: Path, format: Format) -> Path:
    """The rows file: ANSWERS itself, or ANSWERS + ".rows.jsonl" beside it."""
    return answers if format == "rows" else answers.with_name(answers.name + ".rows.jsonl")


def write_answers(
    answers: Path,
    rows: Iterable[Row],
    format: Format,
    trace_of: Callable[[Row], str] | None = None,
) -> int:
    """Writes ANSWERS atomically from rows of one configuration; how many lines. Blocking.

    `rows` writes nothing (the rows file is ANSWERS). Paused rows are left out. `trace_of`
    gives GAIA's reasoning_trace.
    """
    if format == "rows":
        return 0
    kept = (row for row in rows if row["status"] != "paused")
    if format == "minimal":
        return write_lines(answers, ({"id": row["id"], "answer": row["answer"]} for row in kept))
    return write_lines(answers, (_gaia(row, trace_of) for row in kept))


def _gaia(row: Row, trace_of: Callable[[Row], str] | None) -> dict[str, str]:
    return {
        "task_id": row["id"],
        "model_answer": row["answer"],
        "reasoning_trace": trace_of(row) if trace_of is not None else "",
    }


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]]) -> int:
    """JSON lines, written atomically; how many. Blocking. AgentError if they cannot be."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for one in objects:
            count += 1
            yield f"{json.dumps(one, ensure_ascii=False, default=str)}\n".encode(errors="replace")

    try:
        replace_file(path, lines())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"{path} cannot be written: {reason}"
        raise AgentError(problem, code="answers_unwritable") from error
    return count

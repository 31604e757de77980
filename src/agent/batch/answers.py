"""Keep the rows of a batch, and write ANSWERS from them in one of four formats."""

import asyncio
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

from agent.batch.disk import (
    FileLock,
    append_line,
    replace_file,
    sync_folder,
    unfinished_path,
)
from agent.core.errors import AgentError, InputError
from agent.core.outside import parse_json

RowStatus = Literal["answered", "no_answer", "failed", "skipped", "paused"]


class RowSource(TypedDict):
    number: int
    title: str
    url: str


class Row(TypedDict):
    """Hold the row of one question; `config` says under which configuration it was asked."""

    id: str
    question: str
    answer: str
    status: RowStatus
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
    assistant: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    """What differs from the defaults; `config` is the hash of both."""
    benchmark: NotRequired[str]
    """Its name in `benchmarks.BENCHMARKS`."""
    expected: NotRequired[str]
    """The question's expected answer; "" where it is known to have none."""
    claims: NotRequired[dict[str, Any]]
    """Sentences of the answer by the outcome of their check, as `checks.claims` of the message."""


_KINDS: dict[str, tuple[type, ...]] = {
    "question": (str,),
    "answer": (str,),
    "error": (str, type(None)),
    "sources": (list,),
    "usage": (dict,),
    "models": (dict,),
    "seconds": (float, int),
    "attempt": (int,),
}
_OPTIONAL: dict[str, tuple[type, ...]] = {
    "earlier_cost_usd": (float, int),
    "assistant": (str,),
    "settings": (dict,),
    "benchmark": (str,),
    "expected": (str,),
    "claims": (dict,),
}


def parse_row(line: bytes) -> Row | None:
    """Parse a line as a row, or return None; a missing or mistyped field is empty or left out."""
    try:
        row = parse_json(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or row.get("status") not in get_args(RowStatus):
        return None
    if not all(isinstance(row.get(name), str) for name in ("id", "config")):
        return None
    for name, kinds in _KINDS.items():
        if name not in row or not isinstance(row[name], kinds):
            row[name] = None if name == "error" else kinds[0]()
    for name, kinds in _OPTIONAL.items():
        if name in row and not isinstance(row[name], kinds):
            del row[name]
    if not row.get("earlier_cost_usd"):
        row.pop("earlier_cost_usd", None)
    return cast(Row, row)


def line_of(row: Row) -> bytes:
    """Return the line with its newline; lone surrogates become question marks."""
    ordered = {"id": row["id"], **row}
    text = json.dumps(ordered, ensure_ascii=False, default=str)
    return f"{text}\n".encode(errors="replace")


def cost_of(row: Row) -> float:
    """Return the cost of this attempt alone, in US dollars."""
    cost = row["usage"].get("cost_usd")
    return float(cost) if isinstance(cost, int | float) and cost > 0 else 0.0


_FIRST = b'{"id"'
"""The beginning of every line that we write."""
RowKey = tuple[str, str]
"""id and config"""


@dataclass(frozen=True)
class RowEntry:
    """Hold in memory what is needed of the last row of one (id, config)."""

    status: RowStatus
    attempts: int
    """Rows so far: the number of the next attempt."""
    cost_usd: float
    """Of all its attempts."""
    offset: int
    length: int


class _Index:
    """Find the last row of each key; built line by line."""

    def __init__(self) -> None:
        self.entries: dict[RowKey, RowEntry] = {}
        self.broken = self.size = 0
        self.cost_usd = 0.0

    def add(self, line: bytes) -> None:
        row = parse_row(line)
        if row is not None:
            key = (row["id"], row["config"])
            before = self.entries.get(key)
            cost = cost_of(row) + row.get("earlier_cost_usd", 0.0)
            self.entries[key] = RowEntry(
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

    def keys(self, order: Sequence[str], config: str | None) -> list[RowKey]:
        place = {id: number for number, id in enumerate(dict.fromkeys(order))}
        keys = [key for key in self.entries if config in (None, key[1])]
        return sorted(keys, key=lambda key: place.get(key[0], len(place)))


class Store:
    """Read and write the file of rows, blocking.

    `open` raises InputError("ANSWERS", …), the other methods raise AgentError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.index = _Index()
        self.was_repaired = False
        self._file: FileIO | None = None
        self._lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))

    def open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            unfinished_path(self.path).unlink(missing_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise InputError("ANSWERS", f"is not a file: {self.path}")
            self._load()
        except BlockingIOError:
            raise InputError("ANSWERS", f"Another batch is writing {self.path}") from None
        except OSError as error:
            raise InputError(
                "ANSWERS", f"cannot be written, {self.path}: {_reason(error)}"
            ) from error

    def _load(self) -> None:
        """Read the index, repair the end, and open the file for writing."""
        index = _Index()
        tail = self._scan(index) if self.path.exists() else b""
        size = index.size
        whole = tail.rstrip().endswith(b"}") and _is_json(tail)
        if whole:
            index.add(tail + b"\n")
        if not index.entries and (index.broken or not _is_unfinished_line(tail)):
            problem = f"is not a file of answers, and was left as it is: {self.path}"
            raise InputError("ANSWERS", problem)
        self._file = FileIO(self.path, "a")
        if tail:
            self._mend(None if whole else size)
        sync_folder(self.path.parent)
        self.index = index

    def _scan(self, index: _Index) -> bytes:
        """Fill the index and return the bytes after the last newline."""
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return line
                index.add(line)
        return b""

    def _mend(self, cut_at: int | None) -> None:
        """Complete the last line with its newline, or cut it off."""
        assert self._file is not None
        if cut_at is None:
            self._file.write(b"\n")
        else:
            self._file.truncate(cut_at)
        os.fsync(self._file.fileno())
        self.was_repaired = True

    def append(self, row: Row) -> None:
        assert self._file is not None, "append after close"
        self._check_untouched(self._file)
        line = line_of(row)
        try:
            append_line(self._file, line)
        except OSError as error:
            raise self._unwritable(error) from error
        self.index.add(line)

    def _check_untouched(self, file: FileIO) -> None:
        """Raise AgentError where another program removed or changed the file."""
        now = os.fstat(file.fileno())
        if now.st_nlink == 0 or now.st_size != self.index.size:
            problem = f"{self.path} was changed or removed by another program"
            raise AgentError(problem, code="answers_changed")

    def last_rows(self, order: Sequence[str], config: str | None) -> Iterator[Row]:
        """Yield the last row of each key, the cost of earlier attempts in `earlier_cost_usd`."""
        with self.path.open("rb") as file:
            for key in self.index.keys(order, config):
                entry = self.index.entries[key]
                file.seek(entry.offset)
                row = parse_row(file.read(entry.length))
                if row is None:
                    problem = f"{self.path} was changed by another program"
                    raise AgentError(problem, code="answers_changed")
                earlier = round(entry.cost_usd - cost_of(row), 9)
                if earlier > 0:
                    row["earlier_cost_usd"] = earlier
                yield row

    def compact(self, order: Sequence[str]) -> None:
        lines = (line_of(row) for row in self.last_rows(order, None))
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
        parse_json(text)
    except ValueError:
        return False
    return True


def _is_unfinished_line(tail: bytes) -> bool:
    """Return True for the beginning of one of our lines, or for a block of zero bytes."""
    return _FIRST.startswith(tail[: len(_FIRST)]) or not tail.strip(b"\0 \r\n\t")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


_T = TypeVar("_T")


def config_key(assistant: str, context: Mapping[str, Any]) -> str:
    """Return a short stable hash of all that changes an answer; `context` in any order."""
    text = json.dumps([assistant, context], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class RowFile:
    """Append rows to a file of JSON lines; by (id, config) the last row wins.

    `async with await RowFile.open(path) as file:` holds the lock until the end. Only offsets
    in the file are kept in memory. Every access to the disk runs on one thread, in turn.
    """

    def __init__(self, store: Store, thread: ThreadPoolExecutor) -> None:
        self._store, self._thread = store, thread
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open and lock the file; raise InputError if another batch has it, or it has no rows."""
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
        """Return the absolute path, links followed."""
        return self._store.path

    @property
    def broken(self) -> int:
        """Return the number of lines that are no rows; `compact` drops them."""
        return self._store.index.broken

    @property
    def was_repaired(self) -> bool:
        """Return True if the last line was cut short, so that it was removed or completed."""
        return self._store.was_repaired

    @property
    def cost_usd(self) -> float:
        """Return the cost of every attempt in the file, in US dollars."""
        return self._store.index.cost_usd

    def entry(self, id: str, config: str) -> RowEntry | None:
        """Return the entry of a question under a configuration."""
        return self._store.index.entries.get((id, config))

    async def append(self, row: Row) -> None:
        """Write a row and sync it to disk; raise AgentError if it cannot be."""
        await self._run(lambda: self._store.append(row))

    async def rows(self, config: str | None = None, order: Sequence[str] = ()) -> list[Row]:
        """Return the last row of each (id, config): ids of `order` first, then as first written."""
        return await self._run(lambda: list(self._store.last_rows(order, config)))

    async def compact(self, order: Sequence[str] = ()) -> None:
        """Rewrite the file atomically: each (id, config) once, ids of `order` first."""
        await self._run(lambda: self._store.compact(order))

    async def close(self) -> None:
        """Close the file and release the lock; may be called twice."""
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


Format = Literal["rows", "gaia", "deepresearch_bench", "minimal"]


def rows_path(answers: Path, format: Format) -> Path:
    """Return the path of the rows: ANSWERS itself, or ANSWERS + ".rows.jsonl" beside it."""
    return answers if format == "rows" else answers.with_name(answers.name + ".rows.jsonl")


def write_answers(
    answers: Path,
    rows: Iterable[Row],
    format: Format,
    trace_of: Callable[[Row], str] | None = None,
    prompts: Mapping[str, str] | None = None,
) -> int:
    """Write ANSWERS atomically from rows of one configuration; return the number of lines.

    Blocking. The format `rows` writes nothing (the rows file is ANSWERS). Paused rows are left
    out. `trace_of` gives GAIA's reasoning_trace, `prompts` the questions by id as DeepResearch
    Bench published them, which looks its tasks up by them.
    """
    if format == "rows":
        return 0
    complete = (row for row in rows if row["status"] != "paused")
    if format == "minimal":
        return write_lines(
            answers, ({"id": row["id"], "answer": row["answer"]} for row in complete)
        )
    if format == "deepresearch_bench":
        return write_lines(answers, (_article(row, prompts or {}) for row in complete))
    return write_lines(answers, (_gaia(row, trace_of) for row in complete))


def _article(row: Row, prompts: Mapping[str, str]) -> dict[str, str | int]:
    """Return a line of DeepResearch Bench's raw data, whose ids are numbers."""
    id = row["id"]
    is_number = id.isascii() and id.isdecimal() and str(int(id)) == id
    return {
        "id": int(id) if is_number else id,
        "prompt": prompts.get(id, row["question"]),
        "article": row["answer"],
    }


def _gaia(row: Row, trace_of: Callable[[Row], str] | None) -> dict[str, str]:
    return {
        "task_id": row["id"],
        "model_answer": row["answer"],
        "reasoning_trace": trace_of(row) if trace_of is not None else "",
    }


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON lines atomically and return their number; raise AgentError. Blocking."""
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

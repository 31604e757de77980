"""The file of answers on disk: indexed, mended after a crash, appended, compacted. Blocking."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from agent.batch.disk import FileLock, replace_file, sync_folder, unfinished
from agent.batch.row import Row, Status, cost_of, line_of, parsed
from agent.errors import AgentError, InputError

_FIRST = b'{"id"'
"""How every line that we write begins."""
Key = tuple[str, str]
"""id and config"""


@dataclass(frozen=True)
class Entry:
    """What is kept in memory of the last row of one (id, config)."""

    status: Status
    attempts: int
    """Rows so far: the number of the next attempt."""
    cost_usd: float
    """Of all its attempts."""
    offset: int
    length: int


class _Index:
    """Where the last row of each key is; built line by line."""

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
    """Whether this may be the beginning of one of our lines, or a block never filled."""
    return _FIRST.startswith(tail[: len(_FIRST)]) or not tail.strip(b"\0 \r\n\t")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__

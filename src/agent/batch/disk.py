"""Write files that survive a crash: replace them atomically, lock them, keep traces of runs."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from agent.core.errors import AgentError, InputError

if sys.platform != "win32":
    import fcntl


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file so that the whole new or the whole old content survives a crash."""
    path = path.resolve()
    temporary = unfinished_path(path)
    try:
        with temporary.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def append_line(file: FileIO, line: bytes) -> None:
    """Append a whole line and sync it; where that fails, cut off what came of it: OSError."""
    size = os.fstat(file.fileno()).st_size
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            file.truncate(size)
        raise


def unfinished_path(path: Path) -> Path:
    """Return the path of an unfinished replacement, which a crash leaves and nobody reads."""
    return path.with_name(f".{path.name}.tmp")


def sync_folder(folder: Path) -> None:
    """Make the name of a new or renamed file durable; does nothing on Windows."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class FileLock:
    """Lock a file for one holder at a time; the system drops the lock when the process ends.

    `acquire` raises BlockingIOError where another holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        while self._handle is None:
            self._handle = _open_locked(self._path)

    def release(self) -> None:
        """Remove the file while it is still locked, so that no other holder's is removed."""
        if self._handle is None:
            return
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._handle)
        self._handle = None


if sys.platform == "win32":

    def _open_locked(path: Path) -> int | None:
        """Open a file that the system removes when its only handle closes, also by a crash."""
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_TEMPORARY)
        except (FileExistsError, PermissionError):
            raise BlockingIOError(str(path)) from None

else:

    def _open_locked(path: Path) -> int | None:
        """Open and lock the file; return None where its former holder removed it meanwhile."""
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        return None


_PORTS = (f"{port}{number}" for port in ("com", "lpt") for number in range(10))
_RESERVED = frozenset({"con", "prn", "aux", "nul", *_PORTS})
_LONGEST = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name_of(id: str) -> str:
    """Return the id as a file name for every system; a changed one ends with a hash."""
    name = _UNSAFE.sub("_", id).strip(".")[:_LONGEST]
    # Upper case is hashed, too: some systems take A.json and a.json for one file.
    if name == id and name == name.lower() and name and name.partition(".")[0] not in _RESERVED:
        return name
    return (
        f"{name or 'question'}-{hashlib.sha1(id.encode(), usedforsecurity=False).hexdigest()[:8]}"
    )


class TraceFolder:
    """Keep the last trace of each question in DIR/<safe id>.json. All methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--trace-dir", f"cannot be used, {folder}: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise InputError("--trace-dir", f"cannot be written to: {folder}")

    def path(self, id: str) -> Path:
        return self._folder / f"{file_name_of(id)}.json"

    def write(self, id: str, trace: Mapping[str, Any]) -> None:
        """Write a trace atomically; raise AgentError if it cannot be written."""
        path = self.path(id)
        try:
            replace_file(path, [json.dumps(trace, ensure_ascii=False, indent=1).encode()])
        except OSError as error:
            problem = f"--trace-dir: {path} cannot be written: {error.strerror}"
            raise AgentError(problem) from error

    def reasoning(self, id: str) -> str:
        """Return the steps of the reasoning as text, for submissions that ask for it."""
        try:
            trace = json.loads(self.path(id).read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        steps = trace.get("reasoning_trace") or []
        lines = [str(s.get("text") or "") if isinstance(s, dict) else str(s) for s in steps]
        return "\n".join(line for line in lines if line)

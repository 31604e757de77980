"""Files that survive a crash: replaced atomically, locked by one process at a time."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file so that the whole new or the whole old content survives a crash."""
    path = path.resolve()
    temporary = unfinished(path)
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


def unfinished(path: Path) -> Path:
    """Return the path of an unfinished replacement, which a crash leaves and nobody reads."""
    return path.with_name(f".{path.name}.tmp")


def sync_folder(folder: Path) -> None:
    """Makes a new or renamed file's name durable; Windows cannot, and need not be asked."""
    if sys.platform == "win32":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class FileLock:
    """One holder at a time. It is the system's lock on `path`, so it dies with its process.

    `acquire` raises BlockingIOError where another holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: int | None = None

    def acquire(self) -> None:
        while self._opened is None:
            self._opened = _opened_alone(self._path)

    def release(self) -> None:
        """Removes the file while it is still held, so that nobody else's is removed."""
        if self._opened is None:
            return
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._opened)
        self._opened = None


if sys.platform == "win32":

    def _opened_alone(path: Path) -> int | None:
        """A file that the system removes when its only handle closes, be it by a crash."""
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_TEMPORARY)
        except (FileExistsError, PermissionError):
            raise BlockingIOError(str(path)) from None

else:

    def _opened_alone(path: Path) -> int | None:
        """None where the former holder removed the file between opening and locking it."""
        opened = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(opened), path.stat()):
                return opened
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(opened)
            raise
        os.close(opened)
        return None

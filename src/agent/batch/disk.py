"""Write files that survive a crash: replace them atomically, lock them for one process."""

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

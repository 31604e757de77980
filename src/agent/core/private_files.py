"""Keep the files that we make by ourselves, which hold conversations, to their user alone.

A file that the user names (`--html`, ANSWERS) keeps the modes of the user's umask. Windows has no
such modes: there a folder inherits the access of the user's own.
"""

import contextlib
import os
import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
OURS = {
    *("threads.sqlite", "runs.sqlite", "knowledge.sqlite", "knowledge-files.sqlite"),
    *("map-usage.sqlite", "owners", "papers", "chroma", "uploads"),
}
"""Names of what we keep in the data folder."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SQLITE_BESIDE = ("-wal", "-shm", "-journal")


def private_folder(folder: Path) -> None:
    """Create the folder, and those above it, where they are missing. Raises OSError."""
    for missing in (*reversed(folder.parents), folder):
        if not missing.is_dir():
            missing.mkdir(mode=FOLDER, exist_ok=True)


def private_database(path: Path) -> None:
    """Create an SQLite file before SQLite does, and correct one of an older version.

    SQLite gives the files that it makes beside it the same mode. Raises OSError.
    """
    private_folder(path.parent)
    if not path.exists():
        path.touch(mode=FILE)
    for end in ("", *_SQLITE_BESIDE):
        _tighten(path.with_name(path.name + end))


def private_tree(folder: Path) -> None:
    """Correct a folder of ours and everything in it; links are not followed."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _tighten(Path(parent, name))
    # Last, so that a folder whose correction was broken off is corrected again.
    _tighten(folder)


def correct_old(folder: Path) -> None:
    """Correct what an older version made, where others can still reach it."""
    if _is_open(folder):
        private_tree(folder)


def private_data(folder: Path) -> None:
    """Correct what an older version left in the data folder.

    The folder itself only where nothing else is in it: it may be one that other programs use.
    """
    if not folder.is_dir():
        return
    entries = {entry: entry.name.removesuffix(_beside(entry.name)) for entry in folder.iterdir()}
    for entry, name in entries.items():
        if name in OURS:
            correct_old(entry)
    if entries and OURS.issuperset(entries.values()):
        _tighten(folder)


def _beside(name: str) -> str:
    return next((end for end in _SQLITE_BESIDE if name.endswith(end)), "")


def _is_open(path: Path) -> bool:
    """Return whether somebody else may use the path itself; a link is none of ours."""
    with contextlib.suppress(OSError):
        mode = path.lstat().st_mode
        return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)
    return False


def _tighten(path: Path) -> None:
    """Take everybody else's access away; what cannot be changed is no error."""
    if _is_open(path):
        with contextlib.suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & stat.S_IRWXU)

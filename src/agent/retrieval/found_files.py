"""The files under the paths that are to be read: walked once, each file once, loops left."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import InputError
from agent.retrieval.formats import kind_of
from agent.retrieval.outcomes import FileResult
from agent.strings import valid_text


@dataclass(frozen=True)
class FoundFile:
    """A file to be read."""

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
    """What was found; `problems` are folders and links that cannot be followed."""

    files: list[FoundFile] = field(default_factory=list)
    problems: list[FileResult] = field(default_factory=list)
    blind: list[bytes] = field(default_factory=list)
    """Folders that could not be listed: what is known below them is not gone."""
    roots: list[bytes] = field(default_factory=list)

    def covers(self, key: bytes) -> bool:
        """Whether a file of this key would have been found if it were there."""
        below = any(key == root or key.startswith(_below(root)) for root in self.roots)
        return below and not any(key.startswith(_below(folder)) for folder in self.blind)


def _below(folder: bytes) -> bytes:
    return folder.rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)


def walk(paths: Sequence[Path]) -> Walk:
    """Files in the order of their names; hidden ones and repeated ones are passed over.

    Blocks. Raises InputError for a path that is not there.
    """
    found, seen = Walk(), set[tuple[int, int]]()
    for path in paths:
        absolute = os.path.abspath(path)
        try:
            status = os.stat(absolute)
        except OSError as error:
            raise InputError("PATH", f"{show(str(path))}: {error.strerror}") from None
        found.roots.append(os.fsencode(absolute))
        name = os.path.basename(absolute)
        if stat.S_ISDIR(status.st_mode):
            _walk_folder(absolute, name, found, seen)
        else:
            _add(absolute, name, status, found, seen, named=True)
    return found


def _walk_folder(top: str, shown: str, found: Walk, seen: set[tuple[int, int]]) -> None:
    waiting = [(top, shown)]
    while waiting:
        folder, name = waiting.pop()
        deeper: list[tuple[str, str]] = []
        for entry in _listed(folder, name, found, seen):
            below = os.path.join(name, entry.name) if name else entry.name
            try:
                status = entry.stat()
            except OSError as error:
                reason = error.strerror or "cannot be read"
                found.problems.append(FileResult(show(below), "failed", reason, "file_unreadable"))
                continue
            if stat.S_ISDIR(status.st_mode):
                deeper.append((entry.path, below))
            else:
                _add(entry.path, below, status, found, seen, named=False)
        waiting.extend(reversed(deeper))


def _listed(
    folder: str, shown: str, found: Walk, seen: set[tuple[int, int]]
) -> Iterator["os.DirEntry[str]"]:
    """A folder's visible entries by name; none of a folder that was listed already."""
    try:
        status = os.stat(folder)
        if _repeated(status, seen):
            return
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        reason = error.strerror or "cannot be listed"
        found.problems.append(FileResult(show(shown), "failed", reason, "file_unreadable"))
        found.blind.append(os.fsencode(folder))
        return
    yield from (entry for entry in entries if not entry.name.startswith("."))


def _add(
    path: str, shown: str, status: os.stat_result, found: Walk, seen: set[tuple[int, int]],
    *, named: bool,
) -> None:  # fmt: skip
    """A file; a device or a pipe would keep its reader for ever."""
    if not stat.S_ISREG(status.st_mode):
        found.problems.append(FileResult(show(shown), "left_out", "not a file", "page_kind"))
        return
    if _repeated(status, seen):
        return
    found.files.append(
        FoundFile(
            path=path,
            shown=show(shown),
            kind=kind_of(Path(path)),
            size=status.st_size,
            mtime=status.st_mtime_ns,
            named=named,
        )
    )


def _repeated(status: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    """Links lead to the same file or folder again; Windows may not number them."""
    place = (status.st_dev, status.st_ino)
    if not status.st_ino:
        return False
    if place in seen:
        return True
    seen.add(place)
    return False


def show(path: str) -> str:
    """A path as text, with `/` between its parts."""
    text = valid_text(os.fsencode(path).decode("utf-8", "replace"))
    return text.replace(os.sep, "/")

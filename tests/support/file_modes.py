"""Who may read files: the usual umask, and what others could read below a folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")


@pytest.fixture(name="usual_umask")
def usual_umask_fixture() -> Iterator[None]:
    """New files can be read by everybody, as on most machines; children inherit that."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def below(folder: Path) -> list[Path]:
    """The folder and all that is in it."""
    return [folder, *folder.rglob("*")]


def open_to_others(folder: Path) -> dict[str, str]:
    """What somebody else may read, write or list: path and mode."""
    return {str(p.relative_to(folder)): oct(mode(p)) for p in below(folder) if mode(p) & 0o077}


def open_to_all(folder: Path) -> None:
    """Give everything the modes that an older version left."""
    for path in below(folder):
        path.chmod(0o755 if path.is_dir() else 0o644)

"""A disk on which nothing more can be written, for a process or for this one; Linux only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process on Linux")


def fill(process: int = 0, *, beyond: int = 1) -> None:
    """From now on no file of a process grows beyond so many bytes; 0 is this process."""
    _limit(process, beyond)


def free(process: int = 0) -> None:
    """Space is there again."""
    _limit(process, -1)


def _limit(process: int, size: int) -> None:
    if sys.platform == "linux":
        import resource

        limit = resource.RLIM_INFINITY if size < 0 else size
        hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, hard))


@contextmanager
def freed_at_the_end() -> Iterator[None]:
    """However a test ends, the tests after it can write."""
    try:
        yield
    finally:
        free()

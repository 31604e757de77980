"""A command on a pseudo-terminal, typed to as a person would. POSIX only."""

import contextlib
import os
import re
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.programs import Program

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\|\r")


class Terminal:
    """What the program wrote, without colours, and a way to type."""

    def __init__(self, process: Program, screen: int) -> None:
        self.process, self._screen = process, screen
        self._raw = b""
        self._seen = 0

    @property
    def text(self) -> str:
        return _STEERING.sub("", self._raw.decode("utf-8", "replace"))

    def expect(self, words: str, *, seconds: float = 120) -> None:
        """Wait until the program writes this, after what was waited for before."""
        end = time.monotonic() + seconds
        while (found := self.text.find(words, self._seen)) < 0:
            assert time.monotonic() < end, f"{words!r} did not come:\n{self.text[-3000:]}"
            assert self._read(), f"{words!r} did not come before the end:\n{self.text[-3000:]}"
        self._seen = found + len(words)

    def type(self, line: str) -> None:
        os.write(self._screen, line.encode())

    def interrupt(self) -> int:
        """Ctrl-C until it ends; its exit code. Python loses one that comes as it begins to read."""
        for _ in range(10):
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                return self.ends(seconds=20)
        return self.ends(seconds=1)

    def hang_up(self) -> None:
        """Close the window; the program gets SIGHUP, and can neither read nor write any more."""
        os.close(self._screen)

    def ends(self, *, seconds: float = 120) -> int:
        """The exit code, once it ended."""
        end = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < end, f"it did not end:\n{self.text[-3000:]}"
        return self.process.wait(timeout=60)

    def _read(self) -> bool:
        """Take in what there is; False once the program has closed its side."""
        if not select.select([self._screen], [], [], 0.2)[0]:
            return True
        try:
            came = os.read(self._screen, 65536)
        except OSError:
            return False
        self._raw += came
        return bool(came)


@contextmanager
def terminal(*argv: str, folder: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """`tanlu` on a terminal of its own; ended with the test."""
    screen, keyboard = os.openpty()
    process = Program("-m", "agent", *argv, folder=folder, env=env, terminal=keyboard)
    os.close(keyboard)
    try:
        yield Terminal(process, screen)
    finally:
        process.end()
        with contextlib.suppress(OSError):
            os.close(screen)

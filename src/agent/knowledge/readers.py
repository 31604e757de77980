"""The processes that read files: a few, used again, ended when a file keeps one too long."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from agent.knowledge.formats import CannotRead, Event

log = logging.getLogger(__name__)
_LINE = 32 << 20
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TEMP", "TMP", "VIRTUAL_ENV")
_STUCK_PAGES = 3
"""Pages of one PDF that may keep or end their reader before the file is given up."""


@dataclass(frozen=True)
class ReadLimits:
    """Of a file: seconds without any result, megabytes its process gets.

    A process that has needed more than `tired_megabytes`, or read `tired_files`, is replaced.
    """

    seconds: int = 60
    megabytes: int = 768
    tired_megabytes: int = 220
    tired_files: int = 200


class _Gone(Exception):
    """The process said nothing in time (`timeout`) or ended (`page_too_complex`)."""


class _Reader:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process, limits: ReadLimits) -> None:
        self._process, self._limits = process, limits
        self._files = 0
        self.tired = False

    @classmethod
    async def start(cls, limits: ReadLimits) -> Self:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "agent.knowledge.file_worker"),
            *(str(limits.seconds + 5), str(limits.megabytes)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
            limit=_LINE,
            # Not ended by the Ctrl-C that lets the file in flight be finished.
            start_new_session=sys.platform != "win32",
        )
        return cls(process, limits)

    async def events(self, path: str, kind: str, first: int) -> AsyncIterator[dict[str, Any]]:
        """What the process says of a file, without the last; raises CannotRead, _Gone."""
        assert self._process.stdin is not None
        asked = json.dumps({"path": path, "kind": kind, "first": first})
        try:
            self._process.stdin.write(asked.encode("ascii") + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise _Gone("page_too_complex") from None
        while True:
            said = await self._line()
            if "failed" in said:
                self._finished(0)
                raise CannotRead(said["failed"])
            if "end" in said:
                self._finished(said["end"])
                return
            yield said

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(self._limits.seconds):
                line = await self._process.stdout.readline()
            said: dict[str, Any] = json.loads(line)
        except TimeoutError:
            raise _Gone("timeout") from None
        except ValueError:
            raise _Gone("page_too_complex") from None
        return said

    def _finished(self, megabytes: int) -> None:
        self._files += 1
        limits = self._limits
        self.tired = megabytes > limits.tired_megabytes or self._files >= limits.tired_files

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        # Reading on lets the pipe's transport close with the process.
        await asyncio.shield(self._process.communicate())


class FileReaders:
    """At most `workers` processes, on the event loop that opened this; a context manager."""

    def __init__(self, workers: int, limits: ReadLimits | None = None) -> None:
        self._limits = limits or ReadLimits()
        self._places = asyncio.Semaphore(workers)
        self._idle: list[_Reader] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        idle, self._idle = self._idle, []
        for reader in idle:
            await reader.end()

    async def read(self, path: str, kind: str) -> AsyncIterator[Event]:
        """A file's events. A page that keeps its reader is passed over; raises CannotRead."""
        first, stuck, begun = 1, 0, False
        while True:
            try:
                async with self._reader() as reader:
                    async for said in reader.events(path, kind, first):
                        first = said.get("page", first - 1) + 1
                        if "document" not in said or not (begun and kind == "pdf"):
                            yield Event(**said)  # type: ignore[typeddict-item]
                        begun = begun or "document" in said
            except _Gone as gone:
                log.warning("a file ended its reader: %s", gone)
                stuck += 1
                if kind != "pdf" or not begun or stuck > _STUCK_PAGES:
                    raise CannotRead(str(gone)) from None
                yield Event(note=f"page {first} could not be read")
                first += 1
            else:
                return

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator[_Reader]:
        async with self._places:
            reader = self._idle.pop() if self._idle else await _Reader.start(self._limits)
            whole = False
            try:
                yield reader
                whole = not reader.tired
            except CannotRead:
                whole = not reader.tired
                raise
            finally:
                if whole:
                    self._idle.append(reader)
                else:
                    await reader.end()


def _environment() -> dict[str, str]:
    """No key of ours is in the process that reads what others wrote."""
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

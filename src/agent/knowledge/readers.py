"""Run the processes that read files: a few, used again, ended when a file takes too long."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from agent.knowledge.file_events import ReadEvent
from agent.reading.confined import environment
from agent.reading.parts import CannotRead

log = logging.getLogger(__name__)
_LINE = 32 << 20
_STUCK_PAGES = 3
"""Pages of one PDF that may keep or end their reader before the file is given up."""


@dataclass(frozen=True)
class ReadLimits:
    """Bound a file: seconds without any result, megabytes of its process.

    A process that has needed more than `tired_megabytes`, or read `tired_files`, is replaced.
    """

    seconds: int = 60
    megabytes: int = 768
    tired_megabytes: int = 220
    tired_files: int = 200


class _Gone(Exception):
    """Signal that the process fell silent (`timeout`) or ended (`page_too_complex`)."""


class _Reader:
    """Run one process."""

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
            env=environment(),
            limit=_LINE,
            # Not ended by the Ctrl-C that lets the file in flight be finished.
            start_new_session=sys.platform != "win32",
        )
        return cls(process, limits)

    async def events(self, path: str, kind: str, first: int) -> AsyncIterator[dict[str, Any]]:
        """Yield the process's events on a file, without the last; raise CannotRead, _Gone."""
        assert self._process.stdin is not None
        request = json.dumps({"path": path, "kind": kind, "first": first})
        try:
            self._process.stdin.write(request.encode("ascii") + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise _Gone("page_too_complex") from None
        while True:
            event = await self._line()
            if "failed" in event:
                self._note_end(0)
                raise CannotRead(event["failed"])
            if "end" in event:
                self._note_end(event["end"])
                return
            yield event

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(self._limits.seconds):
                line = await self._process.stdout.readline()
            event: dict[str, Any] = json.loads(line)
        except TimeoutError:
            raise _Gone("timeout") from None
        except ValueError:
            raise _Gone("page_too_complex") from None
        return event

    def _note_end(self, megabytes: int) -> None:
        self._files += 1
        limits = self._limits
        self.tired = megabytes > limits.tired_megabytes or self._files >= limits.tired_files

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        # Reading on lets the pipe's transport close with the process.
        await asyncio.shield(self._process.communicate())


class FileReaders:
    """Run at most `workers` processes on one event loop; a context manager."""

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

    async def read(self, path: str, kind: str) -> AsyncIterator[ReadEvent]:
        """Yield a file's events. A page that keeps its reader is passed over; raises CannotRead."""
        first, stuck, has_begun = 1, 0, False
        while True:
            try:
                async with self._reader() as reader:
                    async for event in reader.events(path, kind, first):
                        first = event.get("page", first - 1) + 1
                        if "document" not in event or not (has_begun and kind == "pdf"):
                            yield ReadEvent(**event)  # type: ignore[typeddict-item]
                        has_begun = has_begun or "document" in event
            except _Gone as gone:
                log.warning("a file ended its reader: %s", gone)
                stuck += 1
                if kind != "pdf" or not has_begun or stuck > _STUCK_PAGES:
                    raise CannotRead(str(gone)) from None
                yield ReadEvent(note={"key": "broken", "n": 1, "pages": str(first)})
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

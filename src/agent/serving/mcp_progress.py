"""Telling an MCP client what a run does: progress notifications in plain words."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio

from agent.language import Language
from agent.progress_words import STARTING, event_line

QUIET_SECONDS = 15.0
"""Clients give a silent call up, many after 60 s; word from us starts their clock again."""


class Notify(Protocol):
    """Sends one notification: how far (it only grows), and the words."""

    async def __call__(self, progress: float, message: str) -> None: ...


class Teller:
    """The progress of one call; `notify` is None where the client asked for none."""

    def __init__(
        self, notify: Notify | None, language: Language, *, quiet_seconds: float = QUIET_SECONDS
    ) -> None:
        self._notify, self._language, self._quiet = notify, language, quiet_seconds
        self._line, self._count = STARTING[language], 0
        self._began = self._said = time.monotonic()

    async def event(self, told: Mapping[str, Any]) -> None:
        """One event of the run, if it says something new."""
        if line := event_line(told, self._language):
            self._line = line
            await self._say(line)

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """Says that it starts, and in long silences that it still works."""
        await self._say(self._line)
        still = asyncio.create_task(self._still())
        try:
            yield
        finally:
            still.cancel()

    async def _still(self) -> None:
        while True:
            silent = time.monotonic() - self._said
            if silent < self._quiet:
                await asyncio.sleep(self._quiet - silent)
            else:
                await self._say(f"{self._line} · {time.monotonic() - self._began:.0f} s")

    async def _say(self, line: str) -> None:
        self._count, self._said = self._count + 1, time.monotonic()
        if self._notify is None:
            return
        # Who has hung up is not told any more; that the call ends is seen elsewhere.
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._notify(float(self._count), line)

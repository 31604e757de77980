"""Processes that the product starts, and that hundreds of tests would each start anew."""

import asyncio
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agent.mcp import servers
from agent.reading import workers
from tests.support import launched

PAGES, FILES = "agent.reading.worker", "agent.knowledge.file_worker"
FORKED: list[str] = []
"""Readers that `fork_readers` forks; a test that changes what they import empties it."""
Idle = dict[tuple[str, ...], list[Any]]
IDLE: Idle = defaultdict(list)
"""Readers that wait, by their command."""


def fork_our_map_server(forking: Callable[[], Path | None]) -> None:
    """Let our own map server be forked by the process that listens there: 0.5 s of CPU less.

    Where none listens yet, it is started: a run does not wait for so many imports.
    """
    supervised = servers._supervised

    def forked(command: list[str], environment: dict[str, str]) -> servers.ServerCommand:
        if command[1:] == ["-m", "agent.mcp.osm"] and (path := forking()):
            command = [*launched.command(str(path), *command[1:])]
        return supervised(command, environment)

    servers._supervised = forked


def fork_readers(forking: Callable[[], Path | None], *modules: str) -> None:
    """Let readers of pages and of files be forked by the process that listens there, if any.

    Cold, one takes 0.4 s of CPU.
    """
    started, executed = workers._Worker.__init__, asyncio.create_subprocess_exec
    FORKED[:] = modules

    def forked(command: Sequence[Any]) -> Sequence[Any]:
        if command[1:3] != ("-P", "-m") or command[3] not in FORKED or not (path := forking()):
            return command
        return launched.command(str(path), *command[2:])

    def init(self: workers._Worker, command: Sequence[str]) -> None:
        started(self, forked(tuple(command)))

    async def execute(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        return await executed(*forked(command), **options)

    workers._Worker.__init__ = init  # type: ignore[method-assign]
    asyncio.create_subprocess_exec = execute


def share_readers() -> None:
    """Let a document be read by the process that the test before had started: 0.4 s of CPU less."""
    made, threads = workers.Workers.__init__, ThreadPoolExecutor(8, "documents")

    def init(self: workers.Workers, *command: Any, **limits: Any) -> None:
        made(self, *command, **limits)
        self._idle = IDLE[tuple(self._command)]
        # A process ends with the thread that has started it.
        self._threads = threads

    workers.Workers.__init__ = init  # type: ignore[method-assign]
    weakref.finalize(init, end_readers, IDLE)


def end_readers(idle: Idle) -> None:
    """End those that wait."""
    for waiting in idle.values():
        workers._end_all(waiting)

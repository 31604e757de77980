"""Take the code out of a model's reply, hold its result, and limit how many run at once."""

import asyncio
import contextlib
import io
import textwrap
import threading
import tokenize
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

from agent.core.strings import code_fence


@dataclass(frozen=True)
class CodeLimits:
    """Bound what one program may use; beyond any of these it is killed."""

    wall_seconds: float = 3.0
    cpu_seconds: float = 2.0
    memory_mb: int = 128
    """The interpreter included; a program has 16 MB beside it whatever this says."""
    output_bytes: int = 65_536
    parallel: int = 2
    """Programs that run at once; others wait."""


@dataclass(frozen=True)
class CodeResult:
    """Hold the result of a program: its output, else the value of its last expression.

    `error` is one line (`ZeroDivisionError: division by zero`, `timeout`, …), empty where the
    program ended well; `output` may hold what was printed before it.
    """

    output: str
    error: str = ""
    truncated: bool = False
    """True if more was printed than the limit lets through."""
    seconds: float = 0.0


class CodeRunner(Protocol):
    """Run one program at a time in a process of its own; nothing is kept between two."""

    name: str
    """`process` or `monty`."""

    async def run(self, code: str) -> CodeResult:
        """Run a program; never raise for what it does, and kill it when cancelled."""
        ...

    async def aclose(self) -> None:
        """End whatever still runs."""
        ...


LISTED: Final = (
    "math", "re", "json", "statistics", "datetime", "decimal", "fractions", "collections",
    "itertools", "functools", "operator", "string", "typing", "dataclasses", "enum", "bisect",
    "heapq", "copy", "random",
)  # fmt: skip
"""Modules a program may import."""
_SILENT: Final = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
)
_WORDS: Final = frozenset({"python", "python3", "py", "py3"})


def fenced_program(text: str) -> str:
    """Return the fenced blocks marked as Python, joined; else the first block; else the whole text.

    A first line that is only a language's name goes, and so does common indentation. Nothing is
    parsed here: a hostile text can exhaust a parser, and this runs in our own process.
    """
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = _blocks(lines)
    if blocks:
        python = [body for word, body in blocks if word in _WORDS]
        lines = [line for body in python or [blocks[0][1]] for line in body]
    return _bare(lines)


def _blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return language word and lines of each fenced block; one never closed goes to the end."""
    blocks: list[tuple[str, list[str]]] = []
    mark = ""
    for line in lines:
        fence = code_fence(line)
        if not mark and fence:
            mark, words = fence[0], fence[1].lower().split()
            blocks.append((words[0] if words else "", []))
        elif mark and _closes(line, mark):
            mark = ""
        elif mark:
            blocks[-1][1].append(line)
    return blocks


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and set(bare) == {mark[0]}


def _bare(lines: list[str]) -> str:
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    if first < len(lines) and lines[first].strip().lower() in _WORDS:
        first += 1
    lines = lines[first:]
    program = textwrap.dedent("\n".join(lines)).strip("\n")
    if "\n" not in program and len(program) > 2 and program[0] == program[-1] == "`":
        program = program.strip("`")
    return program


def unlisted_imports(program: str) -> list[tuple[str, int]]:
    """Return modules that import statements name and the list does not, each with its line.

    Only cut into words, not parsed; what cannot be cut is left to whoever runs it.
    """
    imports = []
    try:
        for name, line in _imports(program):
            if name not in LISTED:
                imports.append((name, line))
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        pass
    return imports


def _imports(program: str) -> Iterator[tuple[str, int]]:
    begins, statement, expects_name = True, "", False
    for token in tokenize.generate_tokens(io.StringIO(program).readline):
        if token.type in _SILENT:
            continue
        if begins and token.string in ("import", "from"):
            statement, expects_name = token.string, True
        elif expects_name and token.type == tokenize.NAME:
            expects_name = False
            yield token.string, token.start[0]
        elif statement == "import" and token.string == ",":
            expects_name = True
        begins = token.type == tokenize.NEWLINE or token.string in (";", ":")
        if begins:
            statement, expects_name = "", False


ProgramWork = Callable[[threading.Event], CodeResult]
"""Ends soon after the event is set."""

CLOSED = CodeResult("", "not run: shutting down")


class Slots:
    """Hold threads until the end, because on Linux a child dies with the thread it came from."""

    def __init__(self, parallel: int) -> None:
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="code")
        self._running: set[threading.Event] = set()
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, work: ProgramWork) -> CodeResult:
        """Wait for a free thread, then for the work; cancelled, stop it and wait for its end."""
        stop = threading.Event()
        with self._lock:
            if self._closed:
                return CLOSED
            self._running.add(stop)
            future = self._threads.submit(self._work, work, stop)
        future.add_done_callback(lambda _: self._running.discard(stop))
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if waiting.cancelled() and task is not None and not task.cancelling():
                return CLOSED
            stop.set()
            future.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({waiting})
            raise

    def _work(self, work: ProgramWork, stop: threading.Event) -> CodeResult:
        # A thread freed by closing may take up the next before what waits is dropped.
        return CLOSED if self._closed else work(stop)

    async def aclose(self) -> None:
        """Stop what runs, drop what waits, end the threads."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for stop in running:
            stop.set()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

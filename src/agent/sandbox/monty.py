"""Run programs in pydantic-monty's interpreter, in a worker process (`tanlu[sandbox]`).

For systems whose kernel cannot confine a child of ours. Its Python is a subset; what differs is
in docs/decisions/0009-code-in-its-own-process.md.
"""

import asyncio
import contextlib
import functools
import importlib.util
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from agent.sandbox.programs import (
    LISTED,
    CodeLimits,
    CodeResult,
    Slots,
    fenced_program,
    unlisted_imports,
)

if TYPE_CHECKING:
    from pydantic_monty import AsyncMontySession

_TICK: Final = 0.05
_FLOOD: Final = 16
_LONGEST_PROGRAM: Final = 100_000
_LONGEST_ERROR: Final = 500
_GIVEN: Final = (
    "import math, re, json, datetime\n"
    "from decimal import Decimal\n"
    "from collections import Counter\n"
)  # fmt: skip
"""There without import; Monty has no Fraction."""


def installed() -> bool:
    """Tell whether the extra `tanlu[sandbox]` is there; nothing is imported."""
    return importlib.util.find_spec("pydantic_monty") is not None


class MontyRunner:
    """Run each program in a new worker, killed at the limits and on cancellation."""

    name = "monty"

    def __init__(self, limits: CodeLimits) -> None:
        self._limits = limits
        self._slots = Slots(limits.parallel)

    async def run(self, code: str) -> CodeResult:
        """Run a program; trailing newlines of the output are dropped."""
        if len(code) > _LONGEST_PROGRAM:
            return CodeResult(
                "", f"not run: the program has more than {_LONGEST_PROGRAM} characters"
            )
        return await self._slots.run(functools.partial(run_program, code, self._limits))

    async def aclose(self) -> None:
        await self._slots.aclose()


def run_program(code: str, limits: CodeLimits, stop: threading.Event) -> CodeResult:
    """Run it and wait, on an event loop of its own in the calling thread.

    Modules that are Monty's own (`os`, `time`…) reach nothing, but are not on the list either.
    """
    program = fenced_program(code)
    for name, line in unlisted_imports(program):
        allowed = ", ".join(LISTED)
        error = f"ModuleNotFoundError: {name} is not available here, only {allowed} (line {line})"
        return CodeResult("", error)
    return asyncio.run(_Session(program, limits, stop).until_its_end())


class _Session:
    def __init__(self, program: str, limits: CodeLimits, stop: threading.Event) -> None:
        self._program, self._limits, self._stop = program, limits, stop
        self._kept: list[str] = []
        self._room = limits.output_bytes
        self._seen = 0
        self._started = time.monotonic()

    async def until_its_end(self) -> CodeResult:
        """Wait for the worker's end; cancelling the task kills it."""
        task = asyncio.create_task(self._run())
        why = ""
        while not task.done():
            why = why or self._must_end()
            if why:
                task.cancel()
            await asyncio.wait({task}, timeout=_TICK)
        if task.cancelled():
            return self._result("", why or "cancelled")
        value, error = task.result()
        return self._result(value, error)

    def _must_end(self) -> str:
        limits = self._limits
        if self._stop.is_set():
            return "cancelled"
        if self._seen > _FLOOD * limits.output_bytes:
            return f"output limit: more than {_FLOOD * limits.output_bytes} bytes printed"
        if time.monotonic() - self._started > limits.wall_seconds:
            return f"timeout: longer than {limits.wall_seconds:g} s"
        return ""

    async def _run(self) -> tuple[str, str]:
        """Return the last expression's value as text, and the error."""
        from pydantic_monty import AsyncMonty, MontyCrashedError, MontyError, MontySyntaxError

        try:
            async with AsyncMonty(min_processes=1, max_processes=1) as pool, pool.checkout(
                limits={
                    "max_feed_duration_secs": self._limits.cpu_seconds,
                    "max_memory": self._limits.memory_mb << 20,
                },
                os_policy={"sleep": "zero"},
                assert_message_annotations=False,
            ) as session:  # fmt: skip
                return await self._feed(session), ""
        except MontyCrashedError as crash:
            late = f"timeout: more than {self._limits.cpu_seconds:g} s of computing"
            return "", late if crash.timed_out else "crash: the interpreter ended"
        except MontySyntaxError as problem:
            return "", f"SyntaxError: {self._describe(problem)}"
        except MontyError as problem:
            return "", self._describe(problem)
        except (OSError, RuntimeError) as problem:
            return "", f"not run: {problem}"

    async def _feed(self, session: "AsyncMontySession") -> str:
        await session.feed_run(_GIVEN)
        value = await session.feed_run(self._program, print_callback=self._print)
        if value is None:
            return ""
        try:
            return str(value)
        except ValueError as problem:  # an integer with too many digits, as in CPython
            return f"ValueError: {problem}"

    def _print(self, stream: str, text: str) -> None:
        if stream != "stdout":
            return
        printed = text.encode("utf-8", "backslashreplace")
        self._seen += len(printed)
        if self._room >= 0:
            # Beyond the limit nothing is kept, or a flood would fill our own memory.
            self._kept.append(printed[: self._room].decode("utf-8", "ignore"))
            self._room -= len(printed)

    def _describe(self, problem: Any) -> str:
        text = " ".join(str(problem).split())[:_LONGEST_ERROR]
        if "time limit exceeded" in text:
            return f"timeout: more than {self._limits.cpu_seconds:g} s of computing"
        with contextlib.suppress(AttributeError, IndexError):
            text = f"{text} (line {problem.traceback()[-1].line})"
        return text

    def _result(self, value: str, error: str) -> CodeResult:
        limit = self._limits.output_bytes
        text, truncated = "".join(self._kept), self._seen > limit
        if not self._seen and value:
            encoded = value.encode("utf-8", "backslashreplace")
            text, truncated = encoded[:limit].decode("utf-8", "ignore"), len(encoded) > limit
        seconds = round(time.monotonic() - self._started, 3)
        printable = error.encode("utf-8", "backslashreplace").decode()
        return CodeResult(text.rstrip("\n"), printable, truncated, seconds)

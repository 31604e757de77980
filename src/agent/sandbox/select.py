"""Select the way of running a model's code that works here; none rather than an unsafe one."""

import asyncio
import functools
import logging
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from agent.sandbox import monty, process
from agent.sandbox.programs import CodeLimits, CodeResult, CodeRunner
from agent.settings import Settings

log = logging.getLogger(__name__)
Run = Callable[[str, CodeLimits, threading.Event], CodeResult]

_TRIAL: Final = CodeLimits(wall_seconds=10, cpu_seconds=5)
"""Generous: a trial asks whether it works, not how fast the machine is just now."""
_SUM = ("print(sum(range(10)), Decimal('0.1') + Decimal('0.2'))", "45 0.3")

_ATTEMPTS: Final = """
import re
ctypes, os = (re.enum.sys.modules[name] for name in ("ctypes", "os"))
libc = ctypes.CDLL(None, use_errno=True)
def refused(answer):
    return answer == -1 and ctypes.get_errno() == 1
def start():
    child = libc.fork()
    if child == 0:
        os._exit(0)
    return child
nothing = ctypes.c_void_p(None)
tried = {
    "open": lambda: libc.open(b"/proc/self/environ", 0),
    "write": lambda: libc.open(b"/tmp", 0o20200001, 0o600),
    "list": lambda: libc.chdir(b"/"),
    "socket": lambda: libc.socket(2, 1, 0),
    "socketpair": lambda: libc.socketpair(1, 1, 0, (ctypes.c_int * 2)()),
    "fork": start,
    "execute": lambda: libc.execve(b"/nowhere", nothing, nothing),
    "signal": lambda: libc.kill(libc.getppid(), 0),
    "limits": lambda: libc.setrlimit(4, (ctypes.c_ulong * 2)()),
    "control": lambda: libc.prctl(1, 0, 0, 0, 0),
    "trace": lambda: libc.ptrace(3, 0, nothing, nothing),
}
print(*[name for name, attempt in tried.items() if not refused(attempt())] or ["none"])
"""
"""Prints which of the attempts the kernel did not refuse; each is harmless if it is not."""


@dataclass(frozen=True)
class SandboxChoice:
    """Hold a way of running code, and why it cannot be used; `problem` is empty if it can."""

    name: str
    problem: str = ""


@functools.cache
def _process_problem() -> str:
    if sys.platform != "linux":
        return f"seccomp needs Linux, this is {sys.platform}"
    return _first_problem(process.run_program, [_SUM, (_ATTEMPTS, "none")])


@functools.cache
def _monty_problem() -> str:
    if not monty.installed():
        return 'pydantic-monty is not installed: pip install "tanlu[sandbox]"'
    reads = "try:\n    open('/etc/hostname')\nexcept PermissionError:\n    print('none')"
    return _first_problem(monty.run_program, [_SUM, (reads, "none")])


def _first_problem(run: Run, trials: list[tuple[str, str]]) -> str:
    """Run each program; empty if all print what they must."""
    for program, expected in trials:
        result = run(program, _TRIAL, threading.Event())
        if result.error:
            return result.error.removeprefix("not run: ")
        if result.output != expected:
            return f"the self-test found a way out: {result.output[:100]}"
    return ""


_TRIALS: Final[dict[str, Callable[[], str]]] = {
    "process": _process_problem,
    "monty": _monty_problem,
}
_KINDS: Final[dict[str, Callable[[CodeLimits], CodeRunner]]] = {
    "process": process.ProcessRunner,
    "monty": monty.MontyRunner,
}
_lock = threading.Lock()


def try_runners(names: list[str]) -> list[SandboxChoice]:
    """Return the verdict on each up to the first that works. Blocks.

    Each is tested once a process.
    """
    verdicts: list[SandboxChoice] = []
    with _lock:
        for name in names:
            verdicts.append(SandboxChoice(name, _TRIALS[name]()))
            if not verdicts[-1].problem:
                break
    return verdicts


class CodeSandbox:
    """Hold the runner of this process, chosen and self-tested at the first call."""

    def __init__(self, settings: Settings) -> None:
        self._mode = settings.code_sandbox
        self._limits = CodeLimits(
            wall_seconds=settings.code_wall_seconds,
            cpu_seconds=settings.code_cpu_seconds,
            memory_mb=settings.code_memory_mb,
            output_bytes=settings.code_output_bytes,
            parallel=settings.code_parallel,
        )
        self._guard = threading.Lock()
        self._runner: CodeRunner | None = None
        self._verdicts: Future[list[SandboxChoice]] | None = None

    async def runner(self) -> CodeRunner | None:
        """Return the runner, or None where no way is safe and code is not run at all."""
        verdicts = await self._try_all()
        if not verdicts or verdicts[-1].problem:
            return None
        with self._guard:
            if self._runner is None:
                self._runner = _KINDS[verdicts[-1].name](self._limits)
            return self._runner

    async def health(self) -> tuple[bool, str]:
        """Tell whether code can be run, and how or why not."""
        if self._mode == "off":
            return False, "off: CODE_SANDBOX=off"
        verdicts = await self._try_all()
        reasons = "; ".join(f"{v.name}: {v.problem}" for v in verdicts if v.problem)
        if verdicts[-1].problem:
            return False, reasons
        return True, verdicts[-1].name + (f" ({reasons})" if reasons else "")

    async def aclose(self) -> None:
        """Kill what still runs."""
        with self._guard:
            closing, self._runner = self._runner, None
        if closing is not None:
            await closing.aclose()

    async def _try_all(self) -> list[SandboxChoice]:
        names = {"auto": ["process", "monty"], "off": []}.get(self._mode, [self._mode])
        with self._guard:
            if self._verdicts is None:
                self._verdicts = Future()
                threading.Thread(
                    target=_settle, args=(self._verdicts, names), name="code-trial", daemon=True
                ).start()
        # Shielded: whoever is cancelled first must not take the verdict from the others.
        return await asyncio.shield(asyncio.wrap_future(self._verdicts))


def _settle(promise: "Future[list[SandboxChoice]]", names: list[str]) -> None:
    try:
        verdicts = try_runners(names)
    except Exception as problem:
        log.exception("the sandbox could not be tried")
        verdicts = [
            SandboxChoice(name, f"{type(problem).__name__}: {problem}") for name in names[-1:]
        ]
    for verdict in verdicts:
        log.info("code in %s: %s", verdict.name, verdict.problem or "works")
    promise.set_result(verdicts)

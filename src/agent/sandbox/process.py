"""Run programs in a child process that the Linux kernel confines; child.py is its side."""

import codecs
import contextlib
import functools
import json
import os
import platform
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from agent.core.outside import parse_json
from agent.sandbox.programs import CodeLimits, CodeResult, Slots, fenced_program

_LOAD_WORD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06

_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000 | 1
"""The call fails with EPERM, which Python shows as PermissionError."""
_KILL: Final = 0x8000_0000

_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4


@dataclass(frozen=True)
class Machine:
    """Hold an architecture as the kernel's audit names it, and its numbers of the allowed calls.

    Allowed is what an interpreter needs to compute, to write into its two pipes and to end:
    nothing opens, connects, starts, signals or looks at anything.
    """

    audit: int
    calls: tuple[int, ...]
    foreign_from: int | None = None
    """Numbers from here on belong to another calling convention (x32)."""


MACHINES: Final[dict[str, Machine]] = {
    "x86_64": Machine(
        audit=0xC000_003E,
        # write, mmap, mprotect, munmap, brk, rt_sigreturn, sched_yield, mremap, madvise, exit,
        # gettimeofday, time, futex, restart_syscall, clock_gettime, clock_getres, exit_group,
        # getrandom
        calls=(1, 9, 10, 11, 12, 15, 24, 25, 28, 60, 96, 201, 202, 219, 228, 229, 231, 318),
        foreign_from=0x4000_0000,
    ),
    "aarch64": Machine(
        audit=0xC000_00B7,
        # write, exit, exit_group, futex, clock_gettime, clock_getres, sched_yield,
        # restart_syscall, rt_sigreturn, gettimeofday, brk, munmap, mremap, mmap, mprotect,
        # madvise, getrandom
        calls=(64, 93, 94, 98, 113, 114, 124, 128, 139, 169, 214, 215, 216, 222, 226, 233, 278),
    ),
}


def filter_for(machine: str) -> bytes | None:
    """Return the filter as `struct sock_filter[]`; None for an unknown architecture."""
    machine_calls = MACHINES.get(machine)
    return _assemble(machine_calls) if machine_calls else None


def _assemble(machine: Machine) -> bytes:
    """Return the filter: kill foreign architectures, let allowed calls pass, fail all others."""
    checks = [(_JUMP_EQUAL, number, "allow") for number in machine.calls]
    if machine.foreign_from is not None:
        checks.insert(0, (_JUMP_AT_LEAST, machine.foreign_from, "kill"))
    # Behind the checks lie: refuse, allow, kill.
    lines = [_line(_LOAD_WORD, _ARCHITECTURE_AT)]
    lines.append(_line(_JUMP_EQUAL, machine.audit, otherwise=len(checks) + 3))
    lines.append(_line(_LOAD_WORD, _NUMBER_AT))
    for place, (code, value, leads_to) in enumerate(checks):
        rest = len(checks) - place - 1
        lines.append(_line(code, value, then=rest + (1 if leads_to == "allow" else 2)))
    lines += [_line(_RETURN, _REFUSE), _line(_RETURN, _ALLOW), _line(_RETURN, _KILL)]
    return b"".join(lines)


def _line(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


LONGEST_PROGRAM: Final = 100_000
_START_SECONDS: Final = 20.0
"""Until the child is confined; only a machine that is out of everything needs so long."""
_TICK: Final = 0.05
_CHUNK: Final = 1 << 16
_FLOOD: Final = 16
"""A program that prints so many times what is kept is ended; until then the rest is dropped."""
_WORDS_KEPT: Final = 1 << 14
_CHILD: Final = Path(__file__).with_name("child.py")


class ProcessRunner:
    """Run each program in a new interpreter, of which nothing is left afterwards."""

    name = "process"

    def __init__(self, limits: CodeLimits) -> None:
        self._limits = limits
        self._slots = Slots(limits.parallel)

    async def run(self, code: str) -> CodeResult:
        """Run a program; trailing newlines of the output are dropped."""
        if len(code) > LONGEST_PROGRAM:
            return CodeResult(
                "", f"not run: the program has more than {LONGEST_PROGRAM} characters"
            )
        return await self._slots.run(functools.partial(run_program, code, self._limits))

    async def aclose(self) -> None:
        await self._slots.aclose()


def run_program(code: str, limits: CodeLimits, stop: threading.Event) -> CodeResult:
    """Run it and wait; blocks the calling thread, whose end would also be the child's."""
    request = _request(fenced_program(code), limits)
    if request is None:
        return CodeResult("", f"not run: no list of system calls for {platform.machine()}")
    try:
        child = _start()
    except OSError as error:
        return CodeResult("", f"not run: {error.strerror or error}")
    return _Watch(child, limits, stop, request).until_its_end()


def _request(program: str, limits: CodeLimits) -> bytes | None:
    lines = filter_for(platform.machine())
    if lines is None:
        return None
    request = {
        "code": program,
        "wall_seconds": limits.wall_seconds,
        "cpu_seconds": limits.cpu_seconds,
        "memory_mb": limits.memory_mb,
        "output_bytes": limits.output_bytes,
        "filter": lines.hex(),
        "parent": os.getpid(),
        "zone": _zone(),
    }
    return json.dumps(request).encode()


def _zone() -> str:
    """Return the present distance to UTC as a TZ value, which needs no file to be opened."""
    offset = datetime.now().astimezone().strftime("%z")
    hours, minutes = offset[1:3], offset[3:5]
    return f"<{offset[:5]}>{'-' if offset[0] == '+' else '+'}{hours}:{minutes}"


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and our own file
        [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        close_fds=True,
        cwd="/",
        env={},
        start_new_session=True,
    )


@dataclass
class _Stream:
    """Hold the beginning of a pipe's output, and how much there was."""

    kept: bytearray = field(default_factory=bytearray)
    seen: int = 0

    def add(self, chunk: bytes, limit: int) -> None:
        self.seen += len(chunk)
        self.kept += chunk[: max(limit - len(self.kept), 0)]


class _Watch:
    """Supervise one child process, which is always dead on return."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        limits: CodeLimits,
        stop: threading.Event,
        request: bytes,
    ) -> None:
        self._child, self._limits, self._stop = child, limits, stop
        self._request = memoryview(request)
        self._started = time.monotonic()
        self._ends_at = self._started + _START_SECONDS
        self._ready = False
        self._output, self._words = _Stream(), _Stream()

    def until_its_end(self) -> CodeResult:
        why = "not run: could not be watched"
        try:
            with selectors.DefaultSelector() as pipes:
                why = self._read(pipes)
        finally:
            self._kill()
        return self._result(why or self._error_text())

    def _read(self, pipes: selectors.BaseSelector) -> str:
        """Read until the child has ended; return the reason to kill it, else ""."""
        child = self._child
        for pipe, event, step in (
            (child.stdin, selectors.EVENT_WRITE, self._write),
            (child.stdout, selectors.EVENT_READ, self._read_output),
            (child.stderr, selectors.EVENT_READ, self._read_words),
        ):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            pipes.register(pipe, event, (step, pipe))
        while pipes.get_map():
            if why := self._must_end():
                return why
            for key, _ in pipes.select(min(_TICK, max(self._ends_at - time.monotonic(), 0))):
                self._advance(pipes, *key.data)
        return self._last_moments()

    @staticmethod
    def _advance(
        pipes: selectors.BaseSelector, step: Callable[[IO[bytes]], bool], pipe: IO[bytes]
    ) -> None:
        if not step(pipe):
            pipes.unregister(pipe)
            pipe.close()

    def _last_moments(self) -> str:
        """Wait between the closing of its pipes and its end.

        A program that lingers there is killed.
        """
        while self._child.poll() is None:
            if why := self._must_end():
                return why
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_TICK)
        return ""

    def _must_end(self) -> str:
        limits = self._limits
        if self._stop.is_set():
            return "cancelled"
        if self._output.seen + self._words.seen > _FLOOD * limits.output_bytes + _WORDS_KEPT:
            return f"output limit: more than {_FLOOD * limits.output_bytes} bytes printed"
        if time.monotonic() < self._ends_at:
            return ""
        if not self._ready:
            return f"not run: no interpreter after {_START_SECONDS:g} s"
        return f"timeout: longer than {limits.wall_seconds:g} s"

    def _write(self, pipe: IO[bytes]) -> bool:
        try:
            count = os.write(pipe.fileno(), self._request[:_CHUNK])
        except BlockingIOError:
            return True
        except OSError:
            count = len(self._request)
        self._request = self._request[count:]
        return len(self._request) > 0

    def _read_output(self, pipe: IO[bytes]) -> bool:
        # One byte more tells a full output from a cut one.
        return _take(pipe, self._output, self._limits.output_bytes + 1)

    def _read_words(self, pipe: IO[bytes]) -> bool:
        more = _take(pipe, self._words, _WORDS_KEPT)
        if not self._ready and self._words.kept.startswith(b"ready\n"):
            self._ready = True
            self._ends_at = time.monotonic() + self._limits.wall_seconds
        return more

    def _kill(self) -> None:
        """Kill the whole group and wait for it: SIGKILL cannot be refused."""
        if self._child.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.kill()
            self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _error_text(self) -> str:
        """Return the error the child reported, or what its death means."""
        code = self._child.returncode
        if code < 0:
            return self._death(-code)
        try:
            report = parse_json(bytes(self._words.kept).rpartition(b"\n")[2])
            refusal, error = report.get("refused"), report.get("error")
        except (ValueError, AttributeError):
            return "crash: ended without a result"
        if refusal and not self._ready:
            return f"not run: cannot be confined ({refusal})"
        return error if isinstance(error, str) else "crash: ended without a result"

    def _death(self, number: int) -> str:
        limits = self._limits
        if number in (signal.SIGPROF, signal.SIGXCPU):
            return f"timeout: more than {limits.cpu_seconds:g} s of computing"
        if number == signal.SIGALRM:
            return f"timeout: longer than {limits.wall_seconds:g} s"
        if number == signal.SIGKILL:
            return "killed: perhaps the machine is out of memory"
        try:
            return f"crash: {signal.Signals(number).name}"
        except ValueError:
            return f"crash: signal {number}"

    def _result(self, error: str) -> CodeResult:
        limit = self._limits.output_bytes
        truncated = self._output.seen > limit
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._output.kept[:limit]), final=not truncated)
        seconds = round(time.monotonic() - self._started, 3)
        # JSON may carry half of a surrogate pair, which nobody after us could encode.
        printable = " ".join(error.encode("utf-8", "backslashreplace").decode().split())
        return CodeResult(text.rstrip("\n"), printable, truncated, seconds)


def _take(pipe: IO[bytes], stream: _Stream, limit: int) -> bool:
    """Tell whether the pipe may have more."""
    try:
        chunk = os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    stream.add(chunk, limit)
    return bool(chunk)

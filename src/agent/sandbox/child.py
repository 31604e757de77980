"""Run one program of a model in a confined process; started as a script, by path, stdlib only.

It takes one JSON request from stdin, gives up everything but computing and its two pipes, says
`ready` on stderr, runs the program and ends with one JSON line on stderr: {"error": …}.
What the program can reach inside this process does not matter: the kernel is the boundary.
"""

import ast
import builtins
import collections
import contextlib
import ctypes
import datetime
import decimal
import fractions
import io
import json
import math
import os
import re
import resource
import signal
import sys
import time

LISTED = (
    "math", "re", "json", "statistics", "datetime", "decimal", "fractions", "collections",
    "itertools", "functools", "operator", "string", "typing", "dataclasses", "enum", "bisect",
    "heapq", "copy", "random",
)  # fmt: skip
_LAZY = (
    "_pylong", "_strptime", "calendar", "contextvars", "encodings.ascii", "encodings.gb18030",
    "encodings.gbk", "encodings.latin_1", "encodings.utf_16", "encodings.utf_8_sig", "numbers",
    "reprlib", "types", "unicodedata", "weakref",
)  # fmt: skip
"""Modules that the listed ones import when they are used; nothing can be opened then."""
for _module in (*LISTED, *_LAZY):
    with contextlib.suppress(ImportError):
        __import__(_module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType
    from typing import Any

_OWN_LAZY = ("_strptime", "_pylong", "time")
"""Modules that C code of listed modules imports in the name of the program's frame."""
_NAME = "<program>"
_LONGEST_ERROR = 500
_spare = [bytearray(4 << 20)]
"""Given back after an error, so that there is memory to describe it with."""
_LEAST_MEMORY = 16 << 20
"""Bytes beside the interpreter, which takes about 22 MB of address space."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2


class NotConfined(Exception):
    """Signal that the process could not be confined, so that the program is not run."""


class Program(ctypes.Structure):
    """Mirror `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))


class Counted(io.FileIO):
    """Wrap the standard output and note whether anything was written to it."""

    written = 0

    def write(self, text: "Any", /) -> "Any":
        count = super().write(text)
        self.written += count or 0
        return count


def confine(request: "Mapping[str, Any]") -> None:
    """Limit, then no way to gain privileges, then the filter. Raises Refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != request["parent"]:
        raise NotConfined("the parent is gone")
    _prctl(libc, _PR_SET_DUMPABLE, 0)
    libc.setenv(b"TZ", request["zone"].encode(), 1)
    time.tzset()
    os.environ.clear()
    _limit(request)
    os.closerange(3, 256)
    os.close(0)
    _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
    lines = bytes.fromhex(request["filter"])
    buffer = ctypes.create_string_buffer(lines, len(lines))
    program = Program(len(lines) // 8, ctypes.addressof(buffer))
    _prctl(libc, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _prctl(libc: ctypes.CDLL, option: int, value: int, more: int = 0) -> None:
    words = [ctypes.c_ulong(word) for word in (value, more, 0, 0)]
    if libc.prctl(ctypes.c_int(option), *words) != 0:
        raise NotConfined(f"prctl({option}): {os.strerror(ctypes.get_errno())}")


def _limit(request: "Mapping[str, Any]") -> None:
    """Set the resource limits; timers count from now, so that starting up is not the program's."""
    cpu = request["cpu_seconds"]
    bounds = {
        resource.RLIMIT_AS: max(request["memory_mb"] << 20, _mapped_bytes() + _LEAST_MEMORY),
        resource.RLIMIT_CPU: math.ceil(cpu + time.process_time()) + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_STACK: 8 << 20,
    }
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (allowed, allowed))
    deadly = {signal.SIGPROF, signal.SIGALRM, signal.SIGXCPU}
    for number in deadly:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, deadly)
    signal.setitimer(signal.ITIMER_PROF, cpu)
    # The parent ends the program before; this is for a parent that is itself stopped.
    signal.setitimer(signal.ITIMER_REAL, request["wall_seconds"] + 1)


def _mapped_bytes() -> int:
    """Return the bytes of address space the interpreter has taken already."""
    try:
        with open("/proc/self/statm", "rb") as pages:
            return int(pages.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 64 << 20


def outcome(code: str, out: "Counted", limit: int) -> str:
    """Run the program; the error as one line, empty if there is none."""
    stream = io.TextIOWrapper(
        io.BufferedWriter(out), "utf-8", "backslashreplace", line_buffering=True
    )
    sys.stdout, sys.stderr, sys.stdin = stream, io.StringIO(), io.StringIO()
    try:
        value = _execute(code)
        stream.flush()
        if value is not None and not out.written:
            # One byte more than is shown lets the parent see that something is missing.
            out.write(str(value).encode("utf-8", "backslashreplace")[: limit + 1])
    except SystemExit as stopped:
        error = "" if stopped.code in (None, 0) else _describe(stopped)
    except BaseException as problem:  # noqa: BLE001 - whatever a program raises
        _spare.clear()
        error = _describe(problem)
    else:
        error = ""
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
    return error


def _execute(code: str) -> "Any":
    """Return the value of the last expression, None if the program does not end with one."""
    tree = ast.parse(code, _NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    scope = _scope()
    exec(compile(tree, _NAME, "exec", dont_inherit=True), scope)  # noqa: S102
    if not isinstance(last, ast.Expr):
        return None
    final: CodeType = compile(ast.Expression(last.value), _NAME, "eval", dont_inherit=True)
    return eval(final, scope)  # noqa: S307


def _scope() -> "dict[str, Any]":
    names = {**vars(builtins), "__import__": _import}
    return {
        "__name__": "__main__",
        "__builtins__": names,
        "math": math,
        "re": re,
        "json": json,
        "datetime": datetime,
        "Decimal": decimal.Decimal,
        "Fraction": fractions.Fraction,
        "Counter": collections.Counter,
    }


def _import(
    name: str,
    scope: "Mapping[str, Any] | None" = None,
    inner: "Mapping[str, Any] | None" = None,
    fromlist: "Sequence[str] | None" = (),
    level: int = 0,
) -> "ModuleType":
    # The interpreter's own imports pass an empty list here, an import statement never does.
    inside = name in _OWN_LAZY and isinstance(fromlist, list)
    is_listed = name.partition(".")[0] in LISTED and name in sys.modules
    if level or not (inside or is_listed):
        full_name = "." * level + name
        raise ModuleNotFoundError(f"{full_name} is not available here, only {', '.join(LISTED)}")
    return sys.modules[name] if fromlist or inside else sys.modules[name.partition(".")[0]]


def _describe(problem: BaseException) -> str:
    """Return the error on one line: `ZeroDivisionError: division by zero (line 3)`."""
    kind = type(problem)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    if isinstance(problem, SyntaxError):
        message, line = str(problem.msg), problem.lineno
    else:
        message, line = str(problem), _line(problem)
    if isinstance(problem, ImportError) and problem.path:
        message = message.replace(f" ({problem.path})", "")
    text = " ".join(f"{name}: {message[: 2 * _LONGEST_ERROR]}".split()).removesuffix(":")[
        :_LONGEST_ERROR
    ]
    return f"{text} (line {line})" if line else text


def _line(problem: BaseException) -> "int | None":
    """Return the program's line that was running, innermost."""
    line, trace = None, problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def main() -> None:
    request = json.loads(sys.stdin.buffer.read() or "null")
    if request is None:
        return
    out, write, encode = Counted(1, "w", closefd=False), os.write, json.dumps
    try:
        confine(request)
    except (NotConfined, OSError, ValueError, AttributeError) as problem:
        write(2, encode({"refused": f"{type(problem).__name__}: {problem}"}).encode())
        os._exit(1)
    write(2, b"ready\n")
    try:
        report = encode({"error": outcome(request["code"], out, request["output_bytes"])})
    except BaseException as problem:  # noqa: BLE001 - describing an error can fail as well
        report = encode({"error": type(problem).__name__})
    write(2, report.encode())
    os._exit(0)


if __name__ == "__main__":
    # `__main__.…` is what the program's own classes are called, not ours.
    main()

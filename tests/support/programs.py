"""Python programs that the tests start as processes, without a cold start for each.

They are forked from a process that has imported their libraries (`tests.support.forked`); it is
shared by the workers of a test run. POSIX only.
"""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

from tests.support import launched
from tests.support.forked import HANDED_ON

REPOSITORY = Path(__file__).parents[2]
_OURS = re.compile(
    r"(?i)(key|token|secret|proxy)|^(tanlu|amap|google|gemini|openai|tavily|serper|bocha|langgraph"
    r"|langsmith|langchain|model)_|^database_url$"
)
_AT_START = re.compile(r"LC_.*|LANG|SSL_CERT_.*|PYTHON(?!IOENCODING|UNBUFFERED|UTF8).*")
"""Variables that are read before a program's first line: other values need a cold start."""


def clean_environment(**changes: str) -> dict[str, str]:
    """Return the environment without anything that could configure a run or reach out."""
    ours = {name: value for name, value in os.environ.items() if not _OURS.search(name)}
    quiet = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "LOG_COLOR": "false",
        "PYTHONUNBUFFERED": "1",
    }
    return {**ours, **quiet, **changes}


class Program:
    """A running Python program, handled as `subprocess.Popen` is."""

    def __init__(
        self,
        *argv: str,
        folder: Path,
        env: Mapping[str, str],
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        terminal: int | None = None,
        cold: bool = False,
    ) -> None:
        """Start `python argv…`, by rule `-m MODULE …`.

        `terminal` is the keyboard's end of a pseudo-terminal to run on. `cold` starts an
        interpreter of its own, as whatever its environment changes in the interpreter does.
        """
        self.args = argv
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        self.returncode: int | None = None
        self._answers = b""
        request = _request(argv, folder, env)
        request |= {"terminal": terminal is not None, "cold": cold or request["cold"]}
        self._connection = _connected()
        with contextlib.ExitStack() as handles:
            if terminal is None:
                streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
                sent = [self._handle(name, how, handles) for name, how in streams.items()]
            else:
                sent = [terminal] * 3
            socket.send_fds(self._connection, [b">"], sent)
            self._connection.sendall(json.dumps(request).encode() + b"\n")
        answer = self._answer(60)
        assert answer is not None, "the process that forks programs did not answer"
        self.pid: int = answer["pid"]

    def _handle(self, name: str, wanted: int | IO[bytes], handles: contextlib.ExitStack) -> int:
        """Return the descriptor for one of the program's streams; open our end of a pipe."""
        if not isinstance(wanted, int):
            return wanted.fileno()
        if wanted == subprocess.DEVNULL:
            return handles.enter_context(open(os.devnull, "r+b", buffering=0)).fileno()
        if wanted >= 0:
            return wanted
        theirs, ours = os.pipe() if name == "stdin" else reversed(os.pipe())
        handles.callback(os.close, theirs)
        mode = "w" if name == "stdin" else "r"
        setattr(self, name, os.fdopen(ours, mode, encoding="utf-8", errors="replace"))
        return theirs

    def _answer(self, seconds: float | None) -> dict[str, Any] | None:
        """Return the next line from the process that forks, or None if it does not come."""
        self._connection.settimeout(seconds)
        while b"\n" not in self._answers:
            try:
                came = self._connection.recv(4096)
            except (TimeoutError, BlockingIOError):
                return None
            if not came:
                raise ConnectionError("the process that forks programs is gone")
            self._answers += came
        line, _, self._answers = self._answers.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        return self._ended(0)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and (answer := self._answer(seconds)) is not None:
            self.returncode = answer["code"]
            self._connection.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raise `subprocess.TimeoutExpired` if the program goes on."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read both streams to their ends, wait, and return what was written."""
        end = None if timeout is None else time.monotonic() + timeout
        texts = ["", ""]

        def read(number: int, stream: IO[str]) -> None:
            texts[number] = stream.read()
            stream.close()

        streams = [s for s in (self.stdout, self.stderr) if s is not None and not s.closed]
        readers = [
            threading.Thread(target=read, args=(int(stream is self.stderr), stream), daemon=True)
            for stream in streams
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if end is None else max(0, end - time.monotonic()))
        if any(reader.is_alive() for reader in readers):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if end is None else max(0.1, end - time.monotonic()))
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        """Send a signal if the program still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Kill it if it runs, wait for its end and close what is open of it."""
        self.kill()
        self.wait(timeout=60)
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def run(
    argv: Sequence[str], *, folder: Path, env: Mapping[str, str], timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run `python argv…` to its end, as `subprocess.run` does."""
    with Program(*argv, folder=folder, env=env) as program:
        out, err = program.communicate(timeout)
        return subprocess.CompletedProcess(argv, program.returncode or 0, out, err)


def forked(*argv: str) -> list[str]:
    """Return the command of a Python program for those who start their processes themselves.

    It has the streams, the folder and the environment of who starts it.
    """
    _connected().close()
    return [*launched.command(str(_socket()), *argv)]


def _request(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Return a program as the process that forks is told of it; it inherits what is ours."""
    return {
        "argv": argv,
        "cwd": str(folder),
        "env": dict(env),
        "umask": _umask(),
        "ignored": [n for n in HANDED_ON if signal.getsignal(n) is signal.SIG_IGN],
        "cold": argv[0] != "-m" or _needs_cold_start(env),
    }


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _needs_cold_start(env: Mapping[str, str]) -> bool:
    names = filter(_AT_START.fullmatch, {*env, *os.environ})
    changed = {name for name in names if env.get(name) != os.environ.get(name)}
    if env.get("PYTHONPATH") in (None, str(REPOSITORY)):
        changed.discard("PYTHONPATH")
    return bool(changed)


_lease: list[socket.socket] = []
"""Held to the end of this worker: the process that forks ends with its last connection."""


def _socket() -> Path:
    run_id = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"alone-{os.getpid()}"
    return Path(tempfile.gettempdir()) / f"tanlu-{os.getuid()}-{run_id}.socket"


def forking() -> Path | None:
    """Return the socket of the process that forks, if this test run has one by now."""
    if not _lease:
        with contextlib.suppress(OSError):
            _lease.append(_connection(_socket()))
    return _socket() if _lease else None


def forking_readers() -> Path | None:
    """Return the socket of the process that forks readers of documents, if there is one by now."""
    path = forking()
    return path and path.with_suffix(".readers")


def _connected() -> socket.socket:
    """Connect to the process that forks; start it if this test run has none yet."""
    path = _socket()
    if not _lease:
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                _lease.append(_connection(path))
            except OSError:
                _start(path)
                _lease.append(_connection(path))
    return _connection(path)


def _connection(path: Path) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.connect(str(path))
    except OSError:
        opened.close()
        raise
    return opened


def _start(path: Path) -> None:
    path.unlink(missing_ok=True)
    log = path.with_suffix(".log")
    with log.open("wb") as written:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.forked", str(path)],
            cwd=REPOSITORY,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            timeout=240,
        )
    assert done.returncode == 0, log.read_text("utf-8", "replace")

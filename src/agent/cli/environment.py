"""Prepare a command's environment: `.env`, `--offline`, Ctrl-C, and the writers of its log."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from agent.cli.console import USAGE, fail
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.private_files import FILE
from agent.core.redaction import ScrubbingFilter
from agent.settings import load_env_file, user_env_file

NO_RUN = "-"
RUN_ID: ContextVar[str] = ContextVar("tanlu_run_id", default=NO_RUN)
"""The run that this task works for; each line carries it."""

_FORMAT = "%(asctime)s %(levelname)s %(name)s [%(run_id)s] %(message)s"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LOUD = ("httpx", "httpcore", "google_genai", "openai", "mcp", "langchain_google_genai")
"""Libraries that log every request, some with the key in its URL."""


class _RunId(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.run_id = getattr(record, "run_id", None) or RUN_ID.get()
        return True


class _LogFile(logging.FileHandler):
    """Write a log, to its user alone; say in one line, once, that it cannot be written."""

    has_failed = False

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        if not path.exists():
            path.touch(mode=FILE)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            super().handleError(record)
        elif not self.has_failed:
            self.has_failed = True
            fail(f"The log {self.baseFilename} cannot be written: {problem.strerror}")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            super().close()


def open_environment(arguments: Namespace) -> None:
    """Read the environment and open the log, as most commands begin; raise ConfigurationError."""
    read_environment(offline=getattr(arguments, "offline", False))
    configure_logging(log_level(), getattr(arguments, "log_file", None), terminal="ERROR")


def exit_code_of(
    arguments: Namespace, work: Callable[[Namespace], Coroutine[Any, Any, int]]
) -> int:
    """Prepare and do a command's work; return its code: 1 if refused, 2 if asked wrongly."""
    try:
        open_environment(arguments)
        return asyncio.run(work(arguments))
    except (ConfigurationError, InputError) as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        return fail(error)


def log_level() -> str | None:
    return os.environ.get("TANLU_LOG_LEVEL")


def configure_logging(
    level: str | None, log_file: str | None, *, terminal: str = "WARNING"
) -> None:
    """Send logs to `log_file` (INFO), else to stderr (`terminal`); `level` replaces either.

    Raises ConfigurationError for a file that cannot be written.
    """
    level = level.upper() if level and level.upper() in _LEVELS else None
    root = logging.getLogger()
    for writer in list(root.handlers):
        if getattr(writer, "tanlu", False):
            root.removeHandler(writer)
            writer.close()
    writers: list[logging.Handler] = [_writer(logging.StreamHandler(sys.stderr), level, terminal)]
    if log_file is not None:
        writers = [_writer(_open(log_file), level, "INFO")]
    for writer in writers:
        root.addHandler(writer)
    root.setLevel(min(writer.level for writer in writers))
    # A server in the same process may have given our loggers a level of their own.
    logging.getLogger("agent").setLevel(logging.NOTSET)
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.WARNING)


def _open(log_file: str) -> logging.Handler:
    try:
        return _LogFile(Path(log_file), encoding="utf-8")
    except OSError as error:
        problem = f"cannot be written, {log_file}: {error.strerror}"
        raise ConfigurationError("--log-file", problem) from None


def _writer(writer: logging.Handler, level: str | None, otherwise: str) -> logging.Handler:
    writer.setLevel(level or otherwise)
    writer.setFormatter(logging.Formatter(_FORMAT))
    writer.addFilter(_RunId())
    writer.addFilter(ScrubbingFilter())
    writer.tanlu = True  # type: ignore[attr-defined]
    return writer


def read_environment(*, offline: bool) -> None:
    """Read `.env`, then the user's own file; what is set already wins. Raises ConfigurationError.

    The process environment thus comes first.
    """
    for path in (Path(".env"), user_env_file()):
        try:
            load_env_file(path)
        except UnicodeDecodeError:
            raise ConfigurationError(str(path), "is not UTF-8 text") from None
        except (OSError, ValueError) as error:
            raise ConfigurationError(str(path), f"cannot be read: {error}") from None
    if offline:
        os.environ["TANLU_MODE"] = "offline"


@contextlib.contextmanager
def on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C call `act` within the running loop while the context is open."""
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    # Not loop.add_signal_handler: Windows has none, and this wakes the loop as well.
    signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(act))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

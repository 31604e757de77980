"""Run the command `tanlu`; this module and the parser import only the standard library."""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

from agent.cli.console import CANCELLED, FAILED, fail, output_problem, prepare_streams
from agent.cli.parser import build_parser, join_negative_values
from agent.core.garbage import collect_rarely

if TYPE_CHECKING:
    import logging

COMMANDS = {
    "ask": "agent.cli.ask",
    "serve": "agent.cli.serve",
    "mcp": "agent.cli.mcp",
    "batch": "agent.cli.batch",
    "judge": "agent.cli.judge",
    "compare": "agent.cli.compare",
    "ingest": "agent.cli.ingest",
    "search": "agent.cli.search",
    "threads": "agent.cli.threads",
    "share": "agent.cli.share",
    "memory": "agent.cli.memory",
    "doctor": "agent.cli.doctor",
    "config": "agent.cli.config",
    "completion": "agent.cli.completion",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 done, 1 failed, 2 bad usage, 130 after a signal."""
    collect_rarely()
    prepare_streams()
    words = join_negative_values(sys.argv[1:] if argv is None else argv)
    try:
        if "_ARGCOMPLETE" in os.environ:
            import argcomplete

            argcomplete.autocomplete(build_parser(COMMANDS))
        parser = build_parser(COMMANDS, words)
        if not words:
            parser.print_help()
            return 0
        arguments = parser.parse_args(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    _end_like_ctrl_c_on_termination()
    try:
        command = importlib.import_module(COMMANDS[arguments.command])
        code: int = command.run_command(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return CANCELLED
    except BrokenPipeError:
        return _reader_is_gone()
    except Exception as error:  # noqa: BLE001
        from agent.core.errors import StoreFailed

        if isinstance(error, StoreFailed):
            return fail(error)
        if isinstance(error, OSError) and (problem := output_problem()):
            _silence(sys.stdout.fileno())
            return fail(f"Standard output cannot be written: {problem}")
        # A command line never ends in a traceback; the log has it.
        _log().info("unexpected", exc_info=True)
        return fail(f"An unexpected {type(error).__name__}: {error}", hint=True)
    return code


def _log() -> "logging.Logger":
    import logging

    return logging.getLogger(__name__)


def _end_like_ctrl_c_on_termination() -> None:
    """Have SIGTERM and a closed terminal end a command in order; `nohup` is left to itself."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        # A terminal that was closed takes nothing any more, and saying so must not fail.
        for output in (1, 2):
            _silence_if_gone(output)
        # Shells have a command in the background ignore Ctrl-C, but it is not that which came.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    # Outside of the main thread signals cannot be set.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)
        if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, interrupt)


def _silence_if_gone(output: int) -> None:
    try:
        os.write(output, b"")
    except OSError:
        _silence(output)


def _reader_is_gone() -> int:
    """Handle a closed pipe (`tanlu … | head`): Python must not flush to it at its end."""
    _silence(sys.stdout.fileno())
    return FAILED


def _silence(output: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)

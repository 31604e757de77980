"""Write to standard output and error without ever failing. Quick to import."""

import io
import json
import locale
import os
import shlex
import sys
from typing import TYPE_CHECKING, TextIO

from agent.core.strings import as_sentence, one_line, valid_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from agent.batch.questions import BadLine
    from agent.core.errors import AgentError, StoreFailed
    from agent.texts import Language

ANSWERED, FAILED, USAGE, CANCELLED = 0, 1, 2, 130
_UNSEEN = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
_LINES_SHOWN = 20
_MORE = "More is shown by --log-file FILE or TANLU_LOG_LEVEL=DEBUG."


def prepare_streams() -> None:
    """Replace what a console cannot show (GBK, ASCII) instead of failing; open what is closed.

    The number of a closed stream would be that of the next file that is opened, which every
    program that is started then writes to: a database, for one.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            os.set_inheritable(number, True)
            if nowhere != number:
                os.close(nowhere)
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def printable(text: str) -> str:
    """Return the text without escape sequences, reversed writing and other controls."""
    return valid_text(text).replace("\r", "")


def fail(
    message: "str | AgentError | StoreFailed",
    *,
    code: int = FAILED,
    hint: bool = False,
    then: str = "",
) -> int:
    """Print `tanlu: message` on stderr as a sentence, scrubbed, and return the exit code.

    What helps, after an arrow in the message, has a line of its own; the reason is then bold.
    `then` is what to do now, and ends in a command as it is to be typed.
    """
    from agent.core.redaction import scrub

    if not isinstance(message, str):
        from agent.core.errors import ConfigurationError
        from agent.texts import problem_text

        if isinstance(message, ConfigurationError):
            message = problem_text(message, console_language())
        else:
            message = message.message
    reason, _, remedy = scrub(message).partition(" → ")
    line = f"tanlu: {as_sentence(one_line(reason))}" + (f" {_MORE}" if hint else "")
    line += f" {then}" if then else ""
    is_bold = remedy and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"\x1b[1m{line}\x1b[0m" if is_bold else line, file=sys.stderr)  # noqa: T201
    if remedy:
        print(f"tanlu: {one_line(remedy)}", file=sys.stderr)  # noqa: T201
    return code


def output_problem() -> str:
    """Return why standard output takes nothing; empty where it does."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def tell_aside(line: str) -> None:
    """Print a line on standard error, where it is no part of the answer."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def print_json(value: object) -> None:
    """Print exactly one object and a line break; ASCII where the console cannot show everything."""
    text = json.dumps(value, ensure_ascii=not is_utf8(sys.stdout), allow_nan=False)
    print(text.translate(_UNSEEN), flush=True)  # noqa: T201


def print_result(told: object, words: str, *, as_json: bool) -> None:
    """Print what a command found: as an object with `--json`, else in words, if there are any."""
    if as_json:
        print_json(told)
    elif words:
        print(printable(words))  # noqa: T201


def report_bad_lines(lines: "Sequence[BadLine]", file: str = "") -> None:
    """Say which lines of a file of questions or answers are left out, the first of them."""
    from agent.texts import counted, say

    name, language = f"{file}: " if file else "", console_language()
    for bad in lines[:_LINES_SHOWN]:
        told = say("batch.line_left_out", language, line=bad.line, problem=bad.problem)
        fail(f"{name}{told}")
    if (more := len(lines) - _LINES_SHOWN) > 0:
        left = counted("lines", more, language)
        fail(f"{name}{say('batch.more_left_out', language, lines=left)}")


def is_utf8(stream: TextIO) -> bool:
    """Return True if every character can be written to the stream."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def is_terminal() -> bool:
    """Return True if a person can be asked here; the answer may go into a file."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def console_language() -> "Language":
    """Return the language for lines that answer no question: ANSWER_LANGUAGE, else the locale's."""
    chosen = os.environ.get("ANSWER_LANGUAGE", "").lower()
    if chosen not in ("zh", "en"):
        # The variables first: a locale that is not installed is wanted all the same.
        names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
        chosen = (next(filter(None, names), None) or locale.getlocale()[0] or "").lower()
    return "zh" if chosen.startswith(("zh", "chinese")) else "en"


def command_line(command: str, words: "Iterable[str]", arguments: "Namespace", *names: str) -> str:
    """Return a command as it can be typed again, with those of the named options that are set."""
    parts = [*called_as(), command, *words]
    for name in names:
        value, option = getattr(arguments, name), f"--{name.replace('_', '-')}"
        if value is True:
            parts.append(option)
        elif value not in (None, False, "", []):
            for each in value if isinstance(value, list) else [value]:
                parts += [option, str(each).removesuffix(".0")]
    return shlex.join(parts)


def called_as() -> list[str]:
    """Return the words that started this program, so that a printed command works."""
    return ["uv", "run", "tanlu"] if "UV_RUN_RECURSION_DEPTH" in os.environ else ["tanlu"]

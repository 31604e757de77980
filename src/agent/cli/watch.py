"""Show the progress of a run on stderr: live on a terminal, plain lines elsewhere."""

import logging
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent.cli.console import printable
from agent.core.errors import AgentError
from agent.core.redaction import scrub
from agent.texts import Language, event_line, reason_of, say

_TAIL_LINES = 8

_PASSING = (
    *("search_started", "map_started", "map_call", "reading", "answering", "turn_started"),
    *("task_started", "reconnecting", "retry"),
)
"""Shown while they last; what came of them is said afterwards."""


_INSTALLER, _CALLS = "agent.mcp.servers", "agent.core.calls"
_INSTALLS = ("progress.installing", "progress.installed")


class Watcher(Protocol):
    """Listen to a run's progress events and to the pieces of its answer."""

    notice_shown: bool

    def event(self, event: Mapping[str, Any]) -> None: ...

    def token(self, text: str) -> None: ...

    def restart(self) -> None:
        """Forget the pieces of the answer: a run that is continued writes it anew."""


class SilentWatcher:
    """Show nothing, for `--json`: one object is printed, nothing else."""

    notice_shown = False

    def event(self, event: Mapping[str, Any]) -> None:
        """Show nothing."""

    def token(self, text: str) -> None:
        """Show nothing."""

    def restart(self) -> None:
        """Show nothing."""


class PlainWatcher:
    """Print one line an event, for logs and pipes."""

    notice_shown = False

    def __init__(self, language: Language) -> None:
        self._language = language

    def event(self, event: Mapping[str, Any]) -> None:
        if line := event_line(event, self._language):
            print(f"- {line}", file=sys.stderr, flush=True)  # noqa: T201

    def token(self, text: str) -> None:
        """Print nothing: the answer is printed once, at the end."""

    def restart(self) -> None:
        """Do nothing: no piece of it was printed."""


class LiveWatcher:
    """Show finished steps, the present one with a spinner, and the end of the growing answer."""

    def __init__(self, console: Console, language: Language) -> None:
        self.notice_shown = False
        self._console, self._language = console, language
        self._now = say("progress.starting", language)
        self._spinner = Spinner("line" if console.options.ascii_only else "dots")
        self._answer = ""

    def event(self, event: Mapping[str, Any]) -> None:
        line = event_line(event, self._language)
        if not line:
            return
        if event["type"] in _PASSING:
            self._now = line
            return
        if event["type"] == "notice":
            self.notice_shown = True
            self._console.print(Text(printable(str(event["text"])), style="yellow"))
            return
        style = "yellow" if event["type"] == "gap" else "dim"
        self._console.print(Text(f"  {line}", style=style))

    def token(self, text: str) -> None:
        self._answer += text

    def restart(self) -> None:
        self._answer = ""

    def __rich__(self) -> Group:
        self._spinner.update(text=Text(self._now, style="cyan", no_wrap=True, overflow="ellipsis"))
        tail = deque(printable(self._answer).splitlines(), maxlen=_TAIL_LINES)
        return Group(self._spinner, Text("\n".join(tail), style="dim", overflow="fold"))


class _ProgressLog(logging.Handler):
    """Show what the log says of installing the map server, and of calls made again, as progress."""

    def __init__(self, watcher: Watcher, language: Language) -> None:
        super().__init__(logging.INFO)
        self._watcher, self._language = watcher, language

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(error := getattr(record, "error", None), AgentError):
            attempt, reason = record.__dict__["attempt"], reason_of(error, self._language)
            self._watcher.event({"type": "retry", "count": attempt, "text": reason})
            return
        if record.name == _CALLS:
            return
        text = scrub(record.getMessage())
        if self._language == "zh":
            # The log is in English, and begins with the English text.
            begun = (key for key in _INSTALLS if text.startswith(say(key, "en")))
            text = next((say(key, "zh") for key in begun), text)
        self._watcher.event({"type": "map_call", "text": text})


@contextmanager
def show_log(watcher: Watcher, language: Language) -> Iterator[None]:
    """Show as progress what takes long or is tried again, and is otherwise only in the log."""
    writer = _ProgressLog(watcher, language)
    sources = [logging.getLogger(name) for name in (_INSTALLER, _CALLS)]
    levels = [source.level for source in sources]
    for source in sources:
        source.addHandler(writer)
        source.setLevel(logging.INFO)
    try:
        yield
    finally:
        for source, level in zip(sources, levels, strict=True):
            source.removeHandler(writer)
            source.setLevel(level)


@contextmanager
def open_watcher(language: Language, *, silent: bool) -> Iterator[Watcher]:
    """Open the watcher that fits this standard error; a live one leaves only its lines."""
    if silent:
        yield SilentWatcher()
        return
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainWatcher(language)
        return
    watcher = LiveWatcher(console, language)
    with Live(get_renderable=watcher.__rich__, console=console, transient=True,
              refresh_per_second=8, redirect_stdout=False, redirect_stderr=True):  # fmt: skip
        yield watcher

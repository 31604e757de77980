"""Show the progress of a run on stderr: live on a terminal, plain lines elsewhere."""

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent.cli.console import printable
from agent.cli.environment import RUN_ID
from agent.client.follow import RunListener
from agent.core.errors import AgentError
from agent.core.redaction import scrub
from agent.texts import Language, event_line, reason_of, say

_TAIL_LINES = 8

_PASSING = (
    "waiting",
    *("search_started", "map_started", "map_call", "reading", "answering", "checking"),
    *("drafting", "judged"),
    *("turn_started", "task_started", "reconnecting", "retry"),
)
"""Shown while they last; what came of them is said afterwards."""


_INSTALLER, _CALLS = "agent.mcp.servers", "agent.core.calls"
_INSTALLS = ("progress.installing", "progress.installed")


class Watcher(RunListener):
    """Show how a run goes; this one shows nothing, for `--json`: one object, nothing else."""

    notice_shown = ""
    """The notice of sample data that stands on the terminal."""

    def __init__(self, language: Language = "en", begun: asyncio.Event | None = None) -> None:
        self._language, self._begun = language, begun

    def show(self, event: Mapping[str, Any]) -> None:
        """Show nothing."""

    async def accepted(self, run_id: str) -> None:
        RUN_ID.set(run_id)
        if self._begun is not None:
            self._begun.set()

    async def event(self, event: Mapping[str, Any]) -> None:
        self.show(event)

    async def lost(self) -> None:
        self.show({"type": "reconnecting"})


class PlainWatcher(Watcher):
    """Print one line an event, for logs and pipes; the answer is printed once, at the end."""

    _retried = ""

    def show(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "retry":
            # One line a reason: where a service is away, every call of it is made again.
            if event["text"] == self._retried:
                return
            self._retried = event["text"]
        if line := event_line(event, self._language):
            print(f"- {line}", file=sys.stderr, flush=True)  # noqa: T201


class LiveWatcher(Watcher):
    """Show finished steps, the present one with a spinner, and the end of the growing answer."""

    def __init__(
        self, console: Console, language: Language, begun: asyncio.Event | None = None
    ) -> None:
        super().__init__(language, begun)
        self._console = console
        self._now = say("progress.starting", language)
        self._spinner = Spinner("line" if console.options.ascii_only else "dots")
        self._answer = ""

    def show(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "withdrawn":
            self._answer = str(event.get("text") or "")
        line = event_line(event, self._language)
        if not line:
            return
        if event["type"] in _PASSING:
            self._now = line
            return
        if event["type"] == "notice":
            self.notice_shown = str(event["text"])
            self._console.print(Text(printable(self.notice_shown), style="yellow"))
            return
        style = "yellow" if event["type"] == "gap" else "dim"
        self._console.print(Text(f"  {line}", style=style))

    async def accepted(self, run_id: str) -> None:
        # A run that is continued writes its answer anew.
        self._answer = ""
        await super().accepted(run_id)

    async def token(self, text: str) -> None:
        self._answer += text

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
            self._watcher.show({"type": "retry", "count": attempt, "text": reason})
            return
        if record.name == _CALLS:
            return
        text = scrub(record.getMessage())
        if self._language != "en":
            # The log is in English, and begins with the English text.
            begun = (key for key in _INSTALLS if text.startswith(say(key, "en")))
            text = next((say(key, "zh") for key in begun), text)
        self._watcher.show({"type": "map_call", "text": text})


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
def open_watcher(language: Language, begun: asyncio.Event, *, silent: bool) -> Iterator[Watcher]:
    """Open the watcher that fits this standard error; a live one leaves only its lines.

    It sets `begun` once the run is accepted.
    """
    console = Console(stderr=True, highlight=False)
    if silent or not console.is_terminal or console.is_dumb_terminal:
        yield (Watcher if silent else PlainWatcher)(language, begun)
        return
    watcher = LiveWatcher(console, language, begun)
    with Live(get_renderable=watcher.__rich__, console=console, transient=True,
              refresh_per_second=8, redirect_stdout=False, redirect_stderr=True):  # fmt: skip
        yield watcher

"""How reading files in goes, on stderr: a bar on a terminal, a line a file elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from agent.cli.console import printable
from agent.lines import one_line
from agent.retrieval.outcomes import FileResult, Report, Tell

_LONGEST = 160
_WORDS = {"same": "the same", "left_out": "left out"}


def told(result: FileResult) -> str:
    """What became of a file, in one printable line."""
    word = _WORDS.get(result.outcome, result.outcome)
    reason = result.reason or result.note
    line = f"{word} {result.path}" + (f": {reason}" if reason else "")
    if result.outcome == "read":
        line += f" ({result.chunks} passages)"
    return one_line(printable(line), longest=_LONGEST)


class LineTell:
    """For pipes and logs; unchanged files are not told."""

    def began(self, total: int) -> None:
        self.said(f"{total} files")

    def told(self, result: FileResult, report: Report) -> None:
        if result.outcome != "unchanged":
            self.said(f"[{report.done}/{report.total}] {told(result)}")

    def said(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201


class _Rate(ProgressColumn):
    """Files a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} files/s" if speed else "–", style="cyan")


class BarTell:
    """A bar; what failed is written above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.bar = Progress(
            SpinnerColumn("line" if console.options.ascii_only else "dots"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            refresh_per_second=4,
            expand=True,
        )
        self._task = self.bar.add_task("", total=None)

    def began(self, total: int) -> None:
        self.bar.update(self._task, total=total)

    def told(self, result: FileResult, report: Report) -> None:
        failed = report.counts["failed"]
        description = one_line(printable(result.path), longest=40)
        description += f"  {failed} failed" if failed else ""
        self.bar.update(self._task, completed=report.done, description=description)
        if result.outcome == "failed":
            self._console.print(Text(told(result), style="yellow"))

    def said(self, line: str) -> None:
        self._console.print(Text(line))


@contextmanager
def telling() -> Iterator[Tell]:
    """What fits this standard error; a bar leaves nothing behind."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield LineTell()
        return
    shown = BarTell(console)
    with shown.bar:
        yield shown

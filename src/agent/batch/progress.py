"""Show a batch on stderr: a bar on a terminal, else a line a question; then a table."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from agent.batch.answers import Row, RowStatus
from agent.batch.runner import BatchCounts, Progress
from agent.batch.scoring import Summary, Tally
from agent.core.redaction import scrub
from agent.texts import Language, counted, say

_LONGEST = 160
_STATUSES: tuple[RowStatus, ...] = ("answered", "no_answer", "failed", "skipped", "paused")


def format_dollars(dollars: float) -> str:
    """Format dollars with cents, small amounts with four digits."""
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def _line(text: str) -> str:
    """Return one printable line, without control characters of models or files."""
    line = " ".join("".join(c if c.isprintable() else " " for c in scrub(text)).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _row_line(row: Row) -> str:
    cost = row["usage"].get("cost_usd", 0.0)
    priced = "cost unknown" if cost is None else format_dollars(cost)
    head = f"{row['status']} {row['id']} ({row['seconds']:.1f} s, {priced})"
    what = row["error"] or row["answer"]
    return _line(f"{head}: {what}" if what else head)


class LineProgress:
    """Write a line for each question, for pipes and logs."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language

    def begin(self, counts: BatchCounts) -> None:
        self.notice(_begun(counts, self._language))

    def row_done(self, row: Row, counts: BatchCounts) -> None:
        self.notice(f"[{counts.before + counts.rows_done}/{counts.total}] {_row_line(row)}")

    def notice(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201


class _Rate(ProgressColumn):
    """Show how many pieces of work are done in a time."""

    def __init__(self, unit: str, seconds: float) -> None:
        super().__init__()
        self._unit, self._seconds = unit, seconds

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        rate = f"{speed * self._seconds:.1f}" if speed else "–"
        return Text(f"{rate}{self._unit}", style="cyan")


def progress_bar(
    console: Console, unit: str, seconds: float, *columns: ProgressColumn
) -> RichProgress:
    """Return a bar with the rate (`unit`, such as " files/s", in so many seconds) and the time."""
    return RichProgress(
        SpinnerColumn("line" if console.options.ascii_only else "dots"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        _Rate(unit, seconds),
        TimeElapsedColumn(),
        *columns,
        console=console,
        transient=True,
        refresh_per_second=4,
        expand=True,
    )


class BarProgress:
    """Show a bar with rate, time left, cost, and the numbers answered and failed."""

    def __init__(self, console: Console, language: Language) -> None:
        self._console = console
        self._language: Language = language
        self.bar = progress_bar(
            console, "/min", 60,
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.description}"),
        )  # fmt: skip
        self._task = self.bar.add_task("", total=None)

    def begin(self, counts: BatchCounts) -> None:
        # Earlier starts are not part of the rate, so the bar is of what is left.
        self.bar.reset(self._task, total=counts.total - counts.before)
        self.bar.update(self._task, description=_state(counts))
        if counts.before:
            self.notice(_begun(counts, self._language))

    def row_done(self, row: Row, counts: BatchCounts) -> None:
        self.bar.update(self._task, completed=counts.rows_done, description=_state(counts))
        if row["status"] in ("failed", "paused"):
            self._console.print(Text(_row_line(row), style="yellow"))

    def notice(self, line: str) -> None:
        self._console.print(Text(line))


def _begun(counts: BatchCounts, language: Language) -> str:
    told = [counted("questions", counts.total, language)]
    told += [say("batch.before", language, n=counts.before)] if counts.before else []
    return say("punctuation.comma", language).join(told)


def _state(counts: BatchCounts) -> str:
    answered = counts.rows.get("answered", 0) + counts.rows.get("no_answer", 0)
    failed = counts.rows.get("failed", 0) + counts.rows.get("paused", 0)
    return f"{format_dollars(counts.cost_usd)}  {answered} answered  {failed} failed"


@contextmanager
def open_progress(language: Language) -> Iterator[Progress]:
    """Open the progress that fits this standard error; a bar is removed at its end."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield LineProgress(language)
        return
    progress = BarProgress(console, language)
    with progress.bar:
        yield progress


def summary_table(counts: BatchCounts, *, file_cost: float) -> Table:
    """Tabulate counts, seconds, tokens and cost of this start, and the cost of the file."""
    table = Table(title="batch", show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_row("questions", str(counts.total))
    table.add_row("done before", str(counts.before))
    for status in _STATUSES:
        table.add_row(status, str(counts.rows.get(status, 0)))
    table.add_row("left", str(counts.left))
    table.add_row("seconds", f"{_seconds(counts):.1f}")
    table.add_row("tokens in / out", f"{counts.input_tokens:,} / {counts.output_tokens:,}")
    table.add_row("searches", f"{counts.searches:,}")
    unknown = f" + {counts.unpriced} unpriced" if counts.unpriced else ""
    table.add_row("cost now", format_dollars(counts.cost_usd) + unknown)
    table.add_row("cost of the file", format_dollars(file_cost))
    return table


def _seconds(counts: BatchCounts) -> float:
    return time.monotonic() - counts.began


def score_table(summary: Summary) -> Table:
    """Tabulate accuracy with its 95% interval, in all and by level."""
    table = Table(title="score (GAIA's rule, 95% interval)", title_justify="left")
    for heading in ("", "correct", "of", "accuracy", "interval"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("all", *_figures(summary.overall))
    for level, tally in summary.levels.items():
        table.add_row(_line(f"level {level}"), *_figures(tally))
    if summary.answered.total != summary.overall.total:
        table.add_row("where answered", *_figures(summary.answered))
    if summary.unanswerable.total:
        table.add_row("without an answer", *_figures(summary.unanswerable))
    if summary.not_scored:
        table.add_row("not scored", "", str(summary.not_scored), "", "")
    return table


def _figures(tally: Tally) -> tuple[str, str, str, str]:
    if not tally.total:
        return "0", "0", "–", "–"
    low, high = tally.interval
    accuracy = f"{100 * tally.accuracy:.1f}%"
    return str(tally.correct), str(tally.total), accuracy, f"{100 * low:.1f}–{100 * high:.1f}%"

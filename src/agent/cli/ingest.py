"""Run `tanlu ingest`: read documents into the knowledge base; resumable at any moment."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import TextColumn
from rich.text import Text

from agent.batch.progress import progress_bar
from agent.cli.console import (
    ANSWERED,
    CANCELLED,
    FAILED,
    USAGE,
    command_line,
    console_language,
    fail,
    print_json,
    printable,
    tell_aside,
)
from agent.cli.environment import on_interrupt, open_environment
from agent.cli.search import check_owner, open_knowledge
from agent.core.errors import AgentError, ConfigurationError
from agent.core.strings import one_line
from agent.knowledge.files import Destination
from agent.knowledge.ingest import (
    AS_BEFORE,
    FileOutcome,
    FileResult,
    Ingest,
    IngestListener,
    Report,
)
from agent.knowledge.sqlite import check_collection_names
from agent.sample.services.pages import sample_documents
from agent.settings import read_settings
from agent.texts import counted, say

_LONGEST = 160


def result_line(result: FileResult) -> str:
    """Return a file's outcome in one printable line."""
    language = console_language()
    word = say(f"ingest.outcomes.{result.outcome}", language)
    reason = result.reason or result.note
    line = f"{word} {result.path}" + (f": {reason}" if reason else "")
    if result.outcome == "read":
        line += f" ({counted('passages', result.chunks, language)})"
    return one_line(printable(line), longest=_LONGEST)


class LineListener(IngestListener):
    """Print a line for each file but the unchanged ones, for pipes and logs."""

    def begin(self, total: int) -> None:
        self.notice(counted("files", total, console_language()))

    def file_done(self, result: FileResult, report: Report) -> None:
        if result.outcome != "unchanged":
            self.notice(f"[{report.done}/{report.total}] {result_line(result)}")

    def notice(self, line: str) -> None:
        tell_aside(line)


class BarListener(IngestListener):
    """Show a bar, with the files that failed above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.bar = progress_bar(
            console, " files/s", 1, TextColumn("{task.description}", markup=False)
        )
        self._task = self.bar.add_task("", total=None)

    def begin(self, total: int) -> None:
        self.bar.update(self._task, total=total)

    def file_done(self, result: FileResult, report: Report) -> None:
        failed = report.counts["failed"]
        description = one_line(printable(result.path), longest=40)
        told = say("ingest.outcomes.failed", console_language())
        description += f"  {failed} {told}" if failed else ""
        self.bar.update(self._task, completed=report.done, description=description)
        if result.outcome == "failed":
            self._console.print(Text(result_line(result), style="yellow"))

    def notice(self, line: str) -> None:
        self._console.print(Text(line))


@contextmanager
def open_listener() -> Iterator[IngestListener]:
    """Open the listener that fits this standard error; a bar is removed at its end."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield LineListener()
        return
    listener = BarListener(console)
    with listener.bar:
        yield listener


_LISTED = 200
_LISTED_OUTCOMES: tuple[FileOutcome, ...] = ("failed", "left_out", "gone")
_SUMMED = ("read", "unchanged", "same", "failed", "left_out", "gone", "removed")


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 all files read, 1 some failed, 2 bad usage, 130 after Ctrl-C."""
    if arguments.sample:
        arguments.paths, arguments.offline = [str(sample_documents())], True
    elif not arguments.paths:
        return fail(say("ingest.nothing_named", console_language()), code=USAGE)
    try:
        open_environment(arguments)
        check_collection_names(arguments.collection, arguments.owner)
        check_owner(arguments.owner)
    except AgentError as error:
        return fail(error, code=USAGE)
    try:
        report = asyncio.run(_ingest(arguments))
    except ConfigurationError as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        return fail(error, then=_go_on(arguments))
    except KeyboardInterrupt:
        told = say("ingest.cancelled", console_language())
        return fail(told, code=CANCELLED, then=_go_on(arguments))
    _show(report, as_json=arguments.json)
    if report.stopped:
        left = report.total - report.done
        told = say("ingest.interrupted", console_language(), n=left)
        return fail(told, code=CANCELLED, then=_go_on(arguments))
    _warn_of_unread(arguments)
    return FAILED if report.failed else ANSWERED


async def _ingest(arguments: Namespace) -> Report:
    async with open_knowledge() as (base, _):
        with open_listener() as listener:
            ingest = await base.ingest(
                [Path(path) for path in arguments.paths],
                target=Destination(arguments.collection, arguments.owner, arguments.shared),
                retry=arguments.retry,
                prune=arguments.prune,
                listener=listener,
            )
            return await _interruptible(ingest, listener)


async def _interruptible(ingest: Ingest, listener: IngestListener) -> Report:
    """Ingest; the first Ctrl-C lets files in flight finish, the second cancels them."""
    running = asyncio.ensure_future(ingest.run())

    def interrupt() -> None:
        if ingest.report.stopped:
            running.cancel()
            return
        ingest.stop()
        listener.notice(say("ingest.finishing", console_language()))

    with on_interrupt(interrupt):
        try:
            return await running
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _warn_of_unread(arguments: Namespace) -> None:
    """Warn that documents ingested without a key are not searched in sample mode."""
    settings = read_settings()
    if settings.tanlu_mode == "auto" and settings.mode == "offline":
        command = _resume_command(Namespace(**{**vars(arguments), "offline": True}))
        tell_aside(say("ingest.unread", console_language(), command=command))


def _go_on(arguments: Namespace) -> str:
    return say("terminal.go_on", console_language(), command=_resume_command(arguments))


def _resume_command(arguments: Namespace) -> str:
    """Return the command that continues where this one ended."""
    names = ("collection", "owner", "shared", "prune", "offline")
    return command_line("ingest", arguments.paths, arguments, *names)


def _show(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(report))
        return
    language = console_language()
    comma = say("punctuation.comma", language)
    counts = comma.join(
        f"{report.counts[outcome]} {say(f'ingest.outcomes.{outcome}', language)}"
        for outcome in _SUMMED
        if report.counts[outcome]
    )
    rate = report.done / report.seconds if report.seconds else 0
    files = counted("files", report.total, language) + say("punctuation.colon", language)
    print(f"{files}{counts or say('ingest.nothing', language)}")  # noqa: T201
    speed = say("ingest.speed", language, seconds=f"{report.seconds:.1f}", rate=f"{rate:.1f}")
    made = [
        counted("documents", report.documents, language),
        counted("passages", report.chunks, language),
    ]
    print(comma.join([*made, speed]))  # noqa: T201
    noted = [result for result in report.of("read") if result.note]
    for results in (noted, *(list(report.of(outcome)) for outcome in _LISTED_OUTCOMES)):
        for result in results[:_LISTED]:
            print(f"  {result_line(result)}")  # noqa: T201
        if (more := len(results) - _LISTED) > 0:
            print(f"  … {say('ingest.more', language, n=more)}")  # noqa: T201
    if report.counts["gone"]:
        print(say("ingest.prune", language))  # noqa: T201
    if any(AS_BEFORE in result.notes for result in report.failed):
        print(say("ingest.retry", language))  # noqa: T201
    for note in report.notes:
        fail(note)


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "total": report.total,
        **{outcome: report.counts[outcome] for outcome in _SUMMED},
        "documents": report.documents,
        "passages": report.chunks,
        "seconds": round(report.seconds, 3),
        "stopped": report.stopped,
        "notes": report.notes,
        "files": [_file_json(result) for result in report.results],
    }


def _file_json(result: FileResult) -> dict[str, Any]:
    told = asdict(result) | {"note": result.note}
    del told["notes"]
    return told

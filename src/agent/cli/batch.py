"""Run `tanlu batch`: many questions, a row each, resumable at any moment."""

import asyncio
import tempfile
from argparse import Namespace
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console

from agent.batch.answers import Format, RowFile, config_key, rows_path, write_answers, write_lines
from agent.batch.disk import TraceFolder
from agent.batch.jobs import BatchTarget, Worker
from agent.batch.progress import open_progress, score_table, summary_table
from agent.batch.questions import BENCHMARKS, BadLine, Question, read_questions
from agent.batch.runner import BatchCounts, BatchLimits, Progress, Runner
from agent.batch.scoring import summary, wrong
from agent.cli.console import (
    ANSWERED,
    CANCELLED,
    FAILED,
    USAGE,
    command_line,
    console_language,
    fail,
    report_bad_lines,
)
from agent.cli.environment import configure_logging, log_level, on_interrupt, read_environment
from agent.cli.request import (
    check_assistant,
    local_context,
    misused,
    refuse_review,
    server_url,
    split_sets,
    writable,
)
from agent.configuration import Configuration
from agent.core.errors import AgentError, ConfigurationError, InputError, StoreFailed
from agent.settings import read_settings
from agent.texts import counted, say


@dataclass(frozen=True)
class BatchPlan:
    """Hold the arguments of a batch, checked, and its questions."""

    questions: list[Question]
    bad_lines: list[BadLine]
    answers: Path
    format: Format
    place: BatchTarget
    limits: BatchLimits
    sets: dict[str, str]
    url: str | None
    score: bool
    trace_dir: Path | None
    log_file: Path
    resume: str
    """The command that goes on with this batch."""

    @property
    def wrong(self) -> Path:
        """Return the path of the wrong answers."""
        return beside(self.answers, ".wrong.jsonl")

    def context(self) -> dict[str, Any]:
        """Return the settings of a run in this process."""
        return local_context(self.sets, saves=True)


def beside(answers: Path, suffix: str) -> Path:
    """Return the path of ANSWERS with a suffix."""
    return answers.with_name(answers.name + suffix)


def read_batch_plan(arguments: Namespace) -> BatchPlan:
    """Return the plan; raise InputError or ConfigurationError naming the argument."""
    url = server_url(arguments.url, offline=arguments.offline)
    sets = split_sets(arguments.sets)
    if url is None:
        check_assistant(arguments.assistant)
        local_context(sets, saves=True)
    refuse_review(sets, local=url is None)
    answers = _answers(arguments)
    writable("--log-file", arguments.log_file)
    questions, bad_lines = read_questions(
        _questions(arguments), decrypt=arguments.decrypt, benchmark=arguments.benchmark,
        tell=fail,
    )  # fmt: skip
    if arguments.limit is not None:
        questions = questions[: arguments.limit]
    effective = _effective(sets, local=url is None)
    config = config_key(arguments.assistant, effective)
    rows = rows_path(answers, arguments.format).resolve()
    return BatchPlan(
        questions=questions,
        bad_lines=bad_lines,
        answers=answers,
        format=arguments.format,
        place=BatchTarget(rows, arguments.assistant, config, effective),
        limits=BatchLimits(arguments.concurrency, arguments.retry_failed, arguments.max_cost),
        sets=sets,
        url=url,
        score=arguments.score,
        trace_dir=Path(arguments.trace_dir) if arguments.trace_dir else None,
        log_file=Path(arguments.log_file or beside(answers, ".log")),
        resume=_resume_command(arguments, answers),
    )


def _questions(arguments: Namespace) -> Path:
    if arguments.questions is not None:
        return Path(arguments.questions)
    if not arguments.offline:
        raise misused("QUESTIONS", "questions")
    return Path(str(resources.files("agent.sample") / "data" / "questions.jsonl"))


def _answers(arguments: Namespace) -> Path:
    """Return the path of ANSWERS, a new one for the sample's own questions."""
    if arguments.output is not None:
        writable("-o", arguments.output)
        return Path(arguments.output)
    if arguments.questions is not None or not arguments.offline:
        raise misused("-o", "answers")
    return Path(tempfile.mkdtemp(prefix="tanlu-batch-")) / "answers.jsonl"


def _effective(sets: dict[str, str], *, local: bool) -> dict[str, Any]:
    """Return the settings that differ from the defaults, here or in `--set`.

    Defaults are left out, so that a new version of this program does not ask everything again.
    """
    chosen: dict[str, Any] = {}
    for name, value in Configuration():
        if value != Configuration.model_fields[name].default:
            chosen[name] = str(value)
    if local and read_settings().mode == "offline":
        chosen["mode"] = "offline"
    return {**chosen, **sets}


def _resume_command(arguments: Namespace, answers: Path) -> str:
    again = Namespace(**{**vars(arguments), "output": str(answers), "set": arguments.sets})
    again.format = None if arguments.format == "rows" else arguments.format
    words = [] if arguments.questions is None else [arguments.questions]
    return command_line(
        "batch", words, again, "output", "assistant", "concurrency", "limit", "trace_dir", "url",
        "log_file", "retry_failed", "score", "decrypt", "offline", "format", "benchmark",
        "max_cost", "set",
    )  # fmt: skip


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 all done, 1 something left, 2 bad usage, 130 after Ctrl-C."""
    try:
        read_environment(offline=arguments.offline)
        plan = read_batch_plan(arguments)
        traces = TraceFolder(plan.trace_dir) if plan.trace_dir else None
    except AgentError as error:
        return fail(error, code=USAGE)
    report_bad_lines(plan.bad_lines)
    advise(plan)
    if arguments.dry_run:
        return _estimate(plan)
    try:
        return asyncio.run(_batch(plan, traces))
    except InputError as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        if _is_usage(error):
            return fail(error, code=USAGE)
        return fail(error, then=_go_on(plan))
    except StoreFailed as error:
        return fail(error, then=_go_on(plan))
    except KeyboardInterrupt:
        told = say("batch.cancelled", console_language())
        return fail(told, code=CANCELLED, then=_go_on(plan))


def _go_on(plan: BatchPlan) -> str:
    return say("terminal.go_on", console_language(), command=plan.resume)


def _estimate(plan: BatchPlan) -> int:
    """Print what the rest of the batch takes; asks nothing and writes nothing.

    Of a server the settings here are taken for its own.
    """
    from agent.batch import estimate

    settings = read_settings()
    rows = estimate.read_rows(plan.place.rows, plan.place.config)
    left = estimate.left_of(plan.questions, rows, retry_failed=plan.limits.retry_failed)
    try:
        configuration = estimate.batch_configuration(plan.place.assistant, plan.context())
    except (AgentError, KeyError) as error:
        return fail(f"Of settings and assistants unknown here --dry-run tells nothing: {error}")
    today, free = datetime.now(UTC).date(), settings.mode == "offline"
    one = estimate.estimated(
        plan.place.assistant, configuration, list(rows.values()), today, free=free
    )
    time = estimate.hours(
        one, len(left), at_once=plan.limits.concurrency, calls_a_minute=settings.model_rpm
    )
    Console(highlight=False).print(estimate.estimate_table(one, len(left), time))
    return ANSWERED


def _is_usage(error: AgentError) -> bool:
    """Return True for bad usage; a server's own assistants and settings are part of it."""
    return isinstance(error, ConfigurationError) and error.name.startswith("--")


def advise(plan: BatchPlan) -> None:
    """Say before it costs anything that a benchmark of reports is asked for short answers."""
    names = {question.benchmark for question in plan.questions} - {None}
    wants_reports = [name for name in names if name and BENCHMARKS[name].rubric == "report"]
    if wants_reports and plan.place.assistant == "team_answer":
        title = BENCHMARKS[wants_reports[0]].title
        fail(say("batch.wants_reports", console_language(), benchmark=title))


async def _batch(plan: BatchPlan, traces: TraceFolder | None) -> int:
    async with await RowFile.open(plan.place.rows) as file:
        # Not before: a file that is refused as ANSWERS gets no log beside it.
        configure_logging(log_level(), str(plan.log_file))
        return await _with_file(plan, file, traces)


async def _with_file(plan: BatchPlan, file: RowFile, traces: TraceFolder | None) -> int:
    async with _worker(plan) as worker:
        with open_progress(console_language()) as progress:
            _report_damage(file, progress)
            runner = Runner(
                worker,
                file,
                plan.place,
                limits=plan.limits,
                progress=progress,
                traces=traces,
            )
            counts = await _interruptible(runner, plan, progress)
        await _write(plan, file, traces)
        await _show(plan, file, counts)
        failed = _failure_count(plan, file)
    return _report_end(plan, runner, counts, failed)


def _report_damage(file: RowFile, progress: Progress) -> None:
    language = console_language()
    if file.was_repaired:
        progress.notice(say("batch.mended", language))
    if file.broken:
        lines = counted("lines", file.broken, language)
        progress.notice(say("batch.broken", language, lines=lines))


def _worker(plan: BatchPlan) -> AbstractAsyncContextManager[Worker]:
    """Open the worker: this process, or a server."""
    if plan.url is None:
        from agent.batch.local import local_worker

        return local_worker(plan.place.assistant, plan.context())
    from agent.batch.remote import remote_worker
    from agent.client.connection import checked_settings

    return remote_worker(
        plan.url,
        plan.place.assistant,
        lambda schema: checked_settings(plan.sets, schema, saves=True),
    )


async def _interruptible(runner: Runner, plan: BatchPlan, progress: Progress) -> BatchCounts:
    """Run the batch; the first Ctrl-C lets questions in flight finish, the second cancels them."""

    def interrupt() -> None:
        if runner.stopped != "interrupted":
            runner.stop("interrupted", "interrupted")
            runner.stopped = "interrupted"
            progress.notice(say("batch.finishing", console_language()))
        else:
            runner.cancel()

    with on_interrupt(interrupt):
        return await runner.run(plan.questions)


async def _write(plan: BatchPlan, file: RowFile, traces: TraceFolder | None) -> None:
    """Compact the rows file, and write ANSWERS from it in another format."""
    await file.compact([question.id for question in plan.questions])
    if plan.format != "rows":
        rows = await file.rows(plan.place.config)
        ids = {question.id for question in plan.questions}
        chosen = [row for row in rows if row["id"] in ids]
        trace_of = (lambda row: traces.reasoning(row["id"])) if traces else None
        prompts = {question.id: question.published for question in plan.questions}
        await asyncio.to_thread(write_answers, plan.answers, chosen, plan.format, trace_of, prompts)


async def _show(plan: BatchPlan, file: RowFile, counts: BatchCounts) -> None:
    """Print the summary, and the score with `--score`."""
    console, language = Console(highlight=False), console_language()
    console.print(summary_table(counts, file_cost=file.cost_usd))
    if plan.score and all(question.expected is None for question in plan.questions):
        console.print(say("batch.unscorable", language))
    elif plan.score:
        rows = await file.rows(plan.place.config)
        console.print(score_table(summary(rows, plan.questions)))
        wrong_rows: list[Any] = list(wrong(rows, plan.questions))
        await asyncio.to_thread(write_lines, plan.wrong, wrong_rows)
        told = say("batch.wrong", language, n=len(wrong_rows), file=str(plan.wrong))
        console.print(told, soft_wrap=True, markup=False)
    told = say("batch.answers", language, file=str(plan.answers))
    console.print(told, soft_wrap=True, markup=False)


def _failure_count(plan: BatchPlan, file: RowFile) -> int:
    """Return the number of questions whose last row is a failure, of this or an earlier start."""
    entries = (file.entry(question.id, plan.place.config) for question in plan.questions)
    return sum(entry is not None and entry.status == "failed" for entry in entries)


_STOPPED = {
    "interrupted": "interrupted", "quota": "paused", "max_cost": "stopped", "error": "stopped",
}  # fmt: skip


def _report_end(plan: BatchPlan, runner: Runner, counts: BatchCounts, failed: int) -> int:
    """Print why it stopped and how to go on; return the exit code."""
    language = console_language()
    if stopped := _STOPPED.get(runner.stopped or ""):
        code = CANCELLED if runner.stopped == "interrupted" else FAILED
        told = say(f"batch.{stopped}", language, n=counts.left, why=runner.reason)
        how = "batch.more_cost" if runner.stopped == "max_cost" else "terminal.go_on"
        return fail(told, code=code, then=say(how, language, command=plan.resume))
    if failed and not plan.limits.retry_failed:
        again = say("batch.retry", language, command=f"{plan.resume} --retry-failed")
        return fail(say("batch.failed", language, n=failed), then=again)
    return FAILED if failed or counts.left or plan.bad_lines else ANSWERED

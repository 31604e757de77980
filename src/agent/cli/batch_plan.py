"""The arguments of `tanlu batch` as one checked plan. What is wrong here is bad usage."""

import shlex
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from agent.batch.formats import Format, rows_path
from agent.batch.jobs import Place
from agent.batch.questions import BadLine, Question, read_questions
from agent.batch.rows import config_key
from agent.batch.runner import Limits
from agent.cli.console import called_as
from agent.cli.request import (
    known_assistant,
    local_context,
    refuse_review,
    server_url,
    split_sets,
    writable,
)
from agent.configuration import Configuration
from agent.errors import InputError
from agent.settings import read_settings


@dataclass(frozen=True)
class Plan:
    """A batch as it was asked for; the questions are read already."""

    questions: list[Question]
    bad_lines: list[BadLine]
    answers: Path
    format: Format
    place: Place
    limits: Limits
    sets: dict[str, str]
    url: str | None
    score: bool
    trace_dir: Path | None
    log_file: Path
    resume: str
    """The command that goes on with this batch."""

    @property
    def wrong(self) -> Path:
        """Where the wrong answers go."""
        return beside(self.answers, ".wrong.jsonl")

    def context(self) -> dict[str, Any]:
        """The settings of a run in this process."""
        return local_context(self.sets, saves=True)


def beside(answers: Path, suffix: str) -> Path:
    """ANSWERS with another end."""
    return answers.with_name(answers.name + suffix)


def read_plan(arguments: Namespace) -> Plan:
    """The plan, or an InputError or ConfigurationError that names the argument."""
    url = server_url(arguments.url, offline=arguments.offline)
    sets = split_sets(arguments.sets)
    if url is None:
        known_assistant(arguments.assistant)
        local_context(sets, saves=True)
    refuse_review(sets, "by a batch", local=url is None)
    answers = _answers(arguments)
    writable("--log-file", arguments.log_file)
    questions, bad_lines = read_questions(_questions(arguments), decrypt=arguments.decrypt)
    if arguments.limit is not None:
        questions = questions[: arguments.limit]
    config = config_key(arguments.assistant, _effective(sets, local=url is None))
    return Plan(
        questions=questions,
        bad_lines=bad_lines,
        answers=answers,
        format=arguments.format,
        place=Place(rows_path(answers, arguments.format).resolve(), arguments.assistant, config),
        limits=Limits(arguments.concurrency, arguments.retry_failed, arguments.max_cost),
        sets=sets,
        url=url,
        score=arguments.score,
        trace_dir=Path(arguments.trace_dir) if arguments.trace_dir else None,
        log_file=Path(arguments.log_file or beside(answers, ".log")),
        resume=_resume(arguments, answers),
    )


def _questions(arguments: Namespace) -> Path:
    if arguments.questions is not None:
        return Path(arguments.questions)
    if not arguments.offline:
        raise InputError("QUESTIONS", "is missing (only --offline has questions of its own)")
    return Path(str(resources.files("agent.offline") / "sample" / "questions.jsonl"))


def _answers(arguments: Namespace) -> Path:
    """ANSWERS; the sample's own questions can do without, and are then asked afresh."""
    if arguments.output is not None:
        writable("-o", arguments.output)
        return Path(arguments.output)
    if arguments.questions is not None or not arguments.offline:
        raise InputError("-o", "is missing: where should the answers go?")
    return Path(tempfile.mkdtemp(prefix="tanlu-batch-")) / "answers.jsonl"


def _effective(sets: dict[str, str], *, local: bool) -> dict[str, Any]:
    """What tells two configurations apart: what differs from the defaults, here or in `--set`.

    Defaults are left out, so that a new version of this program does not ask everything again.
    """
    chosen: dict[str, Any] = {}
    for name, value in Configuration():
        if value != Configuration.model_fields[name].default:
            chosen[name] = str(value)
    if local and read_settings().mode == "offline":
        chosen["mode"] = "offline"
    return {**chosen, **sets}


def _resume(arguments: Namespace, answers: Path) -> str:
    words = [*called_as(), "batch"]
    if arguments.questions is not None:
        words.append(arguments.questions)
    words += ["-o", str(answers), "--assistant", arguments.assistant]
    words += ["--concurrency", str(arguments.concurrency)]
    for option in ("limit", "trace_dir", "url", "log_file"):
        if (value := getattr(arguments, option)) is not None:
            words += [f"--{option.replace('_', '-')}", str(value)]
    for option in ("retry_failed", "score", "decrypt", "offline"):
        if getattr(arguments, option):
            words.append(f"--{option.replace('_', '-')}")
    if arguments.format != "rows":
        words += ["--format", arguments.format]
    if arguments.max_cost is not None:
        words += ["--max-cost", str(arguments.max_cost).removesuffix(".0")]
    for given in arguments.sets:
        words += ["--set", given]
    return shlex.join(words)

"""Describe one question of a batch: its thread, its run, its input, and the row of its result."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent.batch.answers import Row, RowSource, RowStatus
from agent.batch.questions import Question
from agent.client.run_result import RunName, RunResult, outcome_of
from agent.core.errors import AgentError
from agent.core.redaction import scrub_values
from agent.evidence.types import Gap
from agent.runs.run_log import AcceptedRun

_NAMESPACE = uuid.UUID("6f0c2a53-1f0b-5a0e-9a51-3d1c0c7f2b44")


@dataclass(frozen=True)
class BatchTarget:
    """Name a batch's file of rows, its assistant and its configuration."""

    rows: Path
    """Absolute; part of every thread's name."""
    assistant: str
    config: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the defaults; told in the rows."""


@dataclass(frozen=True)
class JobAttempt:
    """Hold one attempt at one question; the ids are the same in every process that works on it."""

    question: Question
    attempt: int
    thread_id: str
    run_id: str
    message_id: str

    def graph_input(self, *, formatted: bool) -> dict[str, Any]:
        """Return the input of the run; `formatted` means that the assistant takes a format."""
        message = {"role": "user", "content": self.question.text, "id": self.message_id}
        values: dict[str, Any] = {"messages": [message]}
        if formatted and self.question.format_requirement:
            values["format_requirement"] = self.question.format_requirement
        return values

    def accepted_run(
        self, assistant: str, context: Mapping[str, Any], *, formatted: bool
    ) -> AcceptedRun:
        """Return the run as `threads.run_config` takes it."""
        return AcceptedRun(
            run_id=self.run_id,
            thread_id=self.thread_id,
            assistant=assistant,
            input=self.graph_input(formatted=formatted),
            context=dict(context),
        )


def job_of(question: Question, attempt: int, place: BatchTarget) -> JobAttempt:
    """Return the job of an attempt, always on the same thread: a killed question goes on there.

    The question's words are part of the name: a changed question never takes over a thread.
    """
    words = (str(place.rows), place.assistant, place.config, question.id,
             question.text, str(attempt))  # fmt: skip
    thread = uuid.uuid5(_NAMESPACE, "\n".join(words))
    return JobAttempt(
        question,
        attempt,
        str(thread),
        str(uuid.uuid5(thread, "run")),
        str(uuid.uuid5(thread, "message")),
    )


def review_error() -> AgentError:
    """Return the error of a run that a setting of the server pauses for a review."""
    return AgentError("review_plan: the run waits for a review, which a batch cannot give")


@dataclass(frozen=True)
class Finished:
    """Hold a run's last values, also where it failed; `error` is then what to show."""

    values: Mapping[str, Any]
    seconds: float
    error: AgentError | None = None


class Worker(Protocol):
    """Run questions, in this process or on a server."""

    @property
    def models(self) -> Mapping[str, str]:
        """Return the models by purpose, as far as they are known here."""
        ...

    async def work(self, job: JobAttempt) -> Finished:
        """Run a question to its end, from where an earlier process left it.

        Raises ConfigurationError where no question could succeed, asyncio.CancelledError.
        """
        ...

    async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
        """Delete what was kept to resume a question, now that its row is on disk."""
        ...


SPENT = frozenset({"model_quota_day", "model_quota", "search_quota", "map_quota_day"})
"""Codes after which the next question would fail, too."""


def spent_quota(gaps: Iterable[Gap], error: AgentError | None = None) -> str | None:
    """Return the quota that is spent, in words, or None."""
    if error is not None and error.code in SPENT:
        return error.message
    for gap in gaps:
        if gap["code"] in SPENT:
            message = gap["message"]
            return message if gap["provider"] in message else f"{gap['provider']}: {message}"
    return None


_TRACED = (
    "analysis", "sub_questions", "reasoning_trace", "transcript", "hypotheses", "evidence_pool",
    "raw_answer", "explanation", "verified", "ended", "queries", "search_results",
    "web_research_result", "amap_research_result", "places", "gaps",
)  # fmt: skip
_USAGE = ("model_calls", "input_tokens", "output_tokens", "searches", "map_calls")


@dataclass(frozen=True)
class AttemptResult:
    """Hold a row, its trace, and the quota that paused it."""

    row: Row
    trace: dict[str, Any]
    quota: str | None = None
    """The quota that is spent, where the row is paused for it."""


def attempt_result(
    job: JobAttempt, finished: Finished, place: BatchTarget, *, models: Mapping[str, str]
) -> AttemptResult:
    """Return the row of a finished run; paused where a spent quota prevented an answer."""
    values, error = finished.values, finished.error
    outcome: RunResult | None = None
    if error is None:
        try:
            name = RunName(place.assistant, job.thread_id, job.run_id)
            outcome = outcome_of(values, name, finished.seconds)
        except AgentError as problem:
            error = problem
    answer, status = _answer(outcome)
    if status == "no_answer" and outcome is not None and outcome.degraded:
        # Nothing was found because something failed: that is worth another attempt.
        status, error = "failed", AgentError(_first_gap(outcome))
    quota = None
    if status != "answered" or (outcome is not None and outcome.degraded):
        gaps = outcome.gaps if outcome else list(values.get("gaps") or [])
        quota = spent_quota(gaps, error)
    if quota is not None:
        answer, status = "", "paused"
    row = Row(
        id=job.question.id,
        question=job.question.text,
        answer=answer,
        status=status,
        error=quota or (error.message if error else None),
        sources=_sources(outcome),
        usage=_usage(values, outcome, finished.seconds),
        models=dict(models),
        seconds=round(finished.seconds, 2),
        config=place.config,
        attempt=job.attempt,
    )
    row = _self_contained(row, job, place)
    if outcome is not None and isinstance(claims := outcome.checks.get("claims"), dict):
        row["claims"] = claims
    cleaned: Row = scrub_values(row)
    return AttemptResult(cleaned, _trace(cleaned, values, outcome, job), quota)


def _self_contained(row: Row, job: JobAttempt, place: BatchTarget) -> Row:
    """Return the row with what lets a file of rows speak for itself: who was asked, and how."""
    row["assistant"], row["settings"] = place.assistant, dict(place.settings)
    if job.question.benchmark is not None:
        row["benchmark"] = job.question.benchmark
    if job.question.expected is not None:
        row["expected"] = job.question.expected
    return row


def skipped_row(job: JobAttempt, place: BatchTarget) -> Row:
    """Return the row of a question that cannot be asked in words alone."""
    row = Row(
        id=job.question.id,
        question=job.question.text,
        answer="",
        status="skipped",
        error="the question needs a file",
        sources=[],
        usage={},
        models={},
        seconds=0.0,
        config=place.config,
        attempt=job.attempt,
    )
    return _self_contained(row, job, place)


def _answer(outcome: RunResult | None) -> tuple[str, RowStatus]:
    """Return the bare answer where the assistant gives one, else its whole text."""
    if outcome is None:
        return "", "failed"
    if outcome.final_answer is not None:
        # The state has it in the form in which answers are compared.
        final = str(outcome.state.get("final_answer", outcome.final_answer)).strip()
        return final, "answered" if final else "no_answer"
    return outcome.answer, "no_answer" if outcome.needs else "answered"


def _first_gap(outcome: RunResult) -> str:
    return next((gap["message"] for gap in outcome.gaps), "the run could not do its work")


def _sources(outcome: RunResult | None) -> list[RowSource]:
    cited = outcome.sources if outcome else []
    return [
        RowSource(number=source.get("number") or place, title=source["title"], url=source["url"])
        for place, source in enumerate(cited, 1)
    ]


def _usage(values: Mapping[str, Any], outcome: RunResult | None, seconds: float) -> dict[str, Any]:
    """Return the usage of the answer, or of the steps of a run without one."""
    if outcome is not None:
        return dict(outcome.usage)
    spent = values.get("usage") or {}
    usage: dict[str, Any] = {name: int(spent.get(name) or 0) for name in _USAGE}
    usage["seconds"] = round(seconds, 2)
    usage["cost_usd"] = spent.get("cost_usd", 0.0)
    return usage


def _trace(
    row: Row, values: Mapping[str, Any], outcome: RunResult | None, job: JobAttempt
) -> dict[str, Any]:
    """Return the row with the steps that led to it."""
    steps = {name: values[name] for name in _TRACED if values.get(name)}
    text = outcome.answer if outcome else ""
    sources = outcome.sources if outcome else values.get("sources_gathered") or []
    whole = {**row, "thread_id": job.thread_id, "text": text, **steps, "sources": sources}
    cleaned: dict[str, Any] = scrub_values(whole)
    return cleaned

"""Turn a finished run into its row and its trace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.batch.answers import Row, RowSource, Status
from agent.batch.jobs import Finished, Job, Place
from agent.client.run_result import Outcome, RunName, outcome_of
from agent.core.errors import AgentError
from agent.core.redaction import scrub_values
from agent.evidence.types import Gap

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
class Result:
    """Hold a row, its trace, and the quota that paused it."""

    row: Row
    trace: dict[str, Any]
    quota: str | None = None
    """The quota that is spent, where the row is paused for it."""


def result_of(job: Job, finished: Finished, place: Place, *, models: Mapping[str, str]) -> Result:
    """Return the row of a finished run; paused where a spent quota prevented an answer."""
    values, error = finished.values, finished.error
    outcome: Outcome | None = None
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
    return Result(cleaned, _trace(cleaned, values, outcome, job), quota)


def _self_contained(row: Row, job: Job, place: Place) -> Row:
    """Return the row with what lets a file of rows speak for itself: who was asked, and how."""
    row["assistant"], row["settings"] = place.assistant, dict(place.settings)
    if job.question.benchmark is not None:
        row["benchmark"] = job.question.benchmark
    if job.question.expected is not None:
        row["expected"] = job.question.expected
    return row


def skipped_row(job: Job, place: Place) -> Row:
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


def _answer(outcome: Outcome | None) -> tuple[str, Status]:
    """Return the bare answer where the assistant gives one, else its whole text."""
    if outcome is None:
        return "", "failed"
    if outcome.final_answer is not None:
        final = outcome.final_answer.strip()
        return final, "answered" if final else "no_answer"
    return outcome.answer, "no_answer" if outcome.needs else "answered"


def _first_gap(outcome: Outcome) -> str:
    return next((gap["message"] for gap in outcome.gaps), "the run could not do its work")


def _sources(outcome: Outcome | None) -> list[RowSource]:
    cited = outcome.sources if outcome else []
    return [
        RowSource(number=source.get("number") or place, title=source["title"], url=source["url"])
        for place, source in enumerate(cited, 1)
    ]


def _usage(values: Mapping[str, Any], outcome: Outcome | None, seconds: float) -> dict[str, Any]:
    """Return the usage of the answer, or of the steps of a run without one."""
    if outcome is not None:
        return dict(outcome.usage)
    spent = values.get("usage") or {}
    usage: dict[str, Any] = {name: int(spent.get(name) or 0) for name in _USAGE}
    usage["seconds"] = round(seconds, 2)
    usage["cost_usd"] = spent.get("cost_usd", 0.0)
    return usage


def _trace(
    row: Row, values: Mapping[str, Any], outcome: Outcome | None, job: Job
) -> dict[str, Any]:
    """Return the row with the steps that led to it."""
    steps = {name: values[name] for name in _TRACED if values.get(name)}
    text = outcome.answer if outcome else ""
    sources = outcome.sources if outcome else values.get("sources_gathered") or []
    whole = {**row, "thread_id": job.thread_id, "text": text, **steps, "sources": sources}
    cleaned: dict[str, Any] = scrub_values(whole)
    return cleaned

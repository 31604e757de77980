"""Turn a finished run into its row and its trace."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.batch.answers import Row, RowSource, Status
from agent.batch.disk import replace_file
from agent.batch.jobs import Finished, Job, Place
from agent.client.run_result import Outcome, RunName, outcome_of
from agent.core.errors import AgentError, InputError
from agent.core.redaction import scrub
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


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def safe_name(id: str) -> str:
    """Return the id as a file name for every system; a changed one ends with a hash."""
    name = _UNSAFE.sub("_", id).strip(".")[:_LONGEST]
    # Upper case is hashed, too: some systems take A.json and a.json for one file.
    if name == id and name == name.lower() and name and not _RESERVED.match(name):
        return name
    return (
        f"{name or 'question'}-{hashlib.sha1(id.encode(), usedforsecurity=False).hexdigest()[:8]}"
    )


class TraceFolder:
    """Keep the last trace of each question in DIR/<safe id>.json. All methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--trace-dir", f"{folder} cannot be used: {error.strerror}") from None
        if not os.access(folder, os.W_OK):
            raise InputError("--trace-dir", f"{folder} cannot be written to")

    def path(self, id: str) -> Path:
        return self._folder / f"{safe_name(id)}.json"

    def write(self, id: str, trace: Mapping[str, Any]) -> None:
        """Write a trace atomically; raise AgentError if it cannot be written."""
        path = self.path(id)
        try:
            replace_file(path, [json.dumps(trace, ensure_ascii=False, indent=1).encode()])
        except OSError as error:
            problem = f"--trace-dir: {path} cannot be written: {error.strerror}"
            raise AgentError(problem) from error

    def reasoning(self, id: str) -> str:
        """Return the steps of the reasoning as text, for submissions that ask for it."""
        try:
            trace = json.loads(self.path(id).read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        steps = trace.get("reasoning_trace") or []
        lines = [str(s.get("text") or "") if isinstance(s, dict) else str(s) for s in steps]
        return "\n".join(line for line in lines if line)


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


def scrub_values(value: Any) -> Any:
    """Return plain JSON values without any key in any text."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {str(name): scrub_values(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_values(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return scrub(json.dumps(value, ensure_ascii=False, default=str))

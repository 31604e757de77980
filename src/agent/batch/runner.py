"""Run the remaining questions, a few at a time; a row is on disk before it is counted."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent.batch.answers import Row, RowFile, RowStatus
from agent.batch.disk import TraceFolder
from agent.batch.jobs import (
    BatchTarget,
    Finished,
    JobAttempt,
    Worker,
    attempt_result,
    job_of,
    skipped_row,
)
from agent.batch.questions import Question
from agent.core.errors import AgentError, StoreFailed

log = logging.getLogger(__name__)

BatchStop = Literal["interrupted", "max_cost", "quota", "error"]


@dataclass
class BatchCounts:
    """Count the rows of this start of the batch; those of earlier starts are in `before`."""

    total: int = 0
    """Questions this start was to see to, those of earlier starts included."""
    before: int = 0
    rows: dict[RowStatus, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Rows whose cost nobody knows."""
    began: float = field(default_factory=time.monotonic)

    @property
    def rows_done(self) -> int:
        return sum(self.rows.values())

    @property
    def left(self) -> int:
        """Return the number of questions without a row, or with one that a later start replaces."""
        return self.total - self.before - self.rows_done + self.rows.get("paused", 0)

    def count(self, row: Row) -> None:
        status, usage = row["status"], row["usage"]
        self.rows[status] = self.rows.get(status, 0) + 1
        self.input_tokens += int(usage.get("input_tokens") or 0)
        self.output_tokens += int(usage.get("output_tokens") or 0)
        self.searches += int(usage.get("searches") or 0)
        cost = usage.get("cost_usd", 0.0)
        self.cost_usd += cost or 0.0
        self.unpriced += cost is None


class Progress(Protocol):
    """Show the progress of a batch."""

    def begin(self, counts: BatchCounts) -> None: ...

    def row_done(self, row: Row, counts: BatchCounts) -> None:
        """Show a row that is on disk."""
        ...

    def notice(self, line: str) -> None:
        """Show a line that a person should read at once."""
        ...


@dataclass(frozen=True)
class BatchLimits:
    """Limit a batch: questions at once, retries, cost."""

    concurrency: int = 8
    retry_failed: bool = False
    max_cost: float | None = None
    """USD of all rows in the file, those of earlier starts included."""


class Runner:
    """Run one start of a batch."""

    def __init__(
        self,
        worker: Worker,
        file: RowFile,
        place: BatchTarget,
        *,
        limits: BatchLimits,
        progress: Progress,
        traces: TraceFolder | None = None,
    ) -> None:
        self._worker, self._file, self._place = worker, file, place
        self._limits, self._progress, self._traces = limits, progress, traces
        self._waiting: deque[Question] = deque()
        self._lanes: list[asyncio.Task[None]] = []
        self.counts = BatchCounts()
        self.stopped: BatchStop | None = None
        self.reason = ""
        """Why it stopped, in words."""

    async def run(self, questions: Sequence[Question]) -> BatchCounts:
        """Write a row for every remaining question, or stop as `stopped` says.

        Raises AgentError where a row cannot be written; what is in flight then resumes later.
        """
        self._waiting.extend(q for q in questions if self._is_left(q))
        self.counts.total = len(questions)
        self.counts.before = len(questions) - len(self._waiting)
        self._progress.begin(self.counts)
        lanes = min(self._limits.concurrency, len(self._waiting))
        self._lanes = [asyncio.create_task(self._lane()) for _ in range(lanes)]
        if self._lanes:
            try:
                await asyncio.wait(self._lanes, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                await self._end_lanes()
        return self.counts

    def stop(self, why: BatchStop, reason: str) -> None:
        """Start no further question; those in flight are finished."""
        if self.stopped is None:
            self.stopped, self.reason = why, reason
            log.info("stopping: %s", reason)

    def cancel(self) -> None:
        """Leave the questions in flight; a later start continues them from their last step."""
        for lane in self._lanes:
            lane.cancel()

    async def _end_lanes(self) -> None:
        failed = [t.exception() for t in self._lanes if t.done() and not t.cancelled()]
        self.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)
        for error in failed:
            if error is not None:
                raise error

    def _is_left(self, question: Question) -> bool:
        entry = self._file.entry(question.id, self._place.config)
        if entry is None or entry.status == "paused":
            return True
        return entry.status == "failed" and self._limits.retry_failed

    async def _lane(self) -> None:
        while (question := self._next()) is not None:
            await self._see_to(question)

    def _next(self) -> Question | None:
        most = self._limits.max_cost
        if self._waiting and most is not None and self._file.cost_usd >= most:
            spent = f"${self._file.cost_usd:.4f} of --max-cost {most:g} is spent"
            self.stop("max_cost", spent)
        return self._waiting.popleft() if self._waiting and self.stopped is None else None

    async def _see_to(self, question: Question) -> None:
        entry = self._file.entry(question.id, self._place.config)
        job = job_of(question, entry.attempts if entry else 0, self._place)
        if question.needs_file:
            await self._write(skipped_row(job, self._place), job, None)
            return
        try:
            finished = await self._worker.work(job)
        except (AgentError, StoreFailed) as error:
            # What no question can pass (a wrong setting, a full disk, a server that is gone) fails
            # no row.
            self.stop("error", error.message)
            return
        result = attempt_result(job, finished, self._place, models=self._worker.models)
        if result.quota is not None:
            self.stop("quota", result.quota)
        if self._traces is not None:
            await asyncio.to_thread(self._traces.write, question.id, result.trace)
        await self._write(result.row, job, finished)

    async def _write(self, row: Row, job: JobAttempt, finished: Finished | None) -> None:
        await _whole(self._file.append(row))
        self.counts.count(row)
        log.info("question=%s %s in %.1f s%s", row["id"], row["status"], row["seconds"],
                 f": {row['error']}" if row["error"] else "")  # fmt: skip
        self._progress.row_done(row, self.counts)
        if finished is not None:
            with contextlib.suppress(AgentError, StoreFailed):
                await self._worker.forget(job, finished)


async def _whole(work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work` even when cancelled: a second Ctrl-C must not cut a row off its answer."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise

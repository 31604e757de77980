"""Judge answers with a model and rubrics of our own: estimated first, bounded, resumable."""

import asyncio
import hashlib
import json
import logging
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field, field_validator

from agent.batch.jobs import SPENT
from agent.batch.questions import Rubric
from agent.core.budget import Meter, unlimited_meter
from agent.core.errors import AgentError, ConfigurationError, ProviderError
from agent.core.strings import estimated_tokens
from agent.evaluation.answers import FileAnswer
from agent.evaluation.verdicts import CRITERIA, RULE, Class, JudgeVerdict, VerdictFile
from agent.models.catalogue import price
from agent.models.client import ModelClient
from agent.models.types import Thinking
from agent.models.validation import schema_of
from agent.prompts import task_prompt
from agent.texts import detect_language, say

log = logging.getLogger(__name__)

_THINKING: dict[Rubric, Thinking] = {"short": "low", "report": "medium"}
_OUTPUT_TOKENS: dict[Rubric, int] = {"short": 400, "report": 2500}
"""Of one verdict, thinking included: an estimate, corrected by what verdicts really cost."""
_TASKS: dict[Rubric, str] = {"short": "judge_answer", "report": "judge_report"}
_LINK = re.compile(r"(\[\d+\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)")
_ADDRESS = re.compile(r"https?://([^\s/()<>]+)[^\s()<>]*")
_FAILURES_IN_A_ROW = 5


class ShortVerdict(BaseModel):
    """Take a judge's verdict on a short answer; its fields are written in this order."""

    extracted: str = Field("", description="The answer it settles on; empty if none.")
    reason: str
    verdict: Class

    @field_validator("verdict", mode="before")
    @classmethod
    def _fold(cls, value: object) -> object:
        return (
            "_".join(value.lower().replace("-", " ").split()) if isinstance(value, str) else value
        )


class CriterionScore(BaseModel):
    """Take one criterion's score."""

    reason: str
    score: float = Field(ge=0, le=10)


class ReportVerdict(BaseModel):
    """Take a judge's verdict on a report; its fields are written in this order."""

    requirements: list[str] = []
    comprehensiveness: CriterionScore
    insight: CriterionScore
    instruction_following: CriterionScore
    readability: CriterionScore


_SCHEMAS: dict[Rubric, type[BaseModel]] = {"short": ShortVerdict, "report": ReportVerdict}


def prompt_version(rubric: Rubric) -> str:
    """Return a short hash of a rubric's prompts and schema: other words are another judge."""
    keys = ("question", "expected", "answer") if rubric == "short" else ("question", "report")
    task, values = _TASKS[rubric], dict.fromkeys(keys, "-")
    texts = [message.text for message in task_prompt(task, **values)]
    whole = json.dumps([texts, schema_of(_SCHEMAS[rubric])], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def messages_for(answer: FileAnswer, rubric: Rubric) -> list[BaseMessage]:
    """Return the prompt of one verdict, in the question's language."""
    language = detect_language(answer.question)
    task, question, readable = _TASKS[rubric], answer.question, _without_addresses(answer.text)
    if rubric == "short":
        expected = answer.expected or say("judge.no_answer_exists", language)
        return task_prompt(task, question=question, expected=expected, answer=readable)
    return task_prompt(task, question=question, report=readable)


def _without_addresses(text: str) -> str:
    """Return a text whose citations are bare numbers, and whose addresses only name their site."""
    return _ADDRESS.sub(r"\1", _LINK.sub(r"\1", text))


def ruling(answer: FileAnswer, rubric: Rubric) -> Class | Literal["no_report"] | None:
    """Return the verdict that needs no model: the same text, or no answer at all; else None."""
    if answer.status == "answered" and answer.text.strip():
        expected = answer.expected or ""
        is_same = rubric == "short" and _bare(expected) and _bare(expected) == _bare(answer.text)
        return "correct" if is_same else None
    if rubric == "report":
        return "no_report"
    is_unanswerable = answer.expected is not None and not answer.expected.strip()
    return "correct" if is_unanswerable and answer.status == "no_answer" else "not_attempted"


def _bare(text: str) -> str:
    """Return the text without case, widths, line breaks and a full stop at its end."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".。 ")


@dataclass(frozen=True)
class PendingVerdict:
    """Hold one answer that needs a verdict, with what it will cost by estimate."""

    answer: FileAnswer
    rubric: Rubric
    key: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where the model's price is not known."""


@dataclass(frozen=True)
class JudgeStop:
    """Hold why judging ended before its end."""

    kind: Literal["max_cost", "quota", "failures", "interrupted"]
    error: AgentError | None = None


class FileJudge:
    """Judge the answers of one file with one model."""

    def __init__(
        self,
        model: str,
        *,
        rubric: Rubric | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.model, self._rubric, self._now = model, rubric, now
        self._versions: dict[Rubric, str] = {name: prompt_version(name) for name in _TASKS}

    def rubric_of(self, answer: FileAnswer) -> Rubric:
        """Return the rubric that was asked for, else the answer's own."""
        return self._rubric or answer.rubric

    def key_of(self, answer: FileAnswer) -> str:
        """Return the hash under which the verdict on this answer is kept."""
        rubric = self.rubric_of(answer)
        parts = [answer.subject, answer.question, rubric, self.model, self._versions[rubric]]
        parts.append("" if answer.expected is None or rubric == "report" else f"={answer.expected}")
        text = json.dumps(parts, ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]

    def verdict_by_rule(self, answer: FileAnswer) -> JudgeVerdict | None:
        """Return the verdict that costs nothing, or None where a model has to judge."""
        rubric = self.rubric_of(answer)
        rule = ruling(answer, rubric)
        if rule is None:
            return None
        verdict = self._verdict(answer, RULE, 0.0)
        if rule == "no_report":
            verdict["scores"] = dict.fromkeys(CRITERIA, 0.0)
            verdict["reasons"] = {}
        else:
            verdict["verdict"] = rule
        return verdict

    def pending(self, answer: FileAnswer) -> PendingVerdict:
        """Return the answer with an estimate of what a model's verdict on it will cost."""
        rubric = self.rubric_of(answer)
        schema = json.dumps(schema_of(_SCHEMAS[rubric]))
        texts = [message.text for message in messages_for(answer, rubric)]
        tokens = sum(map(estimated_tokens, [schema, *texts]))
        output = _OUTPUT_TOKENS[rubric]
        cost = price(self.model, tokens, output, on=self._now().date())
        return PendingVerdict(answer, rubric, self.key_of(answer), tokens, output, cost)

    async def ask(self, pending: PendingVerdict, models: ModelClient, meter: Meter) -> JudgeVerdict:
        """Return a model's verdict; what it cost is on `meter`. Raises as `ModelClient.ask`."""
        reply = await models.ask(
            self.model,
            messages_for(pending.answer, pending.rubric),
            meter=meter,
            schema=_SCHEMAS[pending.rubric],
            thinking=_THINKING[pending.rubric],
        )
        verdict = self._verdict(pending.answer, reply.model, meter.usage.get("cost_usd"))
        if isinstance(reply.parsed, ShortVerdict):
            verdict["verdict"] = reply.parsed.verdict
            verdict["extracted"], verdict["reason"] = reply.parsed.extracted, reply.parsed.reason
        elif isinstance(reply.parsed, ReportVerdict):
            parts: dict[str, CriterionScore] = {n: getattr(reply.parsed, n) for n in CRITERIA}
            verdict["requirements"] = reply.parsed.requirements
            verdict["scores"] = {name: part.score for name, part in parts.items()}
            verdict["reasons"] = {name: part.reason for name, part in parts.items()}
        return verdict

    def _verdict(self, answer: FileAnswer, by: str, cost_usd: float | None) -> JudgeVerdict:
        rubric = self.rubric_of(answer)
        return JudgeVerdict(
            key=self.key_of(answer),
            id=answer.id,
            subject=answer.subject,
            rubric=rubric,
            judge=self.model,
            by=by,
            version=self._versions[rubric],
            at=self._now().isoformat(timespec="seconds"),
            cost_usd=cost_usd,
        )


@dataclass(frozen=True)
class Docket:
    """Hold what is to be judged: by rule at once, by a model, and what was judged before."""

    by_rule: list[JudgeVerdict]
    pending: list[PendingVerdict]
    before: int

    @classmethod
    def of(cls, judge: FileJudge, answers: Sequence[FileAnswer], keys: Container[str]) -> "Docket":
        """Sort the answers; `keys` are those of the verdicts there are."""
        by_rule, pending, before = list[JudgeVerdict](), list[PendingVerdict](), 0
        for answer in answers:
            if judge.key_of(answer) in keys:
                before += 1
            elif (verdict := judge.verdict_by_rule(answer)) is not None:
                by_rule.append(verdict)
            else:
                pending.append(judge.pending(answer))
        return cls(by_rule, pending, before)

    @property
    def cost_usd(self) -> float | None:
        """Return the estimated cost of all that is pending; None where no price is known."""
        costs = [pending.cost_usd for pending in self.pending]
        return None if None in costs else sum(cost or 0.0 for cost in costs)


class JudgeSession:
    """Judge what is pending, several at once, each verdict on disk before it counts."""

    def __init__(
        self,
        judge: FileJudge,
        models: ModelClient,
        file: VerdictFile,
        *,
        max_cost: float | None,
        notice: Callable[[FileAnswer, JudgeVerdict | AgentError], None],
    ) -> None:
        self._judge, self._models, self._file = judge, models, file
        self._max_cost, self._notice = max_cost, notice
        self._writing = asyncio.Lock()
        self._waiting: deque[PendingVerdict] = deque()
        self._lanes: list[asyncio.Task[None]] = []
        self._reserved = self._unkept = 0.0
        self._estimated = self._paid = 0.0
        self._failures = self._total = 0
        self.judged = 0
        self.stopped: JudgeStop | None = None

    async def run(self, docket: Docket, *, concurrency: int) -> None:
        """Judge until nothing is left or `stopped` says why.

        Raises ConfigurationError where no verdict could be given, AgentError where none can be
        kept.
        """
        for verdict in docket.by_rule:
            await self._keep(verdict)
        self._waiting.extend(docket.pending)
        self._total = len(docket.pending)
        lanes = min(concurrency, len(self._waiting))
        self._lanes = [asyncio.create_task(self._lane()) for _ in range(lanes)]
        try:
            await asyncio.gather(*self._lanes)
        finally:
            self.cancel()
            await asyncio.gather(*self._lanes, return_exceptions=True)

    @property
    def left(self) -> int:
        """Return the number of answers still without a verdict."""
        return self._total - self.judged

    def stop(self, stop: JudgeStop) -> None:
        """Begin no further verdict; those under way are finished."""
        self.stopped = self.stopped or stop

    def cancel(self) -> None:
        """Leave the verdicts under way to the next start."""
        for lane in self._lanes:
            lane.cancel()

    async def _lane(self) -> None:
        while (pending := self._next()) is not None:
            likely = self._likely(pending)
            self._reserved += likely
            try:
                await self._see_to(pending)
            finally:
                self._reserved -= likely

    def _next(self) -> PendingVerdict | None:
        if not self._waiting or self.stopped is not None:
            return None
        if self._max_cost is not None:
            spent = self._file.cost_usd + self._unkept + self._reserved
            if spent + self._likely(self._waiting[0]) > self._max_cost:
                self.stop(JudgeStop("max_cost"))
                return None
        return self._waiting.popleft()

    def _likely(self, pending: PendingVerdict) -> float:
        """Return the estimate, raised where verdicts before cost more than theirs."""
        ratio = self._paid / self._estimated if self._estimated else 1.0
        return (pending.cost_usd or 0.0) * max(1.0, ratio)

    async def _see_to(self, pending: PendingVerdict) -> None:
        meter = unlimited_meter(f"judge-{pending.key}")
        try:
            verdict = await self._judge.ask(pending, self._models, meter)
        except ConfigurationError:
            raise
        except ProviderError as error:
            self._unkept += meter.usage.get("cost_usd") or 0.0
            self._fail(pending, error)
            return
        self._failures = 0
        self._estimated += pending.cost_usd or 0.0
        self._paid += verdict["cost_usd"] or 0.0
        await self._keep(verdict)
        self.judged += 1
        self._notice(pending.answer, verdict)

    def _fail(self, pending: PendingVerdict, error: ProviderError) -> None:
        self._failures += 1
        log.info("question=%s was not judged: %s", pending.answer.id, error)
        self._notice(pending.answer, error)
        if error.code in SPENT:
            self.stop(JudgeStop("quota", error))
        elif self._failures >= _FAILURES_IN_A_ROW:
            self.stop(JudgeStop("failures", error))

    async def _keep(self, verdict: JudgeVerdict) -> None:
        async with self._writing:
            writing = asyncio.ensure_future(asyncio.to_thread(self._file.append, verdict))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await writing
                raise

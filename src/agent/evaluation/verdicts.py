"""Keep verdicts beside their answers, a line each, and sum them up: classes, means, claims.

A verdict is synced before it counts: none is paid twice.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NotRequired, Self, cast, get_args

from typing_extensions import TypedDict

from agent.batch.disk import FileLock, append_line, sync_folder
from agent.batch.questions import Rubric
from agent.batch.scoring import interval
from agent.core.errors import AgentError, InputError
from agent.core.outside import parse_json
from agent.evaluation.answers import FileAnswer

Class = Literal["correct", "incorrect", "not_attempted"]
CLASSES: tuple[Class, ...] = get_args(Class)
CRITERIA = ("comprehensiveness", "insight", "instruction_following", "readability")
RULE = "rule"
"""Stands for the judge's model where none was needed."""


class JudgeVerdict(TypedDict):
    """Hold one verdict: a class with a reason, or a score with a reason for each criterion."""

    key: str
    """Hash of all that the verdict depends on."""
    id: str
    subject: str
    """`Answer.subject` of the answer that was judged."""
    rubric: Rubric
    judge: str
    """The model that was asked for."""
    by: str
    """The model that served, or `rule`."""
    version: str
    """Hash of the prompts."""
    at: str
    """Time, ISO 8601."""
    cost_usd: float | None
    verdict: NotRequired[Class]
    extracted: NotRequired[str]
    reason: NotRequired[str]
    requirements: NotRequired[list[str]]
    scores: NotRequired[dict[str, float]]
    reasons: NotRequired[dict[str, str]]


_FIRST = b'{"key"'
"""The beginning of every line that we write."""
_TEXTS = ("key", "id", "subject", "judge", "by", "version", "at")


def parse_verdict(line: bytes) -> JudgeVerdict | None:
    """Return the verdict in a line, or None."""
    try:
        value = parse_json(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in _TEXTS):
        return None
    cost = value.get("cost_usd", 0)
    if not (cost is None or isinstance(cost, int | float)):
        return None
    return cast(JudgeVerdict, value) if _has_outcome(value) else None


def _has_outcome(value: dict[str, Any]) -> bool:
    if value.get("rubric") == "short":
        return value.get("verdict") in CLASSES
    scores = value.get("scores")
    return (
        value.get("rubric") == "report"
        and isinstance(scores, dict)
        and all(isinstance(scores.get(name), int | float) for name in CRITERIA)
    )


def verdicts_path(answers: Path) -> Path:
    """Return where the verdicts on a file of answers are: beside it, under its whole name."""
    return answers.with_name(f"{answers.name}.verdicts.jsonl")


def read_verdicts(path: Path) -> list[JudgeVerdict]:
    """Return the verdicts of a file in its order; none where there is no file. Blocking."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError("ANSWERS", f"cannot be read, {path}: {error.strerror}") from None
    return [verdict for line in lines if (verdict := parse_verdict(line)) is not None]


class VerdictFile:
    """Append verdicts, one process at a time; use it as a context. All methods block.

    A line that a crash cut short is removed. Raises InputError where another judge has the file or
    it is none of ours, AgentError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.by_key: dict[str, JudgeVerdict] = {}
        self.cost_usd = 0.0
        """Of all verdicts in the file whose price is known."""
        self._lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        try:
            self._lock.acquire()
            self._load()
        except BlockingIOError:
            raise InputError("ANSWERS", f"Another judge is writing {self.path}") from None
        except OSError as error:
            self._lock.release()
            raise self._unwritable(error) from error
        except InputError:
            self._lock.release()
            raise
        return self

    def _load(self) -> None:
        content = self.path.read_bytes() if self.path.exists() else b""
        whole, _, tail = content.rpartition(b"\n")
        verdicts = read_verdicts(self.path)
        if not verdicts and not _FIRST.startswith(content[: len(_FIRST)]):
            raise InputError("ANSWERS", f"is not a file of verdicts: {self.path}")
        self._file = FileIO(self.path, "a")
        if tail:
            if parse_verdict(tail) is None:
                self._file.truncate(len(whole) + 1 if whole else 0)
            else:
                self._file.write(b"\n")
        sync_folder(self.path.parent)
        self._count(verdicts)

    def append(self, verdict: JudgeVerdict) -> None:
        """Write a verdict and sync it to disk."""
        assert self._file is not None, "append outside of the context"
        line = f"{json.dumps(verdict, ensure_ascii=False)}\n".encode(errors="replace")
        try:
            append_line(self._file, line)
        except OSError as error:
            raise self._unwritable(error) from error
        self._count([verdict])

    def _count(self, verdicts: Iterable[JudgeVerdict]) -> None:
        for verdict in verdicts:
            self.by_key[verdict["key"]] = verdict
            self.cost_usd += verdict["cost_usd"] or 0.0

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        self._lock.release()

    def _unwritable(self, error: OSError) -> AgentError:
        problem = f"{self.path} cannot be written: {error.strerror or type(error).__name__}"
        return AgentError(problem, code="answers_unwritable")


OVERALL = "overall"


@dataclass(frozen=True)
class ShortScores:
    """Count the verdicts on short answers by class."""

    classes: Mapping[Class, int]

    @property
    def total(self) -> int:
        return sum(self.classes.values())

    @property
    def accuracy(self) -> float:
        """Return the share that is correct."""
        return self.classes["correct"] / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95% interval of `accuracy`."""
        return interval(self.classes["correct"], self.total)

    @property
    def accuracy_attempted(self) -> float:
        """Return the share that is correct of the answers that were attempted."""
        attempted = self.classes["correct"] + self.classes["incorrect"]
        return self.classes["correct"] / attempted if attempted else 0.0

    @property
    def f_score(self) -> float:
        """Return the harmonic mean of the two shares, as SimpleQA's authors propose."""
        total = self.accuracy + self.accuracy_attempted
        return 2 * self.accuracy * self.accuracy_attempted / total if total else 0.0


@dataclass(frozen=True)
class ReportScores:
    """Hold the mean of each criterion, 0 to 10, and of all four."""

    total: int
    means: Mapping[str, float]
    unwritten: int
    """Reports that were not written; each counts as 0."""


@dataclass(frozen=True)
class ClaimScores:
    """Count claims of all answers by the check that each run made itself."""

    borne_out: int
    claims: int
    answers: int

    @property
    def share(self) -> float:
        return self.borne_out / self.claims if self.claims else 0.0


@dataclass(frozen=True)
class FileScores:
    """Hold all that can be said of one file of answers; None for what it has none of."""

    short: ShortScores | None = None
    report: ReportScores | None = None
    claims: ClaimScores | None = None
    by_rule: int = 0
    unjudged: list[str] = field(default_factory=list)
    """Ids of the answers that count and have no verdict."""


def scores_of(answers: Sequence[FileAnswer], verdicts: Mapping[str, JudgeVerdict]) -> FileScores:
    """Sum up the verdicts by subject on these answers, all of statuses that count."""
    chosen = [verdicts[answer.subject] for answer in answers if answer.subject in verdicts]
    return FileScores(
        short=_short([verdict for verdict in chosen if verdict["rubric"] == "short"]),
        report=_report([verdict for verdict in chosen if verdict["rubric"] == "report"]),
        claims=_claims(answers),
        by_rule=sum(verdict["by"] == RULE for verdict in chosen),
        unjudged=[answer.id for answer in answers if answer.subject not in verdicts],
    )


def overall(verdict: JudgeVerdict) -> float:
    """Return the mean of a report's four criteria."""
    return fmean(verdict["scores"][name] for name in CRITERIA)


def _short(verdicts: Sequence[JudgeVerdict]) -> ShortScores | None:
    if not verdicts:
        return None
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    return ShortScores({name: counts[name] for name in CLASSES})


def _report(verdicts: Sequence[JudgeVerdict]) -> ReportScores | None:
    if not verdicts:
        return None
    means = {name: fmean(verdict["scores"][name] for verdict in verdicts) for name in CRITERIA}
    means[OVERALL] = fmean(map(overall, verdicts))
    return ReportScores(len(verdicts), means, sum(verdict["by"] == RULE for verdict in verdicts))


def _claims(answers: Sequence[FileAnswer]) -> ClaimScores | None:
    counts = [claims for answer in answers if (claims := answer.claims) is not None]
    if not counts:
        return None
    return ClaimScores(sum(n for n, _ in counts), sum(n for _, n in counts), len(counts))

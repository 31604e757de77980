"""Sum up verdicts: classes with their intervals, means of the criteria, claims borne out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from agent.batch.scoring import interval
from agent.evaluation.answers import Answer
from agent.evaluation.verdicts import CLASSES, CRITERIA, RULE, Class, Verdict

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
class Scores:
    """Hold all that can be said of one file of answers; None for what it has none of."""

    short: ShortScores | None = None
    report: ReportScores | None = None
    claims: ClaimScores | None = None
    by_rule: int = 0
    unjudged: list[str] = field(default_factory=list)
    """Ids of the answers that count and have no verdict."""


def scores_of(answers: Sequence[Answer], verdicts: Mapping[str, Verdict]) -> Scores:
    """Sum up the verdicts by subject on these answers, all of statuses that count."""
    chosen = [verdicts[answer.subject] for answer in answers if answer.subject in verdicts]
    return Scores(
        short=_short([verdict for verdict in chosen if verdict["rubric"] == "short"]),
        report=_report([verdict for verdict in chosen if verdict["rubric"] == "report"]),
        claims=_claims(answers),
        by_rule=sum(verdict["by"] == RULE for verdict in chosen),
        unjudged=[answer.id for answer in answers if answer.subject not in verdicts],
    )


def overall(verdict: Verdict) -> float:
    """Return the mean of a report's four criteria."""
    return fmean(verdict["scores"][name] for name in CRITERIA)


def _short(verdicts: Sequence[Verdict]) -> ShortScores | None:
    if not verdicts:
        return None
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    return ShortScores({name: counts[name] for name in CLASSES})


def _report(verdicts: Sequence[Verdict]) -> ReportScores | None:
    if not verdicts:
        return None
    means = {name: fmean(verdict["scores"][name] for verdict in verdicts) for name in CRITERIA}
    means[OVERALL] = fmean(map(overall, verdicts))
    return ReportScores(len(verdicts), means, sum(verdict["by"] == RULE for verdict in verdicts))


def _claims(answers: Sequence[Answer]) -> ClaimScores | None:
    counts = [claims for answer in answers if (claims := answer.claims) is not None]
    if not counts:
        return None
    return ClaimScores(sum(n for n, _ in counts), sum(n for _, n in counts), len(counts))

"""Say by paired tests whether two configurations differ; standard library only.

Each question is its own control: what counts is how its answer differs between the two. Classes are
compared by McNemar's exact test with Newcombe's interval of the difference (his method 10), scores
by a sign-flip permutation test with a bootstrap interval. Random draws have a fixed seed, so that
anybody gets the same figures.
"""

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent.batch.scoring import interval
from agent.evaluation.answers import FileAnswer
from agent.evaluation.verdicts import CRITERIA, OVERALL, JudgeVerdict, overall

LEVEL = 0.05
"""Below this chance a difference is called one."""
CLAIMS = "claims"
_SEED = 20_240_607
_EXACT_PAIRS = 15
"""Up to so many pairs that differ, every one of their 2ⁿ signs is tried."""
_DRAWS, _FEWEST_DRAWS, _NUMBERS = 10_000, 1_000, 2_000_000
"""Random draws; fewer where they would take more numbers than that."""


@dataclass(frozen=True)
class ScoreDifference:
    """Hold the difference B − A with its 95% interval, and how likely chance alone makes it."""

    pairs: int
    a: float
    b: float
    low: float
    high: float
    p: float

    @property
    def value(self) -> float:
        return self.b - self.a

    @property
    def is_clear(self) -> bool:
        """Return True where chance alone would hardly make such a difference."""
        return self.p < LEVEL


@dataclass(frozen=True)
class ClassDifference(ScoreDifference):
    """Hold also the questions that only one of the two answered correctly."""

    only_a: int
    only_b: int

    @property
    def split(self) -> int:
        return self.only_a + self.only_b


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided p of McNemar's exact test: a fair coin for each split question."""
    split = only_a + only_b
    tail = sum(math.comb(split, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, 2 * tail / (1 << split))


def least_split() -> int:
    """Return how many questions have to come out differently for McNemar's test to see anything."""
    return next(n for n in itertools.count(1) if mcnemar(0, n) < LEVEL)


def compare_classes(pairs: Sequence[tuple[bool, bool]]) -> ClassDifference:
    """Compare which questions are correct in A and in B; of one pair at least."""
    n = len(pairs)
    both, only_a = pairs.count((True, True)), pairs.count((True, False))
    only_b = pairs.count((False, True))
    low, high = _newcombe(both, only_a, only_b, n - both - only_a - only_b)
    return ClassDifference(
        pairs=n,
        a=(both + only_a) / n,
        b=(both + only_b) / n,
        low=low,
        high=high,
        p=mcnemar(only_a, only_b),
        only_a=only_a,
        only_b=only_b,
    )


def _newcombe(both: int, only_a: int, only_b: int, neither: int) -> tuple[float, float]:
    """Return the 95% interval of B − A from the two shares' Wilson intervals, made for pairs."""
    n = both + only_a + only_b + neither
    a, b = (both + only_a) / n, (both + only_b) / n
    (low_a, high_a), (low_b, high_b) = interval(both + only_a, n), interval(both + only_b, n)
    phi = _phi(both, only_a, only_b, neither)
    down = _hypotenuse(b - low_b, high_a - a, phi)
    up = _hypotenuse(high_b - b, a - low_a, phi)
    return max(-1.0, b - a - down), min(1.0, b - a + up)


def _hypotenuse(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))


def _phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    """Return the correlation of the two outcomes, a positive one corrected for continuity."""
    sides = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if not sides:
        return 0.0
    product: float = both * neither - only_a * only_b
    if product > 0:
        product = max(0.0, product - (both + only_a + only_b + neither) / 2)
    return product / math.sqrt(sides)


def compare_scores(pairs: Sequence[tuple[float, float]]) -> ScoreDifference:
    """Compare the scores of the same questions in A and in B; of one pair at least."""
    differences = [b - a for a, b in pairs]
    low, high = _bootstrap(differences)
    return ScoreDifference(
        pairs=len(pairs),
        a=fmean(a for a, _ in pairs),
        b=fmean(b for _, b in pairs),
        low=low,
        high=high,
        p=_sign_flips(differences),
    )


def _sign_flips(differences: Sequence[float]) -> float:
    """Return how often signs drawn by chance make a sum as far from 0, in either direction."""
    sizes = [abs(difference) for difference in differences if difference]
    observed = abs(sum(differences)) - 1e-9
    if len(sizes) <= _EXACT_PAIRS:
        signs = itertools.product((1, -1), repeat=len(sizes))
        sums = [sum(x * y for x, y in zip(sizes, sign, strict=True)) for sign in signs]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    chance, draws = random.Random(_SEED), _draws(len(sizes))  # noqa: S311
    half, as_far = sum(sizes) / 2, 0
    for _ in range(draws):
        plus = math.fsum(itertools.compress(sizes, chance.choices((0, 1), k=len(sizes))))
        as_far += 2 * abs(plus - half) >= observed
    # The data themselves are one of the draws: a p of 0 cannot be known.
    return (as_far + 1) / (draws + 1)


def _draws(size: int) -> int:
    return max(_FEWEST_DRAWS, min(_DRAWS, _NUMBERS // size))


def _bootstrap(differences: Sequence[float]) -> tuple[float, float]:
    """Return the middle 95% of the means of samples drawn from the differences themselves."""
    chance, size = random.Random(_SEED), len(differences)  # noqa: S311
    draws = _draws(size)
    means = sorted(math.fsum(chance.choices(differences, k=size)) / size for _ in range(draws))
    return means[round(0.025 * (draws - 1))], means[round(0.975 * (draws - 1))]


@dataclass(frozen=True)
class Side:
    """Hold one file's answers of statuses that count, and their verdicts by subject."""

    answers: Sequence[FileAnswer]
    verdicts: Mapping[str, JudgeVerdict]

    def judged(self) -> dict[str, tuple[FileAnswer, JudgeVerdict]]:
        """Return answer and verdict by the question's id."""
        return {
            answer.id: (answer, self.verdicts[answer.subject])
            for answer in self.answers
            if answer.subject in self.verdicts
        }


@dataclass(frozen=True)
class Comparison:
    """Hold all paired differences of two files; None or absent for what they have not both."""

    pairs: int
    unpaired: int
    """Questions that only one of the two has a verdict on."""
    short: ClassDifference | None
    scores: Mapping[str, ScoreDifference]
    """By criterion, and `overall`."""
    claims: ScoreDifference | None
    """Of each answer's share of claims borne out."""
    cost_usd: tuple[float, float] | None
    """Mean of a question, in US dollars."""
    seconds: tuple[float, float] | None


def compare(a: Side, b: Side) -> Comparison:
    """Compare two files by the questions on which both have a verdict by the same rubric."""
    in_a, in_b = a.judged(), b.judged()
    both = [id for id in in_a if id in in_b and _is_same_task(in_a[id], in_b[id])]
    pairs = [(in_a[id], in_b[id]) for id in both]
    verdicts = [(one[1], other[1]) for one, other in pairs]
    short = [
        (one["verdict"] == "correct", other["verdict"] == "correct")
        for one, other in verdicts
        if one["rubric"] == "short"
    ]
    answers = [(one[0], other[0]) for one, other in pairs]
    return Comparison(
        pairs=len(pairs),
        unpaired=len(in_a.keys() | in_b.keys()) - len(pairs),
        short=compare_classes(short) if short else None,
        scores=_criteria([pair for pair in verdicts if pair[0]["rubric"] == "report"]),
        claims=_claims(answers),
        cost_usd=_means(answers, lambda answer: answer.row.get("usage", {}).get("cost_usd")),
        seconds=_means(answers, lambda answer: answer.row.get("seconds")),
    )


def _is_same_task(
    one: tuple[FileAnswer, JudgeVerdict], other: tuple[FileAnswer, JudgeVerdict]
) -> bool:
    (answer, verdict), (other_answer, other_verdict) = one, other
    return (
        verdict["rubric"] == other_verdict["rubric"]
        and answer.question.strip() == other_answer.question.strip()
    )


def _criteria(pairs: Sequence[tuple[JudgeVerdict, JudgeVerdict]]) -> dict[str, ScoreDifference]:
    if not pairs:
        return {}
    by_name = {
        name: compare_scores([(a["scores"][name], b["scores"][name]) for a, b in pairs])
        for name in CRITERIA
    }
    return {OVERALL: compare_scores([(overall(a), overall(b)) for a, b in pairs]), **by_name}


def _claims(answers: Sequence[tuple[FileAnswer, FileAnswer]]) -> ScoreDifference | None:
    counts = [(a.claims, b.claims) for a, b in answers]
    shares = [(a[0] / a[1], b[0] / b[1]) for a, b in counts if a is not None and b is not None]
    return compare_scores(shares) if shares else None


def _means(
    answers: Sequence[tuple[FileAnswer, FileAnswer]], value: Callable[[FileAnswer], object]
) -> tuple[float, float] | None:
    """Return the means of A and B; None unless all of their answers have a number."""
    pairs = [(value(a), value(b)) for a, b in answers]
    numbers = [
        (float(a), float(b))
        for a, b in pairs
        if isinstance(a, int | float) and isinstance(b, int | float)
    ]
    if not numbers or len(numbers) < len(pairs):
        return None
    return fmean(a for a, _ in numbers), fmean(b for _, b in numbers)


def common_judge(a: Sequence[JudgeVerdict], b: Sequence[JudgeVerdict]) -> str | None:
    """Return the judge that has judged most in both files, with the same prompts; else None."""
    versions = {(verdict["judge"], verdict["version"]) for verdict in a}
    shared = [v["judge"] for v in b if (v["judge"], v["version"]) in versions]
    return max(shared, key=shared.count) if shared else None


def verdicts_by(
    judge: str, verdicts: Sequence[JudgeVerdict], others: Sequence[JudgeVerdict]
) -> dict[str, JudgeVerdict]:
    """Return one judge's verdicts by subject, those by prompts that the other file has, too."""
    versions = {other["version"] for other in others if other["judge"] == judge}
    return {
        verdict["subject"]: verdict
        for verdict in verdicts
        if verdict["judge"] == judge and verdict["version"] in versions
    }

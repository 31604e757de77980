"""Run `tanlu compare`: say in plain words whether two judged files of answers differ."""

import dataclasses
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.cli.console import ANSWERED, USAGE, console_language, fail, print_result
from agent.cli.environment import open_environment
from agent.core.errors import AgentError, InputError
from agent.evaluation.answers import JUDGED, FileAnswer, answers_path, read_answers
from agent.evaluation.card import dollars_or_words
from agent.evaluation.comparison import (
    ClassDifference,
    Comparison,
    ScoreDifference,
    Side,
    common_judge,
    compare,
    least_split,
    verdicts_by,
)
from agent.evaluation.verdicts import JudgeVerdict, read_verdicts, verdicts_path
from agent.texts import Language, say

_FEW = 10
"""Below so many pairs an interval of means is too narrow to be relied on."""


@dataclass(frozen=True)
class File:
    """Hold one of the two files: its answers that count, and all verdicts beside it."""

    address: str
    answers: list[FileAnswer]
    verdicts: list[JudgeVerdict]

    def title(self, language: Language) -> str:
        """Return its address with the assistant and what differs from the defaults."""
        row = self.answers[0].row if self.answers else {}
        settings = [f"{name}={value}" for name, value in row.get("settings", {}).items()]
        about = say("punctuation.comma", language).join([*filter(None, [row.get("assistant")]),
                                                         *settings])  # fmt: skip
        return self.address + (say("punctuation.brackets", language, text=about) if about else "")


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 compared, 2 where the files cannot be."""
    try:
        open_environment(arguments)
        a, b = _read(arguments.a), _read(arguments.b)
        judge, comparison = _compare(a, b, arguments.model)
    except AgentError as error:
        return fail(error, code=USAGE)
    words = "\n".join(_lines(a, b, judge, comparison))
    told = {"judge": judge, **_rounded(dataclasses.asdict(comparison))}
    print_result(told, words, as_json=arguments.json)
    return ANSWERED


def _compare(a: File, b: File, judge: str | None) -> tuple[str, Comparison]:
    language = console_language()
    judge = judge or common_judge(a.verdicts, b.verdicts)
    if judge is None:
        raise InputError("A B", say("compare.no_common_judge", language))
    comparison = compare(
        Side(a.answers, verdicts_by(judge, a.verdicts, b.verdicts)),
        Side(b.answers, verdicts_by(judge, b.verdicts, a.verdicts)),
    )
    if not comparison.pairs:
        raise InputError("A B", say("compare.no_pairs", language))
    return judge, comparison


def _read(address: str) -> File:
    """Return a file that was judged; raise InputError for one that was not."""
    path, config = answers_path(address)
    answers, _ = read_answers(path, config)
    verdicts = read_verdicts(verdicts_path(path))
    if not verdicts:
        raise InputError(address, say("compare.unjudged", console_language()))
    return File(address, [answer for answer in answers if answer.status in JUDGED], verdicts)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _lines(a: File, b: File, judge: str, comparison: Comparison) -> Iterator[str]:
    language = console_language()
    yield f"A = {a.title(language)}"
    yield f"B = {b.title(language)}"
    yield say("compare.basis", language, pairs=comparison.pairs, judge=judge)
    if comparison.unpaired:
        yield say("compare.unpaired", language, count=comparison.unpaired)
    if comparison.short is not None:
        yield from ("", *_short_lines(comparison.short, language))
    if comparison.scores:
        yield from ("", *_score_lines(comparison, language))
    if comparison.claims is not None:
        claims = _percent(comparison.claims)
        yield from ("", say("compare.claims", language, **claims, **_p(comparison.claims)))
    yield from _cost_lines(comparison, language)
    yield ""
    yield say("compare.own_rubric", language)


def _short_lines(short: ClassDifference, language: Language) -> Iterator[str]:
    yield say("compare.short", language, **_percent(short))
    yield say("compare.split", language, split=short.split, a=short.only_a, b=short.only_b)
    yield _conclusion(short, language)
    if short.split < least_split():
        yield say("compare.few_split", language, least=least_split())


def _score_lines(comparison: Comparison, language: Language) -> Iterator[str]:
    for name, difference in comparison.scores.items():
        title = say(f"judge.criteria.{name}", language)
        values = {"a": f"{difference.a:.2f}", "b": f"{difference.b:.2f}",
                  "value": f"{difference.value:+.2f}", "low": f"{difference.low:+.2f}",
                  "high": f"{difference.high:+.2f}"}  # fmt: skip
        yield say("compare.score", language, title=title, **values, **_p(difference))
    yield _conclusion(comparison.scores["overall"], language)
    if comparison.scores["overall"].pairs < least_split():
        yield say("compare.too_few_pairs", language, least=least_split())
    elif comparison.scores["overall"].pairs < _FEW:
        yield say("compare.few_pairs", language)


def _conclusion(difference: ScoreDifference, language: Language) -> str:
    """Return in words whether the two differ; the chance is of this difference or a larger one."""
    if not difference.is_clear:
        return say("compare.same", language, **_p(difference))
    if difference.value > 0:
        return say("compare.b_better", language, **_p(difference))
    return say("compare.a_better", language, **_p(difference))


def _p(difference: ScoreDifference) -> dict[str, str]:
    return {"p": "< 0.1%" if difference.p < 0.001 else f"{difference.p:.1%}"}


def _percent(difference: ScoreDifference) -> dict[str, str]:
    return {
        "a": f"{difference.a:.1%}",
        "b": f"{difference.b:.1%}",
        "value": f"{100 * difference.value:+.1f}",
        "low": f"{100 * difference.low:+.1f}",
        "high": f"{100 * difference.high:+.1f}",
    }


def _cost_lines(comparison: Comparison, language: Language) -> Iterator[str]:
    if comparison.cost_usd is not None:
        a, b = (dollars_or_words(cost, language) for cost in comparison.cost_usd)
        yield from ("", say("compare.cost", language, a=a, b=b))
    if comparison.seconds is not None:
        a, b = (f"{seconds:.1f}" for seconds in comparison.seconds)
        yield say("compare.seconds", language, a=a, b=b)

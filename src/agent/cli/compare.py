"""Run `tanlu compare`: say in plain words whether two judged files of answers differ."""

import dataclasses
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from agent.cli.console import ANSWERED, USAGE, fail, is_utf8, printable, reader_language
from agent.cli.environment import configure_logging, read_environment
from agent.core.errors import AgentError, InputError
from agent.evaluation.answers import JUDGED, Answer, answers_path, read_answers
from agent.evaluation.card import money
from agent.evaluation.comparison import (
    ClassDifference,
    Comparison,
    Difference,
    Side,
    common_judge,
    compare,
    least_split,
    verdicts_by,
)
from agent.evaluation.verdicts import Verdict, read_verdicts, verdicts_path
from agent.texts import Language, say

_FEW = 10
"""Below so many pairs an interval of means is too narrow to be relied on."""


def run(arguments: Namespace) -> int:
    """Run the command; return 0 compared, 2 where the files cannot be."""
    try:
        read_environment(offline=False)
        configure_logging(os.environ.get("TANLU_LOG_LEVEL"), None, terminal="ERROR")
        judge, comparison = _compare(arguments)
    except AgentError as error:
        return fail(error, code=USAGE)
    if arguments.json:
        shown = {"judge": judge, **_as_json(comparison)}
        print(json.dumps(shown, ensure_ascii=not is_utf8(sys.stdout)))  # noqa: T201
    else:
        print(printable("\n".join(_lines(arguments, judge, comparison))))  # noqa: T201
    return ANSWERED


def _compare(arguments: Namespace) -> tuple[str, Comparison]:
    language = reader_language()
    answers_a, verdicts_a = _read(arguments.a)
    answers_b, verdicts_b = _read(arguments.b)
    judge = arguments.model or common_judge(verdicts_a, verdicts_b)
    if judge is None:
        raise InputError("A B", say("compare.no_common_judge", language))
    comparison = compare(
        Side(answers_a, verdicts_by(judge, verdicts_a, verdicts_b)),
        Side(answers_b, verdicts_by(judge, verdicts_b, verdicts_a)),
    )
    if not comparison.pairs:
        raise InputError("A B", say("compare.no_pairs", language))
    return judge, comparison


def _read(address: str) -> tuple[list[Answer], list[Verdict]]:
    """Return the answers that count and all verdicts beside them; raise InputError for none."""
    path, config = answers_path(address)
    answers, _ = read_answers(path, config)
    verdicts = read_verdicts(verdicts_path(path))
    if not verdicts:
        raise InputError(address, say("compare.unjudged", reader_language()))
    return [answer for answer in answers if answer.status in JUDGED], verdicts


def _as_json(comparison: Comparison) -> dict[str, Any]:
    parts: dict[str, Any] = dataclasses.asdict(comparison)
    return {name: _rounded(value) for name, value in parts.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _lines(arguments: Namespace, judge: str, comparison: Comparison) -> Iterator[str]:
    language = reader_language()
    yield f"A = {arguments.a}"
    yield f"B = {arguments.b}"
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
    if comparison.scores["overall"].pairs < _FEW:
        yield say("compare.few_pairs", language)


def _conclusion(difference: Difference, language: Language) -> str:
    """Return in words whether the two differ; the chance is of this difference or a larger one."""
    if not difference.is_clear:
        return say("compare.same", language, **_p(difference))
    if difference.value > 0:
        return say("compare.b_better", language, **_p(difference))
    return say("compare.a_better", language, **_p(difference))


def _p(difference: Difference) -> dict[str, str]:
    return {"p": "< 0.1%" if difference.p < 0.001 else f"{difference.p:.1%}"}


def _percent(difference: Difference) -> dict[str, str]:
    return {
        "a": f"{difference.a:.1%}",
        "b": f"{difference.b:.1%}",
        "value": f"{100 * difference.value:+.1f}",
        "low": f"{100 * difference.low:+.1f}",
        "high": f"{100 * difference.high:+.1f}",
    }


def _cost_lines(comparison: Comparison, language: Language) -> Iterator[str]:
    if comparison.cost_usd is not None:
        a, b = (money(cost, language) for cost in comparison.cost_usd)
        yield from ("", say("compare.cost", language, a=a, b=b))
    if comparison.seconds is not None:
        a, b = (f"{seconds:.1f}" for seconds in comparison.seconds)
        yield say("compare.seconds", language, a=a, b=b)

"""Tell one result in one small card: who answered what, who judged, what came out."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

from agent import __version__
from agent.batch.answers import cost_of
from agent.batch.disk import replace_file
from agent.batch.questions import BENCHMARKS
from agent.core.errors import AgentError
from agent.evaluation.answers import FileAnswer
from agent.evaluation.verdicts import CLASSES, CRITERIA, OVERALL, RULE, FileScores, JudgeVerdict
from agent.texts import Language, say

CARD = "tanlu-result/1"
"""Names the form of a card; another form is another number."""


@dataclass(frozen=True)
class CardContent:
    """Hold what a card is made of; `answers` are all of the file, also those that do not count."""

    file: str
    answers: Sequence[FileAnswer]
    verdicts: Sequence[JudgeVerdict]
    judge: str
    scores: FileScores
    on: date


def card_as_json(result: CardContent) -> dict[str, Any]:
    """Return the card as JSON has it; what is not known is None or left out."""
    return {
        "card": CARD,
        "rubric": "own rubric after SimpleQA (classes) and RACE (criteria); no official score",
        "date": result.on.isoformat(),
        "program": f"tanlu {__version__}",
        "answers": _answers(result),
        "judge": _judge(result),
        "scores": _scores(result.scores),
    }


def _answers(result: CardContent) -> dict[str, Any]:
    rows = [answer.row for answer in result.answers if answer.row]
    first: Mapping[str, Any] = rows[0] if rows else {}
    costs = [row["usage"].get("cost_usd") for row in rows]
    seconds = [row["seconds"] for row in rows if row["seconds"]]
    return {
        "file": result.file,
        "formats": sorted({answer.benchmark for answer in result.answers if answer.benchmark}),
        "rows": len(result.answers),
        "statuses": dict(Counter(answer.status for answer in result.answers)),
        "assistant": first.get("assistant"),
        "models": first.get("models") or {},
        "settings": first.get("settings") or {},
        "config": first.get("config"),
        "cost_usd": _total(rows) if rows and None not in costs else None,
        "seconds_mean": round(fmean(seconds), 1) if seconds else None,
    }


def _total(rows: Sequence[Any]) -> float:
    costs = (cost_of(row) + float(row.get("earlier_cost_usd", 0.0)) for row in rows)
    return round(math.fsum(costs), 6)


def _judge(result: CardContent) -> dict[str, Any]:
    verdicts = result.verdicts
    costs = [verdict["cost_usd"] for verdict in verdicts]
    return {
        "model": result.judge,
        "served_by": sorted({verdict["by"] for verdict in verdicts} - {RULE}),
        "prompts": {verdict["rubric"]: verdict["version"] for verdict in verdicts},
        "verdicts": len(verdicts),
        "by_rule": result.scores.by_rule,
        "unjudged": len(result.scores.unjudged),
        "cost_usd": None if None in costs else round(sum(cost or 0.0 for cost in costs), 6),
    }


def _scores(scores: FileScores) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if (short := scores.short) is not None:
        parts["short"] = {
            "answers": short.total,
            **short.classes,
            "accuracy": round(short.accuracy, 4),
            "interval_95": [round(end, 4) for end in short.interval],
            "accuracy_attempted": round(short.accuracy_attempted, 4),
            "f_score": round(short.f_score, 4),
        }
    if (report := scores.report) is not None:
        means = {name: round(mean, 2) for name, mean in report.means.items()}
        parts["report"] = {"reports": report.total, "unwritten": report.unwritten, **means}
    if (claims := scores.claims) is not None:
        share = round(claims.share, 4)
        parts["claims"] = {"borne_out": claims.borne_out, "claims": claims.claims, "share": share}
    return parts


def write_card(path: Path, card: Mapping[str, Any], language: Language) -> None:
    """Write a card as Markdown where the name ends in `.md`, else as JSON. Raises AgentError."""
    text = json.dumps(card, ensure_ascii=False, indent=2)
    if path.suffix.lower() in (".md", ".markdown"):
        text = card_text(card, language)
    try:
        replace_file(path, [f"{text}\n".encode()])
    except OSError as error:
        raise AgentError(f"--card: {path} cannot be written: {error.strerror}") from error


def card_text(card: Mapping[str, Any], language: Language) -> str:
    """Return a card as Markdown that reads well on a terminal, too."""
    lines = [f"# {say('judge.title', language, file=card['answers']['file'])}", ""]
    lines += [say("judge.own_rubric", language), ""]
    lines += [
        f"- {line}" for line in (*_about_answers(card, language), _about_judge(card, language))
    ]
    scores = card["scores"]
    if "short" in scores:
        lines += ["", *_short_lines(scores["short"], language)]
    if "report" in scores:
        lines += ["", *_report_lines(scores["report"], language)]
    if "claims" in scores:
        share, claims = f"{scores['claims']['share']:.1%}", scores["claims"]
        lines += ["", say("judge.claims", language, share=share, borne_out=claims["borne_out"],
                          claims=claims["claims"])]  # fmt: skip
    return "\n".join(lines)


def _about_answers(card: Mapping[str, Any], language: Language) -> list[str]:
    answers = card["answers"]
    comma = say("punctuation.comma", language)
    titles = [BENCHMARKS[name].title for name in answers["formats"] if name in BENCHMARKS]
    statuses = comma.join(
        f"{say(f'judge.statuses.{name}', language)} {count}"
        for name, count in answers["statuses"].items()
    )
    questions = comma.join([*titles, say("judge.rows", language, rows=answers["rows"])])
    lines = [say("judge.questions", language, questions=questions, statuses=statuses)]
    if answers["assistant"]:
        models = comma.join(dict.fromkeys(answers["models"].values()))
        settings = comma.join(f"{name}={value}" for name, value in answers["settings"].items())
        settings = settings or say("judge.defaults", language)
        who = answers["assistant"]
        lines += [say("judge.assistant", language, assistant=who, models=models or "–")]
        lines += [say("judge.settings", language, settings=settings)]
    if answers["seconds_mean"] is not None:
        cost = dollars_or_words(answers["cost_usd"], language)
        seconds = answers["seconds_mean"]
        lines += [say("judge.spent", language, cost=cost, seconds=seconds)]
    return lines


def _about_judge(card: Mapping[str, Any], language: Language) -> str:
    judge = card["judge"]
    line = say(
        "judge.judge",
        language,
        model=judge["model"],
        date=card["date"],
        cost=dollars_or_words(judge["cost_usd"], language),
        verdicts=judge["verdicts"],
        by_rule=judge["by_rule"],
    )
    extra = []
    if judge["unjudged"]:
        extra.append(say("judge.unjudged", language, count=judge["unjudged"]))
    if judge["served_by"] and judge["model"] in card["answers"]["models"].values():
        extra.append(say("judge.own_answers", language))
    return say("punctuation.semicolon", language).join([line, *extra])


def _short_lines(short: Mapping[str, Any], language: Language) -> list[str]:
    total, colon = short["answers"], say("punctuation.colon", language)
    lines = [f"## {say('judge.short', language, count=total)}", ""]
    for name in CLASSES:
        share = say("punctuation.brackets", language, text=f"{short[name] / total:.1%}")
        label = say(f"judge.classes.{name}", language)
        lines.append(f"- {label}{colon}{short[name]}{share}")
    low, high = (f"{100 * end:.1f}" for end in short["interval_95"])
    attempted, f_score = f"{short['accuracy_attempted']:.1%}", f"{short['f_score']:.1%}"
    lines.append(f"- {say('judge.interval', language, low=low, high=high)}")
    lines.append(f"- {say('judge.attempted', language, share=attempted, f_score=f_score)}")
    return lines


def _report_lines(report: Mapping[str, Any], language: Language) -> list[str]:
    lines = [f"## {say('judge.report', language, count=report['reports'])}", ""]
    for name in (*CRITERIA, OVERALL):
        label = say(f"judge.criteria.{name}", language)
        lines.append(f"- {label}{say('punctuation.colon', language)}{report[name]:.2f}")
    if report["unwritten"]:
        lines.append(f"- {say('judge.unwritten', language, count=report['unwritten'])}")
    return lines


def dollars_or_words(dollars: float | None, language: Language) -> str:
    """Return US dollars, small amounts with four digits, or words where none are known."""
    if dollars is None:
        return say("judge.unpriced", language)
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"

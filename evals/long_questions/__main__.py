"""How good long answers are, by points of our own: `python -m evals.long_questions`.

Lists the questions. `--questions FILE` writes those of one assistant for `tanlu batch`. With
`--answers FILE`, rows of a batch, and `--sheets FOLDER` it writes for each answer what a judge is
to read, `ID.md`; the reply goes beside it as `ID.json`, written by hand or, with `--model NAME`,
by a model. Answers that have a reply are scored. The README beside this says what a row holds.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agent.core.budget import unlimited_meter
from agent.core.calls import Calls
from agent.evaluation.answers import read_answers
from agent.evaluation.verdicts import CRITERIA
from agent.models.client import ModelClient
from agent.settings import read_settings

ROWS = Path(__file__).with_name("rows.jsonl")
_SHEET = Path(__file__).with_name("sheet.md")

Row = Mapping[str, Any]


class PointScore(BaseModel):
    """Take the score of one point."""

    n: int
    reason: str = ""
    score: float = Field(ge=0, le=10)


class Scores(BaseModel):
    """Take a judge's scores of one answer."""

    scores: list[PointScore]


def load() -> list[Row]:
    """Return the questions with their points."""
    return [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]


def points(row: Row) -> Iterator[tuple[int, str, Row]]:
    """Yield number, criterion and point, in the order of a sheet."""
    found = ((criterion, point) for criterion in CRITERIA for point in row["rubric"][criterion])
    yield from ((number, *each) for number, each in enumerate(found, 1))


def sheet(row: Row, answer: str) -> str:
    """Return what a judge is to read besides its instructions."""
    lines = []
    for number, criterion, point in points(row):
        lines += [f"{criterion}:"] * (point is row["rubric"][criterion][0])
        lines.append(f"{number}. {point['asks']}")
    asked = "\n".join(lines)
    return (
        f"<question>\n{row['question']}\n</question>\n<points>\n{asked}\n</points>\n"
        f"<answer>\n{answer}\n</answer>\n"
    )


def totals(row: Row, scores: Scores) -> dict[str, float]:
    """Return the score of each criterion and their sum by the question's weights.

    Raises ValueError where a point has no score: a judge must have looked at each.
    """
    given = {each.n: each.score for each in scores.scores}
    lacking = [number for number, *_ in points(row) if number not in given]
    if lacking:
        raise ValueError(f"{row['id']}: points without a score: {lacking}")
    found: dict[str, float] = {}
    for criterion in CRITERIA:
        own = [(given[n], point["weight"]) for n, name, point in points(row) if name == criterion]
        found[criterion] = sum(s * w for s, w in own) / sum(w for _, w in own)
    weights = row["weights"]
    overall = sum(found[name] * weights[name] for name in CRITERIA) / sum(weights.values())
    return {**found, "overall": overall}


async def judged(model: str, sheets: Mapping[str, str], folder: Path) -> None:
    """Have a model fill the sheets that nobody has, one after the other."""
    models = ModelClient(read_settings(), Calls())
    system = SystemMessage(_SHEET.read_text("utf-8"))
    try:
        for name, text in sheets.items():
            if not folder.joinpath(f"{name}.json").exists():
                reply = await models.ask(
                    model, [system, HumanMessage(text)], meter=unlimited_meter(f"judge-{name}"),
                    schema=Scores, thinking="medium",
                )  # fmt: skip
                assert isinstance(reply.parsed, Scores)
                folder.joinpath(f"{name}.json").write_text(reply.parsed.model_dump_json(), "utf-8")
    finally:
        await models.aclose()


def report(rows: Sequence[Row], folder: Path) -> Iterator[str]:
    """Yield the scores of the answers that have a reply, then the means by kind and of all."""
    found: dict[str, dict[str, float]] = {}
    kinds = {row["id"]: row["kind"] for row in rows}
    for row in rows:
        path = folder.joinpath(f"{row['id']}.json")
        if path.exists():
            found[row["id"]] = totals(row, Scores.model_validate_json(path.read_text("utf-8")))
            yield _line(row["id"], [found[row["id"]]])
    for kind in dict.fromkeys(kinds[name] for name in found):
        yield _line(f"{kind} (mean)", [each for name, each in found.items() if kinds[name] == kind])
    if found:
        yield _line("all (mean)", list(found.values()))


def _line(name: str, found: Sequence[Mapping[str, float]]) -> str:
    means = (f"{key} {fmean(each[key] for each in found):.1f}" for key in (*CRITERIA, "overall"))
    return f"{name:<20}{'  '.join(means)}"


def main(arguments: Sequence[str]) -> None:
    """Do what the options say; without any, list the questions."""
    parser = argparse.ArgumentParser(prog="python -m evals.long_questions", description=__doc__)
    parser.add_argument("--questions", type=Path, help="write a file for `tanlu batch`")
    parser.add_argument("--assistant", default="", help="only the questions for this one")
    parser.add_argument("--answers", type=Path, help="rows of a batch")
    parser.add_argument("--sheets", type=Path, help="write them here, and read the replies")
    parser.add_argument("--model", help="have this model fill the sheets")
    options = parser.parse_args(arguments)
    rows = [each for each in load() if options.assistant in ("", each["assistant"])]
    if options.questions:
        lines = [json.dumps({"id": r["id"], "question": r["question"]}, ensure_ascii=False)
                 for r in rows]  # fmt: skip
        options.questions.write_text("\n".join(lines) + "\n", "utf-8")
    if options.answers and options.sheets:
        options.sheets.mkdir(parents=True, exist_ok=True)
        texts = {answer.id: answer.text for answer in read_answers(options.answers, None)[0]}
        sheets = {row["id"]: sheet(row, texts[row["id"]]) for row in rows if row["id"] in texts}
        for name, text in sheets.items():
            whole = f"{_SHEET.read_text('utf-8')}\n{text}"
            options.sheets.joinpath(f"{name}.md").write_text(whole, "utf-8")
        if options.model:
            asyncio.run(judged(options.model, sheets, options.sheets))
    if options.sheets:
        print(*report(rows, options.sheets), sep="\n")
    elif not options.questions:
        for row in rows:
            print(f"{row['id']:<20}{row['kind']:<10}{row['assistant']:<15}{row['question']}")


if __name__ == "__main__":
    main(sys.argv[1:])

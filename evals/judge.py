"""Whether a judge judges as we do: `python -m evals.judge [--model NAME]`, which needs a key.

The set (`judge.jsonl`) was written by hand: questions of our own, an answer to each, and the class
that the rubric gives it. Prints the share on which the model agrees, and every other verdict.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.batch.scoring import interval
from agent.configuration import Configuration
from agent.core.calls import Calls
from agent.evaluation.answers import FileAnswer, read_answers
from agent.evaluation.judge import Docket, FileJudge, JudgeSession
from agent.evaluation.verdicts import JudgeVerdict, VerdictFile
from agent.models.client import ModelClient
from agent.settings import read_settings

SET = Path(__file__).with_name("judge.jsonl")


def load() -> tuple[list[FileAnswer], dict[str, str]]:
    """Return the answers, and the class we agreed on by id."""
    rows = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]
    answers, bad = read_answers(SET, None)
    assert bad == []
    return answers, {row["id"]: row["agreed"] for row in rows}


def disagreements(
    verdicts: Sequence[JudgeVerdict], agreed: Mapping[str, str]
) -> list[JudgeVerdict]:
    """Return the verdicts that are not ours."""
    return [verdict for verdict in verdicts if verdict["verdict"] != agreed[verdict["id"]]]


async def verdicts_of(judge: FileJudge, answers: Sequence[FileAnswer]) -> list[JudgeVerdict]:
    """Have a model judge the whole set, anew."""
    models = ModelClient(read_settings(), Calls())
    with tempfile.TemporaryDirectory() as folder, VerdictFile(Path(folder) / "v.jsonl") as file:
        session = JudgeSession(judge, models, file, max_cost=None, notice=lambda *_: None)
        try:
            await session.run(Docket.of(judge, answers, ()), concurrency=4)
        finally:
            await models.aclose()
        return list(file.by_key.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=Configuration().reflection_model)
    answers, agreed = load()
    judge = FileJudge(parser.parse_args().model, rubric="short")
    verdicts = asyncio.run(verdicts_of(judge, answers))
    others = disagreements(verdicts, agreed)
    same = len(verdicts) - len(others)
    low, high = interval(same, len(verdicts))
    print(f"{judge.model}: agrees on {same} of {len(verdicts)} ({low:.0%} to {high:.0%})")
    for one in others:
        print(f"  {one['id']}: {one['verdict']}, not {agreed[one['id']]}: {one.get('reason', '')}")
    if missing := len(answers) - len(verdicts):
        print(f"  {missing} without a verdict")


if __name__ == "__main__":
    main()

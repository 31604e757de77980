"""Whether reranking puts the better abstracts first: `python -m evals.rerank [--queries]`.

The set (`rerank.jsonl`) was written by hand before the ranking code: subjects with ten abstracts
each, in the order in which a search engine gives them (the popular and general ones first), and
grades from 0 (off the question) to 3 (answers it). Prints nDCG@10 of that order, of the built-in
BM25, and of a server where TEI_RERANK_URL or RERANK_URL names one.
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.knowledge.rerank import BUILT_IN, RerankClient
from agent.settings import Settings

SET = Path(__file__).with_name("rerank.jsonl")
DEPTH = 10


@dataclass(frozen=True)
class Case:
    """A query with its abstracts in the search engine's order; `grades` by index."""

    query: str
    language: str
    texts: list[str]
    grades: list[int]


def load() -> list[Case]:
    """The labelled queries."""
    cases = []
    for line in SET.read_text(encoding="utf-8").splitlines():
        subject = json.loads(line)
        for asked in subject["queries"]:
            texts = [subject["texts"][letter] for letter in asked["order"]]
            grades = [asked["grades"].get(letter, 0) for letter in asked["order"]]
            cases.append(Case(asked["query"], subject["lang"], texts, grades))
    return cases


def ndcg(grades: Sequence[int], depth: int = DEPTH) -> float:
    """Of the grades in the order shown: 1 where no other order would be better."""
    best = _gain(sorted(grades, reverse=True)[:depth])
    return _gain(grades[:depth]) / best if best else 1.0


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


async def reranked(client: RerankClient, cases: Sequence[Case]) -> list[float]:
    """nDCG of each case; RuntimeError where another back-end than the client's served."""
    values = []
    for case in cases:
        found = await client.rerank(case.query, case.texts, meter=meter())
        if found.note:
            raise RuntimeError(found.note)
        values.append(ndcg([case.grades[index] for index, _ in found.order]))
    return values


def meter() -> Meter:
    """Room for one ranking."""
    limits = Limits(
        max_searches=1,
        max_model_calls=1,
        max_map_calls=1,
        max_run_tokens=1_000_000,
        max_run_seconds=300,
        answer_seconds=0,
    )
    return Budget("eval", limits).meter()


async def measured(settings: Settings, cases: Sequence[Case]) -> dict[str, list[float]]:
    """nDCG of each case by who put the texts in order."""
    found = {"given order": [ndcg(case.grades) for case in cases]}
    configured = RerankClient(settings, Calls())
    for client in (
        RerankClient(Settings(tei_rerank_url=None, rerank_url=None), Calls()),
        configured,
    ):
        if client is configured and client.name == BUILT_IN:
            continue
        try:
            found[client.name] = await reranked(client, cases)
        finally:
            await client.aclose()
    return found


def table(cases: Sequence[Case], found: dict[str, list[float]]) -> str:
    """The means, over all and by language."""
    groups = ["all", *dict.fromkeys(case.language for case in cases)]
    lines = [f"{'nDCG@10':<14}" + "".join(f"{group:>9}" for group in groups)]
    for name, values in found.items():
        means = []
        for group in groups:
            pairs = zip(cases, values, strict=True)
            own = [value for case, value in pairs if group in ("all", case.language)]
            means.append(f"{sum(own) / len(own):9.3f}")
        lines.append(f"{name:<14}" + "".join(means))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and on request each query's values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", action="store_true", help="list each query's values")
    chosen = parser.parse_args(arguments)
    cases = load()
    found = asyncio.run(measured(Settings(), cases))
    sys.stdout.write(f"{len(cases)} queries\n{table(cases, found)}\n")
    if chosen.queries:
        for number, case in enumerate(cases):
            values = "".join(f"{values[number]:8.3f}" for values in found.values())
            sys.stdout.write(f"{values}  {case.query}\n")


if __name__ == "__main__":
    main()

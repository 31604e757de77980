"""Rows of single runs: one round of searching, two, and one with the map; where their time goes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.loads import Bench, in_process
from benchmarks.maps import environment_with_map
from benchmarks.prefixes import cached_share
from benchmarks.runs import Phase, PhaseResult, median
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line

_JUDGE_SECONDS = 0.8
_SEARCHES = ("web_research", "claim_check")


def rounds(bench: Bench) -> list[Line]:
    """Runs with one round of searching and with two, and a judge that takes its time."""
    phases = [
        Phase("warm", 1, "one_by_one", 0, geo=True),
        Phase("one round", 3, "one_by_one", 10, enough=True),
        Phase("one round, map", 3, "one_by_one", 20, geo=True, enough=True),
        Phase("two rounds", 3, "one_by_one", 30),
    ]
    with Standins(StandinOptions(scale=bench.scale, judge=_JUDGE_SECONDS)) as standins:
        _, *results = in_process(phases, bench, environment_with_map(standins))
        calls = standins.stats()["gemini"]["calls"]
    short, long = bench.latencies.one_round, (bench.latencies.first_token, bench.latencies.bound)
    bounds = (short, short, long)
    return [
        line
        for result, bound in zip(results, bounds, strict=True)
        for line in _lines(result, bound, calls)
    ]


def _lines(
    result: PhaseResult, bound: tuple[float, float], calls: Sequence[Mapping[str, Any]]
) -> list[Line]:
    """First text, end of the text, end of the run, and what the models were asked."""
    row, numbers, count = result.phase, {run.number for run in result.good}, len(result.good)
    own = [call for call in calls if call["run"] in numbers]
    minds = [call for call in own if call["task"] not in _SEARCHES]
    judge = sum(call["tokens"] for call in own if call["task"] == "claim_check") / count
    whole = sum(call["tokens"] for call in own) / count
    tasks = sorted(Counter(call["task"] for call in own).items())
    first, ends = median(result.first_tokens()), median(result.text_ends())
    failed = [run for run in result.runs if run.error]
    return [
        Line(row, "failed runs", len(failed), 0, failed[0].error if failed else "", digits=0),
        Line(row, "first token, s", first, note=f"{first / bound[0]:.3f} of calls in a row"),
        Line(row, "text's end, s", ends, note=f"{ends / bound[1]:.3f} of calls in a row"),
        Line(row, "run's end ÷ text's end", median(result.walls()) / ends),
        Line(row, "calls but searches and judge", len(minds) / count, 4,
             ", ".join(f"{name} {n / count:g}" for name, n in tasks)),
        Line(row, "prompt tokens without the judge", whole - judge,
             note=f"{judge:.0f} of the judge", digits=0),
        Line(row, "share that a cache may serve", cached_share(own),
             note=f"{cached_share(own, least=0):.3f} however short the prefix"),
        Line(row, "CPU ms a run", result.cpu_seconds * 1000 / count, digits=0),
    ]  # fmt: skip

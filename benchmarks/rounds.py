"""Rows of single runs: one round of searching, two, and one with the map; where their time goes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.loads import Bench, failures, in_process, prompt_tokens
from benchmarks.maps import environment_with_map, paces
from benchmarks.prefixes import cached_share
from benchmarks.runs import Phase, PhaseResult, median
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line

_JUDGE_SECONDS = 0.8
_SEARCHES = ("web_research", "claim_check")
"""Tasks that search or judge."""


def rounds(bench: Bench) -> list[Line]:
    """Runs with one round of searching and with two, and a judge that takes its time."""
    phases = [
        Phase("warm", 1, "one_by_one", 0, geo=True),
        Phase("one", bench.alone, "one_by_one", 10, enough=True),
        Phase("map", bench.alone, "one_by_one", 20, geo=True, enough=True),
        Phase("two", bench.alone, "one_by_one", 30),
    ]
    with Standins(StandinOptions(scale=bench.scale, judge=_JUDGE_SECONDS)) as standins:
        _, *results = in_process(phases, bench, environment_with_map(standins, **paces(bench)))
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
    numbers, count = {run.number for run in result.good}, len(result.good)
    own = [call for call in calls if call["run"] in numbers]
    others = [call for call in own if call["task"] not in _SEARCHES]
    prompts, judged = prompt_tokens(result, own)
    tasks = sorted(Counter(call["task"] for call in own).items())
    first, ends = median(result.first_tokens()), median(result.text_ends())

    def line(name: str, *figures: Any, **options: Any) -> Line:
        return Line("rounds", f"{result.phase}: {name}", *figures, **options)

    return [
        *failures("rounds", result),
        line("first token, s", first, note=f"{first / bound[0]:.3f} of calls in a row"),
        line("text's end, s", ends, note=f"{ends / bound[1]:.3f} of calls in a row"),
        line("run's end ÷ text's end", median(result.walls()) / ends),
        line("calls beside search and judge", len(others) / count, 4,
             ", ".join(f"{name} {n / count:g}" for name, n in tasks)),
        line("prompt tokens", prompts, note=f"besides {judged:.0f} of the judge", digits=0),
        line("share a cache may serve", cached_share(own),
             note=f"{cached_share(own, least=0):.3f} however short the prefix"),
        line("CPU ms a run", result.cpu_seconds * 1000 / count, digits=0),
    ]  # fmt: skip

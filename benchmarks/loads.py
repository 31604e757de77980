"""Rows under load: one run, many at once, many spread out; in process and through the server."""

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.support.programs import REPOSITORY, Program, clean_environment

from benchmarks import server
from benchmarks.accounts import pauses
from benchmarks.latencies import Latencies
from benchmarks.runs import Phase, PhaseResult, Run, median, percentile
from benchmarks.standins import KEY, StandinOptions, Standins
from benchmarks.table import Line

_QUICKSTART_TOKENS = 11_300


@dataclass(frozen=True)
class Bench:
    """What every row is given."""

    scale: float = 1.0
    load: int = 64
    cold: bool = True
    """Whether what is measured is an interpreter of its own, not a fork of a warm one."""

    @property
    def latencies(self) -> Latencies:
        return Latencies(self.scale)

    @property
    def alone(self) -> int:
        """How many runs one after another a median is of."""
        return min(3, self.load)


def environment(standins: Standins, **more: str) -> dict[str, str]:
    """Settings that lead to the stand-ins, as an operator would write them.

    Redirect links are not followed: they lead out of the machine, and its name server may be slow.
    """
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": standins.url("gemini"),
        "TANLU_MODE": "online",
        "RESOLVE_LINKS": "false",
        "TANLU_LOG_LEVEL": "ERROR",
        **more,
    }


def in_process(
    phases: Sequence[Phase], bench: Bench, settings: Mapping[str, str]
) -> list[PhaseResult]:
    """Play the phases in a fresh process."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return played("worker", phases, bench, {**settings, "TANLU_DATA_DIR": folder})


def played(
    module: str, phases: Sequence[Phase], bench: Bench, settings: Mapping[str, str], **more: str
) -> list[PhaseResult]:
    """The results of one of our modules run as a process."""
    spec = {"scale": bench.scale, "phases": [asdict(phase) for phase in phases], **more}
    kept = {name: os.environ[name] for name in ("BENCHMARK_LOG",) if name in os.environ}
    with Program(
        *("-m", f"benchmarks.{module}", json.dumps(spec)),
        folder=REPOSITORY,
        env=clean_environment(**settings, **kept),
        stderr=2,
        cold=bench.cold,
    ) as program:
        out, _ = program.communicate()
        if program.returncode:
            raise RuntimeError(f"benchmarks.{module} ended with {program.returncode}")
    return [_result(found) for found in json.loads(out.splitlines()[-1])]


def _result(found: dict[str, Any]) -> PhaseResult:
    return PhaseResult(**{**found, "runs": [Run(**run) for run in found["runs"]]})


def machine(bench: Bench) -> list[Line]:
    """The same calls by a bare client: how much of the ratios is the machine's."""
    phases = [
        Phase("one", 1, "one_by_one", 0),
        Phase("warm", bench.load, "together", 100),
        Phase("many", bench.load, "together", 200),
        Phase("spread", bench.load, "spread", 400),
    ]
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        settings = {"PYTHONDONTWRITEBYTECODE": "1"}
        one, _, many, spread = played(
            "bare", phases, bench, settings, url=standins.url("gemini"), key=KEY
        )
    bound, load = bench.latencies.bound, bench.load
    crowds = [
        Line("machine", f"{load} {name}, p95 ÷ bound", percentile(found.walls(), 0.95) / bound)
        for name, found in (("at once", many), ("spread", spread))
    ]
    return [Line("machine", "1 bare run ÷ bound", median(one.walls()) / bound), *crowds]


def in_process_one(bench: Bench) -> list[Line]:
    phases = [Phase("cold", 1, "one_by_one", 0), Phase("warm", bench.alone, "one_by_one", 10)]
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        cold, warm = in_process(phases, bench, environment(standins))
        told = standins.stats()
    row = "in-process-1"
    tokens, judged = prompt_tokens(warm, told["gemini"]["calls"])
    return [
        *_single(row, cold, warm, bench, wall=1.05, first=1.05),
        # An answer that was begun early and given up is in it; the quickstart checks nothing.
        Line(row, "prompt tokens ÷ quickstart's 11.3k", tokens / _QUICKSTART_TOKENS, 0.7,
             f"{tokens:.0f} without the judge's, {warm.runs[0].usage.get('model_calls')} calls"),
        Line(row, "the judge's share of prompt tokens", judged / (tokens + judged), 0.25),
        Line(row, "connections, one run at a time", told["gemini"]["connections"], digits=0),
        _rest(row, warm, told, bench),
    ]  # fmt: skip


def prompt_tokens(result: PhaseResult, calls: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Prompt tokens a run without the judge of statements, and the judge's."""
    numbers = {run.number for run in result.good}
    own = [call for call in calls if call["run"] in numbers]
    judged = sum(call["tokens"] for call in own if call["task"] == "claim_check")
    whole = sum(call["tokens"] for call in own)
    return (whole - judged) / len(numbers), judged / len(numbers)


def server_one(bench: Bench) -> list[Line]:
    phases = [Phase("cold", 1, "one_by_one", 0), Phase("warm", bench.alone, "one_by_one", 10)]
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        cold, warm = server.measure(environment(standins), phases, bench.scale, cold=bench.cold)
        told = standins.stats()
    row = "dev-1"
    return [
        *_single(row, cold, warm, bench, wall=1.12, first=1.18),
        _rest(row, warm, told, bench),
    ]


def in_process_many(bench: Bench) -> list[Line]:
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        results = in_process(_many(bench), bench, environment(standins))
        told = standins.stats()
    return _crowd("in-process-64", results, told, bench, together=1.25, spread=1.08)


def server_many(bench: Bench) -> list[Line]:
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        settings = environment(standins)
        results = server.measure(settings, _many(bench), bench.scale, cold=bench.cold)
        told = standins.stats()
        bare = server.measure(settings, _many(bench), bench.scale, cold=bench.cold, bare=True)
    lines = _crowd("dev-64", results, told, bench, together=1.25, spread=1.10)
    return [*lines, *_beside_bare(results, bare, bench)]


def _beside_bare(
    ours: Sequence[PhaseResult], bare: Sequence[PhaseResult], bench: Bench
) -> list[Line]:
    """How far from what the server and the model's library cost without us."""
    lines = []
    for result, floor in zip(ours[1:], bare[1:], strict=True):
        ratio = percentile(floor.walls(), 0.95) / bench.latencies.bound
        name, cpu = result.phase, floor.cpu_seconds * 1000 / len(floor.runs)
        lines += [
            Line("dev-64", f"{name}: p95 ÷ a bare graph's",
                 percentile(result.walls(), 0.95) / percentile(floor.walls(), 0.95),
                 note=f"which is {ratio:.3f} of the bound"),
            Line("dev-64", f"{name}: CPU ÷ a bare graph's",
                 result.cpu_seconds / floor.cpu_seconds, note=f"which is {cpu:.0f} ms a run"),
        ]  # fmt: skip
    return lines


def _many(bench: Bench) -> list[Phase]:
    return [
        Phase("warm-up", bench.load, "together", 100),
        Phase("together", bench.load, "together", 1000),
        Phase("spread", bench.load, "spread", 2000),
    ]


def _single(
    row: str, cold: PhaseResult, warm: PhaseResult, bench: Bench, *, wall: float, first: float
) -> list[Line]:
    bound, first_bound = bench.latencies.bound, bench.latencies.first_token
    walls, tokens = warm.walls(), warm.first_tokens()
    note = f"of {len(walls)}; the cold one {median(cold.walls()) / bound:.3f}"
    return [
        *failures(row, cold, warm),
        Line(row, "1 run ÷ bound (median)", median(walls) / bound, wall, note),
        Line(row, "first token ÷ bound (median)", median(tokens) / first_bound, first,
             f"the cold one {median(cold.first_tokens()) / first_bound:.3f}"),
        Line(row, "CPU ms a run", warm.cpu_seconds * 1000 / max(1, len(walls)), digits=0),
        Line(row, "memory, MB at most", warm.memory_mb, digits=0),
    ]  # fmt: skip


def _crowd(
    row: str,
    results: list[PhaseResult],
    told: Mapping[str, Any],
    bench: Bench,
    *,
    together: float,
    spread: float,
) -> list[Line]:
    bound, first_bound = bench.latencies.bound, bench.latencies.first_token
    lines = failures(row, *results)
    for result, target, name in zip(
        results[1:], (together, spread), ("at once", "spread"), strict=True
    ):
        walls, tokens = result.walls(), result.first_tokens()
        ratios = [median(walls) / bound, max(walls, default=math.inf) / bound]
        lines += [
            Line(row, f"{bench.load} {name}, p95 ÷ bound", percentile(walls, 0.95) / bound, target,
                 f"median {ratios[0]:.3f}, max {ratios[1]:.3f}"),
            Line(row, f"{bench.load} {name}, first token p95", percentile(tokens, 0.95)
                 / first_bound),
            Line(row, f"{name}: CPU ms a run", result.cpu_seconds * 1000 / len(result.runs),
                 digits=0),
            replace(_rest(row, result, told, bench), name=f"{name}: rest of the time, ms"),
        ]  # fmt: skip
    lines.append(Line(row, "connections", told["gemini"]["connections"], digits=0))
    lines.append(Line(row, "memory, MB at most", results[-1].memory_mb, digits=0))
    return lines


def failures(row: str, *results: PhaseResult) -> list[Line]:
    """Nothing where every run answered."""
    failed = [run for result in results for run in result.runs if run.error]
    if not failed:
        return []
    return [Line(row, "failed runs", len(failed), 0, failed[0].error, digits=0)]


def _rest(row: str, result: PhaseResult, told: Mapping[str, Any], bench: Bench) -> Line:
    """Everything between the calls, added up; the note says where."""
    found = pauses(result.good, told["gemini"]["calls"], bench.latencies)
    note = ", ".join(f"{name} {value:g}" for name, value in found.items())
    return Line(row, "rest of the time, ms (medians)", sum(found.values()), note=note, digits=0)

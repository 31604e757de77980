"""Where the CPU of `langgraph dev` goes while many runs are under way.

    uv run python -m benchmarks.server_profile [--load 64] [--scale 0.2] [--top 15]

The server runs under cProfile, which slows it down and sees its event loop, not other threads
(those of SQLite): shares are what counts. Milliseconds are of a run, by package.
"""

import argparse
import asyncio
import pstats
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.dev_server import dev_server

from benchmarks.loads import environment
from benchmarks.runs import Phase, PhaseResult
from benchmarks.server import play_phases
from benchmarks.standins import StandinOptions, Standins

_PACKAGE = re.compile(r"site-packages/([\w.]+?)(?:/([\w.]+?))?(?:/|\.py$)")
_NESTED = {"google", "langgraph"}
_OURS = re.compile(r"src/(agent)/(\w+)")
_WAITING = ("poll", "select")
"""Functions in which the loop waits."""
Function = tuple[str, int, str]


def package_of(function: Function) -> str:
    """Return the package that a function belongs to; what is written in C is told by its name."""
    file, _, name = function
    if found := _OURS.search(file):
        return f"{found[1]}.{found[2]}"
    if found := _PACKAGE.search(file):
        nested = found[2] if found[1] in _NESTED else None
        return f"{found[1]}.{nested}" if nested else found[1]
    if file == "~":
        return "C: pydantic_core" if "pydantic" in name else f"C: {name[:40]}"
    return "standard library"


def measured(load: int, scale: float) -> tuple[pstats.Stats, list[PhaseResult]]:
    """Run so many questions at once, twice; the profile has both and the start."""
    with (
        Standins(StandinOptions(scale=scale)) as standins,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        profile = Path(folder) / "server.profile"
        options: dict[str, Any] = {"env": environment(standins), "jobs": load, "profile": profile}
        phases = [Phase(name, load, "together", first) for name, first in _PHASES]
        with dev_server(Path(folder) / "server", **options) as server:
            results = asyncio.run(play_phases(server, phases, scale))
        return pstats.Stats(str(profile)), results


_PHASES = (("warm-up", 100), ("together", 1000))


def by_package(stats: pstats.Stats, runs: int) -> Counter[str]:
    """Return the milliseconds a run that each package spends, without waiting and imports."""
    spent: Counter[str] = Counter()
    rows: dict[Function, Any] = stats.stats  # type: ignore[attr-defined]
    for function, (_, _, own, whole, _) in rows.items():
        # More by itself than with what it calls: a coroutine that is counted while the loop waits.
        if (
            own <= whole
            and not any(word in function[2] for word in _WAITING)
            and "import" not in function[0]
        ):
            spent[package_of(function)] += round(own * 1_000_000 / runs)
    return spent


def main(argv: Sequence[str] | None = None) -> int:
    """Print where the time goes; 1 if a run failed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.server_profile", description=__doc__)
    parser.add_argument("--load", type=int, default=64, help="runs at once")
    parser.add_argument("--scale", type=float, default=0.2, help="of every latency")
    parser.add_argument("--top", type=int, default=15, help="packages and functions printed")
    options = parser.parse_args(argv)
    stats, results = measured(options.load, options.scale)
    runs = sum(len(result.runs) for result in results)
    failed = runs - sum(len(result.good) for result in results)
    cpu = sum(result.cpu_seconds for result in results) * 1000 / runs
    print(f"{runs} runs, {failed} failed; CPU under the profiler {cpu:.0f} ms a run")
    for name, microseconds in by_package(stats, runs).most_common(options.top):
        print(f"{microseconds / 1000:>8.1f} ms  {name}")
    pattern = r"src/agent|langgraph_api|langgraph_runtime"
    stats.sort_stats("tottime").print_stats(pattern, options.top)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Services that fail now and then: everybody gets an answer, and nobody pays much more."""

from benchmarks.loads import Bench, environment, in_process
from benchmarks.runs import Phase, median, percentile
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line

_RUNS = 40
_NEEDED_CALLS = 8
_TIMEOUT = 10.0
"""Seconds until a hanging call is given up; the default of 60 would only make the row longer."""


def faults(bench: Bench) -> list[Line]:
    """5% of model calls 429 or 500, 5% of web answers without a source, 1% hanging."""
    options = StandinOptions(scale=bench.scale, refused=0.05, hanging=0.01, ungrounded=0.05)
    timeout = str(max(2.0, _TIMEOUT * bench.scale))
    count = min(_RUNS, 4 * bench.load)
    with Standins(options) as standins:
        settings = environment(standins, MODEL_TIMEOUT_SECONDS=timeout)
        (result,) = in_process([Phase("faults", count, "together", 100)], bench, settings)
        calls = standins.stats()["gemini"]["calls"]
    bad = sum(call["status"] != 200 for call in calls)
    whole = [run for run in result.good if not run.usage["degraded"]]
    error = next((run.error for run in result.runs if run.error), "")
    bound = bench.latencies.bound
    return [
        Line("faults", f"answers of {count} runs", len(result.good), count, error, digits=0,
             least=True),
        Line("faults", "of those not makeshift", len(whole), digits=0),
        Line("faults", "calls ÷ calls without faults", len(calls) / (count * _NEEDED_CALLS), 1.15,
             f"{len(calls)} calls, {bad} of them failed"),
        Line("faults", "p95 ÷ bound", percentile(result.walls(), 0.95) / bound,
             note=f"median {median(result.walls()) / bound:.3f}; time limit of a call {timeout} s"),
    ]  # fmt: skip

"""Where the time went that no stand-in took: the pauses between a run's calls."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.latencies import Latencies
from benchmarks.runs import Run, median

_ROUNDS = 2


def pauses(
    runs: Iterable[Run], calls: Iterable[Mapping[str, Any]], latencies: Latencies
) -> dict[str, float]:
    """Median milliseconds of every stretch of a run in which nobody but us was busy."""
    by_run: dict[int, list[Mapping[str, Any]]] = {}
    for call in calls:
        by_run.setdefault(call["run"], []).append(call)
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, seconds in _of(run, by_run.get(run.number, []), latencies).items():
            found.setdefault(name, []).append(seconds * 1000)
    return {name: round(median(values), 1) for name, values in found.items()}


def _of(run: Run, calls: list[Mapping[str, Any]], latencies: Latencies) -> dict[str, float]:
    """Only of runs whose calls are exactly those that are needed."""
    ordered = sorted(calls, key=lambda call: call["arrived"])
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for call in ordered:
        by_task.setdefault(call["task"], []).append(call)
    web, mind = by_task.get("web_research", []), by_task.get("reflection", [])
    query, answer = by_task.get("generate_query", []), by_task.get("answer", [])
    # An answer that was begun too early was given up: the last one counts.
    answer = answer[-1:]
    if not (len(query) == len(mind) == len(answer) == 1) or run.error:
        return {}
    first = [call for call in web if call["arrived"] < mind[0]["arrived"]]
    second = [call for call in web if call["arrived"] >= mind[0]["arrived"]]
    if not first or not second:
        return {}
    steps = [query, first, mind, second, answer]
    busy = sum(_end(step) - _start(step) for step in steps)
    return {
        "start": query[0]["arrived"] - run.began,
        "query→search": _start(first) - _end(query),
        "search→reflection": _start(mind) - _end(first),
        "reflection→search": _start(second) - _end(mind),
        "search→answer": _start(answer) - _end(second),
        "end": run.ended - _end(answer),
        "stand-ins late": busy - latencies.bound,
    }


def _start(calls: list[Mapping[str, Any]]) -> float:
    return min(float(call["arrived"]) for call in calls)


def _end(calls: list[Mapping[str, Any]]) -> float:
    return max(float(call["ended"]) for call in calls)

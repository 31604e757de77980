"""What is started and what came of it; shared by everything that starts runs."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.latencies import Latencies

Start = Literal["one_by_one", "together", "spread"]
Hear = Callable[[], None]
"""Called at each piece of the answer's text."""
Ask = Callable[[int, Hear], Awaitable[dict[str, Any]]]
"""Asks question `number` and returns the final `usage`; raises where there is no answer."""


@dataclass(frozen=True)
class Phase:
    """Some runs started in one way; `first` is the number of the first question."""

    name: str
    runs: int
    start: Start
    first: int
    geo: bool = False
    enough: bool = False
    """Whether one round of searching suffices; else two are needed."""


@dataclass
class Run:
    """One run; times of the system-wide monotonic clock."""

    number: int
    began: float = 0.0
    first_token: float = 0.0
    last_token: float = 0.0
    ended: float = 0.0
    error: str = ""
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def wall(self) -> float:
        return self.ended - self.began


@dataclass
class PhaseResult:
    """The runs of a phase, and what the process used in it."""

    phase: str
    runs: list[Run]
    cpu_seconds: float = 0.0
    memory_mb: float = 0.0
    threads: int = 0

    @property
    def good(self) -> list[Run]:
        return [run for run in self.runs if not run.error]

    def walls(self) -> list[float]:
        return [run.wall for run in self.good]

    def first_tokens(self) -> list[float]:
        return [run.first_token - run.began for run in self.good if run.first_token]

    def text_ends(self) -> list[float]:
        return [run.last_token - run.began for run in self.good if run.last_token]


async def play(phase: Phase, ask: Ask, scale: float) -> list[Run]:
    """All runs of a phase; a failed run has its error."""
    runs = [Run(phase.first + i) for i in range(phase.runs)]
    if phase.start == "one_by_one":
        for run in runs:
            await _one(run, ask, 0.0)
        return runs
    step = Latencies(scale).bound / phase.runs if phase.start == "spread" else 0.0
    await asyncio.gather(*(_one(run, ask, i * step) for i, run in enumerate(runs)))
    return runs


async def _one(run: Run, ask: Ask, delay: float) -> None:
    await asyncio.sleep(delay)

    def hear() -> None:
        run.last_token = time.monotonic()
        run.first_token = run.first_token or run.last_token

    run.began = time.monotonic()
    try:
        run.usage = await ask(run.number, hear)
    except Exception as error:  # noqa: BLE001 - a failed run is a result here
        run.error = f"{type(error).__name__}: {error}"[:300]
    run.ended = time.monotonic()


def usage_of(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of a finished run; raises ValueError where the answer is a makeshift."""
    if not kept.get("sources"):
        raise ValueError("the answer cites nothing")
    return {
        **kept["usage"],
        "degraded": kept["degraded"],
        "gaps": len(kept["gaps"]),
        "places": len(kept["places"]),
    }


def median(values: Iterable[float]) -> float:
    return percentile(values, 0.5)


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed.

    Infinite where there are none, so that runs that all failed never look fast.
    """
    ordered = sorted(values)
    if not ordered:
        return math.inf
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]

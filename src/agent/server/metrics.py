"""Count runs, outside calls, costs, gaps and verdicts for Prometheus, and show them at /metrics."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from agent.core.telemetry import STEP, Cost, Event, Exchange, RunEnd, listening
from agent.services import started_services

RUNS = Counter("tanlu_runs", "Runs that ended or paused", ["assistant", "status"])
RUN_SECONDS = Histogram(
    "tanlu_run_seconds",
    "Seconds from a question to its answer",
    ["assistant"],
    buckets=(1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600),
)
CALLS = Counter("tanlu_calls", "Attempts of outside calls", ["kind", "outcome"])
CALL_SECONDS = Histogram(
    "tanlu_call_seconds",
    "Seconds of an outside call, its retries included",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120),
)
COST = Counter("tanlu_cost_usd", "US dollars by list prices, where known", ["owner", "model"])
GAPS = Counter("tanlu_gaps", "What answers had to do without", ["code"])
CLAIMS = Counter("tanlu_claims", "Sentences of answers by the check of claims", ["verdict"])
METRICS = (RUNS, RUN_SECONDS, CALLS, CALL_SECONDS, COST, GAPS, CLAIMS)

OPEN, OTHER = "(open)", "(other)"
"""Of owners and models: where no keys are set, and beyond the first 100; no key has such a name."""
_MOST_LABELS = 100


class _Bounded:
    """Name the first hundred values of a label, for callers choose some of them."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> str:
        with self._lock:
            if name not in self._names and len(self._names) >= _MOST_LABELS:
                return OTHER
            self._names.add(name)
            return name


_owners, _models = _Bounded(), _Bounded()


@contextmanager
def counting() -> Iterator[None]:
    """Count what this process does while the context lasts."""
    with listening(_count):
        yield


def _count(event: Event) -> None:
    if isinstance(event, Exchange):
        _count_call(event)
    elif isinstance(event, Cost):
        _count_cost(event)
    elif isinstance(event, RunEnd):
        _count_run(event)


def _count_call(call: Exchange) -> None:
    for code in call.retried:
        CALLS.labels(call.provider, code).inc()
    CALLS.labels(call.provider, "reused" if call.reused else call.code or "ok").inc()
    if not call.reused:
        CALL_SECONDS.labels(call.provider).observe(call.seconds)


def _count_cost(cost: Cost) -> None:
    if not cost.usd or is_free():
        return
    step = STEP.get()
    owner = (step.owner if step else "") or OPEN
    COST.labels(_owners(owner), _models(cost.model)).inc(cost.usd)


def is_free() -> bool:
    """Return whether sample services answer, which cost nothing."""
    services = started_services()
    return services is not None and services.sample is not None


def _count_run(end: RunEnd) -> None:
    RUNS.labels(end.step.assistant, end.status).inc()
    if end.status == "success":
        RUN_SECONDS.labels(end.step.assistant).observe(end.seconds)
    for code in end.gaps:
        GAPS.labels(code).inc()
    for verdict, count in end.claims.items():
        CLAIMS.labels(verdict).inc(count)


async def metrics(_: Request) -> Response:
    """Answer with the text format of Prometheus: ours, and what the server's libraries count."""
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

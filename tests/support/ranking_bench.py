"""A reranking or embedding server running, and our side of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.core.budget import Budget, Limits, Meter
from agent.sample.services.loopback import Service
from tests.support.memory_reply_cache import MemoryReplyCache

KEY = "canary-key-8d2f4b6a0c1e"


def meter(turn: str = "turn", *, seconds: float = 60) -> Meter:
    """Room for nothing but time: rankings and embeddings are no searches."""
    return Budget(turn, Limits(0, 0, 0, 1_000_000, seconds, 0)).meter()


@dataclass
class Bench:
    """One server running behind a protocol, and a maker of our side of it."""

    kind: str
    service: Service
    url: str
    make: Callable[..., Any]

    def __call__(self, *, reply_cache: MemoryReplyCache | None = None, **changes: Any) -> Any:
        return self.make(self.kind, self.url, reply_cache, changes)


def fresh(running: tuple[str, Service, str], make: Callable[..., Any]) -> Bench:
    """The server of the module without an earlier test's faults and requests."""
    kind, service, url = running
    service.faults.clear()
    service.requests.clear()
    return Bench(kind, service, url, make)

"""A reranking or embedding server running, and our side of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.sample.services.loopback import Service
from tests.support import meters
from tests.support.memory_reply_cache import MemoryReplyCache

KEY = "canary-key-8d2f4b6a0c1e"
meter = partial(meters.meter, searches=0, model_calls=0, map_calls=0)
"""Rankings and embeddings are no searches."""


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

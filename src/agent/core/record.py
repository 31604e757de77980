"""Offer every outside call of a run to whoever keeps its record; by default nobody does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Exchange:
    """Hold one call: what was sent, and the reply or the problem."""

    provider: str
    request: Any
    """JSON-like; of a model its `messages`, `tools` and `schema`."""
    reply: str = ""
    problem: str = ""
    seconds: float = 0.0


Listener = Callable[[Exchange], None]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have the listener called with every call of this process, on the thread that made it."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def record(exchange: Exchange) -> None:
    """Pass one call on to those that listen."""
    for listener in list(_listeners):
        listener(exchange)

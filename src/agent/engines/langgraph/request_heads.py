"""Limit connections without a whole request head: for how long they may stay, and how many.

uvicorn waits for a head without end, so a few hundred connections that say nothing, or a byte now
and then, would take every file the process may open. It has no setting for that; so, while the
server runs, its two HTTP protocols tell us what comes in.
"""

import asyncio
import importlib
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any, Final

log = logging.getLogger(__name__)

LARGEST_HEAD: Final = 65_536
"""Bytes; h11 has a limit of its own, httptools none."""
_CROWDED_SECONDS: Final = 1.0
_WARN_EVERY: Final = 60.0
_PROTOCOLS: Final = {
    "uvicorn.protocols.http.h11_impl": "H11Protocol",
    "uvicorn.protocols.http.httptools_impl": "HttpToolsProtocol",
}
_METHODS: Final = ("connection_made", "data_received", "connection_lost")
_ATTRIBUTES: Final = frozenset({"loop", "transport", "scope", "cycle"})

Protocol = Any
"""One connection of uvicorn's."""


@contextmanager
def limited_heads(seconds: float, most: int) -> Iterator[None]:
    """Close connections whose next head takes longer than `seconds`.

    Where `most` wait already, a further one has a second only; where twice as many do, it takes the
    place of the one that has waited longest.
    Raises RuntimeError if uvicorn is not built as expected.
    """
    heads = _Heads(seconds, most)
    with ExitStack() as stack:
        for kind in _kinds():
            stack.enter_context(_watched(kind, heads))
        yield


class _Heads:
    """Hold the connections from which a head is due, each with the timer that closes it."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds, self._most = seconds, most
        self._timers: dict[Protocol, asyncio.TimerHandle] = {}
        self._bytes: dict[Protocol, int] = {}
        self._warned = -_WARN_EVERY

    def expect(self, connection: Protocol) -> None:
        """Start the time for a head; it does not start again with each byte."""
        waiting, seconds = len(self._timers), self._seconds
        if waiting >= self._most:
            self._warn(waiting)
            seconds = min(seconds, _CROWDED_SECONDS)
        if waiting >= 2 * self._most:
            oldest = next(iter(self._timers))
            oldest.transport.close()
            self.forget(oldest)
        timer = connection.loop.call_later(seconds, connection.transport.close)
        self._timers[connection] = timer

    def received(self, connection: Protocol, size: int) -> None:
        """Look at what the connection has become by these bytes."""
        if _has_request(connection):
            self.forget(connection)
        elif not connection.transport.is_closing():
            if connection not in self._timers:
                self.expect(connection)
            if _within_head(connection):
                self._bytes[connection] = self._bytes.get(connection, 0) + size
                if self._bytes[connection] > LARGEST_HEAD:
                    connection.transport.close()

    def forget(self, connection: Protocol) -> None:
        """Stop the time."""
        self._bytes.pop(connection, None)
        if timer := self._timers.pop(connection, None):
            timer.cancel()

    def _warn(self, waiting: int) -> None:
        if time.monotonic() >= self._warned + _WARN_EVERY:
            self._warned = time.monotonic()
            log.warning(
                "%d connections have sent no request yet: TANLU_WAITING_CONNECTIONS", waiting
            )


def _has_request(connection: Protocol) -> bool:
    """Return whether a request is being answered, or a web socket has taken the connection over."""
    cycle = connection.cycle
    answering = cycle is not None and not cycle.response_complete
    return answering or connection.transport.get_protocol() is not connection


def _within_head(connection: Protocol) -> bool:
    """Return whether the bytes belong to a head, not to the rest of a body answered already."""
    return connection.cycle is None or connection.scope is not connection.cycle.scope


@contextmanager
def _watched(kind: type[Protocol], heads: _Heads) -> Iterator[None]:
    made, received, lost = (getattr(kind, name) for name in _METHODS)

    def connection_made(self: Protocol, transport: asyncio.Transport) -> None:
        made(self, transport)
        heads.expect(self)

    def data_received(self: Protocol, data: bytes) -> None:
        received(self, data)
        heads.received(self, len(data))

    def connection_lost(self: Protocol, error: Exception | None) -> None:
        heads.forget(self)
        lost(self, error)

    _replace(kind, (connection_made, data_received, connection_lost))
    try:
        yield
    finally:
        _replace(kind, (made, received, lost))


def _replace(kind: type[Protocol], methods: tuple[Any, ...]) -> None:
    for name, method in zip(_METHODS, methods, strict=True):
        setattr(kind, name, method)


def _kinds() -> Iterator[type[Protocol]]:
    """Yield the protocols that are installed; which of them serves, uvicorn decides."""
    for module, name in _PROTOCOLS.items():
        try:
            protocols = importlib.import_module(module)
        except ImportError:
            continue
        kind = getattr(protocols, name, None)
        if problem := _problem(kind, getattr(protocols, "RequestResponseCycle", None)):
            raise RuntimeError(f"uvicorn {version('uvicorn')} is not as expected: {name} {problem}")
        yield protocols.__dict__[name]


def _problem(kind: Any, cycle: Any) -> str:
    """Say what of a protocol is not as this module needs it; empty if nothing."""
    if kind is None or cycle is None:
        return "is not there"
    lacking = [name for name in _METHODS if name not in vars(kind)]
    lacking += sorted(_ATTRIBUTES.difference(kind.__init__.__code__.co_names))
    lacking += {"response_complete", "scope"}.difference(cycle.__init__.__code__.co_names)
    return f"lacks {', '.join(lacking)}" if lacking else ""

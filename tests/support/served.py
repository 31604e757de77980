"""Serve a loopback service for as long as a test needs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

from agent.sample.services.loopback import Background


@dataclass(frozen=True)
class Running:
    """Hold the address of a service that runs."""

    url: str
    port: int


@contextmanager
def serve_in_thread(
    app: web.Application, *, host: str = "127.0.0.1", port: int = 0
) -> Iterator[Running]:
    """Run an application on loopback in a thread with its own event loop."""
    background = Background(app, host, port)
    background.start()
    try:
        yield Running(f"http://{host}:{background.port}", background.port)
    finally:
        background.stop()

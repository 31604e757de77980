"""Serve loopback services for as long as a test needs them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from agent.sample.services.loopback import Background, Service


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


@dataclass(frozen=True)
class Served:
    """Services that run, by their names, and what leads there."""

    services: dict[str, Any]
    urls: dict[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.services[name]

    def requests(self, *names: str) -> list[Any]:
        """Return everything that those of these names were asked, or all of them."""
        return [each for name in names or self.urls for each in self.services[name].requests]

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of somebody with keys for them."""
        found: dict[str, Any] = {}
        for name, (prefix, path) in _SETTINGS.items():
            if name in self.urls:
                own = vars(self.services[name])
                found[f"{prefix}_base_url"] = self.urls[name] + path
                if key := own.get("_key") or own.get("key"):
                    found[f"{name}_api_key"] = key
        return found

    @property
    def environment(self) -> dict[str, str]:
        """Return the same as variables."""
        return {name.upper(): value for name, value in self.settings.items()}


_SETTINGS = {
    **{name: (name, "") for name in ("tavily", "serper", "bocha", "openalex", "semantic_scholar")},
    "gemini": ("google_gemini", ""),
    "openai": ("openai", "/v1"),
    "wikipedia": ("wikipedia", "/{lang}"),
    "sec": ("sec_edgar", "/{host}"),
}
"""Of each service, by what its settings begin and its path."""


@contextmanager
def serving(*services: Service) -> Iterator[Served]:
    """Run each of these services in a thread of its own."""
    named = {service.name: service for service in services}
    with ExitStack() as stack:
        urls = {n: stack.enter_context(serve_in_thread(s.app)).url for n, s in named.items()}
        yield Served({**named}, urls)

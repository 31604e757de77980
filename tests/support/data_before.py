"""The services and requests that wrote tests/fixtures/data-7a6e667.tar.xz, and what reads it."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from agent.runs.sql import Place
from agent.sample.model.reply import SampleModel
from tests.support.command_line import CANARY
from tests.support.postgres import rows
from tests.support.served import serve_in_thread
from tests.support.standin import Recorded
from tests.support.standins import GeminiService, TavilyService

HOME = Path("/tmp/tanlu-fixture")
"""Where it was written; files of a knowledge base are known by their absolute paths."""


def runs_of(where: Place, statement: str) -> list[Any]:
    """Run a statement on the run log and the paid replies; return its rows."""
    if isinstance(where, SecretStr):
        return rows(where, statement)
    path = where / "runs.sqlite"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        return database.execute(statement).fetchall()


@dataclass(frozen=True)
class Keyed:
    """Name Gemini and Tavily on loopback, and the environment of somebody with keys for them."""

    gemini: GeminiService
    tavily: TavilyService
    environment: dict[str, str]

    def requests(self) -> list[Recorded]:
        """Return everything they were asked."""
        return [*self.gemini.requests, *self.tavily.requests]


@contextmanager
def keyed() -> Iterator[Keyed]:
    """Serve both until the block ends."""
    gemini, tavily = GeminiService(SampleModel(), key=CANARY), TavilyService(key=CANARY)
    with serve_in_thread(gemini.app) as one, serve_in_thread(tavily.app) as other:
        environment = {
            "GEMINI_API_KEY": CANARY, "GOOGLE_GEMINI_BASE_URL": one.url,
            "TAVILY_API_KEY": CANARY, "TAVILY_BASE_URL": other.url,
        }  # fmt: skip
        yield Keyed(gemini, tavily, environment)


def digest(body: Any) -> str:
    """Return a name of a request's body; the sample numbers its tool calls anew each time."""
    text = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


class Held:
    """Match every search but the first, which is answered."""

    def __init__(self, searching: Callable[[Any, Any], bool]) -> None:
        self._searching, self._first = searching, None
        self.requests = 0

    def __call__(self, request: Any, body: Any) -> bool:
        if not self._searching(request, body):
            return False
        self._first = self._first or body
        held = bool(body != self._first)
        self.requests += held
        return held

    def answers(self, services: list[Any]) -> int:
        """Count the calls of these services that were answered so far."""
        return sum(len(service.requests) for service in services) - self.requests


def answered(held: Held, services: list[Any]) -> list[str]:
    """Return the requests that were answered, by their digests."""
    sent = [request for service in services for request in service.requests]
    waiting = {digest(request.body) for request in sent if held(request, request.body)}
    return sorted({digest(request.body) for request in sent} - waiting)

"""The stand-ins in a process of their own, reached as the real services are: by address and key.

`python -m tests.support.standin_process OPTIONS-AS-JSON` prints their addresses as one JSON object
and ends with its stdin.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
from aiohttp import web

from agent.sample.model.reply import SampleModel
from agent.sample.services.loopback import Background, Service
from tests.support.programs import REPOSITORY, Program
from tests.support.standin import Recorded
from tests.support.standins import (
    AmapService,
    BochaService,
    GeminiService,
    OpenAIService,
    Rules,
    SerperService,
    TavilyService,
)

KEY = "standin-canary-0123456789abcdef"
MODEL = "standin-chat"


@dataclass(frozen=True)
class Standins:
    """The running process, as a client of its services sees it."""

    urls: dict[str, str]
    key: str = KEY
    _http: httpx.Client = field(
        default_factory=lambda: httpx.Client(trust_env=False, timeout=60), repr=False
    )

    def requests(self, name: str) -> list[Recorded]:
        """What one service was asked so far, in order."""
        found = self._http.get(f"{self.urls['control']}/requests/{name}").json()
        return [Recorded(**request) for request in found]

    def close(self) -> None:
        self._http.close()


@contextmanager
def standin_process(rules: Rules | None = None, *, latency: float = 0) -> Iterator[Standins]:
    """Start the process; `rules` are what the OpenAI-compatible one refuses.

    `latency` is the seconds every call takes.
    """
    told = json.dumps({"rules": asdict(rules or Rules()), "latency": latency})
    program = Program(
        *("-m", "tests.support.standin_process", told),
        folder=REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stderr=2,
    )
    assert program.stdin
    assert program.stdout
    try:
        line = program.stdout.readline()
        assert line, "the stand-ins did not start"
        running = Standins(json.loads(line))
        try:
            yield running
        finally:
            running.close()
    finally:
        program.stdin.close()
        program.wait(timeout=60)
        program.end()


def _services(rules: Rules) -> dict[str, Service]:
    llm = SampleModel()
    return {
        "gemini": GeminiService(llm, key=KEY),
        "openai": OpenAIService(llm, key=KEY, models=(MODEL,), rules=rules),
        "amap": AmapService(key=KEY),
        "tavily": TavilyService(key=KEY),
        "serper": SerperService(key=KEY),
        "bocha": BochaService(key=KEY),
    }


def _control(services: dict[str, Service]) -> web.Application:
    async def requests(request: web.Request) -> web.Response:
        asked = services[request.match_info["name"]].requests
        return web.json_response([asdict(recorded) for recorded in asked])

    application = web.Application()
    application.router.add_get("/requests/{name}", requests)
    return application


def main(options: Any) -> None:
    services = _services(Rules(**options.get("rules", {})))
    for service in services.values():
        service.latency = lambda request, body: float(options.get("latency", 0))
    applications = {name: service.app for name, service in services.items()}
    running = {
        name: Background(app)
        for name, app in {**applications, "control": _control(services)}.items()
    }
    for background in running.values():
        background.start()
    urls = {name: f"http://127.0.0.1:{background.port}" for name, background in running.items()}
    print(json.dumps(urls), flush=True)
    sys.stdin.read()
    for background in running.values():
        background.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})

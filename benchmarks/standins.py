"""The stand-ins in a process of their own, so that their CPU does not count as ours.

Run as `python -m benchmarks.standins OPTIONS-AS-JSON`; it prints its ports and ends with its stdin.
"""

import asyncio
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from aiohttp import web
from tests.support.programs import REPOSITORY, Program
from tests.support.standin import Speed
from tests.support.standins import AmapService, GeminiService, TavilyService, gemini_error

from agent.sample.service import BODY, Handler
from benchmarks.latencies import Latencies
from benchmarks.script import TASKS, Script, run_of, task_of

KEY = "benchmark-key"
_SEED = 11


@dataclass(frozen=True)
class StandinOptions:
    """Shares are of all model calls (`ungrounded`: of web answers); `amap_qps` 0 is unlimited.

    `other` is the seconds of a prompt that is none of the main assistant's, before `scale`.
    """

    scale: float = 1.0
    refused: float = 0.0
    hanging: float = 0.0
    ungrounded: float = 0.0
    amap_qps: int = 0
    other: float = 0.0


@dataclass(frozen=True)
class Call:
    """One request as the stand-in saw it; times are of the system-wide monotonic clock."""

    task: str
    run: int
    arrived: float
    ended: float
    status: int
    key: str = ""
    """Equal for requests that ask for the same."""


class Recorder:
    """What arrived at a service: calls with their times, and distinct connections."""

    def __init__(self, service: Any) -> None:
        self.calls: list[Call] = []
        self.peers: set[Any] = set()
        self._service = service
        service.app.middlewares.insert(0, self._measure)

    @web.middleware
    async def _measure(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        arrived, status = time.monotonic(), 0
        if request.transport is not None:
            self.peers.add(request.transport.get_extra_info("peername"))
        try:
            response = await handler(request)
            status = response.status
        finally:
            body = request.get(BODY)
            text = _prompt(body)
            whole = f"{request.path} {json.dumps(body, sort_keys=True, ensure_ascii=False)}"
            call = Call(
                task_of(text), run_of(whole), arrived, time.monotonic(), status, _key(whole)
            )
            self.calls.append(call)
            self._service.requests.clear()
        return response


def _key(request: str) -> str:
    # The model numbers its tool calls anew each time.
    same = re.sub(r"call-\d+", "call", request)
    return hashlib.sha256(same.encode()).hexdigest()[:16]


def _prompt(body: Any) -> str:
    """The system text and the last message of a request to Gemini."""
    if not isinstance(body, dict):
        return ""
    said = [body.get("systemInstruction") or {}, *(body.get("contents") or [])[-3:]]
    return "".join(part.get("text", "") for c in said for part in c.get("parts") or ())


def _gemini(options: StandinOptions) -> GeminiService:
    latencies = Latencies(options.scale)
    speed = Speed(
        latencies.first_chunk * options.scale, latencies.tokens_per_second / options.scale
    )
    service = GeminiService(
        Script(ungrounded=options.ungrounded),
        key=KEY,
        latency=lambda request, body: _seconds(latencies, options, task_of(_prompt(body))),
        speed=lambda turn: speed,
    )
    dice = random.Random(_SEED)
    half = options.refused / 2
    short = gemini_error(429, retry_seconds=options.scale)
    service.fail("status", match=_sometimes(dice, half), times=None, status=429, body=short)
    service.fail(
        "status", match=_sometimes(dice, half), times=None, status=500, body=gemini_error(500)
    )
    service.fail("hang", match=_sometimes(dice, options.hanging), times=None)
    return service


def _seconds(latencies: Latencies, options: StandinOptions, task: str) -> float:
    if task in TASKS:
        return latencies.of(task)
    return options.other * options.scale


def _sometimes(dice: random.Random, share: float) -> Callable[[web.Request, Any], bool]:
    return lambda request, body: share > 0 and dice.random() < share


async def _serve(options: StandinOptions) -> None:
    gemini = _gemini(options)
    seconds = Latencies().amap * options.scale
    amap = AmapService(key=KEY, qps=options.amap_qps or None, latency=lambda r, b: seconds)
    search = TavilyService(key=KEY, latency=lambda r, b: options.other * options.scale)
    records = {"gemini": Recorder(gemini), "amap": Recorder(amap), "tavily": Recorder(search)}

    async def stats(request: web.Request) -> web.Response:
        told: dict[str, Any] = {
            name: {"calls": [asdict(c) for c in r.calls], "connections": len(r.peers)}
            for name, r in records.items()
        }
        told["amap"]["refused"] = amap.refused
        gemini.turns.clear()
        for record in records.values():
            record.calls.clear()
        return web.json_response(told)

    control = web.Application()
    control.router.add_get("/stats", stats)
    ports = {}
    apps = {"gemini": gemini.app, "amap": amap.app, "tavily": search.app, "control": control}
    for name, app in apps.items():
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        ports[name] = runner.addresses[0][1]
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(sys.stdin.read)


class Standins:
    """Starts the process; use as a context manager."""

    def __init__(self, options: StandinOptions) -> None:
        self.options = options

    def __enter__(self) -> "Standins":
        self._process = Program(
            *("-m", "benchmarks.standins", json.dumps(asdict(self.options))),
            folder=REPOSITORY,
            env=os.environ,
            stdin=subprocess.PIPE,
            stderr=2,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not re.match(r"\{", line):
            self._process.kill()
            raise RuntimeError("the stand-ins did not start")
        self._ports: dict[str, int] = json.loads(line)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.end()

    def url(self, name: str) -> str:
        """The base address of `gemini`, `amap`, `tavily` or `control`."""
        return f"http://127.0.0.1:{self._ports[name]}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def stats(self) -> dict[str, Any]:
        """What arrived since the last call of this; connections are counted from the start."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url('control')}/stats", timeout=120) as reply:
            told: dict[str, Any] = json.load(reply)
        return told


if __name__ == "__main__":
    asyncio.run(_serve(StandinOptions(**json.loads(sys.argv[1]))))

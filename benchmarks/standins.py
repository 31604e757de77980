"""The stand-ins in a process of their own, so that their CPU does not count as ours.

Run as `python -m benchmarks.standins OPTIONS-AS-JSON`; it prints its ports and ends with its stdin.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web
from tests.support.programs import REPOSITORY, Program
from tests.support.standin import Speed
from tests.support.standins import AmapService, GeminiService, TavilyService, gemini_error

from agent.sample.corpus import search_pages
from agent.sample.services.gemini import tokens
from agent.sample.services.loopback import BODY, Handler
from benchmarks.latencies import Latencies
from benchmarks.prefixes import Prompts, prompt_of
from benchmarks.processes import process_at
from benchmarks.script import TASKS, Script, run_of, task_of

if TYPE_CHECKING:
    from benchmarks.hostile import Hostile

KEY = "benchmark-key"
_SEED = 11
_ASKER = "benchmarks.asker"
"""Of a request: the process that is to be killed after its reply."""


@dataclass(frozen=True)
class StandinOptions:
    """Shares are of all model calls (`ungrounded`: of web answers); `amap_qps` 0 is unlimited.

    `other` is the seconds of a prompt that is none of the main assistant's, `judge` those of a
    call of the judge of statements, before `scale`.
    """

    scale: float = 1.0
    refused: float = 0.0
    hanging: float = 0.0
    ungrounded: float = 0.0
    amap_qps: int = 0
    other: float = 0.0
    judge: float = 0.0


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
    tokens: int = 0
    """Of the prompt, by estimate."""
    known: int = 0
    """Of these, the first ones, with which an earlier prompt of the run began, too."""


class Trap:
    """Kill -9 who asked for one of these tasks, a moment after its reply's last byte was sent."""

    def __init__(self) -> None:
        self.tasks: frozenset[str] = frozenset()
        """Empty while it is not set."""
        self.seconds = 0.0
        self.killed: list[float] = []

    async def set(self, request: web.Request) -> web.Response:
        """Be told for which tasks it is set, and how long it waits."""
        self.seconds = float(request.query["seconds"])
        self.tasks = frozenset(request.query["tasks"].split())
        return web.json_response(None)

    async def tell(self, request: web.Request) -> web.Response:
        """Tell when it killed."""
        return web.json_response(self.killed)

    async def asker(self, task: str, request: web.Request) -> int | None:
        """Return the process that is to be killed; None where the trap is not set for the task."""
        if task not in self.tasks or request.transport is None:
            return None
        here = request.transport.get_extra_info("sockname")
        there = request.transport.get_extra_info("peername")
        return await asyncio.to_thread(process_at, there[1], here[1])

    async def spring(self, pid: int) -> None:
        """Kill the process, unless the trap has had another one since."""
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.tasks:
            self.tasks = frozenset()
            self.killed.append(time.monotonic())
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Recorder:
    """What arrived at a service: calls with their times, and distinct connections."""

    def __init__(self, service: Any, trap: Trap) -> None:
        self.calls: list[Call] = []
        self._prompts = Prompts()
        self._trap = trap
        self.peers: set[Any] = set()
        self._service = service
        service.app.middlewares.insert(0, self._measure)
        service.app.middlewares.append(self._look_who_asks)

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
            whole = f"{request.path} {json.dumps(body, sort_keys=True, ensure_ascii=False)}"
            run, prompt = run_of(whole), prompt_of(body)
            known = self._prompts.known(run, request.path, prompt, arrived)
            call = Call(
                task_of(_prompt(body)), run, arrived, time.monotonic(), status,
                _key(whole), tokens(prompt), known,
            )  # fmt: skip
            self.calls.append(call)
            self._service.requests.clear()
        if asker := request.get(_ASKER):
            await self._trap.spring(asker)
        return response

    @web.middleware
    async def _look_who_asks(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        # Here the body has been read; at the end it would take too long to find out.
        request[_ASKER] = await self._trap.asker(task_of(_prompt(request[BODY])), request)
        return await handler(request)


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


def _gemini(options: StandinOptions, hostile: "Hostile") -> GeminiService:
    latencies = Latencies(options.scale, judge=options.judge)
    speed = Speed(
        latencies.first_chunk * options.scale, latencies.tokens_per_second / options.scale
    )
    service = GeminiService(
        hostile,
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
    # A megabyte of texts, which whoever only starts this process needs none of.
    from benchmarks.hostile import TEXTS, Hostile

    hostile = Hostile(Script(ungrounded=options.ungrounded))
    gemini = _gemini(options, hostile)
    seconds = Latencies().amap * options.scale
    amap = AmapService(key=KEY, qps=options.amap_qps or None, latency=lambda r, b: seconds)
    amap.app.middlewares.append(hostile.of_map)
    search = TavilyService(
        key=KEY,
        pages=hostile.hits(search_pages),
        latency=lambda r, b: options.other * options.scale,
    )
    trap = Trap()
    services = {"gemini": gemini, "amap": amap, "tavily": search}
    records = {name: Recorder(service, trap) for name, service in services.items()}

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

    async def say(request: web.Request) -> web.Response:
        hostile.place, hostile.text = request.query["place"], TEXTS.get(request.query["text"], "")
        return web.json_response(None)

    control = web.Application()
    control.router.add_get("/say", say)
    control.router.add_get("/stats", stats)
    control.router.add_get("/trap", trap.set)
    control.router.add_get("/killed", trap.tell)
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
        told: dict[str, Any] = self._told("stats")
        return told

    def kill_next(self, tasks: Iterable[str], seconds: float) -> None:
        """Kill who gets the next reply to one of these tasks, so long after its last byte."""
        query = urllib.parse.urlencode({"tasks": " ".join(tasks), "seconds": seconds})
        self._told(f"trap?{query}")

    def say(self, place: str, text: str) -> None:
        """Have what comes from a place be one of `hostile.TEXTS` from now on; "" ends that."""
        self._told(f"say?{urllib.parse.urlencode({'place': place, 'text': text})}")

    def killed(self) -> list[float]:
        """When somebody was killed by `kill_next`."""
        told: list[float] = self._told("killed")
        return told

    def _told(self, path: str) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url('control')}/{path}", timeout=120) as reply:
            return json.load(reply)


if __name__ == "__main__":
    asyncio.run(_serve(StandinOptions(**json.loads(sys.argv[1]))))

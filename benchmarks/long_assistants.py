"""The three long assistants against the critical path of their outside calls.

    uv run python -m benchmarks.long_assistants [--questions NAME,…] [--scale 0.1] [--load 16]

The real graphs in this process, on SQLite, over stand-ins on loopback that answer as slowly as
services do. The model of `team_answer` and `deep_research` replays conversations that were played
by hand, that of `plan_execute` follows a plan. The critical path of a run is the time in which at
least one outside call of it was under way: wall ÷ critical path is what we add. Runs at once are
held against the critical path of a run alone. Stand-ins share this interpreter, which counts
against us. A scale below 1 shortens them, so that our own time weighs more: targets hold at 1 only.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware
from tests.support.long_lab import Web
from tests.support.plan_knowledge import With
from tests.support.plan_lab import ZH, Planner, plan_process, running_world
from tests.support.played import text_of
from tests.support.played_long import LongConversation, LongModel, PlayedWeb, long_conversations
from tests.support.standin import Speed

from agent.assistants.registry import Graph, compiled
from agent.core.concurrency import Lazy, SharedSemaphore
from agent.reading import fetch
from agent.runs.threads import open_threads
from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.services import search
from agent.sample.services.gemini import tokens
from agent.sample.services.loopback import BODY, Handler
from agent.search import wikipedia
from agent.services import build_reader
from agent.settings import Settings
from benchmarks.latencies import Latencies
from benchmarks.prefixes import Prompts, cached_share, prompt_of
from benchmarks.processes import Strangers
from benchmarks.runs import Hear, Phase, Run, median, percentile, play
from benchmarks.script import run_of
from benchmarks.table import Line, header, show

ALONE, TOGETHER = 1.10, 1.35
DOSSIER = "zh-dossier"
_CONVERSATIONS = {each.name: each for each in long_conversations()}
QUESTIONS = ("zh-logo", "zh-premise", "zh-wal-report", DOSSIER)
_SECONDS = {"tavily": 1.0, "wikipedia": 0.4, "openalex": 0.8, "semantic_scholar": 0.8, "sec": 0.4}
_PAGE_SECONDS = 0.6
_MANY_HOSTS: dict[str, Any] = {"at_once": 32, "rate": 1000, "burst": 1000}
"""Pages of sixteen runs come from as many hosts; here one stands in, which is not spared.

Nor is Wikipedia, which asks for one request at a time: 16 dossiers have 48, so that with its rule
p95 is about 1.7 times the critical path.
"""
_TASKS = ("青岚公司 钠离子电池 技术路线", "钠离子电池 能量密度 比较", "钠离子电池 成本 比较")


class Numbered(Planner):
    """Plan tasks that bear the number of their run, so that no two runs share a paper."""

    def plan(self, turn: ModelTurn) -> ModelReply:
        """Return one task after another, each with the number."""
        mark = f"编号{run_of(turn.user)}"
        rows = [{"id": f"T{n}", "query": f"{q} {mark}", "dep": []} for n, q in enumerate(_TASKS, 1)]
        return ModelReply(json={"tasks": rows})


@dataclass
class Models:
    """Give each request to the model of its run, which the question's number names."""

    conversation: LongConversation | None
    by_run: dict[int, LongModel] = field(default_factory=dict)
    planner: Model = field(default_factory=Numbered)

    def respond(self, turn: ModelTurn) -> ModelReply:
        """Return the reply of the run's model; verdicts on claims are the same in every run."""
        if self.conversation is None:
            return self.planner.respond(turn)
        number = run_of(turn.system + text_of(turn))
        return self.by_run.setdefault(number, LongModel(self.conversation)).respond(turn)

    def unknown(self) -> list[str]:
        """Return the requests to which no reply was played."""
        # What is stated is judged anew; the check goes on without a played reply.
        asked = [request for model in self.by_run.values() for request in model.unknown]
        return [request for request in asked if not request.startswith("claim_check")]


@dataclass
class Clock:
    """Slow the stand-ins down, and keep when each outside call was under way."""

    latencies: Latencies
    scale: float = 0.0
    """Of every latency; 0 while the deployment warms up."""
    calls: list[tuple[float, float]] = field(default_factory=list)
    prompts: Prompts = field(default_factory=Prompts)
    counted: list[dict[str, int]] = field(default_factory=list)
    """Prompts by their tokens, and those of them that an earlier one of the run began with."""

    def middleware(self, name: str) -> Middleware:
        """Return the middleware of a stand-in."""

        @web.middleware
        async def timed(request: web.Request, handler: Handler) -> web.StreamResponse:
            began = time.monotonic()
            try:
                response = await handler(request)
                await asyncio.sleep(self._seconds(name, response) * self.scale)
                return response
            finally:
                self.calls.append((began, time.monotonic()))
                if name == "gemini" and (prompt := prompt_of(request[BODY])):
                    known = self.prompts.known(run_of(prompt), request.path, prompt, began)
                    self.counted.append({"tokens": tokens(prompt), "known": known})

        return timed

    def _seconds(self, name: str, response: web.StreamResponse) -> float:
        """Return how long a real service takes; a stream has taken its time already."""
        if name != "gemini":
            return _SECONDS.get(name, _PAGE_SECONDS)
        if not isinstance(response, web.Response):
            return 0.0
        written = json.loads(response.text or "{}").get("usageMetadata", {})
        tokens = int(written.get("candidatesTokenCount", 0))
        return self.latencies.first_chunk + tokens / self.latencies.tokens_per_second

    def speed(self, _turn: ModelTurn) -> Speed:
        """Return the pace of a stream."""
        if not self.scale:
            return Speed()
        rate = self.latencies.tokens_per_second / self.scale
        return Speed(self.latencies.first_chunk * self.scale, rate)

    def critical_path(self) -> float:
        """Return the seconds in which a call was under way, and forget the calls."""
        calls, self.calls = self.calls, []
        return union(calls)


def union(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length that intervals cover together."""
    covered, end = 0.0, 0.0
    for began, ended in sorted(intervals):
        covered += max(0.0, ended - max(began, end))
        end = max(end, ended)
    return covered


@dataclass
class Deployment:
    """One assistant over its stand-ins, and the question it is asked again and again."""

    name: str
    assistant: str
    question: str
    context: dict[str, Any]
    graph: Graph
    models: Models
    clock: Clock

    async def ask(self, number: int, _hear: Hear) -> dict[str, Any]:
        """Ask in a thread of its own and return the usage."""
        values = await self.graph.ainvoke(
            {"messages": f"{self.question}（编号{number}）"},
            {"configurable": {"thread_id": f"{self.name}-{number}"}},
            context=self.context,
            durability="sync",
        )
        usage: dict[str, Any] = values["messages"][-1].additional_kwargs["usage"]
        return usage

    async def play(self, phase: Phase) -> tuple[list[Run], float]:
        """Return the runs of a phase and the time in which a call of them was under way."""
        self.clock.calls.clear()
        runs = await play(phase, self.ask, self.clock.scale)
        return runs, self.clock.critical_path()


def hosts(conversation: LongConversation) -> set[str]:
    """Return the hosts of every page of a conversation, so that none is asked for real."""
    results = [r for row in conversation.replies for r in row["reply"].get("results", [])]
    urls = [*conversation.pages, *(result["url"] for result in results)]
    return {urlsplit(url).hostname or "" for url in urls}


@asynccontextmanager
async def deployment(name: str, folder: Path) -> AsyncIterator[Deployment]:
    """Run one question's stand-ins and its assistant."""
    conversation = _CONVERSATIONS.get(name)
    models, clock = Models(conversation), Clock(Latencies())
    settings: dict[str, Any] = {"tanlu_data_dir": str(folder / name)}
    with running_world(models, web=Web(count=3), middleware=clock.middleware) as world:
        world.gemini.speed = clock.speed
        if conversation:
            seen: Any = world.tavily
            seen._pages, seen._text = (pages := PlayedWeb(conversation)), pages.text
        async with (
            open_threads(Settings(**settings)) as threads,
            plan_process(
                world, saver=threads.saver, reply_cache=folder / "replies", real=True, **settings
            ) as lab,
        ):
            assistant = conversation.assistant if conversation else "plan_execute"
            question = conversation.questions[0] if conversation else ZH
            context = {"web_search": "tavily", "geo_routing": "never"}
            context |= conversation.context if conversation else {}
            services: Any = lab.services
            if conversation:  # the site has none of the pages: they are extracted, as when played
                origins = dict.fromkeys(hosts(conversation), world.urls["site"])
                reader = build_reader(
                    services.settings, services.calls, services.hosts, origins=origins
                )
                services = With(services, reader=Lazy(lambda: reader))
            graph = compiled(assistant, threads.saver, lambda: services)
            yield Deployment(name, assistant, question, context, graph, models, clock)


async def measured(name: str, scale: float, load: int, folder: Path) -> list[Line]:
    """Return the figures of one question: alone, and so many at once."""
    async with deployment(name, folder) as one:
        await one.play(Phase("warm", 1, "one_by_one", 0))
        one.clock.scale = scale
        alone = [await one.play(Phase("alone", 1, "one_by_one", n)) for n in (10, 11, 12)]
        together, _ = await one.play(Phase("together", load, "together", 100))
    path = median(seconds for (run,), seconds in alone if not run.error)
    ratios = [run.wall / path for run in together if not run.error]
    prompts = one.clock.counted
    runs = [run for runs, _ in alone for run in runs] + together
    good = [run for run in runs if not run.error]
    ratio = median(run.wall / seconds for (run,), seconds in alone if not run.error)
    errors = [run.error for run in runs if run.error]
    unknown = one.models.unknown()
    crowd = f"{load} at once"
    return [
        Line(name, "model calls", _usual(good, "model_calls"), note=one.assistant, digits=0),
        Line(name, "input tokens", _usual(good, "input_tokens"), digits=0),
        Line(name, "share that a cache may serve", cached_share(prompts),
             note=f"{cached_share(prompts, least=0):.3f} however short the prefix"),
        Line(name, "critical path, s", path, digits=2),
        Line(name, "alone ÷ critical path", ratio, ALONE),
        Line(name, f"{crowd}, p50 ÷ critical path", percentile(ratios, 0.5)),
        Line(name, f"{crowd}, p95 ÷ critical path", percentile(ratios, 0.95), TOGETHER),
        Line(name, "failed runs", len(errors), 0, note="; ".join(errors[:1]), digits=0),
        Line(name, "requests nobody played", len(unknown), 0, "; ".join(unknown[:3]), digits=0),
    ]  # fmt: skip


def _usual(runs: Iterable[Run], name: str) -> float:
    return median(run.usage[name] for run in runs)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.long_assistants", description=__doc__)
    parser.add_argument(
        "--questions", default=",".join(QUESTIONS), help=f"of {', '.join(QUESTIONS)}"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of every latency")
    parser.add_argument("--load", type=int, default=16, help="runs at once")
    options = parser.parse_args(argv)
    names = options.questions.split(",")
    if unknown := [name for name in names if name not in QUESTIONS]:
        parser.error(f"unknown questions: {', '.join(unknown)}; there are {', '.join(QUESTIONS)}")
    lines: list[Line] = []
    print(header(), flush=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        patch.object(search, "_SNIPPET", 20_000),  # a result's text was played whole
        patch.object(fetch, "HostLimits", partial(fetch.HostLimits, **_MANY_HOSTS)),
        patch.object(wikipedia, "_ONE_AT_A_TIME", SharedSemaphore(100)),
    ):
        for name in names:
            strangers = Strangers()
            rows = asyncio.run(measured(name, options.scale, options.load, Path(folder)))
            note = "used by other processes: under load the ratios tell about them"
            rows.append(Line(name, "noise, cores", strangers.cores(), note=note, digits=2))
            show(rows)
            lines += rows
    missed = [line for line in lines if line.holds is False]
    print(f"{len(lines)} figures, {len(missed)} off target")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

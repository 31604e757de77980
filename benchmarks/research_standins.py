"""Stand-ins of a deep research in a process of their own: a model, and a search of made-up pages.

Run as `python -m benchmarks.research_standins OPTIONS-AS-JSON`; it prints its addresses and ends
with its stdin.
"""

import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from aiohttp import web
from tests.support.deep_lab import change, compress, done_calls, end, search, shown_urls, think
from tests.support.long_lab import Web, no_edits, no_verdicts
from tests.support.programs import REPOSITORY, Program
from tests.support.standin import Speed
from tests.support.standins import GeminiService, TavilyService

from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from agent.sample.services.loopback import BODY, Handler
from benchmarks.script import answer_text
from benchmarks.script import task_of as task_in

KEY = "benchmark-key"


@dataclass(frozen=True)
class ResearchOptions:
    """Seconds are before `scale`; the report's are those of its stream."""

    topics: int = 5
    pages: int = 6
    searches: int = 1
    """Rounds of searching in each topic; two more decide."""
    page_bytes: int = 20_000
    scale: float = 1.0
    extract: float = 1.0
    compress: float = 2.0
    """Of a topic whose pages are too many to be shown as they are."""
    report: float = 4.0

    def bound(self, width: int) -> float:
        """Seconds that no post-processing can beat: rounds of `width` topics, then the report."""
        rounds = -(-self.topics // width)
        return (rounds * self.extract + self.report) * self.scale


class Researcher:
    """A model: some searches a topic, its last pages named, notes, a report of known length."""

    def __init__(self, options: ResearchOptions) -> None:
        self._options = options
        self._topics = [f"子题{number}" for number in range(options.topics)]

    def respond(self, turn: ModelTurn) -> ModelReply:
        match task_of(turn):
            case "deep_explore":
                return self._explore(turn)
            case "deep_compress":
                return compress(turn)
            case "deep_plan" | "deep_review":
                return ModelReply(json={"topics": []})
            case "claim_check":
                return no_verdicts(turn)
            case "revise":
                return no_edits(turn)
        return ModelReply(text=_cited(answer_text(), turn.user))

    def _explore(self, turn: ModelTurn) -> ModelReply:
        topic, done = block(turn.user, "topic"), done_calls(turn)
        if topic not in self._topics:
            return ModelReply(calls=(think(), change(self._topics[0])))
        if (step := done.count("tavily_search")) < self._options.searches:
            return ModelReply(calls=(think(), search(f"{topic} 第{step}步")))
        if done[-1] == "tavily_search":
            return ModelReply(calls=(think("够了"),))
        following = self._topics[self._topics.index(topic) + 1 :]
        urls = shown_urls(turn)[-self._options.pages :]
        return ModelReply(calls=(change(following[0], urls) if following else end(urls),))


def _cited(text: str, prompt: str) -> str:
    """Return a text whose markers name pages that the prompt shows, one after the other."""
    shown = itertools.cycle(re.findall(r'<page id="([^"]+)"', prompt) or ["none"])
    return re.sub(r"\[\^[^\]]+\]", lambda _: f"[^{next(shown)}]", text)


class Crowd:
    """When calls of each kind came and were answered."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float, float]] = []

    @web.middleware
    async def note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        arrived = time.monotonic()
        try:
            return await handler(request)
        finally:
            self.calls.append((_kind(request), arrived, time.monotonic()))

    def most(self) -> dict[str, int]:
        """The most of a kind that were under way at once; forgets them."""
        found = {
            kind: max(
                sum(other == kind and began <= at < ended for other, began, ended in self.calls)
                for name, at, _ in self.calls
                if name == kind
            )
            for kind in {kind for kind, _, _ in self.calls}
        }
        self.calls.clear()
        return found


def _kind(request: web.Request) -> str:
    """The task of a prompt, or the path."""
    body = json.dumps(request[BODY], ensure_ascii=False)
    return task_in(body) or request.path.strip("/")


def _seconds(options: ResearchOptions) -> Callable[[web.Request, Any], float]:
    taken = {"extract": options.extract, "deep_compress": options.compress}

    def seconds(request: web.Request, _body: Any) -> float:
        return taken.get(_kind(request), 0.0) * options.scale

    return seconds


def _pages(options: ResearchOptions) -> Web:
    def text(query: str, number: int) -> str:
        sentence = f"{query}的第{number}页说，2025年成本为{40 + number}美元，比上年低{number}.5%。"
        return sentence * (1 + options.page_bytes // len(sentence.encode()))

    return Web(text=text, count=options.pages)


async def _serve(options: ResearchOptions) -> None:
    first, rate = 0.69, 100.0
    stretch = options.scale * options.report / 4.0
    speed = Speed(first * stretch, rate / stretch) if stretch else Speed()
    seconds, crowd = _seconds(options), Crowd()
    gemini = GeminiService(
        Researcher(options), key=KEY, latency=seconds,
        speed=lambda turn: speed if task_of(turn) == "deep_report" else Speed(),
    )  # fmt: skip
    tavily = TavilyService(key=KEY, pages=_pages(options))
    tavily.latency = seconds

    async def most(_request: web.Request) -> web.Response:
        return web.json_response(crowd.most())

    control = web.Application()
    control.router.add_get("/most", most)
    urls = {}
    for name, app in (("gemini", gemini.app), ("tavily", tavily.app), ("control", control)):
        if app is not control:
            app.middlewares.insert(0, crowd.note)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        urls[name] = f"http://127.0.0.1:{runner.addresses[0][1]}"
    print(json.dumps(urls), flush=True)
    await asyncio.to_thread(sys.stdin.read)


class ResearchStandins:
    """Starts the process; use as a context manager."""

    def __init__(self, options: ResearchOptions) -> None:
        self._options = options
        self.urls: dict[str, str] = {}

    def __enter__(self) -> "ResearchStandins":
        self._process = Program(
            *("-m", "benchmarks.research_standins", json.dumps(asdict(self._options))),
            folder=REPOSITORY,
            env=os.environ,
            stdin=subprocess.PIPE,
            stderr=2,
        )
        assert self._process.stdout is not None
        self.urls = json.loads(self._process.stdout.readline() or "{}")
        if not self.urls:
            raise RuntimeError("the stand-ins did not start")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.end()

    def most_at_once(self) -> dict[str, int]:
        """Calls under way at once, by kind, since the last call of this."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.urls['control']}/most", timeout=120) as reply:
            told: dict[str, int] = json.load(reply)
        return told


if __name__ == "__main__":
    asyncio.run(_serve(ResearchOptions(**json.loads(sys.argv[1]))))

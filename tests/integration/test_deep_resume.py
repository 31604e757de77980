"""A deep research that was broken off goes on where it was: nothing finished is paid again."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.assistants.deep_research.graph import build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.runs.reply_cache import ReplyCache
from agent.runs.threads import open_saver
from agent.runs.workspace_store import WorkspaceStore
from agent.sample.services.loopback import Service
from agent.sample.services.search import KEY
from agent.services import build_services
from agent.settings import Settings
from tests.integration.faults import at, settled
from tests.support.deep_lab import ZH, Researcher
from tests.support.lab import answer_of, told
from tests.support.long_lab import MODEL_KEY, Web, accusing, mends
from tests.support.map_fixtures import until
from tests.support.rows import by_examples
from tests.support.served import serving
from tests.support.standin import Fault
from tests.support.standins import GeminiService, TavilyService

CONFIG: Any = {"configurable": {"thread_id": "resumed"}}
pytestmark = pytest.mark.usefixtures("still_clock")


@dataclass
class World:
    """The stand-ins, which outlive every process, and what they were asked."""

    gemini: Service
    tavily: Service
    settings: Settings
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, service in (("gemini", self.gemini), ("tavily", self.tavily)):
            service.latency = lambda request, body, name=name: self._note(name, request, body)

    def _note(self, name: str, request: web.Request, body: Any) -> float:
        # The stand-in numbers its tool calls from one run to the next.
        asked = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
        self.asked.append(f"{name} {request.path} {asked}")
        return 0

    def hang(self, stage: str) -> Fault:
        """The first request of a stage gets no answer."""
        if stage in ("/search", "/extract"):
            return self.tavily.fail("hang", match=lambda request, body: request.path == stage)
        return self.gemini.fail("hang", match=at(stage))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    researcher = Researcher(
        "成本", "安全", "应用", claim_check=accusing("1.5%", "41美元"), revise=mends
    )
    gemini = GeminiService(researcher, key=MODEL_KEY)
    tavily = TavilyService(key=KEY, pages=Web())
    with serving(gemini, tavily) as served:
        yield World(gemini, tavily, Settings(**served.settings))


@asynccontextmanager
async def process(world: World, folder: Path) -> AsyncIterator[Any]:
    """The graph as a process of its own would have it: only files and stand-ins are shared."""
    services = build_services(
        world.settings, reply_cache=ReplyCache(folder), workspace=WorkspaceStore(folder)
    )
    async with open_saver(folder) as saver:
        try:
            yield build_graph(lambda: services).compile(checkpointer=saver)
        finally:
            await services.aclose()


async def run(graph: Any, question: str | None) -> dict[str, Any]:
    given = {"messages": question} if question else None
    context = DeepConfiguration(small_topic_tokens=0)
    state: dict[str, Any] = await graph.ainvoke(given, CONFIG, context=context, durability="sync")
    return state


@by_examples
async def test_a_run_broken_off_at_a_stage_goes_on_without_paying_twice(
    world: World, tmp_path: Path, stage: str
) -> None:
    async with process(world, tmp_path / "whole") as graph:
        whole = await run(graph, ZH)
    assert "已更正" in str(answer_of(whole).text)
    reference = world.asked[:]
    world.asked.clear()

    held = world.hang(stage)
    async with process(world, tmp_path / "broken") as graph:
        task = asyncio.create_task(run(graph, ZH))
        await until(lambda: held.times == 0)
        await settled(world.asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with process(world, tmp_path / "broken") as graph:
        resumed = await run(graph, None)

    assert Counter(world.asked) == Counter(reference)
    assert str(answer_of(resumed).text) == str(answer_of(whole).text)
    counted = [(told(s)["usage"]["model_calls"], told(s)["usage"]["searches"])
               for s in (whole, resumed)]  # fmt: skip
    assert counted[0] == counted[1]


async def test_a_finished_research_that_is_continued_asks_nothing(
    world: World, tmp_path: Path
) -> None:
    async with process(world, tmp_path) as graph:
        first = await run(graph, ZH)
        world.asked.clear()
        again = await run(graph, None)
    assert world.asked == []
    assert answer_of(again).id == answer_of(first).id


async def stopped_then_answered(world: World, folder: Path, held: Fault) -> dict[str, Any]:
    """The state of a run that was stopped at a call, and then was to answer at once."""
    async with process(world, folder) as graph:
        task = asyncio.create_task(run(graph, ZH))
        await until(lambda: held.times == 0)
        await settled(world.asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        world.asked.clear()
        context = DeepConfiguration(small_topic_tokens=0, answer_now=True)
        state: dict[str, Any] = await graph.ainvoke(None, CONFIG, context=context)
    return state


async def test_a_stopped_research_answers_from_what_it_had_found_and_looks_nothing_up(
    world: World, tmp_path: Path
) -> None:
    state = await stopped_then_answered(world, tmp_path, world.hang("deep_compress"))
    assert [source["url"] for source in told(state)["sources"]]
    assert [gap["code"] for gap in told(state)["gaps"]].count("stopped_early") == 1
    assert "您停止了查找" in str(answer_of(state).text)
    assert not [one for one in world.asked if one.startswith("tavily")]
    assert not [one for one in world.asked if "<task>deep_" in one and "deep_report" not in one]


async def test_a_research_stopped_before_anything_was_found_says_so_without_a_model(
    world: World, tmp_path: Path
) -> None:
    state = await stopped_then_answered(world, tmp_path, world.hang("deep_explore"))
    assert told(state)["sources"] == []
    assert "您停止了查找" in str(answer_of(state).text)
    assert world.asked == []

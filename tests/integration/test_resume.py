"""A run that was broken off goes on where it was: nothing finished is paid again."""

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.assistants.common.services import Services
from agent.assistants.common.workspace import Workspaces
from agent.configuration import configure
from agent.core.calls import Calls
from agent.core.concurrency import Lazy
from agent.core.hosts import Hosts
from agent.graph import build_graph
from agent.knowledge.base import open_knowledge_base
from agent.knowledge.rerank import RerankClient
from agent.mcp.map import build_maps
from agent.models.client import ModelClient
from agent.runs.reply_cache import ReplyCache
from agent.runs.threads import open_saver
from agent.runs.workspace_store import WorkspaceStore
from agent.sample.model.request import FunctionCall, ModelReply
from agent.sample.server import SampleServices, start_sample_services
from agent.sandbox.select import CodeSandbox
from agent.search.document_sources import DocumentSources
from agent.search.web import WebSearch
from agent.services import build_papers, build_reader
from agent.settings import read_settings
from tests.integration.faults import MoodyModel, at, leaving_no_process
from tests.support.lab import ZH, answer_of
from tests.support.map_fixtures import until
from tests.support.standins import GeminiService

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("still_clock")]
CONFIG: Any = {"configurable": {"thread_id": "resumed"}}
STAGES = ("generate_query", "web_research", "amap_research", "reflection", "answer")


@dataclass
class World:
    """The stand-ins, which outlive every process, and what they were asked, in order."""

    sample: SampleServices
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, service in self.sample.services.items():
            service.latency = lambda request, body, name=name: self._note(name, request, body)

    def _note(self, name: str, request: web.Request, body: Any) -> float:
        query = {k: v for k, v in request.query.items() if k != "key"}
        self.asked.append(f"{name} {request.path} {json.dumps([query, body], sort_keys=True)}")
        return 0

    def stages(self) -> list[str]:
        """The stage of each request: a task of ours, or the service's name."""
        return [
            (re.findall(r"<task>(\w+)</task>", text) or [text.split(" ", 1)[0]])[0]
            for text in self.asked
        ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    sample = start_sample_services(read_settings(tanlu_mode="offline"))
    yield World(sample)
    sample.stop()


@asynccontextmanager
async def process(world: World, folder: Path) -> AsyncIterator[Any]:
    """The graph as a process of its own would have it: only files and stand-ins are shared."""
    settings, reply_cache = world.sample.settings, ReplyCache(folder)
    calls = Calls(reply_cache=reply_cache)
    models = ModelClient(settings, calls)
    maps = build_maps(settings, calls, redirect=world.sample.amap_url)
    searches = WebSearch(settings, models, calls)
    code, origins, hosts = CodeSandbox(settings), world.sample.origins, Hosts(0)
    services = Services(
        settings=settings,
        mode="offline",
        models=models,
        web=searches,
        library=Lazy(lambda: DocumentSources(settings, calls, searches)),
        maps=maps,
        reader=Lazy(lambda: build_reader(settings, calls, hosts, origins=origins)),
        papers=Lazy(lambda: build_papers(settings, calls, hosts, origins=origins)),
        reranker=Lazy(lambda: RerankClient(settings, calls)),
        knowledge=Lazy(lambda: open_knowledge_base(settings, calls)),
        code=Lazy(lambda: code),
        calls=calls,
        hosts=hosts,
        workspaces=Workspaces(WorkspaceStore(folder), 50),
        reply_cache=reply_cache,
        sample=world.sample,
    )
    async with open_saver(folder) as saver:
        try:
            yield build_graph(lambda: services).compile(checkpointer=saver)
        finally:
            for part in (code, maps, searches, models, reply_cache):
                await part.aclose()


async def run(graph: Any, question: str | None, *, early: bool = False) -> dict[str, Any]:
    given = {"messages": question} if question else None
    context = configure({"early_answer": early})
    state: dict[str, Any] = await graph.ainvoke(given, CONFIG, context=context, durability="sync")
    return state


def comparable(state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An answer without times, and what carried it."""
    kept = answer_of(state).additional_kwargs
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d(?=（北京时间）| \(UTC)"
    text = re.sub(moment, "TIME", str(answer_of(state).text))
    usage = {k: v for k, v in kept["usage"].items() if k != "seconds"}
    return text, {"usage": usage, "queries": kept["queries"], "gaps": kept["gaps"]}


def cached_replies(folder: Path) -> int:
    """How many replies are safe on disk."""
    with closing(sqlite3.connect(folder / "runs.sqlite", timeout=10)) as db:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.parametrize("stage", STAGES)
async def test_a_run_broken_off_at_a_stage_goes_on_without_paying_twice(
    world: World, tmp_path: Path, stage: str
) -> None:
    with leaving_no_process():
        async with process(world, tmp_path / "whole") as graph:
            whole = await run(graph, ZH)
        reference, stages = world.asked[:], world.stages()
        finished = expected_before(stages, stage)
        world.asked.clear()

        folder = tmp_path / "broken"
        held = world.sample.services["gemini"].fail("hang", match=at(stage))
        async with process(world, folder) as graph:
            task = asyncio.create_task(run(graph, ZH))
            await until(lambda: len(world.asked) == finished and held.times == 0)
            await until(lambda: cached_replies(folder) == finished)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len(world.asked) == finished
        async with process(world, folder) as graph:
            resumed = await run(graph, None)

        assert Counter(world.asked) == Counter(reference)
        assert comparable(resumed) == comparable(whole)


@pytest.mark.parametrize("stage", ["reflection", "answer"])
async def test_an_answer_begun_early_is_not_paid_again_once_it_or_the_verdict_was_whole(
    world: World, tmp_path: Path, stage: str
) -> None:
    held = world.sample.services["gemini"].fail("hang", match=at(stage))
    async with process(world, tmp_path) as graph:
        task = asyncio.create_task(run(graph, ZH, early=True))
        # Calls that hang are not among those that were asked.
        other = "answer" if stage == "reflection" else "reflection"
        await until(lambda: held.times == 0 and other in world.stages())
        await until(lambda: cached_replies(tmp_path) == len(world.asked))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    first_life = world.stages()
    async with process(world, tmp_path) as graph:
        state = await run(graph, None, early=True)
    again = world.stages()[len(first_life) :]
    assert [name for name in again if name in ("reflection", "answer")] == [stage]
    usage = answer_of(state).additional_kwargs["usage"]
    assert usage["model_calls"] == len({text for text in world.asked if "<task>" in text})


def expected_before(stages: list[str], held: str) -> int:
    """How many requests are finished when the first one of a stage hangs: all of its step's."""
    if held in ("generate_query", "reflection", "answer"):
        return stages.index(held)
    before = stages.index("reflection")
    # What is looked up, and asked, once the map model has answered does not begin before it.
    rest = stages[stages.index("amap_research") + 1 : before]
    later = rest.count("amap") + rest.count("amap_research")
    # What pages name is looked up when both have answered.
    named = stages[:before][::-1].index("amap_research")
    return before - 1 - (later if held == "amap_research" else named)


async def test_a_models_turn_with_tools_is_not_paid_again_when_its_next_one_breaks_off(
    world: World, tmp_path: Path
) -> None:
    gemini = world.sample.services["gemini"]
    assert isinstance(gemini, GeminiService)
    calls = [FunctionCall("maps_search_detail", {"id": f"B0SAMPW00{n}"}) for n in range(1, 5)]
    moody = gemini.llm = MoodyModel(gemini.llm)
    moody.say("amap_research", ModelReply(calls=(*calls, FunctionCall("maps_weather", {}))), 1)
    held = gemini.fail("hang", match=lambda r, body: "functionResponse" in str(body))
    async with process(world, tmp_path) as graph:
        task = asyncio.create_task(run(graph, ZH))
        await until(lambda: held.times == 0 and world.stages().count("web_research") == 2)
        await until(lambda: cached_replies(tmp_path) == len(world.asked))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    first_life = world.asked[:]
    async with process(world, tmp_path) as graph:
        state = await run(graph, None)
    assert [text for text, times in Counter(world.asked).items() if times > 1] == []
    assert world.stages()[: len(first_life)].count("amap_research") == 1
    assert world.stages().count("amap_research") == 2
    assert answer_of(state).additional_kwargs["usage"]["map_calls"] == world.stages().count("amap")


async def test_a_finished_turn_that_is_continued_asks_nothing(world: World, tmp_path: Path) -> None:
    async with process(world, tmp_path) as graph:
        first = await run(graph, ZH)
        world.asked.clear()
        again = await run(graph, None)
    assert world.asked == []
    assert answer_of(again).id == answer_of(first).id


async def test_the_same_question_again_is_a_turn_of_its_own_and_pays_its_own_calls(
    world: World, tmp_path: Path
) -> None:
    costs = []
    async with process(world, tmp_path) as graph:
        for _ in range(3):
            world.asked.clear()
            await run(graph, ZH)
            costs.append(Counter(s for s in world.stages() if s != "amap"))
    assert costs[0] == costs[1] == costs[2]

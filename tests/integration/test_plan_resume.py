"""A dossier that was broken off goes on where it was: nothing finished is paid again."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent.runs.threads import open_saver
from tests.integration.faults import at, settled
from tests.support.lab import answer_of, told
from tests.support.long_lab import accusing, mends
from tests.support.map_fixtures import until
from tests.support.plan_knowledge import MemoryKnowledge
from tests.support.plan_lab import (
    PlanLab,
    Planner,
    World,
    looks_up,
    plan_process,
)
from tests.support.standin import Fault

pytestmark = pytest.mark.usefixtures("still_clock")
SOURCES = ("wikipedia", "openalex", "semantic_scholar", "tavily", "sec")
STAGES = (
    "plan_tasks", "execute_decide", "task_queries", "openalex", "sec", "paper", "rewrite_headings",
    "dossier", "claim_check", "revise",
)  # fmt: skip
_WHOLE: list[tuple[list[str], dict[str, Any]]] = []
"""What an unbroken run asks, and its state."""


class Asked:
    """What every stand-in was asked, but for what differs from run to run."""

    def __init__(self, world: World) -> None:
        self.log: list[str] = []
        for name, service in world.services.items():
            service.latency = lambda request, body, name=name: self._note(name, request, body)

    def _note(self, name: str, request: web.Request, body: Any) -> float:
        if request.path != "/robots.txt" and "company_tickers" not in request.path:
            said = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
            # Two turns may be asked on two minutes.
            said = re.sub(r"\d\d:\d\d \(UTC", "now (UTC", said)
            self.log.append(f"{name} {request.path_qs} {said}")
        return 0


@pytest.fixture
def world(shared: World) -> World:
    shared.clear()
    decide = looks_up("sec_edgar_search", query="Qinglan")
    shared.gemini.llm = Planner(
        ("技术路线", []), ("同行", []), ("比较", ["T1", "T2"]), execute_decide=decide,
        claim_check=accusing("0.5%", "40美元"), revise=mends,
    )  # fmt: skip
    return shared


@asynccontextmanager
async def process(world: World, folder: Path, knowledge: MemoryKnowledge) -> AsyncIterator[PlanLab]:
    """The graph as a process of its own would have it: files and stand-ins are shared."""
    async with open_saver(folder) as saver:
        held = {"reply_cache": folder, "saver": saver, "knowledge": knowledge}
        async with plan_process(world, **held, tanlu_data_dir=folder) as lab:
            lab.context = {"plan_mode": "dag", "max_executors": 2}
            yield lab


def hang(world: World, stage: str) -> Fault:
    """The second request of a stage (or the only one) gets no answer."""
    if stage == "paper":
        return world.site.fail("hang", match=_second(lambda r, _: r.path.endswith(".pdf")))
    if stage == "sec":
        return world.sec.fail("hang", match=lambda r, _: "submissions" in r.path)
    if stage in SOURCES:
        return world.services[stage].fail("hang", match=_second(lambda r, _: True))
    once = stage in ("plan_tasks", "task_queries", "rewrite_headings", "dossier", "revise")
    return world.gemini.fail("hang", match=at(stage) if once else _second(at(stage)))


def _second(match: Any) -> Any:
    seen: list[Any] = []

    def second(request: Any, body: Any) -> bool:
        if match(request, body):
            seen.append(request)
        return len(seen) == 2 and match(request, body)

    return second


async def unbroken(world: World, folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Once for all tests."""
    if not _WHOLE:
        asked = Asked(world)
        async with process(world, folder / "whole", MemoryKnowledge()) as lab:
            _WHOLE.append((asked.log, await lab.ask()))
    return _WHOLE[0]


async def broken_off(lab: PlanLab, asked: Asked, held: Fault) -> None:
    """Ask, and cancel the run once it waits for the reply that is held and for nothing else."""
    running = asyncio.create_task(lab.ask())
    await until(lambda: held.times == 0)
    await settled(asked.log)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("stage", STAGES)
async def test_a_run_broken_off_at_a_stage_goes_on_without_paying_twice(
    world: World, tmp_path: Path, stage: str
) -> None:
    reference, whole = await unbroken(world, tmp_path)
    assert "已更正" in str(answer_of(whole).text)
    asked = Asked(world)
    held, knowledge = hang(world, stage), MemoryKnowledge()
    async with process(world, tmp_path / "broken", knowledge) as lab:
        await broken_off(lab, asked, held)
    async with process(world, tmp_path / "broken", knowledge) as lab:
        resumed = await lab.ask(None)

    # The stand-ins note only what they answer.
    assert Counter(asked.log) == Counter(reference)
    assert str(answer_of(resumed).text) == str(answer_of(whole).text)
    counted = [
        (told(state)["usage"]["model_calls"], told(state)["usage"]["searches"])
        for state in (whole, resumed)
    ]
    assert counted[0] == counted[1]
    assert knowledge.read == len({p["sha256"] for p in resumed["downloaded_papers"]})


async def test_papers_are_kept_once_by_their_content_also_after_a_crash(
    world: World, tmp_path: Path
) -> None:
    asked, knowledge = Asked(world), MemoryKnowledge()
    held = hang(world, "rewrite_headings")
    async with process(world, tmp_path, knowledge) as lab:
        paper = world.site
        await broken_off(lab, asked, held)
        before = sum(request.path.endswith(".pdf") for request in paper.requests)
    async with process(world, tmp_path, knowledge) as lab:
        state = await lab.ask(None)
    after = sum(request.path.endswith(".pdf") for request in paper.requests)
    assert (before, after) == (9, 9)
    kept = {path.name for path in (tmp_path / "papers").iterdir()}
    assert kept == {f"{p['sha256']}.pdf" for p in state["downloaded_papers"]}


async def test_a_finished_dossier_that_is_continued_asks_nothing(
    world: World, tmp_path: Path
) -> None:
    asked, knowledge = Asked(world), MemoryKnowledge()
    async with process(world, tmp_path, knowledge) as lab:
        first = await lab.ask()
        asked.log.clear()
        again = await lab.ask(None)
    assert asked.log == []
    assert answer_of(again).id == answer_of(first).id


@pytest.mark.parametrize("stage", ["execute_decide", "tavily", "task_queries"])
async def test_a_stopped_dossier_answers_from_what_it_had_found_and_looks_nothing_up(
    world: World, tmp_path: Path, stage: str
) -> None:
    asked, knowledge = Asked(world), MemoryKnowledge()
    held = hang(world, stage)
    async with process(world, tmp_path, knowledge) as lab:
        await broken_off(lab, asked, held)
        asked.log.clear()
        state = await lab.ask(None, answer_now=True)
    assert told(state)["sources"]
    assert [gap["code"] for gap in told(state)["gaps"]].count("stopped_early") == 1
    assert {one.split()[0] for one in asked.log} == {"gemini"}
    tasks = set(re.findall(r"<task>(\w+)</task>", "\n".join(asked.log)))
    assert "dossier" in tasks
    assert tasks.isdisjoint({"plan_tasks", "execute_decide", "task_queries", "rewrite_headings"})


async def test_a_dossier_stopped_before_anything_was_found_says_so_without_a_model(
    world: World, tmp_path: Path
) -> None:
    asked, knowledge = Asked(world), MemoryKnowledge()
    held = hang(world, "plan_tasks")
    async with process(world, tmp_path, knowledge) as lab:
        running = asyncio.create_task(lab.ask())
        await until(lambda: held.times == 0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        asked.log.clear()
        state = await lab.ask(None, answer_now=True)
    assert told(state)["sources"] == []
    assert asked.log == []

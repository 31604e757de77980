"""When nothing more can be kept nothing more is paid for: the run ends, and goes on later."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.assistants.registry import compiled
from agent.core.errors import ConfigurationError, StoreFailed
from agent.runs.reply_cache import ReplyCache
from agent.runs.threads import open_saver
from agent.services import build_services
from agent.settings import read_settings
from tests.support import mixed_files
from tests.support.full_disk import LINUX, fill, free, freed_at_the_end
from tests.support.knowledge_bench import Bench, bench_fixture
from tests.support.lab import EN, ZH

__all__ = ["bench_fixture"]
pytestmark = [LINUX, pytest.mark.node]
QUESTIONS = {
    "agent": ZH,
    "deep_research": EN,
    "team_answer": "Which company makes the Naxtra battery?",
    "plan_execute": EN,
}


@dataclass
class World:
    """What the stand-ins were asked, and what the reply cache let begin and could not keep."""

    full_at: int = 0
    """With which request to a service the disk is full."""
    asked: list[str] = field(default_factory=list)
    began: list[str] = field(default_factory=list)
    at_failure: tuple[int, int] | None = None
    """(calls that had begun, of these: not answered yet) when the first reply was not kept."""
    kept: int = 0

    def note(self, name: str, request: Any, body: Any) -> float:
        query = {k: v for k, v in request.query.items() if k != "key"}
        self.asked.append(f"{name} {request.path} {query} {body}")
        if len(self.asked) == self.full_at:
            fill()
        return 0


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The reply cache's own view is written down: real calls, real files."""
    made = World()
    ready, save = ReplyCache.ready, ReplyCache.save

    async def noted_ready(self: ReplyCache, turn_id: str) -> None:
        await ready(self, turn_id)
        made.began.append(turn_id)

    async def noted_save(self: ReplyCache, turn_id: str, key: str, reply: str) -> None:
        try:
            await save(self, turn_id, key, reply)
        except StoreFailed:
            if made.at_failure is None:
                made.at_failure = len(made.began), len(made.began) - made.kept
            raise
        made.kept += 1

    monkeypatch.setattr(ReplyCache, "ready", noted_ready)
    monkeypatch.setattr(ReplyCache, "save", noted_save)
    with freed_at_the_end():
        yield made


@asynccontextmanager
async def process(assistant: str, world: World, folder: Path) -> AsyncIterator[Any]:
    """The graph as a process of its own has it; only the folder is shared."""
    settings = read_settings(tanlu_mode="offline", tanlu_data_dir=folder)
    services = build_services(settings, reply_cache=ReplyCache(folder))
    assert services.sample
    for name, service in services.sample.services.items():
        service.latency = lambda request, body, name=name: world.note(name, request, body)
    async with open_saver(folder) as saver:
        try:
            yield compiled(assistant, saver, lambda: services)
        finally:
            free()
            await services.aclose()


async def run(graph: Any, thread: str, question: str | None = None) -> Any:
    given = {"messages": question} if question else None
    return await graph.ainvoke(given, {"configurable": {"thread_id": thread}}, durability="sync")


async def asked_without_trouble(assistant: str, world: World, folder: Path) -> Counter[str]:
    async with process(assistant, world, folder) as graph:
        await run(graph, "whole", QUESTIONS[assistant])
    asked = Counter(world.asked)
    world.asked, world.began, world.kept = [], [], 0
    return asked


@pytest.mark.parametrize(
    ("when", "same_process"),
    [(1, False), (4, True), (8, False)],
    ids=["first-restarted", "fourth", "eighth-restarted"],
)
@pytest.mark.parametrize("assistant", QUESTIONS)
async def test_a_full_disk_ends_the_run_before_it_pays_for_more_and_it_goes_on_later(
    assistant: str, when: int, same_process: bool, world: World, tmp_path: Path
) -> None:
    reference = await asked_without_trouble(assistant, world, tmp_path / "whole")
    folder = tmp_path / "data"
    async with process(assistant, world, folder) as graph:
        world.full_at = min(when, reference.total() - 1)
        with pytest.raises(StoreFailed, match="TANLU_DATA_DIR") as caught:
            await run(graph, "full", QUESTIONS[assistant])
        assert str(folder) in str(caught.value)
        assert "\n" not in str(caught.value)
        began, world.full_at = len(world.began), 0
        # Full as it is, neither this thread nor another one pays for what cannot be kept.
        for thread, question in (("full", None), ("other", EN)):
            with pytest.raises(StoreFailed):
                await run(graph, thread, question)
        if world.at_failure:
            assert len(world.began) == began == world.at_failure[0]
        in_flight = world.at_failure[1] if world.at_failure else len(world.began) - world.kept
        free()
        if same_process:
            await run(graph, "full")
    if not same_process:
        async with process(assistant, world, folder) as graph:
            await run(graph, "full")
    again = {
        text: n - max(1, reference[text])
        for text, n in Counter(world.asked).items()
        if n > max(1, reference[text])
    }
    assert sum(again.values()) <= in_flight, [f"{n} {text[:200]}" for text, n in again.items()]


@pytest.mark.parametrize("kilobytes", [0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256])
async def test_however_full_the_disk_is_at_the_first_use_its_folder_is_named(
    kilobytes: int, world: World, tmp_path: Path
) -> None:
    fill(beyond=max(1, kilobytes << 10))
    problem = ""
    try:
        async with process("agent", world, tmp_path / "data") as graph:
            await run(graph, "first", QUESTIONS["agent"])
    except (StoreFailed, ConfigurationError) as error:
        problem = str(error)
    is_named = problem.startswith("TANLU_DATA_DIR") and str(tmp_path) in problem
    assert is_named or (kilobytes > 100 and not problem)


async def test_reading_documents_in_ends_too_and_goes_on_later(bench: Bench) -> None:
    bench.write("first.md", "# First\n\nAbout lithium.\n")
    await bench.ingest()
    mixed_files.good_files(bench.docs, {"md": 20})
    reading = await bench.started()
    with freed_at_the_end():
        fill()
        with pytest.raises(StoreFailed, match="TANLU_DATA_DIR"):
            await reading.run()
    assert (await bench.ingest()).counts == Counter(read=20, unchanged=1)

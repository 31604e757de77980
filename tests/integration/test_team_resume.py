"""A discussion that was broken off in the middle of a turn goes on there: nothing that a model or a
search has answered is asked again.
"""

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

from agent.runs.threads import open_saver
from agent.sample.model.request import ModelReply, ModelTurn
from tests.integration.faults import at
from tests.integration.team_lab import ENGINES, ZH, Team, TeamLab, searching, team_laboratory
from tests.support.lab import answer_of, told
from tests.support.map_fixtures import until
from tests.support.rows import by_examples
from tests.support.standin import Fault

pytestmark = [pytest.mark.parametrize("engine", ENGINES), pytest.mark.usefixtures("still_clock")]


@dataclass
class Log:
    """What the stand-ins of one process were asked."""

    asked: list[str] = field(default_factory=list)

    def listen(self, lab: TeamLab) -> None:
        for service in (lab.gemini, lab.serper, lab.bocha):
            service.latency = self._note

    def _note(self, request: web.Request, body: Any) -> float:
        # The stand-in numbers its tool calls from one run to the next.
        asked = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
        self.asked.append(f"{request.path} {asked}")
        return 0


def thorough(turn: ModelTurn) -> ModelReply:
    """Looks for the opposite, then agrees without proof, so that a model settles the answer."""
    agreed = ModelReply(text="没有查到相反的说法[^s0-0]。\nVERDICT: AGREE 1987年")
    return searching(turn, f"{ZH} 质疑 反驳") or agreed


@asynccontextmanager
async def process(folder: Path, engine: str) -> AsyncIterator[tuple[TeamLab, Log]]:
    """A process of its own: only files outlive it. Its stand-ins answer alike every time."""
    async with (
        open_saver(folder) as saver,
        team_laboratory(
            Team(team_verifier=thorough), engine=engine, reply_cache=folder, saver=saver
        ) as lab,
    ):
        log = Log()
        log.listen(lab)
        yield lab, log


def hang(lab: TeamLab, stage: str, skip: int) -> Fault:
    """One request of a stage, after so many others of it, gets no answer."""
    seen = iter(range(1000))
    matches = at(stage)
    service = lab.serper if stage == "/search" else lab.gemini

    def due(request: web.Request, body: Any) -> bool:
        if not (request.path == stage or matches(request, body)):
            return False
        return next(seen) >= skip

    return service.fail("hang", match=due)


async def broken_off(lab: TeamLab, held: Fault) -> None:
    """Runs until the request that hangs, then cancels: the run stops within its turn."""
    task = asyncio.create_task(lab.ask())
    await until(lambda: held.times == 0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


@by_examples
async def test_a_discussion_broken_off_goes_on_without_paying_twice(
    tmp_path: Path, engine: str, stage: str, skip: int
) -> None:
    async with process(tmp_path / "whole", engine) as (lab, log):
        whole, reference = await lab.ask(), log.asked
    async with process(tmp_path / "broken", engine) as (lab, log):
        await broken_off(lab, hang(lab, stage, skip))
        before = log.asked
    async with process(tmp_path / "broken", engine) as (lab, log):
        resumed = await lab.ask(None)
        after = log.asked

    assert Counter(before + after) == Counter(reference)
    assert str(answer_of(resumed).text) == str(answer_of(whole).text)
    assert resumed["transcript"] == whole["transcript"]
    spent = [(told(s)["usage"]["model_calls"], told(s)["usage"]["searches"])
             for s in (whole, resumed)]  # fmt: skip
    assert spent[0] == spent[1]


async def test_a_finished_discussion_that_is_continued_asks_nothing(
    tmp_path: Path, engine: str
) -> None:
    async with process(tmp_path, engine) as (lab, _):
        first = await lab.ask()
    async with process(tmp_path, engine) as (lab, log):
        again = await lab.ask(None)
    assert log.asked == []
    assert answer_of(again).id == answer_of(first).id


async def answered_at_once(
    folder: Path, engine: str, stage: str, skip: int
) -> tuple[dict[str, Any], list[str]]:
    """The state of a discussion that was stopped and then was to answer, and what that asked."""
    async with process(folder, engine) as (lab, log):
        await broken_off(lab, hang(lab, stage, skip))
        log.asked.clear()
        state = await lab.ask(None, answer_now=True)
    return state, log.asked


@pytest.mark.parametrize(("stage", "skip"), [("team_verifier", 0), ("team_synthesize", 0)])
async def test_a_stopped_discussion_answers_from_what_it_had_found_and_looks_nothing_up(
    tmp_path: Path, engine: str, stage: str, skip: int
) -> None:
    state, asked = await answered_at_once(tmp_path, engine, stage, skip)
    assert told(state)["sources"]
    assert not told(state)["verified"]
    assert [gap["code"] for gap in told(state)["gaps"]].count("stopped_early") == 1
    tasks = set(re.findall(r"<task>(team_\w+)</task>", "\n".join(asked)))
    assert tasks <= {"team_synthesize"}
    assert not [one for one in asked if one.startswith("/search")]


async def test_a_discussion_stopped_before_anything_was_found_says_so_without_a_model(
    tmp_path: Path, engine: str
) -> None:
    state, asked = await answered_at_once(tmp_path, engine, "team_researcher", 0)
    assert not told(state)["answered"]
    assert asked == []

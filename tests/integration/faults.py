"""Faults by stage, a laboratory that retries without waiting, and what every fault test asserts."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.core.errors import AgentError, NothingFound
from agent.sample.model.request import Model, ModelReply, ModelTurn
from tests.support.kept_amap import waiting_pids
from tests.support.lab import Lab, answer_of

STAGES = ("generate_query", "web_research", "amap_research", "reflection", "answer")


def refuse_tools(gemini: Any) -> None:
    """Let a service take no tools, as Gemini's does for Gemma."""
    words = "Function calling is not enabled for models/gemma-3-27b-it"
    gemini.fail(
        "status",
        status=400,
        match=lambda request, body: bool(isinstance(body, dict) and body.get("tools")),
        body={"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}},
        times=None,
    )


def at(stage: str) -> Callable[[Any, Any], bool]:
    """Whether a request is this stage's question to a model."""
    tags = [f"<{tag}>{stage}</{tag}>" for tag in ("task", "phase")]
    return lambda request, body: any(tag in str(body) for tag in tags)


def turn_at(stage: str) -> Callable[[ModelTurn], bool]:
    """The same, for a request that has been read."""
    return lambda turn: f"<task>{stage}</task>" in turn.system + turn.user


@dataclass
class MoodyModel:
    """The sample's model, but in some stage it says what it is told to, `times` times."""

    inner: Model
    moods: list[tuple[str, ModelReply, list[int | None]]] = field(default_factory=list)

    def say(self, stage: str, answer: ModelReply, times: int | None) -> None:
        self.moods.append((stage, answer, [times]))

    def respond(self, turn: ModelTurn) -> ModelReply:
        for stage, answer, left in self.moods:
            if turn_at(stage)(turn) and left[0] != 0:
                if left[0] is not None:
                    left[0] -= 1
                return answer
        return self.inner.respond(turn)


def moody(lab: Lab) -> MoodyModel:
    """The laboratory's model, made moody once."""
    if not isinstance(lab.gemini.llm, MoodyModel):
        lab.gemini.llm = MoodyModel(lab.gemini.llm)
    return lab.gemini.llm


def well_again(lab: Lab) -> None:
    """Every fault off, every log empty."""
    assert lab.services.sample
    for service in lab.services.sample.services.values():
        service.faults.clear()
        service.requests.clear()
    lab.gemini.stream_faults.clear()
    moody(lab).moods.clear()
    lab.amap.failing, lab.amap.daily_spent, lab.amap.qps = None, False, None


@dataclass(frozen=True)
class Ended:
    """How a run ended: with an answer and what it carries, or with a typed error."""

    seconds: float
    answer: str = ""
    kept: dict[str, Any] = field(default_factory=dict)
    error: AgentError | None = None

    @property
    def gaps(self) -> list[dict[str, Any]]:
        return list(self.kept.get("gaps", []))

    @property
    def codes(self) -> set[str]:
        """The reasons its gaps give."""
        return {gap["code"] for gap in self.gaps}


async def ended(
    lab: Lab, question: str, *, limit: float = 120, servers: int = 1, **options: Any
) -> Ended:
    """Run to the end and check what must hold whatever happened.

    It ended within `limit` seconds, with an answer or, where nothing was found, a typed error;
    every gap says what and why; no child process is left but the map's `servers`.
    """
    began = time.monotonic()
    thread = f"{id(options)}-{began}"
    with leaving_no_process(but=servers):
        try:
            async with asyncio.timeout(limit):
                state = await lab.ask(question, thread, **options)
        except NothingFound as error:
            result = Ended(time.monotonic() - began, error=error)
        else:
            message = answer_of(state)
            result = Ended(time.monotonic() - began, str(message.text), message.additional_kwargs)
    body = result.answer.split("\n\n", 1)[1] if result.answer[:2] == "> " else result.answer
    assert result.error or len(body.strip()) > 20, "success without an answer"
    assert all(gap["code"] and gap["message"].strip() for gap in result.gaps)
    return result


async def settled(asked: Sequence[str]) -> None:
    """Until nothing more is asked, and what came back has been written down.

    Each look starts a process: on a busy machine that takes as long as what is waited for.
    """
    quiet, seen = 0, -1
    while quiet < 10:
        await asyncio.sleep(0.02)
        nothing = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "")
        await nothing.wait()
        quiet = quiet + 1 if len(asked) == seen else 0
        seen = len(asked)


@contextmanager
def leaving_no_process(*, but: int = 0) -> Iterator[None]:
    """Hold what is done inside to leave no process, or `but` so many.

    Tests before it may have left readers that wait for a next page, and Amap's server waits for
    the next test.
    """
    before = set(children())
    yield
    assert len(set(children()) - before - waiting_pids()) <= but


def children() -> list[int]:
    """Living processes below this one; none to be seen where there is no /proc."""
    parents: dict[int, int] = {}
    if not Path("/proc").is_dir():
        return []
    # Hundreds of tests ask, of hundreds of processes: a Path for each takes as long as reading it.
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    fields = file.read().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] != b"Z":
                parents[int(name)] = int(fields[1])
    found: list[int] = []
    fresh = [os.getpid()]
    while fresh:
        fresh = [pid for pid, parent in parents.items() if parent in fresh]
        found += fresh
    return found

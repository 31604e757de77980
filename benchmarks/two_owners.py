"""How much an ordinary run waits for the worst run of another owner, and how deaf the server is.

    uv run python -m benchmarks.two_owners [--inputs a,b]

Both runs are in one process over the sample's services. Each call of a model but the last takes a
fifth of a second, less than real ones. The worst run's model says a hostile text, all of it at
once, and follow-ups read it again. `deaf` is the longest time that the event loop, on which
`GET /ok` is answered, did not turn.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.core.garbage import keep_loaded
from agent.core.processor import give_way_soon
from agent.core.telemetry import STEP, NodeStep
from agent.graph import build_graph
from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.model.text import task_of
from agent.services import build_services
from agent.settings import read_settings
from benchmarks.runs import median
from benchmarks.table import Line, header, show

_ORDINARY, _WORST = "How do sodium-ion batteries work?", "How do sodium-ion batteries age"
_RUNS = 5
_TICK, _LATENCY = 0.01, 0.2
_MOST_SHARE, _MOST_DEAF = 1.5, 0.5
ANSWERS = {
    # A model that says the same again and again is stopped, so each differs.
    "short sentences": "".join(f"a{n}. " for n in range(7_000)),
    "abbreviations": "".join(f"Mr. {n}. " for n in range(5_000)),
    "digits": "".join(map(str, range(10_000))),
    "a rule of a table": "| a | b |\n|" + "-" * 1_450 + "- x\n",
    "figures": "".join(
        f"The {n}.5 km walk to Foo Bar {n} takes {n} minutes and costs {n},500 yuan on 3 April. "
        for n in range(600)
    ),
    "places": "".join(
        f"第{n}家店在王府井附近，距离{n}米，人均{n}元，周一至周五营业到{n % 24}:30。"
        for n in range(1_200)
    ),
    "formulas": "".join(f"{n} + {n} × {n} = {n + n * n} yuan. " for n in range(1_500)),
    "a table": "| a | b |\n|---|---|\n" + "".join(f"| {n} km | {n}.5 % |\n" for n in range(2_500)),
}
QUESTIONS = {
    "a question of digits": "1" * 19_900,
    "a question of commas": "a," * 9_900,
    "a question of brackets": "(" * 19_900,
}


@dataclass
class Looping(Model):
    """Answers as the sample's model does, but for one question with a text of our own."""

    inner: Model
    text: str = ""

    def respond(self, turn: ModelTurn) -> ModelReply:
        if self.text and task_of(turn) == "answer" and _WORST in turn.user:
            return ModelReply(text=self.text)
        return self.inner.respond(turn)


@dataclass
class Ear:
    """Turn with the event loop, and remember how late that was."""

    deaf: float = 0.0
    _task: "asyncio.Task[None] | None" = field(default=None, repr=False)

    async def _listen(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(_TICK)
            self.deaf = max(self.deaf, time.monotonic() - began - _TICK)

    async def __aenter__(self) -> "Ear":
        self._task = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def ask(graph: Any, owner: str, thread: str, question: str) -> float:
    """Return the seconds of one run."""
    STEP.set(NodeStep("agent", "benchmark", owner=owner, thread_id=thread))
    began = time.monotonic()
    place = {"configurable": {"thread_id": f"{owner}-{thread}"}}
    await graph.ainvoke({"messages": question}, place)
    return time.monotonic() - began


def late(ask_model: Any) -> Any:
    """Return a model's call that takes its time."""

    async def ask_late(*values: Any, **named: Any) -> Any:
        await asyncio.sleep(_LATENCY)
        return await ask_model(*values, **named)

    return ask_late


async def beside(graph: Any, name: str, worst: Sequence[str], alone: float) -> list[Line]:
    """Return how long ordinary runs take while a worst one is under way."""

    async def run_worst() -> None:
        for question in worst:
            await ask(graph, "anna", name, question)

    began, walls = time.monotonic(), list[float]()
    async with Ear() as ear:
        running = asyncio.create_task(run_worst())
        while not running.done():
            task = asyncio.create_task(ask(graph, "bo", f"{name}-{len(walls)}", _ORDINARY))
            await asyncio.sleep(0)
            walls.append(await task)
        await asyncio.gather(running, return_exceptions=True)
    share, wall = median(walls) / alone, time.monotonic() - began
    return [
        Line(name, "ordinary run beside ÷ alone", share, _MOST_SHARE, f"{len(walls)} runs"),
        Line(name, "deaf, s", ear.deaf, _MOST_DEAF, f"the worst took {wall:.1f} s"),
    ]


async def main(names: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=Path(folder)))
        assert services.sample is not None
        services.models.ask = late(services.models.ask)  # type: ignore[method-assign]
        gemini: Any = services.sample.services["gemini"]
        gemini.model = model = Looping(gemini.model)
        graph = build_graph(lambda: services).compile(InMemorySaver(), name="agent")
        await ask(graph, "bo", "warm", _ORDINARY)
        keep_loaded()
        give_way_soon()
        alone = median([await ask(graph, "bo", str(n), _ORDINARY) for n in range(_RUNS)])
        print(header())
        show([Line("alone", "ordinary run, s", alone)])
        for name in names:
            model.text = ANSWERS.get(name, "")
            follow_up = f"{_WORST} again?"
            worst = [QUESTIONS.get(name, f"{_WORST}?"), follow_up, follow_up]
            show(await beside(graph, name, worst, alone))
        await services.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    every = [*ANSWERS, *QUESTIONS]
    parser.add_argument("--inputs", default=",".join(every), help="names, by commas")
    logging.disable(logging.WARNING)
    asyncio.run(main(parser.parse_args(sys.argv[1:]).inputs.split(",")))

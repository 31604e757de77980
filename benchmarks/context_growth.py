"""How large the prompts of a long research are, round by round, with and without clearing.

    uv run python -m benchmarks.context_growth [--topics 10] [--rounds 4] [--page-kb 50]

The real graph over stand-ins, twice: as it is, and with a `switch_topic` that archives but deletes
no message, under no limit. Prompts are in estimated tokens, as the graph counts them.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.runtime import Runtime
from tests.support.deep_lab import change, compress, deep_laboratory, end, planning, search, think
from tests.support.deep_lab import report as written
from tests.support.deep_lab import shown_urls as shown
from tests.support.long_lab import Web

from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.state import DeepConfiguration, DeepState, DeepUpdate
from agent.assistants.deep_research.switch_topic import switch_topic
from agent.configuration import Configuration
from agent.core.strings import estimated_tokens
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import task_of
from benchmarks.table import Line, header, show

QUESTION = "钠离子电池的前景：成本、安全、材料、寿命、低温、回收、供应链、标准、储能与车用"
QUERIES, KEPT = 4, 3
_NO_LIMIT = 1_000_000
_GRAPH = "agent.assistants.deep_research.graph.switch_topic"
_THOUGHT = "查到了几种说法，数字之间有出入；还缺官方的数据和近一年的变化，下一步换个角度查。" * 4


@dataclass(frozen=True)
class Plan:
    topics: int
    rounds: int
    page_bytes: int

    @property
    def total(self) -> int:
        return self.topics * self.rounds


@dataclass
class Trace:
    """What one run sent: the prompt of each round, and the largest of each task."""

    plan: Plan
    prompts: list[int] = field(default_factory=list)
    largest: dict[str, int] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    """The URLs the model called useful."""
    archived: list[str] = field(default_factory=list)
    checkpoints: list[int] = field(default_factory=list)
    """Kilobytes of the state at each round."""
    memory_mb: float = 0.0

    def respond(self, turn: ModelTurn) -> ModelReply:
        """The scripted researcher: searches in every round, changes topic in the last of each."""
        task, size = task_of(turn), prompt_tokens(turn)
        self.largest[task] = max(size, self.largest.get(task, 0))
        if task == "deep_compress":
            return compress(turn)
        if task == "deep_report":
            return written(turn)
        if task == "deep_plan":
            return planning(*(f"子题{n}" for n in range(self.plan.topics)))(turn)
        self.prompts.append(size)
        place, step = divmod(len(self.prompts) - 1, self.plan.rounds)
        if step < self.plan.rounds - 1:
            asked = [f"{place}号子题第{step}步之{n}" for n in range(QUERIES)]
            return ModelReply(calls=(think(_THOUGHT), search(*asked)))
        urls = [url for url in shown(turn) if url not in self.named][-KEPT:]
        self.named += urls
        last = place == self.plan.topics - 1
        return ModelReply(
            calls=(think(_THOUGHT), end(urls) if last else change(f"子题{place + 1}", urls))
        )


def prompt_tokens(turn: ModelTurn) -> int:
    """The estimated tokens of all that a model is sent, tool descriptions apart."""
    said = [turn.system, turn.user, *(past.text for past in turn.history)]
    called = [json.dumps(c.args, ensure_ascii=False) for p in turn.history for c in p.calls]
    answered = [result.text for result in turn.tool_results]
    return sum(map(estimated_tokens, [*said, *called, *answered]))


async def keeping(
    state: DeepState, runtime: Runtime[Configuration], *, compression: Compression
) -> DeepUpdate:
    """`switch_topic` that archives but forgets nothing."""
    update = await switch_topic(state, runtime, compression=compression)
    update["topic_messages"] = []
    return update


@contextmanager
def clearing(on: bool) -> Iterator[None]:
    if on:
        yield
    else:
        with patch(_GRAPH, keeping):
            yield


async def trace(plan: Plan, *, clears: bool) -> Trace:
    """One run of the whole graph."""
    llm, saver = Trace(plan), InMemorySaver()
    limits: dict[str, Any] = {} if clears else {"context_token_limit": _NO_LIMIT}
    before = resident_mb()
    with clearing(clears):
        async with deep_laboratory(llm, web=Web(text=page_of(plan)), saver=saver) as lab:
            state = await lab.ask(
                QUESTION,
                max_exploration_rounds=plan.total,
                max_topics=plan.topics,
                max_searches=1000,
                max_run_tokens=100_000_000,
                **limits,
            )
            llm.memory_mb = resident_mb() - before
            llm.checkpoints = [size async for size in checkpoint_sizes(lab.graph)][::-1]
    entries = state["search_results"]
    llm.archived = [page["url"] for entry in entries for page in entry["useful_webpages"]]
    return llm


def page_of(plan: Plan) -> Callable[[str, int], str]:
    """Pages of so many bytes, each with words of its own."""

    def text(query: str, number: int) -> str:
        sentence = f"{query}的第{number}页说，2025年成本为{40 + number}美元，比上年低{number}.5%。"
        return sentence * max(1, plan.page_bytes // len(sentence.encode()))

    return text


async def checkpoint_sizes(graph: Any) -> Any:
    """Kilobytes of the state before each round of exploration, newest first."""
    serializer, where = JsonPlusSerializer(), {"configurable": {"thread_id": "t"}}
    async for snapshot in graph.aget_state_history(where):
        if "explore" in snapshot.next:
            yield len(serializer.dumps_typed(snapshot.values)[1]) // 1024


def resident_mb() -> float:
    """Megabytes of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


def print_rounds(cleared: Trace, kept: Trace) -> None:
    print(f"{'round':>5} {'topic':>5} {'prompt':>8} {'without clearing':>17} "
          f"{'state kB':>9} {'without':>8}")  # fmt: skip
    rows = zip(cleared.prompts, kept.prompts, cleared.checkpoints, kept.checkpoints, strict=False)
    for number, (small, large, state, full) in enumerate(rows):
        topic = number // cleared.plan.rounds + 1
        print(f"{number + 1:>5} {topic:>5} {small:>8} {large:>17} {state:>9} {full:>8}")


def figures(cleared: Trace, kept: Trace) -> list[Line]:
    limit = int(DeepConfiguration().context_token_limit)
    plan, row = cleared.plan, "context"
    first = max(cleared.prompts[: plan.rounds])
    lost = len(set(cleared.named) - set(cleared.archived))
    lines = [
        Line(row, f"largest {task} prompt", size, limit, digits=0)
        for task, size in sorted(cleared.largest.items())
    ]
    return [
        *lines,
        Line(row, "rounds", len(cleared.prompts), plan.total, digits=0, least=True),
        Line(row, "useful pages lost", lost, 0, f"of {len(cleared.named)}", digits=0),
        Line(row, "largest prompt ÷ first topic's", max(cleared.prompts) / first, 1.5, digits=2),
        Line(row, "without clearing ÷ with, last", kept.prompts[-1] / cleared.prompts[-1],
             digits=1),
        Line(row, "tokens of all rounds, thousands", sum(cleared.prompts) / 1000, digits=0),
        Line(row, "… without clearing", sum(kept.prompts) / 1000, digits=0),
        Line(row, "state before the last round, kB", cleared.checkpoints[-1], digits=0),
        Line(row, "… without clearing", kept.checkpoints[-1], digits=0),
        Line(row, "memory of the run, MB", cleared.memory_mb, digits=0,
             note="all checkpoints in memory"),
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rounds and the figures; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.context_growth", description=__doc__)
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=4, help="of each topic")
    parser.add_argument("--page-kb", type=int, default=50)
    options = parser.parse_args(argv)
    plan = Plan(options.topics, options.rounds, options.page_kb * 1000)
    cleared = asyncio.run(trace(plan, clears=True))
    kept = asyncio.run(trace(plan, clears=False))
    print_rounds(cleared, kept)
    print(header())
    lines = figures(cleared, kept)
    show(lines, sys.stdout)
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs inside a process, as the command line makes them: graph, SQLite threads, reply cache.

Run as `python -m benchmarks.worker SPEC-AS-JSON` with the settings in the environment; the last
line of its output is the result.
"""

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from langchain_core.messages import AIMessageChunk

from agent.configuration import configure
from agent.core.garbage import keep_loaded
from agent.graph import CompiledAgent, build_graph
from agent.runs.threads import Threads, open_threads
from agent.services import build_services
from agent.settings import read_settings
from benchmarks.processes import memory_mb
from benchmarks.runs import Ask, Hear, Phase, PhaseResult, play, usage_of
from benchmarks.script import question


def asking(graph: CompiledAgent, phase: Phase) -> Ask:
    """Asks the graph as `tanlu ask` does."""

    async def ask(number: int, hear: Hear) -> dict[str, Any]:
        values: dict[str, Any] = {}
        given: Any = {"messages": question(number, geo=phase.geo, enough=phase.enough)}
        parts: AsyncIterator[Any] = graph.astream(
            given,
            {"configurable": {"thread_id": f"bench-{number}"}},
            context=configure({}),
            stream_mode=["custom", "messages", "values"],
            durability="sync",
        )
        async for mode, part in parts:
            if mode == "messages" and isinstance(part[0], AIMessageChunk) and part[0].text:
                hear()
            elif mode == "values":
                values = part
        return usage_of(values["messages"][-1].additional_kwargs)

    return ask


async def phase_result(phase: Phase, graph: CompiledAgent, scale: float) -> PhaseResult:
    before = time.process_time()
    runs = await play(phase, asking(graph, phase), scale)
    return PhaseResult(
        phase.name, runs, time.process_time() - before, memory_mb(os.getpid()),
        threading.active_count(),
    )  # fmt: skip


async def work(spec: dict[str, Any], threads: Threads) -> list[PhaseResult]:
    services = build_services(read_settings(), reply_cache=threads.reply_cache)
    try:
        graph = build_graph(lambda: services).compile(checkpointer=threads.saver, name="agent")
        return [
            await phase_result(Phase(**phase), graph, spec["scale"]) for phase in spec["phases"]
        ]
    finally:
        await services.aclose()


async def main() -> None:
    logging.basicConfig(level=os.environ.get("BENCHMARK_LOG", "ERROR"))
    async with open_threads(read_settings()) as threads:
        results = await work(json.loads(sys.argv[1]), threads)
    print(json.dumps([asdict(result) for result in results]))


if __name__ == "__main__":
    keep_loaded()
    asyncio.run(main())

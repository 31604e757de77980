"""Runs through `langgraph dev`, started as the Makefile starts it, by way of its SDK."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.support.dev_server import REPOSITORY, DevServer, dev_server

from benchmarks.processes import cpu_seconds, memory_mb
from benchmarks.runs import Ask, Hear, Phase, PhaseResult, play, usage_of
from benchmarks.script import question

BARE: Mapping[str, Any] = {
    "graphs": {"agent": "benchmarks.bare_graph:graph"},
    **dict.fromkeys(("auth", "http", "checkpointer")),
}
"""The keys of a configuration that serves the bare graph, and nothing else of ours."""


@contextmanager
def started(
    environment: Mapping[str, str], jobs: int, *, cold: bool, bare: bool = False
) -> Iterator[DevServer]:
    """A server in a folder of its own; `bare` serves `bare_graph` in place of our assistant."""
    options: dict[str, Any] = {"config": BARE} if bare else {}
    env = {**environment, "PYTHONPATH": str(REPOSITORY)} if bare else environment
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        dev_server(Path(folder), env=env, jobs=jobs, cold=cold, **options) as server,
    ):
        yield server


def asking(client: LangGraphClient) -> Ask:
    """A thread and a streamed run on it, with durability `sync` as `tanlu ask --url` has it."""

    async def ask(number: int, hear: Hear) -> dict[str, Any]:
        thread = await client.threads.create(graph_id="agent")
        kept: Mapping[str, Any] = {}
        parts = client.runs.stream(
            thread["thread_id"],
            "agent",
            input={"messages": question(number)},
            stream_mode=["messages-tuple", "updates"],
            durability="sync",
        )
        async for part in parts:
            if part.event == "messages" and part.data[0].get("content"):
                hear()
            elif part.event == "updates" and "finalize_answer" in part.data:
                message = part.data["finalize_answer"]["messages"][-1]
                kept = message["additional_kwargs"]
            elif part.event == "error":
                raise RuntimeError(str(part.data))
        return usage_of(kept)

    return ask


async def play_phases(
    server: DevServer, phases: Sequence[Phase], scale: float
) -> list[PhaseResult]:
    """The phases one after the other, with the server's CPU and memory."""
    assert server.process is not None
    pid, results = server.process.pid, []
    async with get_client(url=server.url) as client:
        for phase in phases:
            before = cpu_seconds(pid)
            runs = await play(phase, asking(client), scale)
            used = cpu_seconds(pid) - before
            results.append(PhaseResult(phase.name, runs, used, memory_mb(pid)))
    return results


def measure(
    environment: Mapping[str, str],
    phases: Sequence[Phase],
    scale: float,
    *,
    cold: bool,
    bare: bool = False,
) -> list[PhaseResult]:
    """Start a server, play the phases, stop it."""
    with started(environment, jobs=64, cold=cold, bare=bare) as server:
        return asyncio.run(play_phases(server, phases, scale))

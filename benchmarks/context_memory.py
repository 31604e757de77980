"""What a long research keeps: memory of the process and size of its checkpoints, round by round.

    uv run python -m benchmarks.context_memory [--topics 10] [--page-kb 50]

40 rounds over 10 topics of 50 kB pages, over SQLite threads; the stand-ins are another process.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.assistants.deep_research.graph import CompiledDeep, build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.runs.threads import open_threads
from agent.services import build_services
from agent.settings import Settings
from benchmarks.post_processing import QUESTION
from benchmarks.processes import memory_mb
from benchmarks.research_standins import KEY, ResearchOptions, ResearchStandins
from benchmarks.table import Line, header, show

_MB = 1 << 20


@dataclass(frozen=True)
class Round:
    """After one model call of the exploration."""

    topics: int
    state_kb: float
    archive_kb: float
    disk_mb: float
    memory_mb: float


@dataclass
class Growth:
    rounds: list[Round] = field(default_factory=list)
    ended: dict[str, Any] = field(default_factory=dict)
    memory_mb: float = 0.0
    disk_mb: float = 0.0


async def growth(
    graph: CompiledDeep, folder: Path, thread: str, options: ResearchOptions
) -> Growth:
    """One run, measured after each round."""
    found, last, given = Growth(), {"values": {}}, {"messages": QUESTION}
    settings = DeepConfiguration(
        web_search="tavily", geo_routing="never", max_topics=options.topics,
        max_exploration_rounds=200,
    )  # fmt: skip
    async for mode, part in graph.astream(
        given,  # type: ignore[arg-type]
        {"configurable": {"thread_id": thread}},
        context=settings,
        stream_mode=["updates", "values"],
        durability="sync",
    ):
        if mode == "values":
            last["values"] = found.ended = part
        elif "explore" in part:
            found.rounds.append(_round(last["values"], folder))
    found.memory_mb, found.disk_mb = memory_mb(os.getpid(), "VmRSS"), _disk(folder)
    return found


def _round(values: dict[str, Any], folder: Path) -> Round:
    notes = values.get("search_results", [])
    # Pages of closed topics stand beside their notes until the report is written.
    archive = _kb(notes) + _kb(values.get("pages_read", []))
    return Round(len(notes), _kb(values), archive, _disk(folder), memory_mb(os.getpid(), "VmRSS"))


def _kb(value: Any) -> float:
    return len(JsonPlusSerializer().dumps_typed(value)[1]) / 1024


def _disk(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / _MB


async def measured(standins: ResearchStandins, options: ResearchOptions) -> list[Growth]:
    """The same run twice in one process: what the second adds is not code being loaded."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings = Settings(
            gemini_api_key=KEY,
            google_gemini_base_url=standins.urls["gemini"],
            tavily_api_key=KEY,
            tavily_base_url=standins.urls["tavily"],
            tanlu_data_dir=Path(folder),
        )
        async with open_threads(settings) as threads:
            services = build_services(settings, reply_cache=threads.reply_cache)
            graph = build_graph(lambda: services).compile(checkpointer=threads.saver)
            try:
                return [await growth(graph, Path(folder), f"t{n}", options) for n in range(2)]
            finally:
                await services.aclose()


def print_rounds(rounds: Sequence[Round]) -> None:
    print(f"{'round':>5} {'topics done':>11} {'state kB':>9} {'archive kB':>10} "
          f"{'disk MB':>8} {'memory MB':>9}")  # fmt: skip
    for number, row in enumerate(rounds, start=1):
        print(f"{number:>5} {row.topics:>11} {row.state_kb:>9.1f} {row.archive_kb:>10.1f} "
              f"{row.disk_mb:>8.1f} {row.memory_mb:>9.1f}")  # fmt: skip


def lines_of(first: Growth, second: Growth, options: ResearchOptions) -> list[Line]:
    rounds, row = second.rounds, "memory"
    beside = [each.state_kb - each.archive_kb for each in rounds]
    begun = max(beside[: options.searches + 2])
    pages = sum(len(entry["useful_webpages"]) for entry in second.ended["search_results"])
    return [
        Line(row, "rounds", len(rounds), digits=0),
        Line(row, "pages archived", pages, options.topics * options.pages, digits=0, least=True),
        Line(row, "state beside the archive, most ÷ first", max(beside) / begun, 1.4, digits=2,
             note=f"{max(beside):.0f} kB; the archive {rounds[-1].archive_kb:.0f} kB"),
        Line(row, "process in 40 rounds, MB more",
             rounds[-1].memory_mb - rounds[0].memory_mb, digits=1),
        Line(row, "process after the second run, MB", second.memory_mb, digits=1,
             note=f"{first.memory_mb:.1f} MB after the first"),
        Line(row, "disk of one run, MB", second.disk_mb - first.disk_mb, digits=1),
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rounds of the second run and the figures; 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.context_memory", description=__doc__)
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--page-kb", type=int, default=50)
    given = parser.parse_args(argv)
    options = ResearchOptions(
        topics=given.topics, page_bytes=given.page_kb * 1000, searches=2, scale=0
    )
    with ResearchStandins(options) as standins:
        first, second = asyncio.run(measured(standins, options))
    print_rounds(second.rounds)
    print(header())
    lines = lines_of(first, second, options)
    show(lines)
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

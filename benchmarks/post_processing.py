"""The speed of a deep research after its exploration, against the bound of its stand-ins.

    uv run python -m benchmarks.post_processing [--scale 0.1] [--runs 3]

30 pages over 5 topics: a batch of pages is read in 1.0 s, and the report streams for 4.0 s; no
topic is long enough for notes. Ratios are wall clock ÷ bound, which is 5 s with five topics at
once and 7 s with two. Time counts from the end of exploration to the end of the run, checkpoints
included.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessageChunk

from agent.assistants.deep_research.graph import CompiledDeep, build_graph
from agent.assistants.deep_research.state import DeepConfiguration
from agent.runs.threads import open_threads
from agent.services import build_services
from agent.settings import Settings
from benchmarks.processes import Strangers
from benchmarks.research_standins import KEY, ResearchOptions, ResearchStandins
from benchmarks.runs import median
from benchmarks.table import Line, header, show

QUESTION = "钠离子电池的成本、安全、材料、寿命与应用前景"
WIDTHS = (5, 2)
_TARGET = 1.15


@dataclass
class Course:
    """The times of one run, in seconds from the end of its exploration."""

    explored: float = 0.0
    first_text: float = 0.0
    ended: float = 0.0
    kept: dict[str, Any] = field(default_factory=dict)

    def hear(self, mode: str, part: Any) -> None:
        now = time.monotonic()
        if mode == "custom" and part["type"] == "topic_done":
            self.explored = now
        elif mode == "messages" and isinstance(part[0], AIMessageChunk) and part[0].text:
            self.first_text = self.first_text or now - self.explored
        elif mode == "values":
            self.kept = part


async def course(graph: CompiledDeep, thread: str, width: int) -> Course:
    """One run, as `tanlu ask` plays it; raises where the report is not whole."""
    found, given = Course(), {"messages": QUESTION}
    settings = DeepConfiguration(web_search="tavily", geo_routing="never", max_parallel_reads=width)
    async for mode, part in graph.astream(
        given,  # type: ignore[arg-type]
        {"configurable": {"thread_id": thread}},
        context=settings,
        stream_mode=["custom", "messages", "values"],
        durability="sync",
    ):
        found.hear(mode, part)
    found.ended = time.monotonic() - found.explored
    told = found.kept["messages"][-1].additional_kwargs
    if told["gaps"] or told["degraded"] or not told["sources"]:
        raise RuntimeError(f"the report is not whole: {told['gaps']}")
    return found


async def measured(
    standins: ResearchStandins, options: ResearchOptions, runs: int, width: int
) -> list[Course]:
    """The runs one after another in one process, over SQLite threads; the first only warms up."""
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
                return [await course(graph, f"{width}-{n}", width) for n in range(runs + 1)][1:]
            finally:
                await services.aclose()


def lines_of(
    options: ResearchOptions, width: int, runs: Sequence[Course], most: dict[str, int]
) -> list[Line]:
    row, bound = f"{width} at once", options.bound(width)
    pages = options.topics * options.pages
    kept = sum(len(e["useful_webpages"]) for e in runs[0].kept["search_results"])
    walls = [run.ended for run in runs]
    return [
        Line(row, "post-processing ÷ bound", median(walls) / bound, _TARGET,
             f"{median(walls):.2f} s of {bound:.2f} s; worst {max(walls):.2f} s"),
        Line(row, "first text of the report, s", median(run.first_text for run in runs), digits=2),
        Line(row, "pages in the report's notes", kept, pages, digits=0, least=True),
        Line(row, "extractions at once", most.get("extract", 0), width, digits=0),
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.post_processing", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of every latency")
    parser.add_argument("--runs", type=int, default=3, help="of each row")
    parser.add_argument("--pages", type=int, default=6, help="of each topic")
    parser.add_argument("--page-kb", type=int, default=20, help="of HTML")
    given = parser.parse_args(argv)
    options = ResearchOptions(scale=given.scale, pages=given.pages, page_bytes=given.page_kb * 1000)
    lines, strangers = list[Line](), Strangers()
    print(header(), flush=True)
    with ResearchStandins(options) as standins:
        for width in WIDTHS:
            runs = asyncio.run(measured(standins, options, given.runs, width))
            found = lines_of(options, width, runs, standins.most_at_once())
            show(found)
            lines += found
    show([Line("both", "noise, cores", strangers.cores(), note="used by other processes",
               digits=2)])  # fmt: skip
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

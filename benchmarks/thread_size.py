"""How much a thread costs on disk, turn by turn, and how soon its answers begin.

    uv run python -m benchmarks.thread_size [--turns 30] [--keep-history]

One thread of `agent` as `tanlu ask` runs it: graph, SQLite threads, run log and reply cache, over
stand-ins that answer at once. Bytes are those of the whole data folder.
"""

import argparse
import asyncio
import contextlib
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.client.follow import RunListener
from agent.client.local import LocalRunner
from agent.runs.threads import Threads, open_threads
from agent.services import close_process_services
from agent.settings import read_settings
from benchmarks.loads import environment
from benchmarks.runs import median
from benchmarks.script import question
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line, header, show

_SCALE = 0.0001
_WARM_UP, _NEAR = 3, 3
_MEGABYTE = 1_000_000


class FirstToken(RunListener):
    """Remember when the first text of an answer came."""

    at = cpu = 0.0

    async def token(self, text: str) -> None:
        if not self.at:
            self.at, self.cpu = time.monotonic(), time.process_time()


class Trace:
    """What each turn of the thread left and took."""

    def __init__(self) -> None:
        self.first_tokens: list[float] = []
        """Milliseconds."""
        self.cpu: list[float] = []
        """Milliseconds of this process up to the first token; steadier on a busy machine."""
        self.bytes: list[int] = []
        self.checkpoints: list[int] = []
        self.state_bytes: list[int] = []


async def trace(turns: int) -> Trace:
    """Ask so many questions on one thread, after a few on another."""
    found = Trace()
    try:
        async with open_threads(read_settings()) as threads:
            for number in range(_WARM_UP):
                await ask(threads, "warm-up", number)
            for number in range(turns):
                first, cpu = await ask(threads, "measured", 100 + number)
                found.first_tokens.append(first)
                found.cpu.append(cpu)
                found.bytes.append(size_of(read_settings().tanlu_data_dir))
                checkpoints, state = await stored(threads, "measured")
                found.checkpoints.append(checkpoints)
                found.state_bytes.append(state)
    finally:
        await close_process_services()
    # Once it is closed the file has given back what the last turn needed.
    found.bytes[-1] = size_of(read_settings().tanlu_data_dir)
    return found


async def ask(threads: Threads, thread: str, number: int) -> tuple[float, float]:
    """Ask a question; return the milliseconds to the first text of its answer, and our CPU's."""
    watcher = FirstToken()
    runner, asked = (
        LocalRunner(threads),
        {"messages": [{"role": "user", "content": question(number)}]},
    )
    began, spent = time.monotonic(), time.process_time()
    run = await runner.accept("agent", thread, input=asked, context={})
    await runner.run(run, watcher)
    return (watcher.at - began) * 1000, (watcher.cpu - spent) * 1000


async def stored(threads: Threads, thread: str) -> tuple[int, int]:
    """Return the number of a thread's checkpoints and the bytes of its state, packed."""
    saved = [found async for found in threads.saver.alist({"configurable": {"thread_id": thread}})]
    values = saved[0].checkpoint["channel_values"] if saved else {}
    return len(saved), len(JsonPlusSerializer().dumps_typed(values)[1])


def size_of(folder: Path) -> int:
    """Return the bytes of a folder whose write-ahead logs are written back and empty."""
    for path in folder.glob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def figures(found: Trace) -> list[Line]:
    row, turns = f"{len(found.bytes)} turns", len(found.bytes)
    # The first turn follows nothing up, so that its prompts have less to say.
    early, late = slice(1, 1 + _NEAR), slice(-_NEAR, None)
    first, last = median(found.first_tokens[early]), median(found.first_tokens[late])
    cpu = [median(found.cpu[early]), median(found.cpu[late])]
    return [
        Line(row, "bytes on disk, MB", found.bytes[-1] / _MEGABYTE, 1.5, digits=2,
             note=f"after the first turn {found.bytes[0] / _MEGABYTE:.2f}"),
        Line(row, "kB a turn", found.bytes[-1] / turns / 1000, 50, digits=0),
        Line(row, "state, kB", found.state_bytes[-1] / 1000, digits=0,
             note=f"after the first turn {found.state_bytes[0] / 1000:.0f}"),
        Line(row, "checkpoints", found.checkpoints[-1], digits=0),
        Line(row, "first token, ms", last, digits=0, note=f"in the first follow-ups {first:.0f}"),
        Line(row, "… CPU until then, ms", cpu[1], digits=0,
             note=f"in the first follow-ups {cpu[0]:.0f}"),
        Line(row, "… CPU, last ÷ first", cpu[1] / cpu[0], 1.15, digits=2),
    ]  # fmt: skip


def settings(standins: Standins, folder: str, *, keep: bool) -> Mapping[str, str]:
    return environment(standins, TANLU_DATA_DIR=folder, TANLU_KEEP_HISTORY="1" if keep else "0")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the turns and the figures; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.thread_size", description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--keep-history", action="store_true", help="a checkpoint for each turn")
    options = parser.parse_args(argv)
    with ExitStack() as stack:
        standins = stack.enter_context(Standins(StandinOptions(scale=_SCALE)))
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        wanted = settings(standins, folder, keep=options.keep_history)
        stack.enter_context(patch.dict(os.environ, wanted))
        found = asyncio.run(trace(options.turns))
    heading = f"{'turn':>4} {'kB on disk':>10} {'state kB':>9} {'checkpoints':>11}"
    print(f"{heading} {'first ms':>8} {'CPU ms':>7}")
    measured = (found.state_bytes, found.checkpoints, found.first_tokens, found.cpu)
    rows = zip(found.bytes, *measured, strict=True)
    for number, (size, state, checkpoints, first, cpu) in enumerate(rows, 1):
        line = (
            f"{size / 1000:>10.0f} {state / 1000:>9.1f} {checkpoints:>11} {first:>8.0f} {cpu:>7.0f}"
        )
        print(f"{number:>4} {line}")
    print(header())
    lines = figures(found)
    show(lines, sys.stdout)
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

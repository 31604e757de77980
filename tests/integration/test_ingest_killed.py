"""kill -9 at random moments, then again: nothing is lost and nothing is doubled."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.knowledge.types import Scope
from tests.support import mixed_files
from tests.support.knowledge_bench import Bench, bench_fixture
from tests.support.mixed_files import marker

__all__ = ["bench_fixture"]
_FILES = {"pdf": 6, "md": 30, "html": 6, "txt": 16, "csv": 12}


class Runs:
    """Runs in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def killed_after(self, seconds: float) -> bool:
        """Start a run and kill it so long after it began; whether that was before its end."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        begun, pid = (await self._line()).split()
        assert begun == b"begun"
        await asyncio.wait([ended := asyncio.ensure_future(self._line())], timeout=seconds)
        if not ended.done():
            os.kill(int(pid), signal.SIGKILL)
        return await ended == b"killed"

    async def _line(self) -> bytes:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).strip()


@pytest.fixture
async def runs(bench: Bench) -> AsyncIterator[Runs]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.ingest_child"),
        *(str(bench.settings.tanlu_data_dir), str(bench.docs)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield Runs(process)
    await process.communicate(b"")


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
async def test_killed_at_any_moment_the_next_run_makes_it_whole(
    bench: Bench, runs: Runs, tmp_path: Path
) -> None:
    chance = random.Random(20_261_121)
    made = mixed_files.good_files(bench.docs, _FILES)
    kills = 0
    for attempt in range(7):
        kills += await runs.killed_after(chance.uniform(0.02, 0.25))
        if attempt == 3:
            # What was read is now something else, and a table is shorter.
            changed = next(n for n, path in made.items() if path.suffix == ".csv")
            mixed_files.companies(made[changed], changed)
            lines = made[changed].read_text("utf-8").splitlines()
            made[changed].write_text("\n".join(lines[:3]), "utf-8")
    assert kills >= 1, "a quick machine may be done before the later ones"
    report = await bench.ingest()
    assert report.failed == []
    known = await bench.base.documents(Scope())
    expected = len(made) - 12 + 12 * 3 - 1
    assert Counter(d["id"] for d in known).most_common(1)[0][1] == 1
    assert len(known) == expected
    for number in made:
        assert len(await bench.found(marker(number))) == 1
    (tmp_path / "fresh").mkdir()
    fresh = Bench(tmp_path / "fresh")
    await fresh.ingest(bench.docs)
    assert sorted((d["path"], d["title"], d["chunks"]) for d in known) == sorted(
        (d["path"], d["title"], d["chunks"]) for d in await fresh.base.documents(Scope())
    )
    await fresh.aclose()


async def test_two_runs_at_once_double_nothing(bench: Bench) -> None:
    made = mixed_files.good_files(bench.docs, {"md": 12, "csv": 3})
    first = bench.base
    await bench.again()
    other = await bench.started()
    bench.base = first
    own = await bench.started()
    await asyncio.gather(own.run(), other.run())
    assert sum((await bench.kept()).values()) == 12 + 9
    for number in made:
        assert len(await bench.found(marker(number))) == 1

"""`tanlu batch`: throughput at 8 questions at once against 1, and memory over 200 questions.

`uv run python -m benchmarks.batch_throughput [--scale 1]`: the whole command in a process of its
own, against stand-ins at realistic latencies times `scale`. The start is not counted: rates are
taken from the end of the first round (one question, or eight) to the last row.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.programs import REPOSITORY, Program, clean_environment

from benchmarks.latencies import Latencies
from benchmarks.loads import environment
from benchmarks.processes import Strangers, cpu_seconds, memory_mb
from benchmarks.script import question
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line, header, show

_EARLY = 50


@dataclass(frozen=True)
class Sample:
    """The process at one moment."""

    at: float
    rows: int
    rss_mb: float
    cpu: float


@dataclass(frozen=True)
class Measured:
    """One batch from its start to its end."""

    exit_code: int
    samples: list[Sample]
    rows: int
    said: str
    concurrency: int

    @property
    def rate(self) -> float:
        """Questions a second after the first round, which holds the start."""
        first = next(s for s in self.samples if s.rows >= self.concurrency)
        last = next(s for s in self.samples if s.rows == self.rows)
        return (last.rows - first.rows) / max(0.001, last.at - first.at)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a question, the start left out."""
        first = next(s for s in self.samples if s.rows >= self.concurrency)
        last = self.samples[-1]
        return 1000 * (last.cpu - first.cpu) / max(1, last.rows - first.rows)

    def rss(self, rows: int) -> float:
        """Resident megabytes when this many rows were written."""
        return next((s.rss_mb for s in self.samples if s.rows >= rows), 0.0)


def measure(
    standins: Standins, folder: Path, count: int, concurrency: int, *, cold: bool = True
) -> Measured:
    """Run the command over `count` questions of its own."""
    folder.mkdir()
    asked = [{"id": str(n), "question": question(1000 + n)} for n in range(count)]
    lines = (json.dumps(one, ensure_ascii=False) for one in asked)
    (folder / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    settings = environment(standins, TANLU_DATA_DIR=str(folder / "threads"))
    command = [
        "-m", "agent", "batch", "questions.jsonl", "-o", "answers.jsonl",
        "--assistant", "agent", "--concurrency", str(concurrency), "--set", "geo_routing=never",
    ]  # fmt: skip
    process = Program(
        *command,
        folder=folder,
        env=clean_environment(**settings, PYTHONPATH=str(REPOSITORY)),
        stdout=subprocess.DEVNULL,
        cold=cold,
    )
    assert process.stderr is not None
    samples = watched(process, folder / "answers.jsonl")
    said = process.stderr.read()
    process.stderr.close()
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    answered = sum(row["status"] == "answered" for row in rows)
    return Measured(process.wait(), samples, answered, said, concurrency)


def watched(process: Program, answers: Path) -> list[Sample]:
    """Rows, memory and CPU of a process, ten times a second, until it ends."""
    samples: list[Sample] = []
    pause = threading.Event()
    while process.poll() is None:
        rows = answers.read_bytes().count(b"\n") if answers.exists() else 0
        rss = memory_mb(process.pid, "VmRSS")
        samples.append(Sample(time.monotonic(), rows, rss, cpu_seconds(process.pid)))
        pause.wait(0.05)
    return [sample for sample in samples if sample.rss_mb]


def figures(scale: float, many: int, few: int, *, cold: bool = True) -> list[Line]:
    """The table: `many` questions 8 at once against `few` one by one."""
    row, strangers = "batch", Strangers()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        Standins(StandinOptions(scale=scale)) as standins,
    ):
        alone = measure(standins, Path(name) / "alone", few, 1, cold=cold)
        together = measure(standins, Path(name) / "together", many, 8, cold=cold)
    for found, count in ((alone, few), (together, many)):
        if found.exit_code or found.rows != count:
            return [Line(row, "questions not answered", count - found.rows, 0, found.said[-300:])]
    bound = Latencies(scale).bound
    early, late = together.rss(min(_EARLY, many)), together.rss(many)
    return [
        Line(row, "rate at 8 ÷ rate at 1", together.rate / alone.rate, 7, least=True),
        Line(row, "seconds a question at 1 ÷ bound", 1 / alone.rate / bound),
        Line(row, "seconds a question at 8 ÷ (bound / 8)", 8 / together.rate / bound),
        Line(row, "CPU ms a question, at 8", together.cpu_ms, digits=0),
        Line(row, f"memory, MB after {min(_EARLY, many)}", early, digits=1),
        Line(row, f"memory, MB after {many}", late, digits=1),
        Line(row, "growth, MB", late - early, 10, digits=1),
        Line(row, "noise, cores", strangers.cores(), digits=2),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """0 if every target holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="times realistic latencies")
    parser.add_argument("--questions", type=int, default=200, help="asked 8 at once")
    parser.add_argument("--alone", type=int, default=6, help="asked one by one")
    parser.add_argument("--warm", action="store_true", help="fork what is measured: quick to start")
    given = parser.parse_args(argv)
    print(header())
    lines = figures(given.scale, given.questions, given.alone, cold=not given.warm)
    show(lines)
    return int(any(line.holds is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())

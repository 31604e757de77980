"""`tanlu batch --url` against a cluster: throughput by instances, and thousands under kills.

`uv run python -m benchmarks.cluster_batch [--questions 5000] [--rate 600]`: stand-ins without
latency, so that the servers alone take time. First the rate of one, two and three instances over
`--rate` questions; then `--questions` with an instance killed every few seconds: each answered
once, and the batch's own memory flat.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.support.programs import REPOSITORY, Program, clean_environment
from tools.cluster import Whole, whole_cluster

from benchmarks.batch_throughput import Measured, watched
from benchmarks.campaign import ASKER, settings
from benchmarks.script import question
from benchmarks.standins import StandinOptions, Standins
from benchmarks.table import Line, header, show

_INSTANCES = (1, 2, 3)
_CONCURRENCY = 16
_NO_LATENCY = 0.001


class Kills:
    """Kill one instance after another, and start it again, until told to stop."""

    def __init__(self, whole: Whole, every: float, seed: int = 7) -> None:
        self.count = 0
        self._whole, self._every, self._random = whole, every, random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Kills":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._random.uniform(0.5, 1.5) * self._every):
            instance = self._random.choice(self._whole.cluster.instances)
            instance.kill()
            self.count += 1
            instance.start()
            instance.ready()


def batch(whole: Whole, folder: Path, count: int, *, first: int) -> tuple[Measured, list[str]]:
    """Run the command over questions of its own; return its course and the ids of its rows."""
    folder.mkdir()
    asked = [{"id": str(n), "question": question(n)} for n in range(first, first + count)]
    lines = (json.dumps(one, ensure_ascii=False) for one in asked)
    (folder / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    process = Program(
        "-m", "agent", "batch", "questions.jsonl", "-o", "answers.jsonl", "--assistant", "agent",
        "--concurrency", str(_CONCURRENCY), "--url", whole.address,
        "--set", "geo_routing=never", "--set", "claim_check=false", "--set", "web_search=google",
        folder=folder,
        env=clean_environment(
            TANLU_API_KEY=ASKER, TANLU_DATA_DIR=str(folder / "data"), PYTHONPATH=str(REPOSITORY)
        ),
        stdout=subprocess.DEVNULL,
        cold=True,
    )  # fmt: skip
    assert process.stderr is not None
    # Thousands of lines of progress: read while it works, or it would wait for its reader.
    said: list[str] = []
    errors = process.stderr
    reading = threading.Thread(target=lambda: said.append(errors.read()), daemon=True)
    reading.start()
    samples = watched(process, folder / "answers.jsonl")
    reading.join()
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    answered = [str(row["id"]) for row in rows if row["status"] == "answered"]
    return Measured(process.wait(), samples, len(rows), "".join(said), _CONCURRENCY), answered


def rates(standins: Standins, folder: Path, count: int) -> list[Line]:
    """Return the rate of each number of instances, as a ratio to that of one."""
    lines, alone = [], 0.0
    for instances in _INSTANCES:
        with whole_cluster(instances, 0, **settings(standins)) as whole:
            found, ids = batch(whole, folder / f"rate-{instances}", count, first=1)
        standins.stats()
        if found.exit_code or len(ids) != count:
            missing = count - len(ids)
            return [*lines, Line("rate", "not answered", missing, 0, found.said[-300:], digits=0)]
        alone = alone or found.rate
        note = f"{found.rate:.2f} questions a second"
        lines.append(Line("rate", f"{instances} instances ÷ 1", found.rate / alone, note=note))
    return lines


def under_kills(standins: Standins, folder: Path, count: int, every: float) -> list[Line]:
    """Return what came of many questions while instances died."""
    with (
        whole_cluster(_INSTANCES[-1], 0, **settings(standins)) as whole,
        Kills(whole, every) as kills,
    ):
        found, ids = batch(whole, folder / "killed", count, first=100_000)
    again = Counter(ids)
    early, late = found.rss(min(200, count // 2)), found.rss(found.rows)
    note = "" if not found.exit_code else found.said[-300:]
    return [
        Line("under kills", "instances killed", kills.count, digits=0),
        Line("under kills", "questions", count, digits=0),
        Line("under kills", "not answered", count - len(again), 0, note, digits=0),
        Line("under kills", "answered twice", len(ids) - len(again), 0, digits=0),
        Line("under kills", "questions a second", found.rate),
        Line("under kills", "the batch's memory: growth, MB", late - early, 10,
             f"{late:.0f} MB at its end", digits=1),
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if every target holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=5000, help="under kills")
    parser.add_argument(
        "--rate", type=int, default=600, help="for each number of instances; 0: none"
    )
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two kills")
    told = parser.parse_args(argv)
    lines: list[Line] = []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        Standins(StandinOptions(scale=_NO_LATENCY)) as standins,
    ):
        folder = Path(name)
        if told.rate:
            lines += rates(standins, folder, told.rate)
        if told.questions:
            lines += under_kills(standins, folder, told.questions, told.every)
    print(header())
    show(lines)
    return int(any(line.holds is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())

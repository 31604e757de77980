"""The benchmark of the batch runs whole on a small scale; how fast it is, is not asserted here."""

import subprocess
import sys

import pytest

from tests.support.dev_server import REPOSITORY, clean_environment

pytestmark = [pytest.mark.slow]


def test_the_batch_benchmark_prints_its_ratio_and_its_memory() -> None:
    command = [sys.executable, "-m", "benchmarks.batch_throughput"]
    scale = ["--scale", "0.02", "--questions", "12", "--alone", "2"]
    done = subprocess.run(
        [*command, *scale],
        cwd=REPOSITORY,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert "not answered" not in done.stdout, done.stdout
    for figure in ("rate at 8 ÷ rate at 1", "memory, MB after 12", "growth, MB"):
        assert figure in done.stdout

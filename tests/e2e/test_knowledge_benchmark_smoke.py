"""The benchmark of the knowledge base runs whole on a small scale; no time is asserted."""

import subprocess
import sys

import pytest

from tests.support.dev_server import REPOSITORY, clean_environment

pytestmark = pytest.mark.slow


def test_filling_and_queries_are_printed_with_and_without_the_rule() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.knowledge_store", "--chunks", "200", "--queries", "10",
         "--dimensions", "16"],
        cwd=REPOSITORY,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    for row in ("frequent terms out", "all terms", "hybrid"):
        printed = [line for line in done.stdout.splitlines() if line[2:].startswith(row)]
        assert ["median, ms" in line or "p95, ms" in line for line in printed] == [True, True]
    for figure in ("documents a second", "chunks a second", "documents replaced a second"):
        assert sum(figure in line for line in done.stdout.splitlines()) >= 2

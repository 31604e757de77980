"""The benchmarks of deep research run whole on a small scale; no time is asserted."""

import subprocess
import sys

import pytest

from tests.support.dev_server import REPOSITORY, clean_environment

pytestmark = [pytest.mark.slow]


def table_of(module: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *options],
        cwd=REPOSITORY,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stdout


def line_of(table: str, row: str, figure: str) -> str:
    (line,) = [s for s in table.splitlines() if s[2:].startswith(f"{row} ") and figure in s]
    return line


def test_post_processing_reads_every_page_and_keeps_to_its_width() -> None:
    table = table_of("post_processing", "--scale", "0.05", "--runs", "1")
    for row in ("5 at once", "2 at once"):
        assert line_of(table, row, "post-processing ÷ bound")
        for figure in ("pages in the report's notes", "extractions at once",
                       "compressions at once"):  # fmt: skip
            assert line_of(table, row, figure).startswith("✓"), table


def test_memory_and_state_are_printed_for_every_round() -> None:
    table = table_of("context_memory", "--topics", "3", "--page-kb", "20")
    assert sum(line[:5].strip().isdigit() for line in table.splitlines()) == 13
    for figure in ("pages archived", "state beside the archive"):
        assert line_of(table, "memory", figure).startswith("✓"), table

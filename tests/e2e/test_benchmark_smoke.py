"""The benchmark runs whole on a small scale; how fast it is, is not asserted here."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.dev_server import REPOSITORY, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.node]

_FIGURES = {
    "machine": ["1 bare run ÷ bound", "3 at once, p95 ÷ bound", "3 spread, p95 ÷ bound"],
    "in-process-1": [
        "1 run ÷ bound",
        "first token ÷ bound",
        "prompt tokens ÷ quickstart's 11.3k",
        "connections",
        "CPU ms a run",
        "memory, MB",
        "rest of the time",
    ],
    "in-process-64": ["3 at once, p95", "3 spread, p95", "connections", "memory, MB"],
    "dev-1": ["1 run ÷ bound", "first token ÷ bound", "rest of the time"],
    "dev-64": ["3 at once, p95", "3 spread, p95", "memory, MB"],
    "geo": ["geo ÷ plain"],
    "map-servers": ["map server processes at most"],
    "amap-qps": ["calls refused at 3 a second"],
    "faults": ["answers of 40 runs", "calls ÷ calls without faults"],
}


_FIXED = {
    "in-process-1": "prompt tokens ÷ quickstart's 11.3k",
    "map-servers": "map server processes at most",
    "amap-qps": "calls refused at 3 a second",
    "faults": "answers of 40 runs",
}


@pytest.fixture(scope="module")
def table_of() -> Callable[[str], str]:
    """Runs one row, once: a run of all at once would be the suite's longest wait."""

    @functools.cache
    def printed(row: str) -> str:
        kept = {n: os.environ[n] for n in ("TANLU_CACHE_DIR",) if n in os.environ}
        command = [sys.executable, "-m", "benchmarks.critical_path", "--rows", row]
        done = subprocess.run(
            [*command, "--scale", "0.05", "--load", "3"],
            cwd=REPOSITORY,
            env=clean_environment(**kept),
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr[-3000:]
        return done.stdout

    return printed


@pytest.mark.parametrize("row", list(_FIGURES))
def test_every_row_of_the_benchmark_prints_its_figures_and_every_run_answers(
    table_of: Callable[[str], str], row: str
) -> None:
    table = table_of(row)
    lines = [line for line in table.splitlines() if line[2:].startswith(f"{row} ")]
    for figure in [*_FIGURES[row], "noise, cores"]:
        assert any(figure in line for line in lines), (figure, table)
    assert "failed runs" not in table


@pytest.mark.parametrize("row", list(_FIXED))
def test_what_does_not_depend_on_the_machine_holds_on_any_scale(
    table_of: Callable[[str], str], row: str
) -> None:
    (line,) = [line for line in table_of(row).splitlines() if _FIXED[row] in line]
    assert line.startswith("✓"), line


def test_an_unknown_row_is_refused_with_the_names_that_exist() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.critical_path", "--rows", "nonsense"],
        cwd=REPOSITORY,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown rows: nonsense" in done.stderr
    assert "in-process-64" in done.stderr

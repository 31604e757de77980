"""The benchmarks run whole on a small scale; how fast anything is, is not asserted here."""

import functools
import os
import subprocess

import pytest

from tests.support import programs
from tests.support.programs import REPOSITORY, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.node]

_FIGURES = {
    "machine": ["1 bare run ÷ bound", "2 at once, p95 ÷ bound", "2 spread, p95 ÷ bound"],
    "in-process-1": [
        "1 run ÷ bound",
        "first token ÷ bound",
        "prompt tokens ÷ quickstart's 11.3k",
        "connections",
        "CPU ms a run",
        "memory, MB",
        "rest of the time",
    ],
    "rounds": ["one: first token", "map: text's end", "two: share a cache may serve"],
    "in-process-64": ["2 at once, p95", "2 spread, p95", "connections", "memory, MB"],
    "dev-1": ["1 run ÷ bound", "first token ÷ bound", "rest of the time"],
    "dev-64": ["2 at once, p95", "2 spread, p95", "memory, MB"],
    "geo": ["geo ÷ plain"],
    "map-servers": ["map server processes at most"],
    "amap-qps": ["calls refused at 3 a second"],
    "faults": ["answers of 8 runs", "calls ÷ calls without faults"],
}


_FIXED = {
    "in-process-1": "prompt tokens ÷ quickstart's 11.3k",
    "rounds": "two: calls beside search and judge",
    "map-servers": "map server processes at most",
    "amap-qps": "calls refused at 3 a second",
    "faults": "answers of 8 runs",
}


def started(module: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a benchmark to its end."""
    environment = {n: os.environ[n] for n in ("TANLU_CACHE_DIR",) if n in os.environ}
    command = ["-m", f"benchmarks.{module}", *options]
    return programs.run(
        command, folder=REPOSITORY, env=clean_environment(**environment), timeout=400
    )


def table_of(module: str, *options: str) -> str:
    """Return what a benchmark prints; its targets may be missed, it must not fail."""
    done = started(module, *options)
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stdout


_TOGETHER = (
    ("machine", "in-process-1", "rounds", "in-process-64"),
    ("dev-1", "dev-64"),
    ("geo", "map-servers", "amap-qps", "faults"),
)
"""Rows that one program prints."""


def critical_path(row: str) -> str:
    """Run one row, with its like: a run of all at once would be the suite's longest wait."""
    return _rows(next((rows for rows in _TOGETHER if row in rows), (row,)))


@functools.cache
def _rows(rows: tuple[str, ...]) -> str:
    return table_of(
        "critical_path", "--rows", ",".join(rows), "--scale", "0.05", "--load", "2", "--warm"
    )


def line_of(table: str, row: str, figure: str) -> str:
    (line,) = [s for s in table.splitlines() if s[2:].startswith(f"{row} ") and figure in s]
    return line


@pytest.mark.parametrize("row", list(_FIGURES))
def test_every_row_of_the_benchmark_prints_its_figures_and_every_run_answers(row: str) -> None:
    table = critical_path(row)
    lines = [line for line in table.splitlines() if line[2:].startswith(f"{row} ")]
    for figure in [*_FIGURES[row], "noise, cores"]:
        assert any(figure in line for line in lines), (figure, table)
    assert "failed runs" not in table


@pytest.mark.parametrize("row", list(_FIXED))
def test_what_does_not_depend_on_the_machine_holds_on_any_scale(row: str) -> None:
    (line,) = [line for line in critical_path(row).splitlines() if _FIXED[row] in line]
    assert line.startswith("✓"), line


def test_an_unknown_row_is_refused_with_the_names_that_exist() -> None:
    done = started("critical_path", "--rows", "nonsense")
    assert done.returncode == 2
    assert "unknown rows: nonsense" in done.stderr
    assert "in-process-64" in done.stderr


def test_post_processing_reads_every_page_and_keeps_to_its_width() -> None:
    small = ("--scale", "0.05", "--runs", "1", "--pages", "2", "--page-kb", "4")
    table = table_of("post_processing", *small)
    for row in ("5 at once", "2 at once"):
        assert line_of(table, row, "post-processing ÷ bound")
        for figure in ("pages in the report's notes", "extractions at once"):
            assert line_of(table, row, figure).startswith("✓"), table


def test_long_assistants_answer_from_what_was_played_alone_and_at_once() -> None:
    names = ("zh-premise",)
    few = ("--questions", ",".join(names), "--scale", "0.02", "--load", "2")
    table = table_of("long_assistants", *few)
    for name in names:
        for figure in ("failed runs", "requests nobody played"):
            assert line_of(table, name, figure).startswith("✓"), table
        for figure in ("alone ÷ critical path", "2 at once, p95 ÷ critical path"):
            assert line_of(table, name, figure)


def test_memory_and_state_are_printed_for_every_round() -> None:
    table = table_of("context_memory", "--topics", "2", "--page-kb", "10")
    assert sum(line[:5].strip().isdigit() for line in table.splitlines()) == 9
    for figure in ("pages archived", "state beside the archive"):
        assert line_of(table, "memory", figure).startswith("✓"), table


def test_filling_and_queries_are_printed_with_and_without_the_rule() -> None:
    table = table_of("knowledge_store", "--chunks", "200", "--queries", "10", "--dimensions", "16")
    for row in ("frequent terms out", "all terms", "hybrid"):
        printed = [line for line in table.splitlines() if line[2:].startswith(row)]
        assert ["median, ms" in line or "p95, ms" in line for line in printed] == [True, True]
    for figure in ("documents a second", "chunks a second", "documents replaced a second"):
        assert sum(figure in line for line in table.splitlines()) >= 2


def test_the_batch_benchmark_prints_its_ratio_and_its_memory() -> None:
    few = ("--scale", "0.02", "--questions", "9", "--alone", "2")
    table = table_of("batch_throughput", *few, "--warm")
    assert "not answered" not in table
    for figure in ("rate at 8 ÷ rate at 1", "memory, MB after 9", "growth, MB"):
        assert figure in table


def test_a_thread_of_two_turns_is_measured_and_keeps_one_checkpoint() -> None:
    table = table_of("thread_size", "--turns", "2")
    rows = [line for line in table.splitlines() if line[:4].strip().isdigit()]
    assert len([row for row in rows if "turns" not in row]) == 2
    assert line_of(table, "2 turns", "bytes on disk, MB").startswith("✓"), table
    assert line_of(table, "2 turns", "checkpoints").split()[3] == "1"


def test_the_benchmark_of_the_check_of_claims_prints_its_cpu_and_how_long_a_reader_waits() -> None:
    options = ("--runs", "1", "--sources", "8", "--characters", "800", "--pace", "100")
    table = table_of("claim_check", *options)
    for language in ("zh", "en"):
        assert "sentences, 8 sources" in line_of(table, language, "CPU of the check, ms")
        assert line_of(table, f"{language}, 72 statements", "last ruling after the text, s")


def test_the_latency_of_ok_is_printed_for_a_hostile_text_and_an_ordinary_run() -> None:
    table = table_of("ok", "--places", "hits", "--texts", "rows")
    for row in ("nothing", "hits"):
        assert any(line[2:].startswith(row) and " s" in line for line in table.splitlines()), table


def test_growth_measures_every_function_of_a_room_that_takes_a_text() -> None:
    table = table_of("growth", "--only", "evidence.geo", "--atoms", "digits,blanks", "--all")
    assert "evidence.geo.parse_lnglat(text)" in table
    assert "not measured" not in table
    assert "functions" in table.splitlines()[-1]
    assert ": 0 fail;" in table.splitlines()[-1]

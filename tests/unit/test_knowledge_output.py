"""What `tanlu ingest` and `tanlu search` write."""

import io
from argparse import Namespace
from dataclasses import replace

import pytest
from rich.console import Console

from agent.cli import COMMANDS, ingest
from agent.cli.ingest import BarListener, result_line
from agent.cli.parser import build_parser
from agent.cli.search import snippet
from agent.knowledge.ingest import AS_BEFORE, FileOutcome, FileResult, Report
from agent.texts import say

READ = FileResult("docs/a.md", "read", documents=1, chunks=3)
FAILED = FileResult("docs/b.pdf", "failed", "it is broken", "page_unreadable")


def report_of(*results: FileResult) -> Report:
    report = Report(total=len(results), seconds=2.0)
    for result in results:
        report.add(result)
    return report


BROKEN = {"key": "broken", "n": 1, "pages": "2"}


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (READ, "read docs/a.md (3 passages)"),
        (FAILED, "failed docs/b.pdf: it is broken"),
        (FileResult("a", "same", "the same as b"), "the same a: the same as b"),
        (FileResult("a", "read", notes=[BROKEN], chunks=1),
         "read a: page 2 could not be read (1 passage)"),
    ],
)  # fmt: skip
def test_what_became_of_a_file_is_one_line(result: FileResult, line: str) -> None:
    assert result_line(result) == line


def test_the_lines_of_ingest_are_chinese_for_a_chinese_reader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "zh")
    ingest._show(report_of(READ, FAILED, FileResult("docs/c", "gone")), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "3 个文件：1 已读，1 失败，1 已不在",
        "1 个文档，3 段，2.0 秒（每秒 1.0 个文件）",
        "  失败 docs/b.pdf: it is broken",
        "  已不在 docs/c",
        say("ingest.prune", "zh"),
    ]


def test_the_name_of_a_file_cannot_steer_the_terminal() -> None:
    hostile = FileResult("docs/\x1b[2Jx\n\u202ey.md", "failed", "it is broken")
    assert result_line(hostile) == "failed docs/[2Jx y.md: it is broken"


def test_a_bar_shows_the_rate_and_writes_failures_above_it() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, highlight=False)
    shown = BarListener(console)
    report = report_of(READ, FAILED)
    with shown.bar:
        shown.begin(2)
        shown.file_done(READ, report)
        shown.file_done(FAILED, report)
        shown.notice("finishing")
    text = stream.getvalue()
    assert "failed docs/b.pdf: it is broken" in text
    assert "2/2" in text
    assert "1 failed" in text
    assert "finishing" in text


def test_the_end_names_every_failure_and_what_can_be_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes: list[FileOutcome] = ["gone", "left_out"]
    others = [FileResult(f"docs/{outcome}", outcome) for outcome in outcomes]
    before = FileResult("docs/c.pdf", "failed", "it is broken", notes=[AS_BEFORE])
    noted = replace(READ, path="docs/d.csv", notes=[{"key": "cut_row", "row": 2}])
    ingest._show(report_of(READ, noted, FAILED, before, *others), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 files: 2 read, 2 failed, 1 left out, 1 gone"
    assert lines[1] == "2 documents, 6 passages, 2.0 s (2.5 files/s)"
    assert lines[2] == f"  read docs/d.csv: {noted.note} (3 passages)"
    assert "  failed docs/b.pdf: it is broken" in lines
    assert lines[-2].startswith("--prune")
    assert lines[-1].startswith("--retry")


def test_the_command_that_goes_on_is_the_one_that_was_given() -> None:
    argv = ["ingest", "my docs", "--collection", "电池", "--shared"]
    arguments: Namespace = build_parser(COMMANDS).parse_args(argv)
    assert ingest._resume_command(arguments).endswith(
        "ingest 'my docs' --collection '电池' --shared"
    )


def test_a_snippet_is_the_part_with_most_of_the_querys_terms() -> None:
    text = "开头的话。" * 60 + "钠离子电池的能量密度是每公斤二百瓦时。" + "结尾的话。" * 60
    found = snippet(text, "钠离子电池 能量密度")
    assert "钠离子电池的能量密度" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) <= 242
    assert snippet("short\ntext", "x") == "short text"

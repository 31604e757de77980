"""`tanlu ingest` and `tanlu search` as processes."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from agent.cli import main
from tests.support import mixed_files
from tests.support.command_line import Cli, cli_fixture
from tests.support.mixed_files import marker

__all__ = ["cli_fixture"]


def test_documents_are_read_in_and_found_with_file_and_page(cli: Cli) -> None:
    docs = cli.folder / "reports"
    made = mixed_files.good_files(docs, {"pdf": 1, "md": 2, "csv": 1})
    first = cli.run("ingest", "reports", "--collection", "电池")
    assert first.returncode == 0, first.stderr
    assert "4 files: 4 read" in first.stdout
    assert f"read reports/{made[1].relative_to(docs)}" in first.stderr
    (docs / "bad.pdf").write_bytes(b"nothing")
    second = cli.run("ingest", "reports", "--collection", "电池", "--json")
    report = json.loads(second.stdout)
    assert second.returncode == 1
    assert (report["unchanged"], report["failed"], report["read"]) == (4, 1, 0)
    shown = cli.run("search", marker(0), "--limit", "3")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("1. Report 0 (reports/part0/file0.pdf, p. 2)\n")
    assert f"Here is {marker(0)}." in shown.stdout
    found = json.loads(cli.run("search", marker(1), "--json", "--collection", "电池").stdout)
    (hit,) = found["hits"]
    assert (hit["title"], hit["headings"][-1], hit["kind"]) == ("Notes 1", "路线", "markdown")
    assert str(cli.folder) not in json.dumps(found)


def test_own_documents_are_cited_in_sample_mode_once_they_are_read_in_for_it(cli: Cli) -> None:
    docs = cli.folder / "docs"
    docs.mkdir()
    (docs / "qinglan.md").write_text("# 青岚大桥日志\n\n青岚大桥的结构是三跨钢拱。\n", "utf-8")
    question = ("--assistant", "plan_execute", "--set", "geo_routing=never", "青岚大桥的结构")
    kept = cli.run("ingest", "docs")
    assert "sample mode does not read these documents" in kept.stderr
    assert "ingest docs --collection documents --offline" in kept.stderr
    read = cli.run("ingest", "docs", "--offline")
    assert "does not read" not in read.stderr
    answer = cli.run("ask", *question).stdout
    assert "青岚大桥的结构是三跨钢拱。" in answer
    assert "青岚大桥日志 (docs/qinglan.md)" in answer


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["ingest", "nowhere"], 2, "nowhere: No such file"),
        (["ingest", ".", "--collection", "a/b"], 2, "Collection must be"),
        (["search", "battery"], 1, "The knowledge base is empty"),
        (["search", "battery", "--collection", "papers"], 2, "there are: none yet"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    argv: list[str],
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == code
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("tanlu: ")
    assert told in line


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_finishes_the_file_in_flight_and_says_how_to_go_on(cli: Cli) -> None:
    docs = cli.folder / "docs"
    mixed_files.good_files(docs, {"md": 150, "pdf": 20})
    process = cli.start("ingest", "docs", "--shared")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[3/"):
            break
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "finishing the files in flight" in err
    assert err.splitlines()[-1].endswith(
        "Go on with: tanlu ingest docs --collection documents --shared"
    )
    read = int(out.partition("files: ")[2].partition(" read")[0])
    rest = json.loads(cli.run("ingest", "docs", "--shared", "--json").stdout)
    assert (rest["unchanged"], rest["read"], rest["failed"]) == (read, 170 - read, 0)

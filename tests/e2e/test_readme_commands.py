"""The commands of README.md and README.zh.md run as printed, one after the other, without a key."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from agent.texts import say
from tests.support.command_line import Cli, cli_fixture

__all__ = ["cli_fixture"]
pytestmark = pytest.mark.node
ROOT = Path(__file__).parents[2]
_COMMAND = re.compile(r"^(?:pip install uv && )?uv run tanlu (.+)$", re.MULTILINE)
ELSEWHERE = ("review_plan=true", "serve")
"""What asks a person, and what never ends: tests/e2e/test_cli_review.py, test_serve.py."""
UNRECORDED = [say("sample.quotation", language) for language in ("zh", "en")]
"""What stands above an answer that nobody recorded."""


def commands(page: str) -> list[list[str]]:
    """Return the arguments of the commands that stand on lines of their own."""
    text = (ROOT / page).read_text("utf-8")
    lines = [line for line in _COMMAND.findall(text) if not any(part in line for part in ELSEWHERE)]
    return [shlex.split(line, comments=True) for line in lines]


def test_every_command_of_both_readmes_works_as_printed_without_a_key(cli: Cli) -> None:
    shutil.copytree(ROOT / "examples", cli.folder / "examples")
    argvs, chinese = commands("README.md"), commands("README.zh.md")
    for page in (argvs, chinese):
        assert {argv[0] for argv in page} == {"ask", "ingest", "batch", "doctor"}
        assert any("-c" in argv for argv in page)
    for argv in [*argvs, *(argv for argv in chinese if argv not in argvs)]:
        done = cli.run(*argv)
        assert done.returncode == 0, (argv, done.stderr)
        assert done.stdout.strip(), argv
        assert all(part not in done.stdout for part in UNRECORDED), argv
    for file in (
        "answer.html",
        "places.geojson",
        "day.ics",
        "day.pdf",
        "report.pdf",
        "answers.jsonl",
    ):
        assert (cli.folder / file).stat().st_size > 0, file
    rows = (cli.folder / "answers.jsonl").read_text("utf-8").splitlines()
    assert all('"status": "answered"' in row for row in rows)
    assert len(rows) == 3

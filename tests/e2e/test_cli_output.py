"""What `tanlu` does where its output cannot be written: a full disk, a closed pipe or stream."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.full_disk import LINUX

pytestmark = LINUX
COMMANDS = [("config", "list"), ("threads", "list", "--json")]
TOLD = "tanlu: Standard output cannot be written: No space left on device.\n"


def run(
    folder: Path, *words: str, redirect: str, unbuffered: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a command whose streams a shell redirects."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "TANLU_DATA_DIR": str(folder / "data")}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f'"$0" -m agent "$@" {redirect}', sys.executable, *words],
        env={**kept, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", COMMANDS)
def test_an_output_that_takes_nothing_is_named_in_a_line(
    words: tuple[str, ...], unbuffered: str, tmp_path: Path
) -> None:
    done = run(tmp_path, *words, redirect=">/dev/full", unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (1, TOLD)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_that_is_gone_ends_a_command_without_a_word(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(tmp_path, *words, redirect="| true")
    assert done.stderr == ""


@pytest.mark.parametrize("redirect", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_as_good_as_nowhere(redirect: str, tmp_path: Path) -> None:
    done = run(tmp_path, "threads", "list", "--json", redirect=redirect)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

"""The page's JavaScript modules: their own tests, under Node's test runner."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.page_node import page_environment

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1] / "page"
OLDEST_NODE = 20


def node() -> str:
    """Where Node.js is; skips with the reason where it is missing or too old."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node.js is not installed")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(told.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"Node.js {told.strip()} is older than {OLDEST_NODE}")
    return found


def test_the_modules_of_the_page_pass_their_own_tests() -> None:
    files = sorted(str(path) for path in TESTS.glob("*.test.mjs"))
    command = [node(), "--test", "--test-reporter=tap", "--test-timeout=240000", *files]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        env=page_environment(),
        check=False,
    )
    assert done.returncode == 0, _failures(done.stdout) + done.stderr
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= len(files)


def _failures(tap: str) -> str:
    """The tests that failed, with what they say."""
    found = re.findall(r"^ *not ok .*\n(?: +.*\n)*", tap, re.MULTILINE)
    return "\n".join(found)[:8000]

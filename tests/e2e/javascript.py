"""The JavaScript examples beside their packages; import the fixture."""

import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NODE, NPM = shutil.which("node"), shutil.which("npm")
NEEDS_NODE = [
    pytest.mark.node,
    pytest.mark.skipif(not NPM, reason="Node.js is not installed"),
]


@pytest.fixture(scope="module", name="javascript")
def javascript_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed as their README says."""
    folder = tmp_path_factory.mktemp("javascript")
    shutil.copytree(
        EXAMPLES / "javascript", folder, dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("node_modules"),
    )  # fmt: skip
    command = [str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder

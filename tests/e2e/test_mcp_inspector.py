"""The MCP Inspector's command line against our `/mcp`: a client in another language.

Fetched by npx into a temporary folder, which takes about a minute: only on request.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server_fixtures import server_fixture
from tests.support.dev_server import DevServer

__all__ = ["server_fixture"]
INSPECTOR = "@modelcontextprotocol/inspector@1.0.3"
pytestmark = [
    pytest.mark.node,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("MCP_INSPECTOR") != "1" or shutil.which("npx") is None,
        reason="needs npx and MCP_INSPECTOR=1: fetching the MCP Inspector takes a minute",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspector")


def inspect(server: DevServer, folder: Path, *arguments: str) -> dict[str, Any]:
    """What the Inspector prints of one request."""
    npx = shutil.which("npx")
    assert npx is not None
    command = [npx, "--yes", "--cache", str(folder), "--package", INSPECTOR, "mcp-inspector"]
    asked = ["--cli", f"{server.url}/mcp", "--transport", "http", "--method", *arguments]
    done = subprocess.run(
        [*command, *asked], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_the_inspector_lists_the_tools_and_accepts_an_answer(
    server: DevServer, folder: Path
) -> None:
    listed = inspect(server, folder, "tools/list")
    assert {"agent", "deep_research"} <= {tool["name"] for tool in listed["tools"]}
    asked = ["--tool-name", "agent", "--tool-arg", "question=王府井附近适合遛娃的好去处"]
    answer = inspect(server, folder, "tools/call", *asked, "--tool-arg", "max_research_loops=1")
    assert answer["isError"] is False
    assert answer["structuredContent"]["places"]
    assert "**来源**" in answer["content"][0]["text"]

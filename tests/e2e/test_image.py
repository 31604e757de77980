"""What `langgraph dockerfile` makes of langgraph.json; no Docker needed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.dev_server import REPOSITORY, clean_environment

pytestmark = pytest.mark.server


def langgraph(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "langgraph_cli", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def dockerfile(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("image") / "tanlu"
    folder.mkdir()
    for name in ("langgraph.json", "pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, folder / name)
    langgraph("dockerfile", "Dockerfile.out", folder=folder)
    return (folder / "Dockerfile.out").read_text("utf-8").splitlines()


def position(dockerfile: list[str], pattern: str) -> int:
    found = [n for n, line in enumerate(dockerfile) if re.search(pattern, line)]
    assert found, f"no line matches {pattern}"
    return found[0]


def test_langgraph_json_is_valid(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "langgraph.json", tmp_path)
    said = langgraph("validate", folder=tmp_path)
    assert "is valid" in said
    assert "nknown" not in said


def test_the_image_is_bookworm_with_python_3_12(dockerfile: list[str]) -> None:
    assert dockerfile[0] == "FROM langchain/langgraph-api:3.12-bookworm"


def test_our_pins_do_not_meet_the_image_s_constraints(dockerfile: list[str]) -> None:
    assert next(line for line in dockerfile[1:] if line) == "ENV UV_NO_CONFIG=1"
    assert position(dockerfile, "ENV UV_NO_CONFIG=1") < position(dockerfile, "uv pip install")


def test_the_map_server_is_installed_pinned_and_without_scripts(dockerfile: list[str]) -> None:
    copied = position(dockerfile, r"COPY src/agent/mcp/amap/package\.json")
    assert "package-lock.json" in dockerfile[copied]
    assert copied < position(dockerfile, "npm-cli.js ci --ignore-scripts")
    for name in ("package.json", "package-lock.json"):
        assert (REPOSITORY / "src/agent/mcp/amap" / name).is_file()


def test_the_map_server_s_command_is_the_installed_one(dockerfile: list[str]) -> None:
    line = dockerfile[position(dockerfile, "^ENV AMAP_MCP_COMMAND=")]
    program, script = json.loads(line.split("=", 1)[1].strip("'"))
    assert program == "node"
    assert script.startswith("/opt/amap/node_modules/@amap/amap-maps-mcp-server/")


def test_stored_bytes_are_read_strictly_in_the_image(dockerfile: list[str]) -> None:
    position(dockerfile, "LANGGRAPH_STRICT_MSGPACK=true")
    checkpointer = dockerfile[position(dockerfile, "^ENV LANGGRAPH_CHECKPOINTER=")]
    assert json.loads(checkpointer.split("=", 1)[1].strip("'"))["serde"] == {
        "pickle_fallback": False
    }


def test_the_image_serves_our_application_and_asks_our_rules(dockerfile: list[str]) -> None:
    http = dockerfile[position(dockerfile, "^ENV LANGGRAPH_HTTP=")]
    assert json.loads(http.split("=", 1)[1].strip("'")) == {
        "app": "agent.engines.langgraph.app:app",
        "enable_custom_route_auth": True,
        "disable_mcp": True,
        "disable_a2a": True,
        "disable_ui": True,
        "disable_webhooks": True,
    }
    rules = dockerfile[position(dockerfile, "^ENV LANGGRAPH_AUTH=")]
    assert json.loads(rules.split("=", 1)[1].strip("'")) == {
        "path": "agent.server.auth:auth",
        "disable_studio_auth": True,
    }


def test_keys_threads_and_caches_stay_out_of_the_image() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text("utf-8").split()
    assert {".env", ".env.*", ".langgraph_api", "data", ".venv", "tests", "*.sqlite"} <= set(
        ignored
    )

"""docs/clients.md can be pasted: its settings parse, and its versions are the pinned ones."""

import json
import re
from typing import Any, get_type_hints

import pytest

from agent.server.mcp_tools import Answer
from tests.architecture.tree import ROOT
from tests.e2e.test_mcp_inspector import INSPECTOR

PAGE = (ROOT / "docs/clients.md").read_text("utf-8")
SETTINGS = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
PINNED = json.loads((ROOT / "src/agent/mcp/amap/package.json").read_text("utf-8"))["dependencies"]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_name_our_address_or_the_pinned_map_server(text: str) -> None:
    settings = json.loads(text)
    servers: dict[str, Any] = settings.get("mcpServers") or settings["servers"]
    for name, server in servers.items():
        wanted = {"tanlu": "http://127.0.0.1:2024/mcp", "amap": "/@amap/amap-maps-mcp-server/"}
        by_stdio = (server.get("command"), server.get("args")) == ("tanlu", ["mcp"])
        assert by_stdio or wanted[name] in json.dumps(server)
        assert ("url" in server) != ("command" in server)
        if name == "amap":
            assert server["command"] == "node"
            assert "AMAP_MAPS_API_KEY" in server["env"]


def test_its_versions_are_the_ones_that_were_tried() -> None:
    assert len(SETTINGS) >= 6
    assert PINNED["@amap/amap-maps-mcp-server"] in PAGE
    assert INSPECTOR in PAGE
    assert len(set(re.findall(r"mcp-remote@(\S+?)\"", PAGE))) == 1


def test_it_names_everything_a_result_has() -> None:
    quoted = " ".join(re.findall(r"`([^`\n]+)`", PAGE))
    assert [name for name in get_type_hints(Answer) if name not in quoted] == []

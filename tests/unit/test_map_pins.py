import copy
import json
import re

import pytest
from mcp.types import Tool

from agent.mcp.amap.install import PACKAGE_FILES
from agent.mcp.amap.tools import CATALOGUE

LOCK = (PACKAGE_FILES / "package-lock.json").read_text("utf-8")
PACKAGES = {name: entry for name, entry in json.loads(LOCK)["packages"].items() if name}


def test_the_server_is_pinned_to_one_version() -> None:
    wanted = json.loads((PACKAGE_FILES / "package.json").read_text("utf-8"))["dependencies"]
    assert wanted == {"@amap/amap-maps-mcp-server": "0.0.8"}
    assert PACKAGES["node_modules/@amap/amap-maps-mcp-server"]["version"] == "0.0.8"


def test_the_lock_file_names_no_registry_and_no_address() -> None:
    assert "resolved" not in LOCK
    assert "://" not in LOCK
    assert "registry" not in LOCK


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_every_package_is_checked_by_its_hash(name: str) -> None:
    entry = PACKAGES[name]
    assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", entry["integrity"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", entry["version"])
    assert not entry.get("hasInstallScript")


def as_tools() -> list[Tool]:
    return [Tool(**copy.deepcopy(tool)) for tool in CATALOGUE.tools]


def test_there_are_twelve_expected_tools() -> None:
    assert len(CATALOGUE.tools) == 12
    assert CATALOGUE.problem(as_tools()) is None


def test_a_missing_and_a_changed_tool_are_named() -> None:
    tools = as_tools()[1:]
    tools[0].inputSchema = {"type": "object", "properties": {}}
    problem = CATALOGUE.problem(tools) or ""
    assert "missing maps_regeocode" in problem
    assert "changed maps_geo" in problem


def test_a_tool_that_requires_more_than_we_send_is_a_change() -> None:
    tools = as_tools()
    schema = tools[1].inputSchema
    tools[1].inputSchema = {**schema, "required": [*schema["required"], "region"]}
    assert "changed maps_geo" in (CATALOGUE.problem(tools) or "")


def test_what_we_do_not_use_is_no_change() -> None:
    tools = [*as_tools(), Tool(name="maps_new", inputSchema={"type": "object"})]
    tools[1].outputSchema = {"type": "object", "required": ["x"]}
    tools[1].inputSchema["properties"]["region"] = {"type": "string"}
    assert CATALOGUE.problem(tools) is None
    assert "maps_new" not in {tool.name for tool in CATALOGUE.own_copies(tools)}


def test_other_words_in_a_description_are_no_change() -> None:
    tools = as_tools()
    tools[0].inputSchema["properties"]["location"]["description"] = "lng,lat"
    assert CATALOGUE.problem(tools) is None

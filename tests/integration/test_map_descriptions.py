"""A map server that changes its words after it was trusted: no model reads them."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.mcp.amap.install import find_node
from agent.mcp.amap.tools import CATALOGUE
from agent.mcp.tools import load_amap_mcp_tools
from tests.integration.changed_words import WORDS
from tests.support.lab import ZH, Lab, laboratory, told
from tests.support.map_fixtures import script_fixture
from tests.support.obedient import Obedient, pois

__all__ = ["script_fixture"]
pytestmark = pytest.mark.node
SCRIPT = Path(__file__).with_name("changed_words.py")


@pytest.fixture(name="lab")
async def lab_fixture(map_server_script: Path) -> AsyncIterator[Lab]:
    command = [sys.executable, str(SCRIPT), find_node().node, str(map_server_script)]
    async with laboratory(amap_mcp_command=command) as built:
        yield built


async def test_changed_descriptions_never_reach_a_model_and_the_tools_still_work(lab: Lab) -> None:
    """The model calls every tool it is offered, as soon as it has read a place."""
    lab.gemini.llm = Obedient(lab.gemini.llm, "天安门", "http://evil.example")
    lab.amap.fail("status", status=200, times=None, body=pois("天安门"),
                  match=lambda request, body: request.path == "/v3/place/detail")  # fmt: skip
    state = await lab.ask(ZH)
    listed = await lab.services.maps.clients[0].session.list_tools()
    assert all(tool.description == WORDS for tool in listed.tools), "the server did say it"
    offered = [tool for turn in lab.gemini.turns for tool in turn.tools]
    assert "maps_geo" in {tool.name for tool in offered}
    assert "CHANGED-WORDS" not in str([request.body for request in lab.gemini.requests])
    assert "reflection" in lab.gemini.llm.obeyed, "it reads what it is shown"
    assert state["places"]
    assert told(state)["usage"]["map_calls"] > 1


async def test_whoever_loads_the_tools_gets_them_as_they_were_pinned(lab: Lab) -> None:
    tools = await load_amap_mcp_tools(lab.services.maps.clients[0].session)
    pinned = {tool["name"]: tool for tool in CATALOGUE.tools}
    assert {tool.name for tool in tools} == set(pinned)
    for tool in tools:
        assert tool.description == pinned[tool.name]["description"]
        assert tool.args_schema == pinned[tool.name]["inputSchema"]
    assert "CHANGED-WORDS" not in str(tools)
    geo = next(tool for tool in tools if tool.name == "maps_geo")
    assert "116." in str(await geo.ainvoke({"address": "王府井", "city": "北京"}))

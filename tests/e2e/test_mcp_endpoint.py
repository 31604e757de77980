"""The assistant as a tool of MCP clients: `langgraph dev` serves it at `/mcp`."""

import ast
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.dev_server import DevServer, dev_server

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(180)]
ZH = "王府井附近适合遛娃的好去处"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@asynccontextmanager
async def connected(server: DevServer) -> AsyncIterator[ClientSession]:
    async with (
        streamable_http_client(f"{server.url}/mcp/") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@pytest.mark.parametrize("assistant", ["agent", "deep_research", "team_answer"])
async def test_the_question_is_one_string_and_everything_else_has_a_default(
    server: DevServer, assistant: str
) -> None:
    async with connected(server) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == {"agent", "deep_research", "team_answer"}
    tool = tools[assistant]
    given: dict[str, Any] = tool.inputSchema["properties"]
    assert given["messages"]["type"] == "string"
    others = {name: shape for name, shape in given.items() if name != "messages"}
    assert all({"type": "null"} in shape["anyOf"] for shape in others.values())
    assert set(tool.inputSchema.get("required", [])) <= {"messages"}


async def test_a_question_asked_as_a_string_brings_the_answer_with_its_places(
    server: DevServer,
) -> None:
    async with connected(server) as session:
        reply = await session.call_tool("agent", {"messages": ZH})
    assert not reply.isError
    (block,) = reply.content
    assert block.type == "text"
    # The server writes the state as Python does.
    state = ast.literal_eval(block.text)
    answer = state["messages"][-1]
    assert answer["type"] == "ai"
    assert "**来源**" in answer["content"]
    assert answer["additional_kwargs"]["places"] == state["places"] != []


async def test_options_come_with_the_question_and_a_bad_one_is_an_error(
    server: DevServer,
) -> None:
    async with connected(server) as session:
        one = await session.call_tool("agent", {"messages": ZH, "initial_search_query_count": 1})
        bad = await session.call_tool("agent", {"messages": ZH, "max_research_loops": 99})
        none = await session.call_tool("agent", {"messages": " "})
    (block,) = one.content
    assert block.type == "text"
    queries = ast.literal_eval(block.text)["queries"]
    assert len([query for query in queries if query["round"] == 1]) == 1
    assert bad.isError
    assert none.isError


async def test_a_plan_review_that_no_mcp_client_can_give_is_refused_at_once(
    server: DevServer,
) -> None:
    """The tool's context is no part of MCP, but of this server; REVIEW_PLAN is the other way."""
    asked = {"name": "agent", "arguments": {"messages": ZH}, "context": {"review_plan": True}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(
        base_url=server.url, headers=accept, trust_env=False, timeout=60, follow_redirects=True
    ) as http:
        reply = (await http.post("/mcp", json=call)).json()
    assert reply["result"]["isError"]
    assert "review_plan: needs a thread to come back to" in server.output()

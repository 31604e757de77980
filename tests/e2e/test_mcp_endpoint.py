"""The assistants as tools at `/mcp` of a running server, as MCP clients use them."""

import asyncio
import json
from typing import Any

import httpx
import jsonschema
import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph_sdk.client import LangGraphClient

from agent.texts import say
from tests.e2e.server_fixtures import client_fixture, server_fixture
from tests.support.dev_server import DevServer
from tests.support.mcp_client import HEADERS, connected, events, message, said, structured

__all__ = ["client_fixture", "server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
ASSISTANTS = ["agent", "deep_research", "team_answer", "plan_execute"]
"""The cheapest first: a model may take the first tool it sees."""
OWN = {"question", "thread_id", "user_location", "answer_language", "search_since", "search_sites"}


async def test_every_assistant_is_a_tool_that_needs_only_a_question(server: DevServer) -> None:
    async with connected(server.url) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert list(tools) == [*ASSISTANTS, "search", "fetch"]
    del tools["search"], tools["fetch"]
    for tool in tools.values():
        assert tool.outputSchema is not None
        for schema in (tool.inputSchema, tool.outputSchema):
            jsonschema.Draft202012Validator.check_schema(schema)
        assert tool.inputSchema["required"] == ["question"]
        assert "$ref" not in str(tool.inputSchema)
        assert len(str(tool.inputSchema)) < 2000
        assert "sources" in str(tool.description) or "cited" in str(tool.description)
        assert "last message" not in str(tool.description)
    taken = {name: set(tool.inputSchema["properties"]) - OWN for name, tool in tools.items()}
    assert taken == {
        "agent": {"collections", "initial_search_query_count", "max_research_loops", "outing"},
        "deep_research": {"collections"},
        "team_answer": {"collections", "format_requirement"},
        "plan_execute": {"collections"},
    }


async def test_an_answer_comes_as_text_and_as_structure_with_its_progress(
    server: DevServer,
) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, words: str | None) -> None:
        told.append((progress, words))

    async with connected(server.url) as session:
        result = await session.call_tool("agent", {"question": ZH}, progress_callback=hear)
    answer = structured(result)
    assert said(result) == answer["answer"]
    assert "**来源**" in answer["answer"]
    assert [source["number"] for source in answer["sources"]][:2] == [1, 2]
    assert all(f"]({source['url']})" in answer["answer"] for source in answer["sources"])
    assert {"name", "gcj02", "wgs84", "distance_m", "url"} <= set(answer["places"][0])
    assert answer["usage"]["searches"] >= 2
    assert (answer["degraded"], answer["sample"]) == (False, True)
    words = [word for _, word in told]
    assert words[0] == "开始"
    assert any(str(word).startswith("找到") for word in words)
    assert words[-1] == say("progress.events.answering", "zh")
    assert [number for number, _ in told] == sorted({number for number, _ in told})


async def test_without_a_progress_token_and_with_options_two_calls_run_at_once(
    server: DevServer,
) -> None:
    async with connected(server.url, "/mcp/") as session:
        one = {"question": ZH, "initial_search_query_count": 1, "answer_language": "en"}
        first, second = await asyncio.gather(
            session.call_tool("agent", one),
            session.call_tool("team_answer", {"question": EN, "format_requirement": "one word"}),
        )
    assert "**Sources**" in structured(first)["answer"]
    team = structured(second)
    assert team["answered"] == bool(team["final_answer"])
    assert "verified" in team
    assert "final_answer" not in structured(first)


async def test_a_thread_id_asks_a_follow_up_on_a_thread_every_client_sees(
    server: DevServer, client: LangGraphClient
) -> None:
    async with connected(server.url) as session:
        thread = structured(await session.call_tool("agent", {"question": EN}))["thread_id"]
        again = {"question": "What is WebRTC?", "thread_id": thread}
        assert structured(await session.call_tool("agent", again))["thread_id"] == thread
    values: Any = (await client.threads.get_state(thread))["values"]
    assert [said["type"] for said in values["messages"]] == ["human", "ai"] * 2
    runs = await client.runs.list(thread)
    assert [run["status"] for run in runs] == ["success", "success"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "Question is missing"),
        ({"question": " \u200b"}, "Question is empty"),
        ({"question": "长" * 20_001}, "Question is longer than 20000"),
        ({"question": EN, "max_research_loops": 99}, "max_research_loops: 99"),
        ({"question": EN, "user_location": {"lng": 116.4}}, "user_location: 'lat'"),
        ({"question": EN, "collections": ["a"]}, "collections: There is no 'a'"),
        ({"question": EN, "review_plan": True}, "review_plan: A tool cannot wait"),
        ({"question": EN, "thread_id": "../runs"}, "thread_id must be"),
        ({"question": EN, "thread_id": "5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"}, "thread_id: There"),
    ],
)
async def test_what_cannot_be_used_is_one_line_that_names_it(
    server: DevServer, given: dict[str, Any], named: str
) -> None:
    body = message("tools/call", 0, name="agent", arguments=given)
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
        (reply,) = events(await http.post("/mcp", json=body, headers=HEADERS))
    assert reply["result"]["isError"]
    (block,) = reply["result"]["content"]
    assert block["text"].startswith(named)
    assert "\n" not in block["text"]


async def test_an_unknown_tool_and_a_failing_run_are_errors_in_one_line(
    server: DevServer, client: LangGraphClient
) -> None:
    context: Any = {"answer_model": "nobody:x"}
    made = await client.assistants.create("agent", name="No 人 body", context=context)
    async with connected(server.url) as session:
        unknown = await session.call_tool("nothing", {"question": EN})
        failing = await session.call_tool("Nobody", {"question": EN})
    await client.assistants.delete(made["assistant_id"])
    assert unknown.isError
    assert "known: agent" in said(unknown)
    assert failing.isError
    assert "answer_model" in said(failing)
    assert "\n" not in said(failing)


async def test_search_and_fetch_have_the_shape_that_chatgpt_s_connectors_expect(
    server: DevServer,
) -> None:
    async with connected(server.url) as session:
        found = await session.call_tool("search", {"query": EN})
        results = structured(found)["results"]
        assert json.loads(said(found)) == structured(found)
        fetched = await session.call_tool("fetch", {"id": results[0]["id"]})
    assert all(result["id"] and result["title"] and result["url"] for result in results)
    page = structured(fetched)
    assert json.loads(said(fetched)) == page
    assert list(page) == ["id", "title", "text", "url", "metadata"]
    assert "sodium" in page["text"].lower()


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("search", {}, "query: Field required"),
        ("search", {"query": " \u200b"}, "Query is empty"),
        ("search", {"query": "长" * 501}, "query: String should have at most"),
        ("search", {"query": EN, "limit": 9}, "limit: Extra inputs"),
        ("fetch", {"id": "file:///etc/passwd"}, "Id must be the id of a result"),
        ("fetch", {"id": "document:nothing"}, "id: There is no such document"),
        ("fetch", {"id": "http://127.0.0.1/ok"}, "127.0.0.1"),
        ("fetch", {"id": "http://169.254.169.254/latest"}, "169.254.169.254"),
    ],
)
async def test_what_search_and_fetch_cannot_use_is_one_line(
    server: DevServer, tool: str, given: dict[str, Any], named: str
) -> None:
    async with connected(server.url) as session:
        result = await session.call_tool(tool, given)
    assert result.isError
    assert named in said(result)
    assert "\n" not in said(result)


async def test_a_new_assistant_appears_by_itself_and_keeps_the_old_names(
    server: DevServer, client: LangGraphClient
) -> None:
    english: Any = {"answer_language": "en"}
    named = [("Brief", "In English."), ("agent", None)]
    made = [
        await client.assistants.create("agent", name=name, description=told, context=english)
        for name, told in named
    ]
    async with connected(server.url) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        answer = structured(await session.call_tool("Brief", {"question": ZH}))
    for assistant in made:
        await client.assistants.delete(assistant["assistant_id"])
    assert set(tools) == {*ASSISTANTS, "search", "fetch", "Brief"} | {
        f"agent-{made[1]['assistant_id'][:8]}"
    }
    assert tools["Brief"].description == "In English."
    assert "places" in str(tools["agent"].description)
    assert "**Sources**" in answer["answer"]


async def test_a_client_without_a_handshake_is_answered_at_both_addresses(
    server: DevServer,
) -> None:
    params: dict[str, Any] = {"name": "agent", "arguments": {"question": EN}}
    body = message("tools/call", 0, **params, _meta={"progressToken": 0})
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
        for path in ("/mcp", "/mcp/"):
            assert (await http.get(path, headers=HEADERS)).status_code == 405
        reply = await http.post("/mcp/", json=body, headers=HEADERS)
        large = await http.post("/mcp", content=b" " * 300_000, headers=HEADERS)
        broken = await http.post(
            "/mcp", content=b"{", headers={**HEADERS, "content-type": "application/json"}
        )
    *progress, result = events(reply)
    assert result["result"]["structuredContent"]["sources"]
    assert {told["method"] for told in progress} == {"notifications/progress"}
    assert (large.status_code, broken.status_code) == (413, 400)


async def test_langchain_s_mcp_adapters_call_a_tool(server: DevServer) -> None:
    adapters = MultiServerMCPClient(
        {"tanlu": {"transport": "streamable_http", "url": f"{server.url}/mcp"}}
    )
    tools = {tool.name: tool for tool in await adapters.get_tools()}
    assert list(tools) == [*ASSISTANTS, "search", "fetch"]
    call = {"type": "tool_call", "id": "1", "name": "agent", "args": {"question": ZH}}
    reply = await tools["agent"].ainvoke(call)
    assert "**来源**" in str(reply.content)
    assert reply.artifact["structured_content"]["places"]


async def test_nothing_in_it_blocked_the_server_or_failed_in_it(server: DevServer) -> None:
    output = server.output()
    assert "Blocking" not in output
    assert "[agent.server.mcp" not in output
    assert "[mcp." not in output

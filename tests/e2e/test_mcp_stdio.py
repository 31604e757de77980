"""`tanlu mcp`: the assistants as tools of a client that starts a program and speaks stdio."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from agent.assistants.registry import ASSISTANTS
from tests.support import programs
from tests.support.mcp_client import said, structured
from tests.support.programs import clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.node]
EN = "How do sodium-ion batteries work?"


@asynccontextmanager
async def started(folder: Path, *, cold: bool = False) -> AsyncIterator[ClientSession]:
    """The official client with `tanlu mcp` as its program; `cold` as for a person."""
    environment = clean_environment(TANLU_DATA_DIR=str(folder / "data"))
    argv = ["-m", "agent", "mcp"]
    command, *args = [sys.executable, *argv] if cold else programs.forked(*argv)
    program = StdioServerParameters(command=command, args=args, env=environment, cwd=folder)
    with (folder / "errors").open("w") as errors:
        async with (
            stdio_client(program, errlog=errors) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


async def test_the_assistants_answer_over_stdio_and_follow_up(tmp_path: Path) -> None:
    words: list[str | None] = []

    async def hear(progress: float, total: float | None, line: str | None) -> None:
        words.append(line)

    async with started(tmp_path, cold=True) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {*ASSISTANTS, "search", "fetch"}
        for name in ASSISTANTS:
            assert tools[name].inputSchema["required"] == ["question"]
        found = structured(await session.call_tool("search", {"query": EN}))["results"]
        page = structured(await session.call_tool("fetch", {"id": found[0]["id"]}))
        assert (page["id"], bool(page["text"])) == (found[0]["id"], True)
        assert "max_research_loops" in tools["agent"].inputSchema["properties"]
        result = await session.call_tool(
            "agent", {"question": EN, "max_research_loops": 1}, progress_callback=hear
        )
        answer = structured(result)
        assert said(result) == answer["answer"]
        assert answer["sources"]
        assert answer["sample"] is True
        assert len(words) > 2
        follow_up = {"question": "And what do they cost?", "thread_id": answer["thread_id"]}
        again = structured(await session.call_tool("agent", follow_up))
        assert again["thread_id"] == answer["thread_id"]
    assert "Traceback" not in (tmp_path / "errors").read_text("utf-8")


async def test_a_wrong_call_is_answered_in_one_line(tmp_path: Path) -> None:
    async with started(tmp_path) as session:
        unknown = await session.call_tool("oracle", {"question": EN})
        absent = "00000000-0000-4000-8000-000000000007"
        no_thread = await session.call_tool("agent", {"question": EN, "thread_id": absent})
        empty = await session.call_tool("agent", {"question": " "})
    assert said(unknown).startswith("There is no tool 'oracle'; known: agent")
    assert said(no_thread) == "thread_id: There is no such thread."
    assert said(empty) == "Question is empty."
    assert unknown.isError
    assert no_thread.isError
    assert empty.isError


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_every_request_has_an_answer(tmp_path: Path, version: str) -> None:
    environment = clean_environment(TANLU_DATA_DIR=str(tmp_path / "data"))
    call = {"jsonrpc": "2.0", "method": "tools/call"}
    hello = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    half = {"name": "oracle", "arguments": {"question": "\ud83d"}}
    sent = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {**call, "id": 1, "params": []},
        {**call, "id": 2, "params": half},
        {**call, "id": 3, "params": None},
        {**call, "id": 4, "method": "no/such"},
        {**call, "id": "five", "params": 5},
    ]
    program = await asyncio.create_subprocess_exec(
        *programs.forked("-m", "agent", "mcp"), env=environment, cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("".join(f"{json.dumps(line)}\n" for line in sent).encode())
    answers = [json.loads(await program.stdout.readline()) for _ in range(6)]
    program.stdin.close()
    await program.wait()
    assert {answer["id"] for answer in answers} == {0, 1, 2, 3, 4, "five"}
    [greeting] = [answer for answer in answers if answer["id"] == 0]
    assert greeting["result"]["protocolVersion"] == version

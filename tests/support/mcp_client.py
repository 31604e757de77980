"""Clients of our `/mcp`: the official Python one, and plain HTTP for what it hides."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, TextContent

HEADERS = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def connected(url: str, path: str = "/mcp", *, key: str = "") -> AsyncIterator[ClientSession]:
    """The official client after its handshake; `key` as a client's settings give it."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(f"{url}{path}", http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def said(result: CallToolResult) -> str:
    """The text of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def structured(result: CallToolResult) -> dict[str, Any]:
    """The structured content of a result that is no error."""
    assert not result.isError, said(result)
    assert result.structuredContent is not None
    return result.structuredContent


def message(method: str, number: int | None = None, **params: Any) -> dict[str, Any]:
    """A JSON-RPC request, or a notification where it has no number."""
    named = {"jsonrpc": "2.0", "method": method, "params": params}
    return named if number is None else {**named, "id": number}


def events(reply: httpx.Response) -> Iterator[dict[str, Any]]:
    """The messages of an event stream that has ended."""
    for line in reply.text.splitlines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))

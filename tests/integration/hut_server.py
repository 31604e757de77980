"""A map server of others: two tools, records and errors of its own; run it as a script.

Its argument may be `extra` (a tool nobody expects), `preface` (words before the JSON), `structured`
(objects beside the text, of a promised form) or `exits` (it ends at its start).
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import mcp.types as protocol
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

PROVIDER = "huts"
HUTS = {
    "h7": {"title": "Upper Hut", "at": [46.55, 8.0], "beds": 40},
    "h9": {"title": "Lower Hut", "at": [46.56, 8.01], "beds": 12},
}
TEXT = {"type": "string"}
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "find_huts",
        "description": "Mountain huts of a valley.",
        "inputSchema": {
            "type": "object", "properties": {"valley": TEXT}, "required": ["valley"],
        },
    },
    {
        "name": "hut_record",
        "description": "One hut by its code.",
        "inputSchema": {"type": "object", "properties": {"code": TEXT}, "required": ["code"]},
    },
)  # fmt: skip


def answer(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply of a tool, or raise this server's own error."""
    if name == "find_huts":
        return {"huts": [{"code": code, **hut} for code, hut in HUTS.items()]}
    code = str(arguments["code"])
    if code not in HUTS:
        raise ValueError(f"E404-HUT {code}")
    return {"hut": {"code": code, **HUTS[code]}}


def hut_server(kind: str) -> Server[Any]:
    server: Server[Any] = Server("huts")
    extra = [{**TOOLS[0], "name": "burn_hut"}] if kind == "extra" else []
    form = {"outputSchema": {"type": "object"}} if kind == "structured" else {}

    @server.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def list_tools() -> list[protocol.Tool]:
        return [protocol.Tool(**tool, **form) for tool in (*TOOLS, *extra)]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        reply = answer(name, arguments)
        if kind == "structured":
            return [protocol.TextContent(type="text", text="huts, see beside")], reply
        preface = "Wardens write {what} they like:\n" if kind == "preface" else ""
        return [protocol.TextContent(type="text", text=f"{preface}{json.dumps(reply)}")]

    return server


async def main(kind: str) -> None:
    server = hut_server(kind)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "exits":
        sys.exit("the huts are closed")
    asyncio.run(main(sys.argv[1]))

"""Speak MCP over standard input and output so that every request has an answer.

The SDK drops a line that is no message of its types, such as one whose params are a list: its
client would wait for ever.
"""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, JSONRPCMessage

from agent.core.outside import parse_json

LONGEST_LINE = 4 << 20
"""Bytes of one message; a question has at most 20,000 characters."""


class RefusedLine(Exception):
    """Signal a line that is no request: the answer to it."""

    def __init__(self, id: str | int | None, code: int, problem: str) -> None:
        error = {"code": code, "message": problem}
        super().__init__(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}))


def message_of(line: bytes) -> str:
    """Return a line's message in valid text; raise Refused for one that the SDK would drop."""
    try:
        sent = parse_json(line.decode("utf-8", "replace"))
    except ValueError:
        raise RefusedLine(None, PARSE_ERROR, "the line is no JSON, or nested too deeply") from None
    if not isinstance(sent, dict):
        raise RefusedLine(None, INVALID_REQUEST, "a message is one JSON object")
    id = sent.get("id")
    if "id" in sent and "method" in sent and type(id) not in (str, int):
        raise RefusedLine(None, INVALID_REQUEST, "the id of a request is a text or a whole number")
    if not isinstance(sent.get("params"), dict | None):
        raise RefusedLine(id, INVALID_PARAMS, "params must be an object")
    message = json.dumps(sent)
    try:
        JSONRPCMessage.model_validate_json(message)
    except ValueError:
        raise RefusedLine(id, INVALID_REQUEST, "this is no message of JSON-RPC 2.0") from None
    return message


class AnsweredLines:
    """Iterate over the messages of a stream; what is none is answered here."""

    def __init__(self, stdin: BinaryIO, stdout: "anyio.AsyncFile[str]") -> None:
        self._stdin, self._stdout = stdin, stdout

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._next():
            if not line.strip():
                continue
            try:
                yield message_of(await self._whole(line))
            except RefusedLine as answer:
                await self._stdout.write(f"{answer}\n")
                await self._stdout.flush()

    async def _next(self) -> bytes:
        return await anyio.to_thread.run_sync(self._stdin.readline, LONGEST_LINE)

    async def _whole(self, line: bytes) -> bytes:
        """Return the line; of one that is too long read the rest, and raise Refused."""
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            return line
        while (rest := await self._next()) and not rest.endswith(b"\n"):
            pass
        raise RefusedLine(None, INVALID_REQUEST, f"a message has at most {LONGEST_LINE} bytes")


@asynccontextmanager
async def answering_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """Yield the SDK's streams of messages from and to the client."""
    stdout = anyio.wrap_file(TextIOWrapper(sys.stdout.buffer, encoding="utf-8"))
    lines = cast("anyio.AsyncFile[str]", AnsweredLines(sys.stdin.buffer, stdout))
    async with stdio_server(lines, stdout) as streams:
        yield streams

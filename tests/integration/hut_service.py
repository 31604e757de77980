"""Serve an MCP server over streamable HTTP on loopback, for whoever has the key."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from tests.integration.hut_server import hut_server


def hut_address(key: str, asked: list[str]) -> contextlib.AbstractContextManager[str]:
    """Yield the address of the huts; the methods of requests go to `asked`."""

    def has_key(scope: Scope) -> bool:
        asked.append(scope["method"])
        return dict(scope["headers"]).get(b"x-key", b"").decode() == key

    return mcp_address(hut_server("structured"), has_key)


@contextlib.contextmanager
def mcp_address(served: Server[Any], may_ask: Callable[[Scope], bool]) -> Iterator[str]:
    """Yield the address of a server; a request that may not ask is answered with 401."""
    manager = StreamableHTTPSessionManager(served, json_response=True)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if not may_ask(scope):
            await PlainTextResponse("no", 401)(scope, receive, send)
        else:
            await manager.handle_request(scope, receive, send)

    app = Starlette(routes=[Mount("/mcp", app=answer)], lifespan=lambda app: manager.run())
    config = uvicorn.Config(app, log_level="error", ws="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp/"
        finally:
            server.should_exit = True
            thread.join(30)

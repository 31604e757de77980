"""A server behind our guard that says what came through, and requests as browsers send them."""

import asyncio
from collections.abc import Iterable
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from agent.server.auth.guard import RateLimit, RequestGuard

STUDIO = "https://smith.langchain.com"
KEY = "anna-0123456789abcdef"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


async def _came(request: Request) -> Response:
    return PlainTextResponse(f"{request.method} {len(await request.body())}")


async def _talked(socket: WebSocket) -> None:
    await socket.accept()
    async for said in socket.iter_text():
        await socket.send_text(f"heard {len(said)}")


def server(rate_limit: RateLimit | None = None) -> Starlette:
    """Anything goes behind the guard, as in `langgraph dev`: CORS for all, every path."""
    return Starlette(
        routes=[
            WebSocketRoute("/threads/{id}/stream/events", _talked),
            Route("/{path:path}", _came, methods=METHODS),
        ],
        middleware=[
            Middleware(RequestGuard, rate_limit=rate_limit),
            Middleware(CORSMiddleware, allow_origins=["*"], allow_private_network=True),
        ],
    )


async def ask(
    method: str = "GET",
    path: str = "/threads",
    *,
    headers: dict[str, str] | None = None,
    peer: tuple[str, int] | None = ("127.0.0.1", 50000),
    body: bytes = b"",
    root_path: str = "",
    rate_limit: RateLimit | None = None,
) -> httpx.Response:
    """One request to a server with the guard, as uvicorn gives it on: it believes what proxies on
    its own machine say of the peer. `host` is localhost:2024 unless it is given."""
    served: Any = ProxyHeadersMiddleware(server(rate_limit))  # type: ignore[arg-type]
    transport = httpx.ASGITransport(served, client=peer, root_path=root_path)  # type: ignore[arg-type]
    named = {"host": "localhost:2024", **(headers or {})}
    async with httpx.AsyncClient(transport=transport) as http:
        address = f"http://localhost:2024{path}"
        return await http.request(method, address, headers=named, content=body)


async def raw(
    scope: dict[str, Any],
    headers: Iterable[tuple[bytes, bytes]],
    parts: Iterable[bytes] = (),
    *,
    rate_limit: RateLimit | None = None,
    stalls: bool = False,
) -> list[Message]:
    """What no client library sends: headers twice or not at all, web sockets, endless bodies, and
    those that stop before their end."""
    parts = list(parts)
    waiting: list[dict[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": True} for part in parts
    ]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})
    if scope["type"] == "websocket":
        said = [{"type": "websocket.receive", "text": part.decode()} for part in parts]
        waiting = [
            {"type": "websocket.connect"},
            *said,
            {"type": "websocket.disconnect", "code": 1000},
        ]
    sent: list[Message] = []

    async def receive() -> Message:
        if stalls and len(waiting) == 1:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    full = {
        "method": "GET", "path": "/threads", "raw_path": b"/threads", "query_string": b"",
        "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1), "headers": list(headers),
        "server": ("localhost", 2024), "subprotocols": [], "http_version": "1.1",
        "asgi": {"version": "3.0"}, **scope,
    }  # fmt: skip
    await server(rate_limit)(full, receive, send)
    return sent

"""The page's routes without a server or a guard around them, and what they all answer with."""

import httpx
from starlette.applications import Starlette

from agent.server.page_routes import page_routes

KEY = "k-alice-0123456789"


def page_client(peer: str = "127.0.0.1", url: str = "http://127.0.0.1:2024") -> httpx.AsyncClient:
    """A client of new routes; `peer` is who it seems to be."""
    transport = httpx.ASGITransport(Starlette(routes=page_routes()), client=(peer, 50000))
    return httpx.AsyncClient(transport=transport, base_url=url)


def directives(response: httpx.Response) -> dict[str, list[str]]:
    """A response's Content-Security-Policy."""
    parts = response.headers["content-security-policy"].split(";")
    words = [part.split() for part in parts]
    return {word[0]: word[1:] for word in words if word}

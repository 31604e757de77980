"""Read the bodies of requests, and set the headers of what is served.

A text of JavaScript may end with half an emoji, as `\\ud83d`, for which the server would refuse the
whole request. The headers under `/app` say what the page may load, and who may frame it.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.core.errors import InputError
from agent.core.outside import parse_json
from agent.core.strings import as_sentence
from agent.mcp.servers import PHOTO_HOSTS
from agent.server.base_map import Tiles

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>u[dD][89a-fA-F]\w\w)|.)", re.DOTALL
)


class ReplaceHalfCharacters:
    """Replace half characters in JSON bodies by U+FFFD, at the same length; ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "GET" and _may_be_json(scope):
            receive = replay(_whole(await read_body(receive)), receive)
        await self._app(scope, receive, send)


def _may_be_json(scope: Scope) -> bool:
    kind = Headers(scope=scope).get("content-type", "json")
    return "json" in kind


def _whole(body: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["half"] else match[0], body)


async def read_body(receive: Receive) -> bytes:
    """Return a request's whole body."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body anew that was read, and then what comes after it."""
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again


_BODY_SECONDS = 10.0


class NotRead(Exception):
    """Signal that the body is too large, or takes too long."""


async def limited_body(request: Request, most: int, seconds: float = _BODY_SECONDS) -> bytes:
    """Return the body; raise NotRead if it is longer than `most` bytes or not there in time."""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise NotRead
    except TimeoutError:
        raise NotRead from None
    return bytes(body)


async def json_body(request: Request, kilobytes: int, *, usual: bytes = b"") -> Any:
    """Return what a body of JSON holds; `usual` where it is empty. Raises InputError."""
    try:
        raw = await limited_body(request, kilobytes * 1024)
        return parse_json(raw if raw.strip() else usual)
    except (NotRead, ValueError, ClientDisconnect):
        raise InputError("body", f"must be JSON of at most {kilobytes} kB") from None


REPORTS = "app/csp-report"
"""Where browsers tell what the policy stopped, seen from the page."""
_SECURITY = {
    "X-Content-Type-Options": "nosniff",
    # Nothing to others. `no-referrer` would make browsers send `Origin: null` with reports, and
    # whoever sends that is refused.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(self), camera=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SUGGESTIONS = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src https: data:; frame-ancestors 'self'"
)


def page_policy(tiles: Tiles | None, *, photos: bool) -> str:
    """Return the page's Content-Security-Policy: its own files, and images switched on.

    `tiles` is the base map, None where a grid is drawn.
    """
    hosts = tiles["hosts"] if tiles else []
    drawn = [] if tiles and tiles["kind"] == "vector" else hosts
    photographed = [f"https://{host}" for host in PHOTO_HOSTS] if photos else []
    images = " ".join(("'self'", "data:", *drawn, *photographed))
    # Vector tiles are read by the page itself.
    asked = " ".join(("'self'", *(host for host in hosts if host not in drawn)))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
        f"connect-src {asked}; frame-src 'self'; font-src 'self'; base-uri 'none'; "
        f"form-action 'self'; frame-ancestors 'none'; report-uri {REPORTS}"
    )


def security_headers(policy: str = "default-src 'none'; frame-ancestors 'none'") -> dict[str, str]:
    """Return the security headers with this policy; nothing may frame the response."""
    return {**_SECURITY, "Content-Security-Policy": policy, "X-Frame-Options": "DENY"}


def private(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the same for what is somebody's own: nothing keeps a copy."""
    return {**headers, "Cache-Control": "no-store"}


def private_json(
    body: Mapping[str, Any], status: int = 200, more: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a reply that is somebody's own, with the security headers and `more` of them.

    A `detail`, which says why there is no other reply, is a sentence.
    """
    if isinstance(detail := body.get("detail"), str):
        body = {**body, "detail": as_sentence(detail)}
    return JSONResponse(body, status, headers={**private(security_headers()), **(more or {})})


def suggestions_headers() -> dict[str, str]:
    """Return headers for Google's suggestions: a frame without script or origin."""
    framed = {"Content-Security-Policy": _SUGGESTIONS, "X-Frame-Options": "SAMEORIGIN"}
    return private({**_SECURITY, **framed})

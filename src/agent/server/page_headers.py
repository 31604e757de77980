"""Set the headers of everything under `/app`: what the page may load, who may frame it."""

import asyncio
from collections.abc import Mapping

from starlette.requests import Request

from agent.mcp.servers import PHOTO_HOSTS
from agent.server.base_map import Tiles

_SECONDS = 10.0


class NotRead(Exception):
    """Signal that the body is too large, or takes too long."""


async def limited_body(request: Request, most: int, seconds: float = _SECONDS) -> bytes:
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


REPORTS = "/app/csp-report"
"""Where browsers tell what the policy stopped."""
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


def suggestions_headers() -> dict[str, str]:
    """Return headers for Google's suggestions: a frame without script or origin."""
    framed = {"Content-Security-Policy": _SUGGESTIONS, "X-Frame-Options": "SAMEORIGIN"}
    return private({**_SECURITY, **framed})

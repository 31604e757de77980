"""Set the headers of everything under `/app`: what the page may load, who may frame it."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from typing_extensions import TypedDict

from agent.mcp.servers import PHOTO_HOSTS
from agent.settings import Settings


class Tiles(TypedDict):
    """Describe a base map of Web Mercator tiles whose positions are WGS-84."""

    url: str
    """A template with {z}, {x}, {y}, and {s} for a subdomain."""
    overlays: list[str]
    """Templates drawn above it, as those with the names."""
    subdomains: list[str]
    attribution_zh: str
    attribution_en: str
    attribution_url: str
    """Terms of use, to which the attribution is a link."""
    max_zoom: int
    crs: str
    referrer_policy: str
    """What requests for tiles must carry although the page's own policy sends nothing."""
    hosts: list[str]
    """Origins the tiles come from, as the page's policy names them."""


_OSM: Final = Tiles(
    url="https://tile.openstreetmap.org/{z}/{x}/{y}.png",
    overlays=[],
    subdomains=[],
    attribution_zh="© OpenStreetMap 贡献者",
    attribution_en="© OpenStreetMap contributors",
    attribution_url="https://www.openstreetmap.org/copyright",
    max_zoom=19,
    crs="wgs84",
    # Their tile servers refuse requests that do not say from where.
    referrer_policy="strict-origin-when-cross-origin",
    hosts=["https://tile.openstreetmap.org"],
)
_TIANDITU = (
    "https://t{{s}}.tianditu.gov.cn/{layer}_w/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0"
    "&LAYER={layer}&STYLE=default&TILEMATRIXSET=w&FORMAT=tiles"
    "&TILEMATRIX={{z}}&TILEROW={{y}}&TILECOL={{x}}&tk={key}"
)
_TIANDITU_HOSTS = [str(number) for number in range(8)]


def base_map(settings: Settings) -> tuple[Tiles | None, str]:
    """Return the tiles that MAP_TILES names, or None, and why where they were wanted."""
    if settings.map_tiles == "osm":
        return _OSM, ""
    if settings.map_tiles != "tianditu":
        return None, ""
    if settings.tianditu_key is None:
        return None, "MAP_TILES=tianditu, but TIANDITU_KEY is not set: the page draws a grid"
    return _tianditu(settings.tianditu_key), ""


def _tianditu(key: str) -> Tiles:
    return Tiles(
        url=_TIANDITU.format(layer="vec", key=key),
        overlays=[_TIANDITU.format(layer="cva", key=key)],
        subdomains=_TIANDITU_HOSTS,
        attribution_zh="© 天地图",
        attribution_en="© Tianditu",
        attribution_url="https://www.tianditu.gov.cn",
        max_zoom=18,
        crs="wgs84",
        # Keys for browsers may be bound to the sites they are used on.
        referrer_policy="strict-origin-when-cross-origin",
        hosts=[f"https://t{number}.tianditu.gov.cn" for number in _TIANDITU_HOSTS],
    )


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
    hosts = list(tiles["hosts"]) if tiles else []
    if photos:
        hosts += [f"https://{host}" for host in PHOTO_HOSTS]
    images = " ".join(("'self'", "data:", *hosts))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
        "connect-src 'self'; frame-src 'self'; font-src 'self'; base-uri 'none'; "
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

"""The headers of everything under `/app`: what the page may load, and who may frame it."""

from collections.abc import Mapping

from agent.mcp.places import PHOTO_HOSTS
from agent.serving.page_tiles import Tiles

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
    """The Content-Security-Policy of the page: its own files, and the images that are switched on.

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


def unframed(policy: str = "default-src 'none'; frame-ancestors 'none'") -> dict[str, str]:
    """The security headers with this policy; nothing may show the response in a frame."""
    return {**_SECURITY, "Content-Security-Policy": policy, "X-Frame-Options": "DENY"}


def private(headers: Mapping[str, str]) -> dict[str, str]:
    """The same for what is somebody's own: nothing keeps a copy."""
    return {**headers, "Cache-Control": "no-store"}


def suggestions_headers() -> dict[str, str]:
    """For Google's search suggestions: a frame of the page without script or origin."""
    framed = {"Content-Security-Policy": _SUGGESTIONS, "X-Frame-Options": "SAMEORIGIN"}
    return private({**_SECURITY, **framed})

"""What pages of other origins may read: only those that are listed, never with cookies."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Send

_EXPOSED = "content-location, x-pagination-total, x-pagination-next, mcp-session-id"
_METHODS = "GET, POST, PUT, PATCH, DELETE"
_REMEMBERED_SECONDS = "600"


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a browser asks before it sends what a page of another origin wants to send."""
    asked = "origin" in headers and "access-control-request-method" in headers
    return method == "OPTIONS" and asked


def preflight(origin: str, headers: Headers) -> Response:
    """The leave a listed origin gets, also to reach from a public page into a private network."""
    given = {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": _METHODS,
        "access-control-max-age": _REMEMBERED_SECONDS,
        "vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Private-Network",
    }
    if asked := headers.get("access-control-request-headers"):
        given["access-control-allow-headers"] = asked
    if headers.get("access-control-request-private-network") == "true":
        given["access-control-allow-private-network"] = "true"
    return Response(status_code=204, headers=given)


def with_cors(origin: str | None, send: Send) -> Send:
    """Puts our word in the place of whatever the server says; `origin` where it is a listed one."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": list(message.get("headers", []))}
            headers = MutableHeaders(raw=message["headers"])
            for name in {name for name in headers if name.startswith("access-control-")}:
                del headers[name]
            headers.add_vary_header("Origin")
            if origin is not None:
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = _EXPOSED
        await send(message)

    return sent

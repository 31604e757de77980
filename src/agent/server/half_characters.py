"""Make JSON readable that a client cut in the middle of a character.

A text of JavaScript may end with half an emoji, as `\\ud83d`; the server would refuse the whole
request for it.
"""

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

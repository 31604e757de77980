"""Reading a body that anybody may send, without believing how long it is or how soon it comes."""

import asyncio

from starlette.requests import Request

_SECONDS = 10.0


class NotRead(Exception):
    """The body is too large, or takes too long."""


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

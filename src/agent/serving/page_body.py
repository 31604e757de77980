"""Reading a request's body without believing how long it is."""

from starlette.requests import Request


class TooLarge(Exception):
    """More came than is read."""


async def limited_body(request: Request, most: int) -> bytes:
    """The body; raises TooLarge as soon as it is longer than `most` bytes."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise TooLarge
    return bytes(body)

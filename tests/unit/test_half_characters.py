"""What the server reads of a body that its client cut in the middle of a character."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.server.http import ReplaceHalfCharacters

HALVES = {
    rb"half \ud83d of it": rb"half \ufffd of it",
    rb"\uDE00\ud83d": rb"\ufffd\ufffd",
    rb"whole \ud83d\uDE00 \u4e00\n": rb"whole \ud83d\uDE00 \u4e00\n",
    rb"no escape \\ud83d": rb"no escape \\ud83d",
}


async def echoed(body: bytes, **headers: str) -> bytes:
    """What an application behind the middleware reads."""

    async def echo(request: Request) -> Response:
        read = await request.body()
        assert int(request.headers["content-length"]) == len(read)
        return Response(read)

    app = Starlette(
        routes=[Route("/threads/t/runs", echo, methods=["POST"])],
        middleware=[Middleware(ReplaceHalfCharacters)],
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return (await client.post("/threads/t/runs", content=body, headers=headers)).content


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json; charset=utf-8"}])
@pytest.mark.parametrize("text", HALVES)
async def test_half_a_character_in_a_request_is_replaced_before_the_server_reads_it(
    text: bytes, headers: dict[str, str]
) -> None:
    body = b'{"input": {"messages": "' + text + b'"}}'
    assert await echoed(body, **headers) == b'{"input": {"messages": "' + HALVES[text] + b'"}}'


@pytest.mark.parametrize("body", [b"", b"{not json", b"[" * 50_000])
async def test_a_body_that_is_no_request_is_the_server_s_to_refuse(body: bytes) -> None:
    assert await echoed(body) == body


async def test_what_is_no_json_passes_as_it_is() -> None:
    form = rb"key=\ud83d"
    assert await echoed(form, **{"content-type": "application/x-www-form-urlencoded"}) == form

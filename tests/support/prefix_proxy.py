"""A proxy that takes a prefix off, as nginx's `location /tanlu/ { proxy_pass …/; }` does."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web

from tests.support.served import serve_in_thread

PREFIX = "/tanlu"
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}


@contextmanager
def below_prefix(upstream: str) -> Iterator[str]:
    """Yield the address below which the server is; anything beside the prefix is not found."""
    app = web.Application(client_max_size=1 << 26)
    session: list[aiohttp.ClientSession] = []

    async def opened(_: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(auto_decompress=True) as made:
            session.append(made)
            yield

    async def passed_on(request: web.Request) -> web.StreamResponse:
        url = f"{upstream}/{request.match_info['path']}"
        if request.query_string:
            url += f"?{request.query_string}"
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        body = await request.read()
        async with session[0].request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in _HOP]
            response = web.StreamResponse(status=answer.status)
            for name, value in kept:
                response.headers.add(name, value)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    app.cleanup_ctx.append(opened)
    app.router.add_route("*", f"{PREFIX}/{{path:.*}}", passed_on)
    with serve_in_thread(app) as running:
        yield f"{running.url}{PREFIX}"

"""Serve pages that a reader must survive."""

import asyncio
import gzip
import zlib

from aiohttp import web

from agent.sample.services.loopback import Service
from tests.support.standin import Standin

_MEGABYTE = 1 << 20


class StrangePages(Standin, Service):
    """Pages that take too much: bytes, seconds, redirects; `sent` counts the bytes given away."""

    def __init__(self, *, robots: str | None = None) -> None:
        super().__init__("pages")
        self.robots = robots
        self.sent = 0
        self.bodies: dict[str, tuple[str, bytes]] = {}
        """Path → (content type, body) of documents a test puts here."""

        add = self.app.router.add_get
        add("/robots.txt", self._robots)
        add("/big", self._big)
        add("/endless", self._endless)
        add("/slow", self._slow)
        add("/silent", self._silent)
        add("/bomb", self._bomb)
        add("/round/{left}", self._round)
        add("/to/{status}", self._to)
        add("/as/{encoding}", self._encoded)
        add("/{path:.*}", self._page)

    async def _robots(self, request: web.Request) -> web.Response:
        if self.robots is None:
            raise web.HTTPNotFound
        return web.Response(text=self.robots)

    async def _page(self, request: web.Request) -> web.Response:
        if request.path not in self.bodies:
            raise web.HTTPNotFound
        content_type, body = self.bodies[request.path]
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _big(self, request: web.Request) -> web.StreamResponse:
        """200 MB that say so, or with `?quiet` do not."""
        length = {} if "quiet" in request.query else {"Content-Length": str(200 * _MEGABYTE)}
        return await self._pour(request, length, pieces=3200)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        return await self._pour(request, {}, pieces=1 << 30)

    async def _pour(
        self, request: web.Request, headers: dict[str, str], *, pieces: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html", **headers})
        await response.prepare(request)
        piece = b"a" * (64 << 10)
        for _ in range(pieces):
            await response.write(piece)
            self.sent += len(piece)
        return response

    async def _slow(self, request: web.Request) -> web.StreamResponse:
        """One byte a second."""
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while True:
            await response.write(b"a")
            await asyncio.sleep(1)

    async def _silent(self, request: web.Request) -> web.Response:
        await asyncio.sleep(3600)
        return web.Response()

    async def _bomb(self, request: web.Request) -> web.Response:
        """A gigabyte of zeros as one megabyte of gzip; only the checksum at its end is missing."""
        packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
        zeros = bytes(_MEGABYTE)
        # After a full flush a block stands alone: one is packed and repeated, not a thousand.
        first, block = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
        body = first + block * 1023
        headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
        return web.Response(body=body, headers=headers)

    async def _round(self, request: web.Request) -> web.Response:
        left = int(request.match_info["left"])
        if left == 0:
            return web.Response(text="the end", content_type="text/plain")
        raise web.HTTPFound(f"/round/{left - 1}")

    async def _to(self, request: web.Request) -> web.Response:
        """Redirect with the status in the path to `?url=`."""
        headers = {"Location": request.query["url"]}
        return web.Response(status=int(request.match_info["status"]), headers=headers)

    async def _encoded(self, request: web.Request) -> web.Response:
        """A short text in the named Content-Encoding."""
        encoding = request.match_info["encoding"]
        plain = "压缩的文字".encode()
        packed = {
            "gzip": gzip.compress(plain),
            "deflate": zlib.compress(plain),
            "raw": zlib.compress(plain)[2:-4],
            "members": gzip.compress(plain[:6]) + gzip.compress(plain[6:]),
        }.get(encoding, plain)
        sent = {"raw": "deflate", "members": "gzip"}.get(encoding, encoding)
        headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Encoding": sent}
        return web.Response(body=packed, headers=headers)

"""Bodies that cannot grow beyond their limit, however they are compressed."""

import zlib
from collections.abc import AsyncIterator

from agent.errors import MalformedReply, ProviderRefused

_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


class Body:
    """Collects at most `limit` decoded bytes; raises ProviderRefused `too_large` beyond."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in _ENCODINGS:
            raise MalformedReply("reader", "the page is compressed in a way we did not ask for")
        self._plain = self._encoding in ("", "identity")
        self._limit, self._received = limit, 0
        self._inflate = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._decoded = bytearray()

    def add(self, chunk: bytes) -> None:
        """Decode a chunk, never holding more than the limit allows."""
        self._received += len(chunk)
        if self._plain:
            self._decoded += chunk
        else:
            self._unpack(chunk)
        if max(self._received, len(self._decoded)) > self._limit:
            raise too_large(self._limit)

    def whole(self) -> bytes:
        return bytes(self._decoded)

    def _unpack(self, chunk: bytes) -> None:
        while chunk and len(self._decoded) <= self._limit:
            if self._inflate.eof:  # another member follows, or what deflate needs no more
                self._inflate = zlib.decompressobj(_ZLIB_OR_GZIP)
            room = self._limit - len(self._decoded) + 1
            try:
                self._decoded += self._inflate.decompress(chunk, room)
            except zlib.error:
                if self._decoded or self._encoding != "deflate":
                    raise MalformedReply("reader", "the page cannot be decompressed") from None
                # Some servers send deflate without its header.
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                self._encoding = "raw deflate"
                continue
            chunk = self._inflate.unconsumed_tail or self._inflate.unused_data


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """The decoded body of a response; stops at the first byte beyond the limit."""
    body = Body(encoding, limit)
    async for chunk in chunks:
        body.add(chunk)
    return body.whole()


def too_large(limit: int) -> ProviderRefused:
    return ProviderRefused("reader", f"the page is larger than {limit} bytes", code="too_large")

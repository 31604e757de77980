"""What the tests of reading share: strange pages on loopback, a fetcher and a reader for them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import ProviderUnavailable
from agent.reading.extract import ExtractLimits, Extractor
from agent.reading.fetch import Fetcher, FetchLimits, HostLimits
from agent.reading.guard import AddressGuard
from agent.reading.reader import Article, Reader
from tests.support.hostile_urls import answers
from tests.support.served import Running, serve_in_thread
from tests.support.strange_pages import StrangePages


@dataclass(frozen=True)
class Outside:
    """A running server of strange pages that a fetcher may reach."""

    pages: StrangePages
    running: Running

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.running.port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    def asked(self, *, robots: bool = False) -> list[str]:
        """Paths in the order they were asked for."""
        return [r.path for r in self.pages.requests if robots or r.path != "/robots.txt"]

    def fetcher(
        self, *, ports: tuple[int, ...] = (), calls: Calls | None = None, **limits: Any
    ) -> Fetcher:
        """Allowed this server only; `ports` beside 80 and 443 count as a web server's."""
        return Fetcher(
            calls or Calls(),
            FetchLimits(**{"seconds": 60, **limits}),
            guard=AddressGuard(allow=(self.place,), ports=(80, 443, *ports)),
            hosts=HostLimits(at_once=2, rate=0),
        )

    def reader(self, *, calls: Calls | None = None, **limits: Any) -> Reader:
        """Reads this server's pages; the limits are those of extraction."""
        calls = calls or Calls()
        return Reader(calls, self.fetcher(calls=calls), Extractor(ExtractLimits(**limits)))

    def put(self, path: str, body: bytes, content_type: str = "text/html; charset=utf-8") -> str:
        """Serve a document there; its URL."""
        self.pages.bodies[path] = (content_type, body)
        return self.url(path)


@contextmanager
def strange_pages(host: str = "127.0.0.1", port: int = 0) -> Iterator[Outside]:
    pages = StrangePages()
    with serve_in_thread(pages.app, host=host, port=port) as running:
        yield Outside(pages, running)


@pytest.fixture(name="outside")
def outside_fixture() -> Iterator[Outside]:
    with strange_pages() as outside:
        yield outside


@pytest.fixture(name="inside")
def inside_fixture() -> Iterator[Outside]:
    """A server nobody may be led to; every request it gets is a failure."""
    with strange_pages() as inside:
        inside.put("/", b"<p>what only we may see</p>")
        yield inside


@pytest.fixture(name="names")
def names_fixture(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The machine's resolver answers as hostile name servers do; the names asked for."""
    asked: list[str] = []

    def lookup(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(host.decode() if isinstance(host, bytes) else str(host))
        return [
            (socket.AF_INET6 if ":" in text else socket.AF_INET, socket.SOCK_STREAM, 6, "",
             (text, port))
            for text in answers(host)
        ]  # fmt: skip

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return asked


def simple_pdf(pages: int, *, text: str = "Ticket price 40 yuan", title: str = "A guide") -> bytes:
    """A PDF of so many pages with a line of text on each, written by hand."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    kids = b" ".join(b"%d 0 R" % (5 + n) for n in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        *[
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>"
        ]
        * pages,
        b"<< /Title (%s) >>" % title.encode(),
    ]
    return assembled(objects)


def assembled(objects: list[bytes]) -> bytes:
    """Objects with their cross references; the last one is the document's information."""
    written, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    written += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    written += b"trailer << /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        len(objects),
        start,
    )
    return bytes(written)


LICENCE = "https://pages.example/licence"
FILLER = "".join(
    f"第{n}段讲的是别的事情，与许可没有关系，只是一段很长的文字。\n\n" for n in range(300)
)
FAQ = f"{FILLER}许可费用：免费许可最多连接一个执行器。\n\n{FILLER}"
TERMS = "生产环境使用需要付费许可，每年1200美元。"


@dataclass
class LinkedPages:
    """A reader of pages that link to the licence; other addresses do not answer."""

    text: str = FAQ
    links: dict[str, str] = field(default_factory=lambda: {LICENCE: "托管许可"})
    asked: list[str] = field(default_factory=list)

    async def read(self, url: str, *, meter: Meter) -> Article:
        self.asked.append(url)
        if url == LICENCE:
            return Article(url, "托管许可", TERMS, False, "html", url)
        if not url.endswith("0"):
            raise ProviderUnavailable("reader", "no answer", code="timeout")
        return Article(url, "常见问题", self.text, False, "html", url, self.links)

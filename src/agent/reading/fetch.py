"""Fetch a page that somebody else named, with bounds on where to, how much and how long.

A kept connection could be handed to another host on the same address; a new one cannot.

Proxies are not used: a proxy would resolve the name itself and could be led inside. Where only a
proxy reaches the network, pages are not read, and the error says so.
"""

import asyncio
import ssl
import threading
import time
import urllib.request
import zlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

import certifi
import httpx

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy, retry_after_seconds
from agent.core.concurrency import BoundedCache, Pace, SharedSemaphore, SingleFlight
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.hosts import Hosts
from agent.reading.guard import AddressGuard, Target

_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


class Body:
    """Collect at most `limit` decoded bytes; raises ProviderRefused `too_large` beyond."""

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


async def decoded_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Return the decoded body of a response; stops at the first byte beyond the limit."""
    body = Body(encoding, limit)
    async for chunk in chunks:
        body.add(chunk)
    return body.whole()


def too_large(limit: int) -> ProviderRefused:
    return ProviderRefused("reader", f"the page is larger than {limit} bytes", code="too_large")


class NoConnection(ProviderUnavailable):
    """Say that a host takes no connection, and that no proxy is to blame for it."""


CONNECT_SECONDS = 5.0
IDLE_SECONDS = 10.0
_TRIED = 3
"""Addresses of one host that are tried."""


@cache
def authorities() -> ssl.SSLContext:
    """Return the trusted authorities; reading them blocks for tens of milliseconds."""
    return ssl.create_default_context(cafile=certifi.where())


@asynccontextmanager
async def open_response(
    target: Target, headers: Mapping[str, str], context: ssl.SSLContext
) -> AsyncIterator[httpx.Response]:
    """Provide the response to a GET, its body unread and still encoded; raises ProviderError."""
    async with httpx.AsyncHTTPTransport(verify=context, trust_env=False, http1=True) as transport:
        try:
            response = await _first(transport, target, headers)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise _translate(error, target) from None


async def _first(
    transport: httpx.AsyncHTTPTransport, target: Target, headers: Mapping[str, str]
) -> httpx.Response:
    """Return the response of the first address that takes a connection."""
    requests = _requests(target, headers)
    for request in requests[:-1]:
        try:
            return await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return await transport.handle_async_request(requests[-1])


def _requests(target: Target, headers: Mapping[str, str]) -> list[httpx.Request]:
    bases = [target.through] if target.through else [_base(target, a) for a in target.addresses]
    timeout = httpx.Timeout(IDLE_SECONDS, connect=CONNECT_SECONDS).as_dict()
    return [
        httpx.Request(
            "GET",
            base + target.path,
            headers={"Host": target.authority, **headers, "Connection": "close"},
            extensions={"timeout": timeout, "sni_hostname": target.host},
        )
        for base in bases[:_TRIED]
    ]


def _base(target: Target, address: str) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{target.scheme}://{host}:{target.port}"


def _translate(error: httpx.HTTPError, target: Target) -> ProviderError:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        proxies = urllib.request.getproxies()
        if proxies.get(target.scheme) or proxies.get("all"):
            return ProviderUnavailable(
                "reader",
                f"no direct connection to {target.host}; pages are never read through a proxy",
                code="proxy",
            )
        return NoConnection("reader", f"{target.host} takes no connection")
    if isinstance(error, httpx.TimeoutException):
        return ProviderUnavailable("reader", f"{target.host} fell silent", code="timeout")
    if isinstance(error, httpx.RemoteProtocolError):
        return MalformedReply("reader", f"{target.host} does not speak HTTP to the end")
    return ProviderUnavailable(
        "reader", f"the connection to {target.host} broke ({type(error).__name__})"
    )


ROBOTS_BYTES = 512 << 10
_KNOWN = 2000
_SECONDS = 3600.0

AskPage = Callable[[str], Coroutine[None, None, bytes]]
"""URL of a robots.txt → its bytes; raises ProviderError, ProviderRefused where there is none."""


class Robots:
    """Check what sites let this reader read; a site whose rules cannot be had is left alone."""

    def __init__(self, agent: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent = agent
        self._sites: BoundedCache[str, RobotFileParser] = BoundedCache(
            _KNOWN, seconds=_SECONDS, clock=clock
        )
        self._flights = SingleFlight()

    async def check(self, origin: str, path: str, ask: AskPage) -> None:
        """Raise ProviderRefused `page_robots` where the site does not want to be read.

        A site that is down or silent fails here as its page would, with the same errors.
        """
        rules = self._sites.get(origin)
        if rules is None:
            rules = await self._flights.do(origin, lambda: self._learn(origin, ask))
        if not rules.can_fetch(self._agent, origin + path):
            raise ProviderRefused(
                "reader", f"{origin} asks not to be read (robots.txt)", code="page_robots"
            )

    async def _learn(self, origin: str, ask: AskPage) -> RobotFileParser:
        try:
            text = await ask(f"{origin}/robots.txt")
        except (ProviderRefused, RateLimited):
            text = b""
        rules = RobotFileParser()
        rules.parse(text.decode("utf-8-sig", "replace").splitlines())
        self._sites.put(origin, rules)
        return rules


_HOSTS = 1000


class HostLimits:
    """Limit how many pages come from one host at the same time, and how often.

    Counted across threads and event loops: a graph runs on several, and a host sees only their
    sum. Hosts nobody uses are forgotten, the oldest first.
    """

    def __init__(self, *, at_once: int = 2, rate: float = 4, burst: float = 4) -> None:
        self._at_once, self._rate, self._burst = at_once, rate, burst
        self._hosts: OrderedDict[str, tuple[SharedSemaphore, Pace]] = OrderedDict()
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Wait for a place at this host, and for its next moment."""
        semaphore, pace = self._enter(host)
        try:
            async with semaphore:
                await pace.wait()
                yield
        finally:
            with self._lock:
                self._users[host] -= 1

    def _enter(self, host: str) -> tuple[SharedSemaphore, Pace]:
        with self._lock:
            if host not in self._hosts:
                self._forget()
                self._hosts[host] = SharedSemaphore(self._at_once), Pace(self._rate, self._burst)
            self._hosts.move_to_end(host)
            self._users[host] += 1
            return self._hosts[host]

    def _forget(self) -> None:
        if len(self._hosts) < _HOSTS:
            return
        idle = [host for host in self._hosts if not self._users[host]]
        for host in idle[: _HOSTS // 2]:
            del self._hosts[host], self._users[host]


MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_RETRY_AFTER = 5.0
_ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.1"


@dataclass(frozen=True)
class Page:
    """Hold a fetched page: `url` as asked, `final_url` after redirects, `body` decompressed."""

    url: str
    final_url: str
    content_type: str
    body: bytes


@dataclass(frozen=True)
class FetchLimits:
    """Bound one page; seconds do not count waiting for a turn at its host."""

    seconds: float = 20
    max_bytes: int = 8 << 20
    user_agent: str = "tanlu-reader/0.1"
    respect_robots: bool = True


def page_cache(max_bytes: int = 32 << 20) -> BoundedCache[str, Page]:
    """Return a cache of the last used pages by URL, each for ten minutes."""
    return BoundedCache(max_bytes, seconds=600, weigh=lambda page: len(page.body))


class Fetcher:
    """Fetch pages for every run of the process, from any event loop."""

    def __init__(
        self,
        calls: Calls,
        limits: FetchLimits | None = None,
        *,
        guard: AddressGuard | None = None,
        hosts: HostLimits | None = None,
        lookups: Hosts | None = None,
        cache: BoundedCache[str, Page] | None = None,
    ) -> None:
        """Take `lookups`, which are told of hosts that take no connection."""
        self._calls = calls
        self._limits = limits or FetchLimits()
        self._guard = guard or AddressGuard()
        self._hosts = hosts or HostLimits()
        self._lookups = lookups or Hosts(0)
        self._cache = cache or page_cache()
        self._robots = Robots(self._limits.user_agent)

    async def get(self, url: str, *, meter: Meter, kinds: Collection[str] | None = None) -> Page:
        """Return the page behind a URL; `kinds` are the content types worth reading (None: all).

        Raises UnsafeUrl, or ProviderError with code too_large, timeout, proxy, page_refused,
        page_gone, page_robots, page_redirects, page_kind, page_unresolved. The body is not kept in
        the reply cache, which holds texts: `Reader.read` keeps what was taken out of it.
        """
        plain = self._guard.parse(url).url
        if (page := self._cache.get(plain)) is not None:
            return replace(page, url=url)
        clock = _Clock(self._limits.seconds)
        policy = Policy("reader", None, timeout=3600, attempts=2, max_retry_after=_RETRY_AFTER)
        page = await self._calls.call(
            policy, lambda: self._follow(url, clock, frozenset(kinds or ())), meter=meter
        )
        self._cache.put(plain, page)
        return page

    async def _follow(self, url: str, clock: "_Clock", kinds: frozenset[str]) -> Page:
        here = url
        for _ in range(MAX_REDIRECTS + 1):
            async with clock.running():
                target = await self._guard.check(here)
                await self._ask_robots(target)
            async with self._turn(target), clock.running(), self._answer(target) as response:
                if response.status_code not in _REDIRECTS:
                    return await self._page(url, target, response, kinds)
                here = _next(target, response)
        raise ProviderRefused(
            "reader", f"more than {MAX_REDIRECTS} redirects", code="page_redirects"
        )

    async def _page(
        self, url: str, target: Target, response: httpx.Response, kinds: frozenset[str]
    ) -> Page:
        if error := _status_error(target, response):
            raise error
        content_type = response.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        if kinds and kind and kind not in kinds:
            raise ProviderRefused("reader", f"{kind[:80]} is not read", code="page_kind")
        body = await _body(response, self._limits.max_bytes)
        return Page(url, target.url, content_type, body)

    @asynccontextmanager
    async def _turn(self, target: Target) -> AsyncIterator[None]:
        if target.through is not None:  # our own stand-in needs no politeness
            yield
            return
        async with self._hosts.turn(target.host):
            yield

    @asynccontextmanager
    async def _answer(self, target: Target) -> AsyncIterator[httpx.Response]:
        headers = {
            "User-Agent": self._limits.user_agent,
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip, deflate",
        }
        context = await asyncio.to_thread(authorities)
        try:
            async with open_response(target, headers, context) as response:
                self._lookups.answered(target.host)
                yield response
        except NoConnection:
            self._lookups.silent(target.host)
            raise

    async def _ask_robots(self, target: Target) -> None:
        if self._limits.respect_robots:
            await self._robots.check(target.origin, target.path, self._robots_text)

    async def _robots_text(self, url: str) -> bytes:
        here = url
        for _ in range(MAX_REDIRECTS + 1):
            target = await self._guard.check(here)
            async with self._answer(target) as response:
                if response.status_code not in _REDIRECTS:
                    if error := _status_error(target, response):
                        raise error
                    return await _body(response, ROBOTS_BYTES)
                here = _next(target, response)
        raise ProviderRefused("reader", "robots.txt redirects in circles", code="page_redirects")


class _Clock:
    """Count the seconds a page has left, over all its redirects and attempts."""

    def __init__(self, seconds: float) -> None:
        self._total = self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        start = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                yield
        except TimeoutError:
            raise ProviderUnavailable(
                "reader", f"the page took more than {self._total:g} s", code="timeout"
            ) from None
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - start))


async def _body(response: httpx.Response, limit: int) -> bytes:
    length = response.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 19 and int(length) > limit:
        raise too_large(limit)
    encoding = response.headers.get("content-encoding", "")
    return await decoded_body(response.aiter_raw(), encoding, limit)


def _next(target: Target, response: httpx.Response) -> str:
    """Return the target of a redirect, which is checked like any other URL."""
    location = str(response.headers.get("location", "")).strip().replace(" ", "%20")
    if not location:
        raise MalformedReply("reader", f"{target.host} redirects to nowhere")
    try:
        return urljoin(target.url, location)
    except ValueError:
        raise MalformedReply("reader", f"{target.host} redirects to no URL") from None


def _status_error(target: Target, response: httpx.Response) -> ProviderError | None:
    status = response.status_code
    message = f"{target.host} answers with HTTP {status}"
    if status in (200, 203):
        return None
    if status == 429:
        wait = retry_after_seconds(response.headers.get("retry-after"))
        return RateLimited("reader", message, retry_after=wait)
    if status >= 500 or status in (408, 425):
        return ProviderUnavailable("reader", message)
    is_gone = status in (404, 410)
    return ProviderRefused("reader", message, code="page_gone" if is_gone else "page_refused")

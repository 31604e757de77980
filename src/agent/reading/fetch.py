"""Fetching a page that somebody else named: where to, how much and how long are all bounded.

Proxies are not used: a proxy would resolve the name itself and could be led inside. Where only a
proxy reaches the network, pages are not read, and the error says so.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urljoin

import httpx

from agent.budget import Meter
from agent.calls import Calls, Policy
from agent.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.reading.body import read_body, too_large
from agent.reading.connect import answer, authorities
from agent.reading.guard import Guard, Target
from agent.reading.hosts import HostLimits
from agent.reading.kept import KeptPages
from agent.reading.robots import MAX_BYTES as ROBOTS_BYTES
from agent.reading.robots import Robots

MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_RETRY_AFTER = 5.0
_ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.1"


@dataclass(frozen=True)
class Page:
    """What a URL led to. `url` as asked, `final_url` after redirects, `body` decompressed."""

    url: str
    final_url: str
    content_type: str
    body: bytes


@dataclass(frozen=True)
class FetchLimits:
    """Of one page; seconds do not count waiting for a turn at its host."""

    seconds: float = 20
    max_bytes: int = 8 << 20
    user_agent: str = "tanlu-reader/0.1"
    respect_robots: bool = True


class Fetcher:
    """Fetches pages for every run of the process, from any event loop."""

    def __init__(
        self,
        calls: Calls,
        limits: FetchLimits | None = None,
        *,
        guard: Guard | None = None,
        hosts: HostLimits | None = None,
        kept: KeptPages[Page] | None = None,
    ) -> None:
        self._calls = calls
        self._limits = limits or FetchLimits()
        self._guard = guard or Guard()
        self._hosts = hosts or HostLimits()
        self._kept = kept or KeptPages(lambda page: len(page.body))
        self._robots = Robots(self._limits.user_agent)

    async def get(self, url: str, *, meter: Meter, kinds: Collection[str] | None = None) -> Page:
        """The page behind a URL; `kinds` are the content types worth reading (None: all).

        Raises UnsafeUrl, or ProviderError with code too_large, timeout, proxy, page_refused,
        page_gone, page_robots, page_redirects, page_kind, page_unresolved. The body is not kept in
        the journal, which holds texts: `Reader.read` keeps what was taken out of it.
        """
        plain = self._guard.parse(url).url
        if (known := self._kept.get(plain)) is not None:
            return replace(known, url=url)
        clock = _Clock(self._limits.seconds)
        policy = Policy("reader", None, timeout=3600, attempts=2, max_retry_after=_RETRY_AFTER)
        page = await self._calls.call(
            policy, lambda: self._follow(url, clock, frozenset(kinds or ())), meter=meter
        )
        self._kept.keep(plain, page)
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
        async with answer(target, headers, context) as response:
            yield response

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
    """Seconds a page has left, over all its redirects and attempts."""

    def __init__(self, seconds: float) -> None:
        self._total = self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                yield
        except TimeoutError:
            raise ProviderUnavailable(
                "reader", f"the page took more than {self._total:g} s", code="timeout"
            ) from None
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - started))


async def _body(response: httpx.Response, limit: int) -> bytes:
    length = response.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 19 and int(length) > limit:
        raise too_large(limit)
    encoding = response.headers.get("content-encoding", "")
    return await read_body(response.aiter_raw(), encoding, limit)


def _next(target: Target, response: httpx.Response) -> str:
    """Where a redirect leads; it is checked like any other URL before anything goes there."""
    location = str(response.headers.get("location", "")).strip().replace(" ", "%20")
    if not location:
        raise MalformedReply("reader", f"{target.host} redirects to nowhere")
    try:
        return urljoin(target.url, location)
    except ValueError:
        raise MalformedReply("reader", f"{target.host} redirects to no URL") from None


def _status_error(target: Target, response: httpx.Response) -> ProviderError | None:
    status = response.status_code
    said = f"{target.host} answers with HTTP {status}"
    if status in (200, 203):
        return None
    if status == 429:
        seconds = response.headers.get("retry-after", "")
        wait = float(seconds) if seconds.isdecimal() and len(seconds) < 9 else None
        return RateLimited("reader", said, retry_after=wait)
    if status >= 500 or status in (408, 425):
        return ProviderUnavailable("reader", said)
    gone = status in (404, 410)
    return ProviderRefused("reader", said, code="page_gone" if gone else "page_refused")

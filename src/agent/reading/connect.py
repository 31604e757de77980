"""One request to an address that was checked: no proxy, no cookies, no connection kept.

A kept connection could be handed to another host on the same address; a new one cannot.
"""

import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache

import certifi
import httpx

from agent.errors import MalformedReply, ProviderError, ProviderUnavailable
from agent.reading.guard import Target

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 10.0
_TRIED = 3
"""Addresses of one host that are tried."""


@cache
def authorities() -> ssl.SSLContext:
    """The trusted authorities; reading them blocks for tens of milliseconds."""
    return ssl.create_default_context(cafile=certifi.where())


@asynccontextmanager
async def answer(
    target: Target, headers: Mapping[str, str], context: ssl.SSLContext
) -> AsyncIterator[httpx.Response]:
    """The response to a GET, its body unread and still encoded; raises ProviderError."""
    async with httpx.AsyncHTTPTransport(verify=context, trust_env=False, http1=True) as transport:
        try:
            response = await _first(transport, target, headers)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise _translated(error, target) from None


async def _first(
    transport: httpx.AsyncHTTPTransport, target: Target, headers: Mapping[str, str]
) -> httpx.Response:
    """From the first address that takes a connection."""
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


def _translated(error: httpx.HTTPError, target: Target) -> ProviderError:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        proxies = urllib.request.getproxies()
        if proxies.get(target.scheme) or proxies.get("all"):
            return ProviderUnavailable(
                "reader",
                f"no direct connection to {target.host}; pages are never read through a proxy",
                code="proxy",
            )
        return ProviderUnavailable("reader", f"{target.host} takes no connection")
    if isinstance(error, httpx.TimeoutException):
        return ProviderUnavailable("reader", f"{target.host} fell silent", code="timeout")
    if isinstance(error, httpx.RemoteProtocolError):
        return MalformedReply("reader", f"{target.host} does not speak HTTP to the end")
    return ProviderUnavailable(
        "reader", f"the connection to {target.host} broke ({type(error).__name__})"
    )

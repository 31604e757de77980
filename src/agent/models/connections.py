"""Choose proxies and hold connection pools of the model services, one per event loop."""

import asyncio
import ipaddress
import os
import ssl
import urllib.request
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import certifi
import httpx
from google.genai import Client
from google.genai.types import HttpOptions
from pydantic import SecretStr

from agent.core.errors import ConfigurationError
from agent.core.redaction import hide

_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(url: str) -> str | None:
    """Return the proxy's URL from the environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY …), or None.

    Raises ConfigurationError naming the variable for a proxy nothing here can speak to.
    """
    target = urlsplit(url)
    host = target.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    kind = target.scheme if proxies.get(target.scheme) else "all"
    if not (proxy := proxies.get(kind)):
        return None
    return _check_proxy(proxy if "://" in proxy else f"http://{proxy}", f"{kind.upper()}_PROXY")


def _check_proxy(proxy: str, variable: str) -> str:
    parts = urlsplit(proxy)
    hide(parts.password)
    scheme = "socks5" if parts.scheme == "socks" else parts.scheme
    if scheme not in _SCHEMES or not parts.hostname:
        raise ConfigurationError(
            variable, f"a {parts.scheme or '?'} proxy cannot be used (use http://, socks5://)"
        )
    return proxy.replace(f"{parts.scheme}://", f"{scheme}://", 1)


def is_socks(proxy: str | None) -> bool:
    return bool(proxy) and str(proxy).startswith("socks")


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_LINE_BYTES = 4 << 20


@dataclass
class Pool:
    """Hold the client and the connections of one event loop."""

    client: Client
    session: aiohttp.ClientSession | None
    socks: httpx.AsyncClient | None
    models: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Chat models over the client, by their options: making one takes longer than using it."""

    async def aclose(self) -> None:
        self.client.close()
        if self.session:
            await self.session.close()
        if self.socks:
            await self.socks.aclose()

    def drop(self) -> None:
        """Drop the pool without awaiting, for a loop that has ended."""
        self.client.close()
        if self.session:
            connector: Any = self.session.connector
            self.session.detach()
            if connector:
                _free(connector)


def _free(connector: Any) -> None:
    """Close the sockets a connector keeps; its own way needs the loop that has ended."""
    for connections in getattr(connector, "_conns", {}).values():
        for protocol, *_ in connections:
            if (sock := getattr(protocol.transport, "_sock", None)) is not None:
                protocol.transport._sock = None
                sock.close()
    connector._conns = {}


async def open_pool(url: str, key: SecretStr) -> Pool:
    """Open the pool of the running loop; raises ConfigurationError for a proxy of no use."""
    proxy = proxy_for(url)
    context = await asyncio.to_thread(tls)
    socks = _socks_client(str(proxy), context) if is_socks(proxy) else None
    session = None if socks else _session(proxy)
    options = HttpOptions(
        base_url=url,
        api_version="v1beta",
        aiohttp_client=session,
        httpx_async_client=socks,
        # The client's spare httpx transports must not read the proxy variables either.
        client_args={"verify": context, "trust_env": False},
        async_client_args={"verify": context, "ssl": context, "trust_env": False},
    )
    try:
        client = await asyncio.to_thread(
            Client, api_key=key.get_secret_value(), vertexai=False, http_options=options
        )
    except BaseException:
        if session:
            await session.close()
        raise
    return Pool(client, session, socks)


@cache
def tls() -> ssl.SSLContext:
    """Return one TLS context for the process: reading the authorities takes 20 ms of CPU."""
    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE") or certifi.where(),
        capath=os.environ.get("SSL_CERT_DIR"),
    )


def _session(proxy: str | None) -> aiohttp.ClientSession:
    """Return a session without a limit (httpx stops at 100), its proxy decided by us."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=300),
        proxy=proxy,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_LINE_BYTES,
    )


def _socks_client(proxy: str, context: ssl.SSLContext) -> httpx.AsyncClient:
    """Return an httpx client for a SOCKS proxy, which aiohttp cannot speak."""
    try:
        return httpx.AsyncClient(
            proxy=proxy,
            verify=context,
            trust_env=False,
            timeout=httpx.Timeout(None, connect=10),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        )
    except (ImportError, ValueError) as error:
        raise ConfigurationError("HTTPS_PROXY", "this SOCKS proxy cannot be used") from error

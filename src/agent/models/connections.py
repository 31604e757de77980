"""Hold connection pools of the model services, one per event loop."""

import asyncio
import os
import ssl
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import aiohttp
import certifi
import httpx
from google.genai import Client
from google.genai.types import HttpOptions
from pydantic import SecretStr

from agent.core.errors import ConfigurationError
from agent.core.proxies import is_socks, proxy_for

_LINE_BYTES = 4 << 20


@dataclass
class ClientPool:
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


async def open_pool(url: str, key: SecretStr) -> ClientPool:
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
    return ClientPool(client, session, socks)


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
        raise ConfigurationError("HTTPS_PROXY", "This SOCKS proxy cannot be used") from error

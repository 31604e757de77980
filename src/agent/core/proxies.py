"""Choose the proxy of an address, for every client alike, from the environment's variables.

`socks://` (as desktops and Clash write it) is socks5, a value without a scheme is http, and blanks
around a value do not count.
"""

import ipaddress
import os
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import httpx

from agent.core.errors import ConfigurationError
from agent.core.redaction import hide

_SCHEMES = ("http", "https", "socks5", "socks5h")
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def proxy_for(url: str) -> str | None:
    """Return the proxy's URL from the environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY …), or None.

    Raises ConfigurationError naming the variable for a proxy nothing here can speak to.
    """
    target = urlsplit(url)
    host = target.hostname or ""
    if is_this_machine(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = {kind: value.strip() for kind, value in urllib.request.getproxies().items()}
    kind = target.scheme if proxies.get(target.scheme) else "all"
    return _usable(proxies[kind], f"{kind.upper()}_PROXY") if proxies.get(kind) else None


def proxy_environment() -> dict[str, str]:
    """Return the proxy variables for a process that we start, in the spelling all programs know.

    Raises ConfigurationError naming the variable.
    """
    environment = {}
    for name in (*_VARIABLES, *map(str.lower, _VARIABLES)):
        if value := os.environ.get(name, "").strip():
            environment[name] = _usable(value, name.upper())
    exceptions = {n: os.environ[n].strip() for n in ("NO_PROXY", "no_proxy") if os.environ.get(n)}
    return environment | exceptions


def _usable(value: str, variable: str) -> str:
    proxy = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(proxy)
        is_address = parts.hostname and (parts.port or True) and not any(map(str.isspace, proxy))
    except ValueError:
        raise ConfigurationError(variable, "is no address of a proxy") from None
    hide(parts.password)
    scheme = "socks5" if parts.scheme == "socks" else parts.scheme
    if scheme not in _SCHEMES:
        raise ConfigurationError(
            variable, f"A {parts.scheme or '?'} proxy cannot be used (use http://, socks5://)"
        )
    if not is_address:
        raise ConfigurationError(variable, "is no address of a proxy")
    return f"{scheme}{proxy[proxy.index('://') :]}"


def is_socks(proxy: str | None) -> bool:
    return bool(proxy) and str(proxy).startswith("socks")


def is_this_machine(host: str) -> bool:
    """Tell whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ProxiedTransport(httpx.AsyncBaseTransport):
    """Send each request through the proxy of its address, or directly."""

    def __init__(self, **options: Any) -> None:
        """Take the options of httpx.AsyncHTTPTransport."""
        self._options = options
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        proxy = proxy_for(str(request.url))
        if proxy not in self._transports:
            self._transports[proxy] = httpx.AsyncHTTPTransport(proxy=proxy, **self._options)
        return await self._transports[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()


def is_in_own_network(url: str) -> bool:
    """Tell whether a service runs on this machine or in its network: one model, few at a time."""
    host = urlsplit(url).hostname or ""
    if is_this_machine(host) or host.endswith((".local", ".lan", ".internal")) or "." not in host:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False

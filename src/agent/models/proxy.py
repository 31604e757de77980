"""Which proxy a service is reached through. Loopback is never proxied."""

import ipaddress
import urllib.request
from urllib.parse import urlsplit

from agent.errors import ConfigurationError
from agent.redaction import hide

_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(url: str) -> str | None:
    """The proxy's URL from the environment (HTTPS_PROXY, ALL_PROXY, NO_PROXY …), or None.

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
    return _checked(proxy if "://" in proxy else f"http://{proxy}", f"{kind.upper()}_PROXY")


def _checked(proxy: str, variable: str) -> str:
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
    """Whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""Check which URLs may be fetched: public hosts only, however a URL or name server disguises it.

IPv6 is the one block of public unicast minus its special parts; every form that carries an IPv4
address (mapped, compatible, NAT64, 6to4, Teredo) is outside it or taken out.

The parts that were checked are the parts that are connected to: a URL is taken apart once, its name
is resolved once, and the connection goes to the address that was looked at.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

import idna

from agent.core.errors import ProviderUnavailable, UnsafeUrl
from agent.core.hosts import Hosts

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # Clouds answer their own machines here, on addresses that look public.
        "168.63.129.16/32", "100.100.100.200/32",
    )
)  # fmt: skip
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(net)
    for net in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_SPELLED = re.compile(r"(?<![0-9])(?=([0-9]{1,3}([.-])(?:[0-9]{1,3}\2){2}[0-9]{1,3})(?![0-9]))")


def is_public(address: Address) -> bool:
    """Tell whether anyone on the internet could be meant by this address."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in net for net in _NOT_PUBLIC_4)
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    return not any(address in net for net in _NOT_PUBLIC_6)


def literal(host: str) -> Address | None:
    """Return the address a host is written as, in its one plain form; None for a name.

    Raises ValueError for what only looks like a name: `127.1`, `0x7f.1`, `2130706433`, `010.0.0.1`.
    """
    if ":" in host:
        return ipaddress.IPv6Address(host)
    last = host.rsplit(".", 1)[-1]
    if last.isdigit() or last.startswith("0x"):
        return ipaddress.IPv4Address(host)
    return None


def spell_host(host: str) -> list[Address]:
    """Return the IPv4 addresses that a name spells out: `127.0.0.1.nip.io`, `app-10-0-0-1.dev`."""
    addresses: list[Address] = []
    for match in _SPELLED.finditer(host):
        try:
            addresses.append(ipaddress.IPv4Address(match[1].replace("-", ".")))
        except ValueError:
            continue
    return addresses


Resolve = Callable[[str, int], Awaitable[list[str]]]
"""(host, port) → every address its name stands for."""

MAX_URL = 4096
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}")
_INSIDE = (
    "localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa",
    "localdomain", "onion", "test", "example", "invalid",
    # Names that stand for whatever address is written into them, or for this machine.
    "nip.io", "sslip.io", "xip.io", "traefik.me", "localtest.me", "lvh.me",
)  # fmt: skip
_SAFE = "/:?#[]@!$&'()*+,;=%~-._"


@dataclass(frozen=True)
class Target:
    """Hold a checked URL: connect to one of `addresses`, say `host` (ASCII) in TLS and HTTP."""

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, ASCII; never empty."""
    addresses: tuple[str, ...] = ()
    through: str | None = None
    """Another origin that stands in for this host (`http://127.0.0.1:8000`), or None."""

    @property
    def authority(self) -> str:
        """Return the Host header: without the scheme's own port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.path


class AddressGuard:
    """Check URLs; `allow` names exact `host:port` on loopback that tests may reach.

    `origins` sends a host to another origin, for stand-ins: {"sample.invalid": "http://127.0.0.1:1"}.
    """

    def __init__(
        self,
        *,
        allow: Collection[str] = (),
        origins: Mapping[str, str] | None = None,
        ports: Collection[int] = (80, 443),
        resolve: Resolve | None = None,
    ) -> None:
        self._allow = frozenset(allow)
        self._origins = dict(origins or {})
        self._ports = frozenset(ports)
        self._resolve = resolve or Hosts(0).resolve

    def parse(self, url: str) -> Target:
        """Return the URL in its plain form, its text checked; raises UnsafeUrl."""
        parts = _split(url)
        host = _plain_host(parts)
        port = _port(parts)
        # Half a character is none that an address can hold.
        path = quote(parts.path or "/", safe=_SAFE, errors="replace")
        if parts.query:
            path += f"?{quote(parts.query, safe=_SAFE, errors='replace')}"
        target = Target(parts.scheme, host, port, path, through=self._origins.get(host))
        if target.through is None and f"{host}:{port}" not in self._allow:
            self._check_text(target)
        return target

    async def check(self, url: str) -> Target:
        """Return the URL with its addresses; raise UnsafeUrl or ProviderUnavailable."""
        target = self.parse(url)
        if target.through is not None:
            return target
        resolved = await self._addresses(target)
        if f"{target.host}:{target.port}" in self._allow:
            allowed = [address for address in resolved if address.is_loopback or is_public(address)]
        else:
            allowed = [address for address in resolved if is_public(address)]
        if len(allowed) < len(resolved):
            raise UnsafeUrl(f"{target.host} leads to an address that is not public")
        addresses = tuple(str(address) for address in allowed)
        return Target(target.scheme, target.host, target.port, target.path, addresses)

    def _check_text(self, target: Target) -> None:
        if target.port not in self._ports:
            raise UnsafeUrl(f"port {target.port} is not a web server's")
        try:
            address = literal(target.host)
        except ValueError:
            raise UnsafeUrl("the host is an address in a form nobody writes") from None
        if address is not None:
            if not is_public(address):
                raise UnsafeUrl(f"{target.host} is not a public address")
            return
        inside = any(target.host == name or target.host.endswith(f".{name}") for name in _INSIDE)
        if inside or not _NAME.fullmatch(target.host):
            raise UnsafeUrl(f"{target.host} is not a public host name")
        if not all(map(is_public, spell_host(target.host))):
            raise UnsafeUrl(f"{target.host} spells out an address that is not public")

    async def _addresses(self, target: Target) -> list[Address]:
        try:
            if (address := literal(target.host)) is not None:
                return [address]
            texts = await self._resolve(target.host, target.port)
            addresses = [ipaddress.ip_address(text) for text in texts]
        except OSError:
            addresses = []
        except ValueError:
            raise UnsafeUrl(f"{target.host} leads to something that is no address") from None
        if not addresses:
            raise ProviderUnavailable(
                "reader", f"{target.host} cannot be found", code="page_unresolved"
            )
        return addresses


def _is_odd(text: str) -> bool:
    return any(char <= " " or char in "\x7f\\" for char in text)


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL or _is_odd(url):
        raise UnsafeUrl("the URL is too long, or holds spaces, control signs or backslashes")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UnsafeUrl("the URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise UnsafeUrl("only http and https are read")
    if "@" in parts.netloc:
        raise UnsafeUrl("a URL with a user name in it is not read")
    return parts


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        raise UnsafeUrl("the URL's port is no number") from None
    return _PORTS[parts.scheme] if port is None else port


def _plain_host(parts: SplitResult) -> str:
    """Lower case, ASCII (IDNA), full-width signs made plain, no dot at the end."""
    try:
        host = unicodedata.normalize("NFKC", parts.hostname or "").lower().replace("。", ".")
        host = host.removesuffix(".")
        if "[" in parts.netloc and ":" not in host:
            raise UnsafeUrl("what is in brackets is no address")
        if not host or "%" in host or _is_odd(host) or any(sign in host for sign in "/@?#[]"):
            raise UnsafeUrl("the URL has no plain host")
        if host.isascii():
            return host
        return idna.encode(host, uts46=True).decode("ascii")
    except (ValueError, idna.IDNAError):
        raise UnsafeUrl("the URL's host name is not valid") from None

"""Read names of machines as requests and settings write them: `Host`, `Origin`, addresses."""

import ipaddress
import re
from dataclasses import dataclass

from agent.core.strings import split_at

_HOST = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]+))(?::(?P<port>\d{1,5}))?"
)
_OF_FILES = "file://"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True)
class Host:
    """Hold a name in lower case, without a trailing dot, or an address; `port` if written."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port is None else f"{name}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Return whether the name can only mean the machine it is used on."""
        named = self.name == "localhost" or self.name.endswith(".localhost")
        return named or is_loopback(self.name)


@dataclass(frozen=True)
class Origin:
    """Hold scheme and host of a page."""

    scheme: str
    host: Host

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}"

    def is_of(self, host: Host, scheme: str) -> bool:
        """Return whether a page of this origin was served under `host`.

        A proxy may take TLS off, so a page of https may belong to a server that sees http; the
        other way round it was served by somebody else.
        """
        port = _PORTS.get(self.scheme)
        if self.host.name != host.name or (scheme in {"https", "wss"} and self.scheme != "https"):
            return False
        return (self.host.port or port) == (host.port or port)


def parse_host(text: str) -> Host | None:
    """Parse a `Host` header; None where it is no name or address with or without port."""
    match = _HOST.fullmatch(text)
    if not match:
        return None
    port = int(match["port"]) if match["port"] else None
    if match["six"]:
        try:
            return Host(ipaddress.IPv6Address(match["six"]).compressed, port)
        except ValueError:
            return None
    name = match["name"].lower().removesuffix(".")
    return Host(name, port) if name and not name.startswith(".") else None


def parse_origin(text: str) -> Origin | None:
    """Parse an `Origin` header; None for `null` and whatever is not scheme://host[:port].

    A default port is dropped, as browsers do. Programs built on a browser may send `file://`.
    """
    if text == _OF_FILES:
        return Origin("file", Host(""))
    scheme, _, rest = text.partition("://")
    host, letters = parse_host(rest), "".join(split_at(scheme, "+-."))
    if not host or not (scheme[:1].isalpha() and letters.isascii() and letters.isalnum()):
        return None
    scheme = scheme.lower()
    port = None if host.port == _PORTS.get(scheme) else host.port
    return Origin(scheme, Host(host.name, port))


def is_loopback(address: str) -> bool:
    """Return whether an IP address is of this machine only; 0.0.0.0 is not."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback

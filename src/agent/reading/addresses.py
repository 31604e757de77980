"""Which IP addresses belong to the public internet. Written out, so that no Python version differs.

IPv6 is the one block of public unicast minus its special parts; every form that carries an IPv4
address (mapped, compatible, NAT64, 6to4, Teredo) is outside it or taken out.
"""

import ipaddress
import re

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
    """Whether anyone on the internet could be meant by this address."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in net for net in _NOT_PUBLIC_4)
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    return not any(address in net for net in _NOT_PUBLIC_6)


def literal(host: str) -> Address | None:
    """The address a host is written as, in its one plain form; None for a name.

    Raises ValueError for what only looks like a name: `127.1`, `0x7f.1`, `2130706433`, `010.0.0.1`.
    """
    if ":" in host:
        return ipaddress.IPv6Address(host)
    last = host.rsplit(".", 1)[-1]
    if last.isdigit() or last.startswith("0x"):
        return ipaddress.IPv4Address(host)
    return None


def spelled(host: str) -> list[Address]:
    """Return the IPv4 addresses that a name spells out: `127.0.0.1.nip.io`, `app-10-0-0-1.dev`."""
    addresses: list[Address] = []
    for match in _SPELLED.finditer(host):
        try:
            addresses.append(ipaddress.IPv4Address(match[1].replace("-", ".")))
        except ValueError:
            continue
    return addresses

"""Judge the addresses that the names of servers lead to: only public ones, unless the user listed them."""

from __future__ import annotations

import ipaddress

_WITH_IPV4_LAST = tuple(ipaddress.IPv6Network(net) for net in ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96"))
"""Their last 32 bits are an IPv4 address: NAT64 (RFC 6052), IPv4-compatible (RFC 4291), translated (RFC 7915)."""
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215: what it leads to is up to each network."""
_ISATAP = (0x00005EFE, 0x02005EFE)
"""Bits 64 to 95 of an address whose last 32 bits are an IPv4 address (RFC 5214)."""


def named_address(host: str) -> str | None:
    """The address that an entry of the list names literally, with or without a port; None: it is a name."""
    bare = host.rpartition(":")[0] if host.count(":") == 1 or "]:" in host else host
    try:
        return str(ipaddress.ip_address(bare.strip("[]")))
    except ValueError:
        return None


def may_lead(host: str, found: str, allowed: frozenset[str]) -> bool:
    """A listed name may lead to this address."""
    it = _meant(ipaddress.ip_address(found.partition("%")[0]))
    if str(it) in allowed or (it.is_loopback and host.rstrip(".").lower() == "localhost"):
        return True
    is_local = isinstance(it, ipaddress.IPv6Address) and (it.is_site_local or it in _LOCAL_NAT64)
    return it.is_global and not it.is_multicast and not is_local


def _meant(
    it: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for; the address itself where it stands for none."""
    if isinstance(it, ipaddress.IPv4Address):
        return it
    if it.ipv4_mapped is not None:
        return it.ipv4_mapped
    if it.sixtofour is not None:
        return it.sixtofour
    if it.teredo is not None:
        return it.teredo[1]
    is_embedded = any(it in network for network in _WITH_IPV4_LAST) or int(it) >> 32 & 0xFFFFFFFF in _ISATAP
    return ipaddress.IPv4Address(it.packed[-4:]) if is_embedded and int(it) > 1 else it

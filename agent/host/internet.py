"""Check server addresses: a listed host may resolve only to public addresses and to addresses that the user listed."""

from __future__ import annotations

import ipaddress

_WITH_IPV4_LAST = tuple(ipaddress.IPv6Network(net) for net in ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96"))
"""The last 32 bits are an IPv4 address: NAT64 (RFC 6052), IPv4-compatible (RFC 4291), translated (RFC 7915)."""
_OF_PROVIDERS = tuple(
    map(
        ipaddress.ip_network,
        ("168.63.129.16/32", "192.0.0.0/24", "100.64.0.0/10", "192.88.99.0/24", "3fff::/20", "5f00::/16"),
    )
)
"""Addresses that a cloud or a network serves itself although they look public, also in the tables of older Pythons.

The wire server of Azure, which gives credentials to each machine; metadata of Oracle (192.0.0.192) and other protocol
assignments;
shared address space with the metadata of Alibaba (100.100.100.200); relays; documentation; segment routing.
"""
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215: each network defines the meaning of these addresses."""
_ISATAP = (0x00005EFE, 0x02005EFE)
"""Bits 64 to 95 of an address whose last 32 bits are an IPv4 address (RFC 5214)."""


def address_in_entry(host: str) -> str | None:
    """Return the IP address of a host list entry, without its port, or None if the entry is a name."""
    bare = host.rpartition(":")[0] if host.count(":") == 1 or "]:" in host else host
    try:
        return str(ipaddress.ip_address(bare.strip("[]")))
    except ValueError:
        return None


def may_resolve_to(host: str, address: str, allowed: frozenset[str]) -> bool:
    """Return whether a connection to the host may use this resolved address. `allowed`: the listed addresses."""
    it = _effective(ipaddress.ip_address(address.partition("%")[0]))
    if str(it) in allowed or (it.is_loopback and host.rstrip(".").lower() == "localhost"):
        return True
    is_local = isinstance(it, ipaddress.IPv6Address) and (it.is_site_local or it in _LOCAL_NAT64)
    is_local = is_local or any(it in network for network in _OF_PROVIDERS if network.version == it.version)
    return it.is_global and not it.is_multicast and not is_local


def is_this_machine(host: str) -> bool:
    """Return whether what is sent to this host of a URL stays on this machine, so that it may be in plain text."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL may lead to this machine: a loopback address, also one inside another address."""
    name = host.rstrip(".").lower()
    try:
        return name == "localhost" or _effective(ipaddress.ip_address(name)).is_loopback
    except ValueError:
        return False


def _effective(
    it: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address embedded in an IPv6 address, otherwise the address itself."""
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

"""URLs as they are asked for: read by one parser, sent as it wrote them, and never to another host than it saw.

Two parsers that read one text differently are how a list of hosts is passed by (A.22); so what is compared, resolved
and sent is always the serialised form of the URL standard, and hosts are compared whole (A.21).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..protocol import UserError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = re.compile(
    r"((?:/(?!\.|/)[A-Za-z0-9._~!$&'()*+,;=:@-]*)+(?:\?[A-Za-z0-9._~!$&()*+,;=:@/?%-]*)?)(?:#[^\x00-\x20]*)?"
)
"""Most links of a site: of those the library changes nothing, and takes five times as long."""
LONGEST = 8_000
"""Characters of a URL that is asked for (RFC 9110, 4.1 wants servers to take as many)."""


class AddressRefused(ValueError):
    """The text is no URL that may be asked for; says why."""


def address(text: str) -> str:
    """The absolute http(s) URL in its serialised form, without a fragment. Raises AddressRefused."""
    import ada_url

    shown = text if len(text) <= 200 else f"{text[:200]}..."
    if _CONTROL.search(text):
        raise AddressRefused(f"{shown!r} holds a control character")
    if len(text) > LONGEST:
        raise AddressRefused(f"{shown}: a URL of {len(text):,} characters is not asked for")
    try:
        url = ada_url.normalize_url(text)
    except ValueError:  # UnicodeEncodeError is one too
        raise AddressRefused(f"{shown!r} is no valid URL") from None
    if not url.startswith(("http://", "https://")):
        raise AddressRefused(f"{shown}: only http and https are asked for")
    if "@" in origin(url):
        raise AddressRefused("a URL with a user name or password is not asked for")
    return url.partition("#")[0]


def joined(base: str, reference: str) -> str | None:
    """What a link on the http(s) page `base` points to, serialised, without a fragment; None: to nothing that can be.

    Line ends and tabs within a reference are dropped as browsers do, except where it names a host.
    """
    if (plain := _PLAIN.fullmatch(reference)) and len(reference) <= LONGEST:
        return origin(base) + plain[1]
    import ada_url

    if len(reference) > LONGEST:
        return None
    if not reference.isprintable() and _CONTROL.search(inner := reference.strip("\t\n\f\r ")):
        start = _CONTROL.sub("", inner).replace("\\", "/")
        if start.startswith("//") or ":" in start.partition("/")[0]:
            return None
    try:
        return ada_url.join_url(base, reference).partition("#")[0]
    except ValueError:
        return None


def is_plain(url: str) -> bool:
    """The URL, whose origin is serialised, is so on the whole, and has no fragment. False: `address` can tell."""
    return "#" not in url and len(url) <= LONGEST and _PLAIN.fullmatch(url, url.find("/", 8)) is not None


def origin(url: str) -> str:
    """Scheme, host and port of a URL that `address` or `joined` gave; with a user's name, that too, so it fits none."""
    return url[: url.index("/", 8)]


def host_origins(hosts: Iterable[str]) -> frozenset[str]:
    """What a list of hosts allows: `host` by the ports 80 and 443, `host:port` by that one. Raises UserError."""
    allowed: set[str] = set()
    for host in hosts:
        if not host or re.search(r"[\s/\\?#@*%]", host) or _CONTROL.search(host):
            raise UserError(f"{host!r} is no host: write a name or an address, with :PORT where it is not 80 or 443")
        try:
            found = {origin(address(f"{scheme}://{host}/")) for scheme in ("http", "https")}
        except AddressRefused:
            raise UserError(f"{host!r} is no host: write a name or an address, with :PORT") from None
        allowed |= found
    return frozenset(allowed)

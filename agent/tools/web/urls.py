"""Normalize URLs with one parser, and use only the normalized form, so that the checked host is the requested one.

If two parsers read a text differently, a list of hosts can be bypassed (docs/attacks.md A.22). So the serialised form
of the URL standard is compared, resolved and sent. Hosts are compared as a whole (A.21).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...host.address_hosts import Target, read_target
from ...protocol import UserError
from ...protocol.text.shorten_text import end_cut

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = re.compile(
    r"((?:/(?!\.|/)[A-Za-z0-9._~!$&'()*+,;=:@-]*)+(?:\?[A-Za-z0-9._~!$&()*+,;=:@/?%-]*)?)(?:#[^\x00-\x20]*)?"
)
"""Matches most links of a site, which the URL library would not change, and saves four fifths of the time."""
LONGEST = 8_000
"""Maximum characters of a URL (servers should accept 8,000 octets: RFC 9110, 4.1)."""


class UrlRefused(ValueError):
    """The text is not a URL that may be requested; the message says why."""


def normalized_url(text: str) -> str:
    """Return the absolute http(s) URL in its serialised form, without a fragment. Raises UrlRefused."""
    import ada_url

    shown = end_cut(text, 200)
    if _CONTROL.search(text):
        raise UrlRefused(f"{shown!r} has a control character")
    if len(text) > LONGEST:
        raise UrlRefused(f"{shown} has {len(text):,} characters, which is too long for a URL")
    try:
        url = ada_url.normalize_url(text)
    except ValueError:  # includes UnicodeEncodeError
        raise UrlRefused(f"{shown!r} is not a valid URL") from None
    if not url.startswith(("http://", "https://")):
        raise UrlRefused(f"{shown} is not an http or https URL")
    if "@" in origin(url):
        raise UrlRefused("a URL must not contain a user name or password")
    return url.partition("#")[0]


def join_url(base: str, reference: str) -> str | None:
    """Resolve a link on the http(s) page `base`. Return it serialised, without a fragment, or None if it is invalid.

    Line ends and tabs in a link are removed, as in browsers, except in a host name.
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


def is_normalized(url: str) -> bool:
    """Return whether a URL is surely serialised if its origin is. If False, `normalized_url` decides."""
    return "#" not in url and len(url) <= LONGEST and _PLAIN.fullmatch(url, url.find("/", 8)) is not None


def origin(url: str) -> str:
    """Return scheme, host and port of a URL from `normalized_url` or `join_url`, with the user name if it has one."""
    return url[: url.index("/", 8)]


def target_of(url: str) -> Target:
    """Return host and port of a URL from `normalized_url`. Raises UrlRefused."""
    scheme, _, authority = origin(url).partition("://")
    found = read_target(authority, 443 if scheme == "https" else 80)
    if found is None:
        raise UrlRefused(f"{end_cut(authority, 200)} is not the name of a host")
    return found


def host_origins(hosts: Iterable[str]) -> frozenset[str]:
    """Return the origins that a list of hosts allows: `host` with ports 80 and 443, `host:port` with its port."""
    allowed: set[str] = set()
    for host in hosts:
        if not host or re.search(r"[\s/\\?#@*%]", host) or _CONTROL.search(host):
            raise UserError(f"{host!r} is not a host: write a name or an address, with :PORT if it is not 80 or 443")
        try:
            found = {origin(normalized_url(f"{scheme}://{host}/")) for scheme in ("http", "https")}
        except UrlRefused:
            raise UserError(f"{host!r} is not a host: write a name or an address, with :PORT") from None
        allowed |= found
    return frozenset(allowed)

"""Read requests to an HTTP proxy (RFC 9110, 7.6 and 9.3.6)."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...host.address_hosts import Target, read_target

_LINE = re.compile(r"([A-Z]{1,20}) (\S{1,8000}) HTTP/1\.[01]")
_URL = re.compile(r"http://([^/?#\s@]+)(/[^\s#]*|\?[^\s#]*)?", re.IGNORECASE)
_OWN = frozenset({"host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"})
"""Headers that are not forwarded, because they concern this connection only or the proxy writes its own."""
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*")


class ProxyRequest(NamedTuple):
    """A request from a client to the proxy."""

    target: Target
    head: bytes
    """Bytes that are sent to the server; empty for a tunnel."""


def read_request(head: bytes) -> ProxyRequest | None:
    """Return the request; None if a proxy cannot carry it out."""
    lines = head.decode("latin-1").split("\r\n")[:-2]
    first = _LINE.fullmatch(lines[0]) if lines else None
    if first is None or not all(_HEADER.fullmatch(line) for line in lines[1:]):
        return None
    method, asked = first[1], first[2]
    if method == "CONNECT":
        target = read_target(asked)
        return None if target is None else ProxyRequest(target, b"")
    url = _URL.fullmatch(asked)
    target = read_target(url[1], 80) if url is not None else None
    if url is None or target is None:
        return None
    path = url[2] or "/"
    return ProxyRequest(target, _own(f"{method} {path if path.startswith('/') else f'/{path}'}", target, lines[1:]))


def read_inner(head: bytes, target: Target) -> bytes | None:
    """Return the head of a request in a tunnel, as the server gets it, or None if it is not plainly for the target.

    The server closes the connection after it, so that no second request for another host can follow.
    """
    lines = head.decode("latin-1").split("\r\n")[:-2]
    first = _LINE.fullmatch(lines[0])
    if first is None or not all(_HEADER.fullmatch(line) for line in lines[1:]):
        return None
    hosts = [value.strip() for name, _, value in (line.partition(":") for line in lines[1:]) if name.lower() == "host"]
    is_own = len(hosts) == 1 and read_target(hosts[0], target.port) == target
    method, path = first[1], first[2]
    return _own(f"{method} {path}", target, lines[1:]) if is_own and path[0] in "/*" else None


def _own(request: str, target: Target, headers: list[str]) -> bytes:
    kept = [line for line in headers if line.partition(":")[0].lower() not in _OWN]
    lines = [f"{request} HTTP/1.1", f"Host: {str(target).removesuffix(':80')}", *kept, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")

"""Read requests to an HTTP proxy (RFC 9110, 7.6 and 9.3.6)."""

from __future__ import annotations

import re
from typing import NamedTuple

from ....system.hosts import Target, read_target

_LINE = re.compile(r"([A-Z]{1,20}) (\S{1,8000}) HTTP/1\.[01]")
_URL = re.compile(r"http://([^/?#\s@]+)(/[^\s#]*|\?[^\s#]*)?", re.IGNORECASE)
_OWN = frozenset({"host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"})
"""Headers that are not forwarded, because they concern this connection only or the proxy writes its own."""
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*")


class Request(NamedTuple):
    """A request from a client to the proxy."""

    target: Target
    head: bytes
    """Bytes that are sent to the server; empty for a tunnel."""


def read_request(head: bytes) -> Request | None:
    """Return the request; None if a proxy cannot carry it out."""
    lines = head.decode("latin-1").split("\r\n")[:-2]
    first = _LINE.fullmatch(lines[0]) if lines else None
    if first is None or not all(_HEADER.fullmatch(line) for line in lines[1:]):
        return None
    method, asked = first[1], first[2]
    if method == "CONNECT":
        target = read_target(asked)
        return None if target is None else Request(target, b"")
    url = _URL.fullmatch(asked)
    target = read_target(url[1], 80) if url is not None else None
    if url is None or target is None:
        return None
    path = url[2] or "/"
    kept = [line for line in lines[1:] if line.partition(":")[0].lower() not in _OWN]
    host = str(target).removesuffix(":80")
    words = [f"{method} {path if path.startswith('/') else f'/{path}'} HTTP/1.1", f"Host: {host}", *kept]
    return Request(target, "\r\n".join([*words, "Connection: close", "", ""]).encode("latin-1"))

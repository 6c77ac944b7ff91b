"""Decide which requests may see the run: a one-time link, then a cookie. Does not import aiohttp.

A browser sends a cookie to all servers of a host, whatever their port (RFC 6265, section 8.5). Path and name of the
cookie are therefore random: another server on this machine, which does not know the path, never receives it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")

USED = "this link was used before: go back to the browser that opened it, or start the command again for a new link"
NO_COOKIE = "this browser has not opened the link: use the link that the command printed"


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that access depends on."""

    method: str
    path: str
    headers: Mapping[str, str]
    token: str | None = None
    """The `token` of the query."""
    cookie: str | None = None


@dataclass(slots=True)
class Access:
    """Decide about the requests to the server at one port."""

    port: int
    _token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    _cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _is_used: bool = False
    base: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(12)}/")
    """The random path of all pages, and of the cookie. With the token it is short enough for a line of 80 columns."""
    cookie_name: str = field(default_factory=lambda: f"rundry_{secrets.token_urlsafe(8)}")
    """Also random, so that no other server on this machine can set a cookie with the same name."""

    @property
    def link(self) -> str:
        """The address to open, valid once."""
        return f"http://{HOST}:{self.port}{self.base}?token={self._token}"

    @property
    def hosts(self) -> list[str]:
        """The names that a browser may use for this server."""
        return [f"{name}:{self.port}" for name in _NAMES]

    def redeem(self, token: str) -> str | None:
        """Return the cookie's value for the right token, the first time; else None."""
        if not hmac.compare_digest(token.encode(), self._token.encode()) or self._is_used:
            return None
        self._is_used = True
        return self._cookie

    def refusal(self, request: Request) -> str | None:
        """Return why the request is refused, or None if it may pass. A request with a token needs no cookie."""
        headers = request.headers
        if headers.get("Host") not in self.hosts:
            return f"unknown host: use {HOST}:{self.port}"
        if request.method != "GET":
            return "only GET is allowed"
        origin = headers.get("Origin")
        if origin not in (None, f"http://{headers['Host']}") or (origin is None and request.path == f"{self.base}ws"):
            return "another site asked for this page"
        if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            return "another site asked for this page"
        if not hmac.compare_digest(request.path[: len(self.base)].encode(), self.base.encode()):
            return NO_COOKIE
        if request.token is not None and request.path == self.base:
            return None
        if request.cookie is None or not hmac.compare_digest(request.cookie.encode(), self._cookie.encode()):
            return NO_COOKIE
        return None

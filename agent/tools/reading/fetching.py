"""Fetch pages for `fetch_url`: GET requests, only to hosts that the user listed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...gate.web_policy import denial_of_host
from ...host.internet import address_in_entry, may_resolve_to
from ...host.tls import tls
from ..web.page_markup import UnreadablePage
from ..web.readable_page import readable_content
from ..web.urls import UrlRefused, host_origins, join_url, normalized_url, origin, target_of
from ..web.web_requests import (
    UnreadableBody,
    bounded_body,
    content_type,
    decode_page,
    is_html,
    open_session,
    status_text,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from aiohttp.abc import ResolveResult

    from ...protocol import Rule

MOST = 2_000_000
"""Largest body that is read, in decompressed bytes."""
SECONDS = 20.0
"""Time-out of a request with all its redirects."""
_HOPS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})
_TEXT = ("application/json", "application/xml", "application/javascript", "application/x-yaml", "application/toml")
_LINKS = 200
"""Number of links listed for a page."""
_LONGEST_WAY = 300
_NO_TEXT = "This is not text, so it cannot be read."


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a GET request."""

    ok: bool
    """Whether the status is 2xx and the text was readable."""
    text: str
    """Text for the model: the source, the text and the links, or why there is none."""
    summary: str
    """A few words for the screen."""
    is_foreign: bool = False
    """Whether the text is the answer of a server."""


class Fetcher:
    """Fetches one URL at a time, without cookies, proxies or credentials.

    A host without a port stands for ports 80 and 443. A name must not resolve to an address that is not public, unless
    that address is listed too, so that a public name cannot lead to an internal server (`localhost` can be listed).
    Redirects are followed while their hosts are on the list.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        addresses: frozenset[str] = frozenset(),
        rules: Sequence[Rule] = (),
        limit: int = MOST,
        seconds: float = SECONDS,
    ) -> None:
        """Check the hosts. Raises UserError for an invalid one; the text names it and the fix.

        `addresses`: more addresses to which a name may resolve. `rules`: those of the person, of which `deny` counts.
        """
        self._origins = host_origins(hosts)
        self.hosts = list(hosts)
        self._rules, self._limit, self._seconds = rules, limit, seconds
        self._addresses = addresses | {found for host in hosts if (found := address_in_entry(host)) is not None}

    async def fetch(self, url: str, *, seconds: float | None = None) -> Fetched:
        """Fetch a URL. Never raises because of the URL or the server. `seconds` shortens the time-out."""
        seconds = self._seconds if seconds is None else min(seconds, self._seconds)
        from aiohttp import ClientError, ClientResponseError

        try:
            async with asyncio.timeout(seconds):
                return await self._follow(normalized_url(url), seconds)
        except UrlRefused as refused:
            return Fetched(ok=False, text=f"refused: {refused}", summary="refused")
        except UnreadableBody as unreadable:
            return Fetched(ok=False, text=f"{url} cannot be read: {unreadable}", summary="not readable")
        except TimeoutError:
            return Fetched(ok=False, text=f"fetch_url timed out after {seconds:g} s", summary="timed out")
        except ClientResponseError:
            return Fetched(ok=False, text="the answer is not HTTP that can be read", summary="not readable")
        except (ClientError, OSError, UnicodeError) as error:
            why = " ".join(str(error).split())[:_LONGEST_WAY] or type(error).__name__
            return Fetched(ok=False, text=f"the connection failed: {why}", summary="no connection")

    async def _follow(self, url: str, seconds: float) -> Fetched:
        """Fetch a URL, and follow its redirects. Raises UrlRefused and aiohttp's errors."""
        from aiohttp import TCPConnector
        from aiohttp.resolver import ThreadedResolver
        from yarl import URL

        allowed = self._addresses

        class Resolver(ThreadedResolver):
            """Connects to exactly the addresses that were checked: a second look-up could return others."""

            async def resolve(
                self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
            ) -> list[ResolveResult]:
                found = await super().resolve(host, port, family)
                return [one for one in found if may_resolve_to(host, one["host"], allowed)] or _refuse(host)

        came = url
        connector = TCPConnector(resolver=Resolver(), use_dns_cache=False, force_close=True, ssl=tls())
        async with open_session(connector, seconds, agent="fetch_url") as session:
            for _ in range(1 + _HOPS):
                if (why := self.why_not(url, came)) is not None:
                    raise UrlRefused(why)
                async with session.get(URL(url, encoded=True), allow_redirects=False) as answer:
                    target = answer.headers.get("Location") if answer.status in _MOVED else None
                    if target is None:
                        return await self._read(came, url, answer)
                    url = _way_on(url, target)
        raise UrlRefused(f"{came} redirects more than {_HOPS} times")

    def why_not(self, url: str, came: str) -> str | None:
        """Return why this URL may not be requested, or None. `came`: the URL that led to it."""
        del came
        if origin(url) not in self._origins:
            return f"{origin(url)} is not on the list of hosts: use one of {', '.join(self.hosts)}"
        return denial_of_host(self._rules, "fetch_url", target_of(url)) if self._rules else None

    async def _read(self, came: str, url: str, answer: ClientResponse) -> Fetched:
        kind, charset = content_type(answer)
        status = status_text(answer.status, answer.reason)
        head = f"{url}: {status}{f', {kind}' if kind else ''}" + (f" (redirected from {came})" if came != url else "")
        ok = 200 <= answer.status < 300
        if kind and not (is_html(kind, b"") or kind.startswith("text/") or kind.startswith(_TEXT) or "+" in kind):
            return Fetched(is_foreign=True, ok=False, text=f"{head}\n{_NO_TEXT}", summary="no text")
        body, whole = await bounded_body(answer, self._limit)
        text = decode_page(body, charset)
        if is_html(kind, body):
            try:
                page = await asyncio.to_thread(_page, text, url)
            except UnreadablePage as unreadable:
                return Fetched(is_foreign=True, ok=False, text=f"{head}\n{unreadable}", summary="not readable")
        elif not kind and b"\0" in body:
            return Fetched(is_foreign=True, ok=False, text=f"{head}\n{_NO_TEXT}", summary="no text")
        else:
            page = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        cut = "" if whole else f"\n[only its first {self._limit:,} bytes were read]"
        shown = page if page.strip() else "[it is empty]"
        return Fetched(is_foreign=True, ok=ok, text=f"{head}\n\n{shown}{cut}", summary=status)


def _way_on(url: str, target: str) -> str:
    """Return the normalized URL of a redirect. Raises UrlRefused, which does not quote what the server wrote."""
    try:
        return normalized_url(join_url(url, target) or target)
    except UrlRefused:
        raise UrlRefused(f"{url} redirects to something that is not an http or https URL") from None


def _page(text: str | bytes, url: str) -> str:
    page = readable_content(text, url, marks_hidden=True)
    parts = [f"Title: {page.title}\n"] if page.title else []
    parts.append(page.text)
    if page.links:
        parts.append("\nLinks:")
        parts += [f"- {words or '[no words]'}: {target}" for target, words in page.links[:_LINKS]]
        left = len(page.links) - _LINKS
        parts += [f"[{left:,} more links]"] if left > 0 else []
    return "\n".join(parts)


def _refuse(host: str) -> list[ResolveResult]:
    raise UrlRefused(f"{host} resolves to an address that is not public: the person can list that address itself")

"""Fetch one page and return its links. Needs no model; the frontier remembers the visited pages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from ...host.real_clock import SystemClock
from ...host.tls import tls
from ...protocol.text.counts import plural
from ...state.search.item_counts import FORBIDDEN_PAGE
from ...tools.web.page_markup import SMALL, UnreadablePage
from ...tools.web.urls import UrlRefused, join_url, origin
from ...tools.web.web_requests import (
    UnreadableBody,
    bounded_body,
    content_type,
    decode_page,
    is_html,
    open_session,
    retry_after,
    status_text,
)
from ..items.item_keys import url_key
from ..items.item_state import Candidate
from ..workers.worker import ItemResult, WorkItem
from .crawl_scope import CrawlScope
from .dead_links import dead_link
from .links import read_page
from .pace import Pace
from .robots import Robots, RobotsUnreadable

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from ...protocol import Clock, Unread

PAGE = 10_000_000
"""Bytes of a page, decompressed, in which links are followed."""
_READ_ON = 65_536
"""Bytes that are read of a response that is not a page, so that its connection can be reused."""
_TRIED_AGAIN = frozenset({408, 425, 429})
"""4xx status codes that are worth another attempt (RFC 9110, RFC 8470, RFC 6585)."""
_MOVED = frozenset({301, 302, 303, 307, 308})
_NO_CONTENT = frozenset({204, 205})
_PARTIAL = 206
_HEAD = 1_024
"""Bytes of a page in which a NUL means that it is not text."""
_HOPS = 5
"""Redirects between two spellings of the same item that are followed."""
_SEED = "seed"
SKIPPED = FORBIDDEN_PAGE
_LOGIN_WORDS = re.compile(r"(?<![a-z])(?:log[-_]?[io]n|sign[-_]?in|sso|oauth2?|saml2?)(?![a-z])")
_LOGIN_HOSTS = re.compile(r"(?:login|signin|sso|auth|accounts|idp)\.")


class Crawler:
    """A worker for items of the kind `url`, within the hosts of the seeds.

    The target of a redirect is an item of its own; the frontier finds loops. An answer without content is a failure.
    404 and most other 4xx answers fail permanently. 408, 425, 429, 5xx, time-outs and lost connections are tried again.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        *,
        rate: float | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        robots: bool = True,
        seconds: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        """Set up the crawl. Raises UserError for a seed that is not a URL.

        `rate`: requests per second over the whole crawl; None or 0 means no limit. `seconds`: for one whole page.
        """
        self._scope = CrawlScope(seeds, include=include, exclude=exclude)
        self._clock = clock or SystemClock()
        self._pace = Pace(1.0 / rate if rate else 0.0, self._clock)
        self._obeys, self._seconds = robots, seconds
        self._session: ClientSession | None = None
        self._robots: Robots | None = None
        self.skipped = 0
        """Number of pages that robots.txt forbade since this crawler started."""

    @property
    def origins(self) -> frozenset[str]:
        """The origins (scheme, host and port) whose pages are fetched."""
        return self._scope.origins

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the page's links, or why there are none."""
        return await self.admit(item) or await self.fetch(item)

    async def admit(self, item: WorkItem) -> ItemResult | None:
        """Wait for the page's turn. Returns the result of a page that must not be fetched, or None."""
        try:
            url = self._scope.require(item.value)
        except UrlRefused as refused:
            return ItemResult(error=str(refused), hopeless=True)
        if self._session is None:
            self._open()
        if self._obeys and self._robots is not None:
            try:
                rules = await self._robots.rules_for(origin(url))
            except RobotsUnreadable as unreadable:
                return ItemResult(error=str(unreadable), retry_after=unreadable.retry_after)
            if not rules.allow(url):
                self.skipped += 1
                return ItemResult(reason=SKIPPED, unread="robots")
            await rules.pace.turn()
        await self._pace.turn()
        return None

    async def fetch(self, item: WorkItem) -> ItemResult:
        """Fetch a page that `admit` let through."""
        return await self._fetch(self._session or self._open(), self._scope.require(item.value), item)

    async def close(self) -> None:
        """Close all connections to servers."""
        session, robots = self._session, self._robots
        self._session = self._robots = None
        if robots is not None:
            await robots.close()
        if session is not None:
            await session.close()

    def _open(self) -> ClientSession:
        from aiohttp import TCPConnector

        # As many connections as workers, which are limited elsewhere.
        self._session = open_session(TCPConnector(limit=0, ttl_dns_cache=300, ssl=tls()), self._seconds, agent="crawl")
        self._robots = Robots(self._session, self._scope, self._clock, self._pace)
        return self._session

    async def _fetch(self, session: ClientSession, url: str, item: WorkItem) -> ItemResult:
        from aiohttp import ClientError

        try:
            for _ in range(_HOPS):
                result = await self._fetch_once(session, url, item)
                if isinstance(result, ItemResult):
                    return result
                url = result
        except TimeoutError:
            return _unanswered(item, f"timed out after {self._seconds:g} s")
        except (UnreadableBody, UnreadablePage) as unreadable:
            return ItemResult(error=str(unreadable), hopeless=True)
        except (ClientError, OSError, UnicodeError) as error:  # UnicodeError: a label of the host is too long
            words = " ".join(str(error).split())[:300] or type(error).__name__
            return _unanswered(item, f"the connection failed: {words}")
        return _no_content(item, "it redirects to itself")

    async def _fetch_once(self, session: ClientSession, url: str, item: WorkItem) -> ItemResult | str:
        """Return the result of one request, or another URL of the same item to which it redirects."""
        from yarl import URL

        async with session.get(URL(url, encoded=True), allow_redirects=False) as answer:
            if answer.status in _MOVED:
                target = join_url(url, answer.headers.get("Location") or "#")
                if target is not None and target != url and url_key(target) == item.key:
                    return target
                return self._moved(url, target, str(answer.status), item)
            if answer.status >= 400:
                return self._refused(answer, item)
            if answer.status in _NO_CONTENT or not 200 <= answer.status < 300:
                return _no_content(item, f"{status_text(answer.status, answer.reason)}: no content")
            return await self._read(url, answer, item)

    def _moved(self, url: str, target: str | None, how: str, item: WorkItem) -> ItemResult:
        """Return the result of a page that only leads to another one."""
        if target is None or target == url or not target.startswith(("http://", "https://")):
            return _no_content(item, f"{how}: redirects to itself or without a target")
        found = self._scope.sort([target])
        items = [Candidate("url", one) for one in found.inside]
        if _asks_login(url, target):
            error = f"{how}: redirects to a login or a notice instead: {target}"
            return ItemResult(items=items, error=error, hopeless=True)
        if items:
            return ItemResult(items=items, reason=f"{how}: redirects to {target}", moves_to=target)
        if not found.elsewhere:
            return ItemResult(reason=f"{how}: redirects to an excluded URL, not followed: {target}")
        reason = f"{how}: redirects off the host, not followed: {target}"
        return _unread(item, reason, "elsewhere", f"{how}: redirects off the host: start the crawl at {target}")

    def _refused(self, answer: ClientResponse, item: WorkItem) -> ItemResult:
        error = status_text(answer.status, answer.reason)
        again = answer.status >= 500 or answer.status in _TRIED_AGAIN
        return ItemResult(
            error=error,
            retry_after=retry_after(answer, self._clock.now()) if again else None,
            hopeless=not again,
            if_final=dead_link(item, error, answer.status),
        )

    async def _read(self, url: str, answer: ClientResponse, item: WorkItem) -> ItemResult:
        kind, charset = content_type(answer)
        is_page = not kind or is_html(kind, b"")
        body, whole = await bounded_body(answer, PAGE if is_page else _READ_ON)
        if not body:
            return _no_content(item, "the answer is empty")
        if not is_html(kind, body):
            reason = f"{kind}: not a page" if kind else "not a page"
            return _unread(item, reason, "no_page", f"{reason}, so the crawl cannot begin there")
        page = decode_page(body, charset)
        if isinstance(page, bytes) and b"\0" in page[:_HEAD]:
            return ItemResult(error=f"{kind or 'the answer'}: not a page, but binary data", hopeless=True)
        found = await asyncio.to_thread(read_page, page, url) if len(page) > SMALL else read_page(page, url)
        if found.moves_to == url:
            return ItemResult(error="the page has nothing but a refresh of itself")
        if found.moves_to is not None:
            return self._moved(url, found.moves_to, "refresh", item)
        links = self._scope.sort(found.links)
        items = [Candidate("url", link) for link in links.inside]
        if not whole or answer.status == _PARTIAL:
            part = f"the first {PAGE // 1_000_000} MB" if not whole else f"a part ({answer.status})"
            return ItemResult(items=items, error=f"only {part} of the page could be read", hopeless=True)
        if found.is_blank:
            return ItemResult(error="the page has no text and no links", hopeless=True)
        notes = [
            plural(len(items), "link"),
            *([f"{links.elsewhere} on other hosts"] if links.elsewhere else []),
            *([f"{links.left_out} excluded"] if links.left_out else []),
        ]
        return ItemResult(items=items, reason=", ".join(notes))


def _unanswered(item: WorkItem, error: str) -> ItemResult:
    """Return the result for a server that did not answer. It is tried again."""
    return ItemResult(error=error, if_final=dead_link(item, error))


def _no_content(item: WorkItem, error: str) -> ItemResult:
    """Return the result for an answer without content. Another attempt would not change it."""
    return ItemResult(error=error, hopeless=True, if_final=dead_link(item, error))


def _unread(item: WorkItem, reason: str, unread: Unread, error: str) -> ItemResult:
    """Return the result for an address that works but is not a page of the site. A crawl cannot begin at such a one."""
    if item.source == _SEED:
        return ItemResult(error=error, hopeless=True)
    return ItemResult(reason=reason, unread=unread)


def _asks_login(url: str, target: str) -> bool:
    """Return whether a redirect from one URL to another asks for something, mostly a login, before it shows the page.

    Its target names the page to return to, or has the name of a login where the page has not.
    """
    page, to = urlsplit(url), urlsplit(target)
    back = {url, url.partition("?")[0], page.path, f"{page.path}?{page.query}"} - {"/", "", "/?"}
    if any(value in back for _, value in parse_qsl(to.query)):
        return True
    if page.netloc != to.netloc and _LOGIN_HOSTS.match(to.netloc.lower()):
        return True
    return _LOGIN_WORDS.search(to.path.lower()) is not None and _LOGIN_WORDS.search(page.path.lower()) is None

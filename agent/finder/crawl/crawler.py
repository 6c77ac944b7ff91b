"""Fetch one page and return its links. Needs no model; the frontier remembers the visited pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...facts.search.item_counts import FORBIDDEN_PAGE
from ...protocol.text.counts import plural
from ...system.tls import tls
from ...web.markup import SMALL, UnreadablePage
from ...web.requests import bounded_body, content_type, decode_page, is_html, open_session, retry_after, status_text
from ...web.urls import UrlRefused, join_url, origin
from ...workspace.clock import SystemClock
from ..items.item_state import Candidate
from ..workers.worker import ItemResult, WorkItem
from .dead_links import dead_link
from .links import links_of
from .pace import Pace
from .robots import Robots, RobotsUnreadable
from .scope import Scope

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from ...protocol import Clock

PAGE = 10_000_000
"""Bytes of a page, decompressed, in which links are followed."""
_READ_ON = 65_536
"""Bytes that are read of a response that is not a page, so that its connection can be reused."""
_TRIED_AGAIN = frozenset({408, 425, 429})
"""4xx status codes that are worth another attempt (RFC 9110, RFC 8470, RFC 6585)."""
_MOVED = frozenset({301, 302, 303, 307, 308})
SKIPPED = FORBIDDEN_PAGE


class Crawler:
    """A worker for items of the kind `url`, within the hosts of the seeds.

    The target of a redirect is an item of its own, so a redirect loop ends at a key that the frontier knows. 404 and
    most other 4xx answers fail permanently. 408, 425, 429, 5xx, time-outs and lost connections are tried again.
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

        `rate`: requests per second over the whole crawl; None or 0: as many as the workers send. `seconds`: for one
        whole page.
        """
        self._scope = Scope(seeds, include=include, exclude=exclude)
        self._clock = clock or SystemClock()
        self._pace = Pace(1.0 / rate if rate else 0.0, self._clock)
        self._obeys, self._seconds = robots, seconds
        self._session: ClientSession | None = None
        self._robots: Robots | None = None
        self.skipped = 0
        """Pages that robots.txt forbids, since this crawler started."""

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
                return ItemResult(reason=SKIPPED)
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
        from yarl import URL

        try:
            async with session.get(URL(url, encoded=True), allow_redirects=False) as answer:
                if answer.status in _MOVED:
                    return self._redirected(url, answer)
                if answer.status >= 400:
                    return self._refused(answer, item)
                return await self._read(url, answer)
        except TimeoutError:
            return _unanswered(item, f"timed out after {self._seconds:g} s")
        except UnreadablePage as unreadable:
            return ItemResult(error=str(unreadable), hopeless=True)
        except (ClientError, OSError, UnicodeError) as error:  # UnicodeError: a label of the host is too long
            words = " ".join(str(error).split())[:300] or type(error).__name__
            return _unanswered(item, f"the connection failed: {words}")

    def _redirected(self, url: str, answer: ClientResponse) -> ItemResult:
        target = join_url(url, answer.headers.get("Location", ""))
        if target is None or target == url or not target.startswith(("http://", "https://")):
            return ItemResult(reason=f"{answer.status}: redirects to itself or without a target")
        found = self._scope.sort([target])
        if found.inside:
            return ItemResult(items=[Candidate("url", target)], reason=f"{answer.status}: redirects to {target}")
        why = "off the host" if found.elsewhere else "to an excluded URL"
        return ItemResult(reason=f"{answer.status}: redirects {why}, not followed: {target}")

    def _refused(self, answer: ClientResponse, item: WorkItem) -> ItemResult:
        error = status_text(answer.status, answer.reason)
        again = answer.status >= 500 or answer.status in _TRIED_AGAIN
        return ItemResult(
            error=error,
            retry_after=retry_after(answer, self._clock.now()) if again else None,
            hopeless=not again,
            if_final=dead_link(item, error, answer.status),
        )

    async def _read(self, url: str, answer: ClientResponse) -> ItemResult:
        kind, charset = content_type(answer)
        if kind and not is_html(kind, b""):
            if (answer.content_length or _READ_ON + 1) <= _READ_ON:
                await answer.read()
            return ItemResult(reason=f"{kind}: not a page")
        body, whole = await bounded_body(answer, PAGE)
        if not is_html(kind, body):
            return ItemResult(reason="not a page" if body else "empty")
        page = decode_page(body, charset)
        if len(page) > SMALL:
            links = await asyncio.to_thread(links_of, page, url)
        else:
            links = links_of(page, url)
        found = self._scope.sort(links)
        notes = [
            plural(len(found.inside), "link"),
            *([f"{found.elsewhere} on other hosts"] if found.elsewhere else []),
            *([f"{found.left_out} excluded"] if found.left_out else []),
            *([] if whole else [f"only the first {PAGE // 1_000_000} MB were read"]),
        ]
        return ItemResult(items=[Candidate("url", link) for link in found.inside], reason=", ".join(notes))


def _unanswered(item: WorkItem, error: str) -> ItemResult:
    """Return the result for a server that did not answer. It is tried again."""
    return ItemResult(error=error, if_final=dead_link(item, error))

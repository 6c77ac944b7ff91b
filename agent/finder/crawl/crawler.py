"""Fetches one page and says where it leads. It needs no model; the frontier remembers where it has been."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...facts.search.item_counts import FORBIDDEN_PAGE
from ...protocol import Clock
from ...web.addresses import AddressRefused, joined, origin
from ...web.markup import SMALL, UnreadablePage
from ...web.requests import bounded_body, content_type, decoded, is_html, open_session, retry_after, said
from ...workspace import SystemClock
from ..items.frontier import Candidate
from ..workers import Worked, WorkItem
from .links import links_of
from .pace import Pace
from .robots import Robots, RobotsUnreadable
from .scope import Scope

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

PAGE = 10_000_000
"""Bytes of a page, decompressed, whose links are followed."""
_READ_ON = 65_536
"""Bytes of what is no page that are read, so that its connection can be used again."""
_TRIED_AGAIN = frozenset({408, 425, 429})
"""Of the answers 4xx those that another attempt may change (RFC 9110, RFC 8470, RFC 6585)."""
_MOVED = frozenset({301, 302, 303, 307, 308})
SKIPPED = FORBIDDEN_PAGE


class Crawler:
    """A worker for items of the kind `url`, within the hosts of the seeds.

    A redirect's target is an item of its own, so that loops end where the frontier knows it. 404 and the other 4xx are
    answers that no further attempt changes: hopeless; 408, 425, 429, 5xx, time-outs and lost connections are worth
    one.
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
        """`rate`: requests a second over the whole crawl, None or 0: as many as there are workers.

        `seconds`: for one page whole. Raises UserError for a seed that is no URL.
        """
        self._scope = Scope(seeds, include=include, exclude=exclude)
        self._clock = clock or SystemClock()
        self._pace = Pace(1.0 / rate if rate else 0.0, self._clock)
        self._obeys, self._seconds = robots, seconds
        self._session: ClientSession | None = None
        self._robots: Robots | None = None
        self.skipped = 0
        """Pages that robots.txt forbids, since this crawler began."""

    async def work(self, item: WorkItem) -> Worked:
        """The page's links, or why there are none."""
        try:
            url = self._scope.require(item.value)
        except AddressRefused as refused:
            return Worked(error=str(refused), hopeless=True)
        session = self._session or self._open()
        if self._obeys and self._robots is not None:
            try:
                rules = await self._robots.of(origin(url))
            except RobotsUnreadable as unreadable:
                return Worked(error=str(unreadable), retry_after=unreadable.retry_after)
            if not rules.allow(url):
                self.skipped += 1
                return Worked(reason=SKIPPED)
            await rules.pace.turn()
        await self._pace.turn()
        return await self._fetch(session, url)

    async def close(self) -> None:
        """Connections are closed."""
        session, robots = self._session, self._robots
        self._session = self._robots = None
        if robots is not None:
            await robots.close()
        if session is not None:
            await session.close()

    def _open(self) -> ClientSession:
        from aiohttp import TCPConnector

        # As many connections as there are workers, who are bounded elsewhere.
        self._session = open_session(TCPConnector(limit=0, ttl_dns_cache=300), self._seconds, agent="crawl")
        self._robots = Robots(self._session, self._scope, self._clock, self._pace)
        return self._session

    async def _fetch(self, session: ClientSession, url: str) -> Worked:
        from aiohttp import ClientError
        from yarl import URL

        try:
            async with session.get(URL(url, encoded=True), allow_redirects=False) as answer:
                if answer.status in _MOVED:
                    return self._redirected(url, answer)
                if answer.status >= 400:
                    return self._refused(answer)
                return await self._read(url, answer)
        except TimeoutError:
            return Worked(error=f"timed out after {self._seconds:g} s")
        except UnreadablePage as unreadable:
            return Worked(error=str(unreadable), hopeless=True)
        except (ClientError, OSError, UnicodeError) as error:  # the last: a host's label is too long
            return Worked(error=f"the connection failed: {' '.join(str(error).split())[:300] or type(error).__name__}")

    def _redirected(self, url: str, answer: ClientResponse) -> Worked:
        target = joined(url, answer.headers.get("Location", ""))
        if target is None or target == url or not target.startswith(("http://", "https://")):
            return Worked(reason=f"{answer.status}: redirects to nowhere else")
        found = self._scope.sort([target])
        if found.inside:
            return Worked(items=[Candidate("url", target)], reason=f"{answer.status}: redirects to {target}")
        why = "off the host" if found.elsewhere else "to what is left out"
        return Worked(reason=f"{answer.status}: redirects {why}, not followed: {target}")

    def _refused(self, answer: ClientResponse) -> Worked:
        again = answer.status >= 500 or answer.status in _TRIED_AGAIN
        return Worked(
            error=said(answer.status, answer.reason),
            retry_after=retry_after(answer, self._clock.now()) if again else None,
            hopeless=not again,
        )

    async def _read(self, url: str, answer: ClientResponse) -> Worked:
        kind, charset = content_type(answer)
        if kind and not is_html(kind, b""):
            if (answer.content_length or _READ_ON + 1) <= _READ_ON:
                await answer.read()
            return Worked(reason=f"{kind}: no page")
        body, whole = await bounded_body(answer, PAGE)
        if not is_html(kind, body):
            return Worked(reason="no page" if body else "empty")
        page = decoded(body, charset)
        if len(page) > SMALL:
            links = await asyncio.to_thread(links_of, page, url)
        else:
            links = links_of(page, url)
        found = self._scope.sort(links)
        notes = [
            f"{len(found.inside)} links" if len(found.inside) != 1 else "1 link",
            *([f"{found.elsewhere} off the host"] if found.elsewhere else []),
            *([f"{found.left_out} left out"] if found.left_out else []),
            *([] if whole else [f"only its first {PAGE // 1_000_000} MB were read"]),
        ]
        return Worked(items=[Candidate("url", link) for link in found.inside], reason=", ".join(notes))

"""Apply robots.txt (RFC 9309), which is fetched once per day and host. Without it, nothing of the host is fetched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...tools.web.urls import join_url
from ...tools.web.web_requests import ROBOT, UnreadableBody, bounded_body, retry_after, status_text
from .pace import Pace

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from protego import Protego

    from ...protocol import Clock
    from .crawl_scope import CrawlScope

_LIMIT = 512_000
"""Bytes of the file that count (RFC 9309, 2.5 requires at least 500 KiB)."""
_HOPS = 5
_FRESH = 86_400.0
"""Seconds for which the rules are kept (RFC 9309, 2.4)."""


class RobotsUnreadable(Exception):
    """The host's robots.txt cannot be read now, so nothing of the host may be fetched (RFC 9309, 2.3.1.4)."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.retry_after = after
        """Seconds that the host asked to wait."""


class Rules:
    """The robots.txt rules of one host."""

    def __init__(self, rules: Protego | None, clock: Clock) -> None:
        self._rules = rules
        self.until = clock.monotonic() + _FRESH
        self.pace = Pace((rules.crawl_delay(ROBOT) if rules is not None else None) or 0.0, clock)
        """The pace that its Crawl-delay asks for."""

    def allow(self, url: str) -> bool:
        """Return whether the page may be fetched."""
        return self._rules is None or self._rules.can_fetch(url, ROBOT)


class Robots:
    """The robots.txt rules of all hosts of a crawl."""

    def __init__(self, session: ClientSession, scope: CrawlScope, clock: Clock, pace: Pace) -> None:
        self._session, self._scope, self._clock, self._pace = session, scope, clock, pace
        self._known: dict[str, Rules] = {}
        self._model_work: dict[str, asyncio.Task[Rules]] = {}

    def cached(self, host: str) -> Rules | None:
        """Return the rules of an origin if they were read within the last day."""
        rules = self._known.get(host)
        return rules if rules is not None and self._clock.monotonic() < rules.until else None

    async def rules_for(self, host: str) -> Rules:
        """Return the rules of an origin. Callers at the same time share one request. Raises RobotsUnreadable."""
        if (rules := self.cached(host)) is not None:
            return rules
        task = self._model_work.get(host)
        if task is None:
            task = asyncio.create_task(self._ask(host))
            self._model_work[host] = task
            task.add_done_callback(lambda done: self._answered(host, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancel the open requests."""
        tasks = list(self._model_work.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _answered(self, host: str, task: asyncio.Task[Rules]) -> None:
        self._model_work.pop(host, None)
        if not task.cancelled():
            task.exception()  # else asyncio complains if every waiting caller was cancelled

    async def _ask(self, host: str) -> Rules:
        from aiohttp import ClientError

        try:
            text = await self._text(host)
        except TimeoutError:
            raise RobotsUnreadable(f"{host}/robots.txt timed out") from None
        except (ClientError, OSError, UnreadableBody) as error:
            raise RobotsUnreadable(f"{host}/robots.txt cannot be read: {error or type(error).__name__}") from None
        self._known[host] = Rules(_parsed(text), self._clock)
        return self._known[host]

    async def _text(self, host: str) -> str:
        """Return the file, or an empty text if there is none: then everything is allowed. Only hosts of the crawl are
        asked.
        """
        from yarl import URL

        url = f"{host}/robots.txt"
        for _ in range(1 + _HOPS):
            await self._pace.turn()
            async with self._session.get(URL(url, encoded=True), allow_redirects=False) as answer:
                if answer.status >= 500 or answer.status == 429:
                    status = status_text(answer.status, answer.reason)
                    error = f"{url} answers {status}: nothing is fetched until it can be read"
                    raise RobotsUnreadable(error, retry_after(answer, self._clock.now()))
                if answer.status < 300:
                    return (await bounded_body(answer, _LIMIT))[0].decode("utf-8-sig", "replace")
                target = join_url(url, answer.headers.get("Location", "")) if answer.status < 400 else None
                if target is None or not target.startswith(("http://", "https://")) or not self._scope.contains(target):
                    return ""
                url = target
        return ""


def _parsed(text: str) -> Protego | None:
    if not text.strip():
        return None
    from protego import Protego

    return Protego.parse(text)

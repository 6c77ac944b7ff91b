"""A web site on loopback, in a thread with a loop of its own: the same pages each time, and every oddity of real ones.

    with Site(pages=100, robots="User-agent: *\nDisallow: /private") as site:
        ... crawl site.url + "/page/0" ...
        assert site.hits["/page/7"] == 1

As a program: `python -m fakes.web.site --pages 10000 --port 0` prints one JSON line with the port and the address.
`odd_pages.py` lists the pages; `routes` adds some, or replaces them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from .odd_pages import Reply, corner

Route = Reply | Callable[[int], Reply]
"""A reply, or what makes one of the number of requests for this address so far, beginning with 1."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    target: str
    """Path and query, as they were sent."""
    headers: dict[str, str]
    """Names in lower case."""
    at: float
    """Monotonic seconds."""


class Site:
    def __init__(
        self,
        pages: int = 0,
        *,
        robots: Route | str | None = None,
        routes: Mapping[str, Route] | None = None,
        port: int = 0,
    ) -> None:
        """`robots`: the text of /robots.txt, or None if there is none (404)."""
        self.pages = pages
        self.port = port
        self.asked: list[Asked] = []
        """Every request, in the order in which it came."""
        self.hits: Counter[str] = Counter()
        """Requests by target."""
        self.left: list[str] = []
        """Targets whose client went away before it had its answer."""
        self.routes: dict[str, Route] = dict(routes or {})
        if robots is not None:
            text = robots if not isinstance(robots, str) else Reply(robots.encode(), kind="text/plain")
            self.routes["/robots.txt"] = text
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="site", daemon=True)

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, fact: Callable[[], bool], timeout: float = 20.0) -> None:
        """Until the fact holds; it is asked again with each request and each client that leaves."""
        with self._changed:
            if not self._changed.wait_for(fact, timeout):
                raise TimeoutError(f"not within {timeout} s; there were {len(self.asked)} requests")

    def reply_to(self, target: str, headers: Mapping[str, str]) -> Reply:
        """What stands there."""
        with self._changed:
            self.hits[target] += 1
            self.asked.append(Asked(target, dict(headers), time.monotonic()))
            count = self.hits[target]
            self._changed.notify_all()
        route = self.routes.get(target)
        if route is None:
            return corner(target, count, pages=self.pages, port=self.port)
        return route if isinstance(route, Reply) else route(count)

    def note_left(self, target: str) -> None:
        with self._changed:
            self.left.append(target)
            self._changed.notify_all()

    def __enter__(self) -> Site:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections: set[_Connection] = set()
        try:
            server = await self._loop.create_server(
                lambda: _Connection(self, connections), "127.0.0.1", self.port, backlog=1024
            )
        except OSError as error:
            self._failed = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in list(connections):
            connection.close()
        await server.wait_closed()


class _Connection(asyncio.Protocol):
    """HTTP/1.1, GET only, kept alive."""

    def __init__(self, site: Site, connections: set[_Connection]) -> None:
        self._site, self._all = site, connections
        self._unread = b""
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self._target = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)
        if self._waiting is not None:
            self._waiting.cancel()
            self._site.note_left(self._target)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        head, end, rest = self._unread.partition(b"\r\n\r\n")
        if not end:
            return
        self._unread = rest
        first, *lines = head.decode("latin-1").split("\r\n")
        self._target = first.split(" ")[1]
        pairs = (line.partition(":") for line in lines)
        reply = self._site.reply_to(self._target, {name.lower(): value.strip() for name, _, value in pairs})
        if reply.delay:
            self._waiting = asyncio.get_running_loop().call_later(reply.delay, self._answer, reply)
        else:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        self._waiting = None
        assert self._transport is not None
        if reply.drop:
            self._transport.abort()
            return
        self._transport.write(reply.head() + reply.body)
        if reply.cut:
            self._transport.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A web site on loopback.")
    parser.add_argument("--pages", type=int, default=100, help="how many there are below /page/")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one; it is printed")
    options = parser.parse_args()
    with Site(options.pages, port=options.port) as site, suppress(KeyboardInterrupt):
        print(json.dumps({"port": site.port, "url": site.url}), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

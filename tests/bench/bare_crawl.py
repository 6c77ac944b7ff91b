"""A bare aiohttp crawler, the obvious solution: a queue, a set, and a number of tasks. `... URL WORKERS PAGES`."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urldefrag, urljoin

import aiohttp
from selectolax.lexbor import LexborHTMLParser


async def crawl(start: str, workers: int) -> set[str]:
    """Follow all links. Returns the addresses."""
    seen, queue = {start}, asyncio.Queue[str]()
    queue.put_nowait(start)
    async with aiohttp.ClientSession() as session:

        async def work() -> None:
            while True:
                url = await queue.get()
                async with session.get(url) as reply:
                    body = await reply.read()
                for link in LexborHTMLParser(body).css("a[href]"):
                    found = urldefrag(urljoin(url, link.attributes["href"] or ""))[0]
                    if found not in seen:
                        seen.add(found)
                        queue.put_nowait(found)
                queue.task_done()

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        await queue.join()
        for task in tasks:
            task.cancel()
    return seen


if __name__ == "__main__":
    found = asyncio.run(crawl(sys.argv[1], int(sys.argv[2])))
    assert len(found) == int(sys.argv[3]), len(found)

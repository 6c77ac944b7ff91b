"""A crawl over a scripted site."""

from __future__ import annotations

import asyncio

from rundry.agent.search.crawl.crawler import Crawler
from rundry.agent.search.workers.worker import ItemResult, WorkItem


async def work(crawler: Crawler, url: str) -> ItemResult:
    return await crawler.work(WorkItem("url", url, url))


async def crawl(crawler: Crawler, start: str, *, most: int = 10_000) -> dict[str, ItemResult]:
    """Everything that is reached from there, by value; no key, no retry: those are the frontier's."""
    done: dict[str, ItemResult] = {}
    waiting = [start]
    while waiting and len(done) < most:
        batch, waiting = waiting[:8], waiting[8:]
        results = await asyncio.gather(*(work(crawler, url) for url in batch))
        done |= zip(batch, results, strict=True)
        surfaced = dict.fromkeys(item.value for one in results for item in one.items)
        waiting += [url for url in surfaced if url not in done and url not in waiting]
    return done

"""A worker that sends items to a Dask cluster. Frontier, budget, retries and journal stay in the runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..workers.worker import ItemResult, WorkItem
from .batches import NotWorked, Order
from .order import encode_order

if TYPE_CHECKING:
    from ..crawl.crawler import Crawler
    from .batch_pool import BatchPool


class RemoteWorker:
    """Works items on the cluster."""

    def __init__(self, pool: BatchPool, job: bytes, crawler: Crawler | None = None) -> None:
        """`job`: the encoded `Job`. `crawler`: lets a page through when robots.txt and the rate allow it."""
        self._pool, self._job, self._crawler = pool, job, crawler

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the item's result. Cancelling ends it on its worker."""
        if self._crawler is not None and (early := await self._crawler.admit(item)) is not None:
            return early
        # An item that failed before goes alone: it may be what ends its worker.
        order = Order(job=self._job, data=encode_order(item), label=item.value, is_alone=item.attempt > 1)
        try:
            return msgspec.json.decode(await self._pool.work(order), type=ItemResult)
        except NotWorked as why:
            return ItemResult(error=str(why))

    async def close(self) -> None:
        """End all batches and close the cluster. May be called twice."""
        if self._crawler is not None:
            await self._crawler.close()
        await self._pool.close()

"""Send the files of a workspace to a worker: only what it lacks, in messages of bounded size."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .connection import Connection, WorkerDied

if TYPE_CHECKING:
    from .trees.scan import WorkspaceTree

_MESSAGE = 8_000_000
"""Bytes after which a message is sent: the scheduler holds it in memory."""


class Supply:
    """Sends pieces of files. To each worker, one batch of orders at a time causes a transfer."""

    def __init__(self) -> None:
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def send(self, connection: Connection, worker: str, tree: WorkspaceTree, needs: Sequence[str]) -> str:
        """Send the worker what it lacks of `needs`. Returns why that failed; empty: it has them. Raises TreeChanged."""
        async with self._turns[worker]:
            try:
                message: list[tuple[str, bytes]] = []
                for digest in await connection.lacking(worker, needs):
                    message.append((digest, await asyncio.to_thread(tree.piece, digest)))
                    if sum(len(data) for _, data in message) >= _MESSAGE:
                        await connection.put(worker, message)
                        message = []
                if message:
                    await connection.put(worker, message)
            except WorkerDied as died:
                return str(died)
            return ""

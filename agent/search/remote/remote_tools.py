"""Run the reading tools of lenses and verifiers on the workers of a Dask cluster. Model calls stay in the runner."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from ...protocol import SKILL
from ...tools.tool_arguments import ListFiles, ReadFile, Search
from ...tools.tool_context import OUTPUT, ToolContext
from ...tools.tool_result import ToolResult
from .batches import ClusterAway, NotWorked, WorkerOrder
from .order import ReadOrder, encode_order
from .trees.scan import TreeChanged, TreeReader, TreeTooLarge, WorkspaceTree

if TYPE_CHECKING:
    from .batch_pool import BatchPool
    from .remote_job import RemoteJob

_TRIES = 3
"""How often a call is sent that no worker answered, before the runner reads itself."""
_SECONDS = 20.0
"""Time limit of a call on a worker."""


class RemoteTools:
    """Sends calls of reading tools to the cluster. What no worker has or answers is read in the runner."""

    def __init__(self, pool: BatchPool, job: RemoteJob, reader: TreeReader | None) -> None:
        """`reader`: reads the files that are sent. None means that the workers share them."""
        self._pool, self._job, self._reader = pool, job, reader

    async def read(self, name: str, arguments: msgspec.Struct, ctx: ToolContext) -> ToolResult | None:
        """Return the result of a tool, or None if the caller must run it in the runner."""
        if not isinstance(arguments, (ReadFile, ListFiles, Search)):
            return None  # only these three run on workers: the runner keeps the allowed hosts of a page
        path = arguments.path
        if isinstance(arguments, ReadFile) and arguments.path.startswith((OUTPUT, SKILL)):
            return None  # it is in the journal, or in a folder that only this machine has
        order = ReadOrder(name, msgspec.to_builtins(arguments), ctx.limit, ctx.bounded_seconds(_SECONDS))
        for tries in range(_TRIES):
            try:
                tree = None if self._reader is None else await self._reader.current()
                if tree is not None and _is_only_here(path, tree):
                    return None
                data = await self._pool.work(
                    WorkerOrder(
                        job=msgspec.json.encode(self._job.for_reading()),
                        data=encode_order(order),
                        label=f"{name} {path or ''}".strip(),
                        is_alone=tries > 0,
                        tree=tree,
                    )
                )
                return msgspec.json.decode(data, type=ToolResult)
            except (ClusterAway, TreeTooLarge):
                return None
            except (NotWorked, TreeChanged):
                continue
        return None

    async def close(self) -> None:
        """End all calls and close the cluster. May be called twice."""
        await self._pool.close()


def _is_only_here(path: str | None, tree: WorkspaceTree) -> bool:
    """Return whether a path of the workspace is not in the copies of the workers: it is ignored or withheld."""
    if not path:
        return False
    for place in (os.path.normpath(tree.root / path), os.path.realpath(tree.root / path)):
        relative = os.path.relpath(place, tree.root)
        if relative == "." or relative.split("/")[0] == "..":
            continue
        if relative in tree.withheld or (relative not in tree.paths and os.path.lexists(place)):
            return True
    return False

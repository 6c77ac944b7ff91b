"""Run the checks of a migration on the workers of a Dask cluster. Gate, journal and budget stay in the runner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...stops.checks import CheckResult
from ..checking import ChecksUnavailable
from .batches import ClusterAway, NotWorked, Order
from .order import CheckOrder, Job, encode_order
from .trees.scan import TreeChanged, TreeReader, TreeTooLarge

if TYPE_CHECKING:
    from ...step.resources.context import RunContext
    from ...stops.check_environment import CheckEnvironment
    from .batch_pool import BatchPool

_TRIES = 4
"""How often a check is sent that no worker answered, before the run ends with the reason."""
_CHANGES = 10
"""How often the workspace is read for a check if its files change while they are sent."""


class RemoteChecks:
    """Sends checks to the cluster, with the files that a worker lacks if it does not share the workspace."""

    def __init__(self, pool: BatchPool, job_of: Callable[[RunContext], Job], *, is_shared: bool) -> None:
        """`job_of`: returns the job for the workspace of a context."""
        self._pool, self._job_of, self._is_shared = pool, job_of, is_shared
        self._readers: dict[Path, TreeReader] = {}

    async def run(self, ctx: RunContext, line: str, environment: CheckEnvironment) -> CheckResult:
        """Run a command line on a worker. Raises ChecksUnavailable."""
        job = msgspec.json.encode(self._job_of(ctx))
        data = encode_order(CheckOrder(line, ctx.facts.spec.predicates.timeout))
        tries = changes = 0
        while True:
            try:
                tree = None if self._is_shared else await self._reader(ctx).current()
                order = Order(job=job, data=data, label=line, is_alone=tries > 0, tree=tree)
                result = msgspec.json.decode(await self._pool.work(order), type=CheckResult)
                return msgspec.structs.replace(result, command=line)
            except NotWorked as why:
                tries += 1
                if tries == _TRIES or isinstance(why, ClusterAway):
                    raise ChecksUnavailable(f"the check of `{line}` was not run: {why}") from None
            except TreeChanged as why:
                changes += 1
                if changes == _CHANGES:
                    raise ChecksUnavailable(f"the files change all the time while they are sent: {why}") from None
            except TreeTooLarge as why:
                raise ChecksUnavailable(str(why)) from None

    async def close(self) -> None:
        """End all checks and close the cluster. May be called twice."""
        await self._pool.close()

    def _reader(self, ctx: RunContext) -> TreeReader:
        root, sandbox = ctx.workspace.root, ctx.sandbox
        if root not in self._readers:
            self._readers[root] = TreeReader(ctx.workspace, lambda: sandbox.hidden_below(root))
        return self._readers[root]

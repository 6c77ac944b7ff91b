"""Where an item of a migration is worked: in a layer of its own, or where layers do not work, in a git worktree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...finder.item_trees import TreeFailed
from ...layers.effects import TooMuch
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit
from ..tries.try_context import WorkFolder, context_in, drop_context, unit_folder
from .updating import update

if TYPE_CHECKING:
    from ...facts.tries import ItemFacts
    from ...layers.run_layers import RunLayers
    from ...step.resources.context import RunContext
    from ...step.resources.unit_watch import UnitWatch
    from ...workspace.snapshots.snapshots import Change


class ItemPlace(Protocol):
    """A tree of files that is in use by one item."""

    @property
    def ctx(self) -> RunContext:
        """The context for work in it."""
        ...

    async def own(self, changes: list[Change]) -> list[Change]:
        """Return those of the changes that work in it made. Raises OSError and TreeFailed."""
        ...

    async def renew(self) -> None:
        """Drop what was changed: its files are those of the run's tree again. Raises OSError and TreeFailed."""
        ...

    async def free(self) -> None:
        """End the work in it."""
        ...


@dataclass(slots=True)
class WorktreePlace:
    """A git worktree, which is used again for another item."""

    run: RunContext
    ctx: RunContext
    facts: ItemFacts
    release: Callable[[], object]

    async def own(self, changes: list[Change]) -> list[Change]:
        """Return all of them: nobody else writes in it."""
        return changes

    async def renew(self) -> None:
        """Copy the files of the run's tree. Raises OSError, SnapshotDamaged and TreeFailed."""
        folder = WorkFolder(self.ctx.workspace, self.ctx.sandbox, self.ctx.snapshots)
        left = await update(self.run, folder, await self.run.snapshots.take())
        if left:
            raise TreeFailed(f"the worktree could not be updated: {left[0]}")
        self.ctx.files.mark_changed()

    async def free(self) -> None:
        """Make it available again."""
        await drop_context(self.run, self.ctx, self.facts)
        self.release()


@dataclass(slots=True)
class LayerPlace:
    """A layer over the run's tree, whose files the user may change meanwhile."""

    run: RunContext
    layers: RunLayers
    watch: UnitWatch
    facts: ItemFacts
    make: Callable[[Unit], Awaitable[RunContext]]
    release: Callable[[], object]
    unit: Unit
    ctx: RunContext

    async def own(self, changes: list[Change]) -> list[Change]:
        """Return those whose paths were written in the layer. Raises OSError and TreeFailed."""
        try:
            effects = await asyncio.to_thread(self.unit.effects_since, 0)
        except TooMuch as error:
            raise TreeFailed(f"its changes cannot be listed: {error}") from error
        written = {one.path for one in effects}
        return [change for change in changes if change.path in written]

    async def renew(self) -> None:
        """Begin another layer, and delete this one. Raises OSError and TreeFailed; then it stays in use."""
        unit, ctx = await begin_layer(self.layers, self.watch, self.make)
        await self._drop()
        self.unit, self.ctx = unit, ctx

    async def free(self) -> None:
        """Delete the layer."""
        await self._drop()
        self.release()

    async def _drop(self) -> None:
        self.watch.remove(self.unit)
        await drop_context(self.run, self.ctx, self.facts)
        await asyncio.to_thread(self.unit.drop)


async def begin_layer(
    layers: RunLayers, watch: UnitWatch, make: Callable[[Unit], Awaitable[RunContext]]
) -> tuple[Unit, RunContext]:
    """Begin a layer, and return it with its context. Raises TreeFailed."""
    try:
        unit = await asyncio.to_thread(partial(Unit.begin, layers, "item", lasts=True))
    except LayerRefused as refused:
        raise TreeFailed(str(refused)) from refused
    try:
        ctx = await make(unit)
    except BaseException:
        await asyncio.to_thread(unit.drop)
        raise
    watch.add(unit)
    return unit, ctx


async def context_of_item(run: RunContext, facts: ItemFacts, name: str, who: str, unit: Unit) -> RunContext:
    """Return the context for work on an item in a layer."""
    return await context_in(run, unit_folder(run, unit), facts, name, who)

"""The unit of the open pass: the layer in which all of it works, and what it changed."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.unit import Unit
from ..start.unit_context import context_in_unit, leave_context
from .pass_commit import PassFiles
from .unit_changes import UnitChange

if TYPE_CHECKING:
    from ...layers.layer_effects import Effect
    from ...layers.run_layers import Listed, RunLayers
    from ...step.resources.run_context import RunContext
    from ...step.resources.unit_watch import UnitWatch
    from .unit_work import Work

_REVIEWED = frozenset[str]({"protected", "ordinary", "ignored_existed", "install"})
"""Classes of effects that are the work of a pass. The others are build output."""


@dataclass(frozen=True, slots=True)
class PassUnit:
    """A unit with the context that works in it."""

    unit: Unit
    ctx: RunContext
    """The context for everything that happens in the pass. Its files are those of the unit."""
    run: RunContext
    """The context of the run, whose files are the workspace."""
    layers: RunLayers
    watch: UnitWatch
    work: Work | None = None
    """What the try changed whose unit it was. None means that of the pass itself."""

    async def listed(self) -> Listed:
        """End what runs in the unit, and return what it changed. To work in it, call `open_again` first.

        Raises Occupied, NamespacesRefused, TooMuch and OSError.
        """
        await self.ctx.background.end_all("the pass ended")
        run, unit = self.run, self.unit
        if not unit.layer.is_mounted:  # it could not be mounted again when the user changed files
            await asyncio.to_thread(unit.mount_again)
        inside = partial(run.sandbox.words_in, unit.access, unit.outside(unit.root))
        return await asyncio.to_thread(self.layers.listed, self.unit.layer, os.environ, inside)

    async def open_again(self) -> None:
        """Let the pass continue after `listed`. Raises Occupied, NamespacesRefused and OSError."""
        await asyncio.to_thread(self.unit.mount_again)

    def files(self, listed: Listed) -> PassFiles:
        """Return the files and links that the pass changed, with their contents."""
        effects = [one.effect for group in listed.groups if group.kind in _REVIEWED for one in group.entries]
        chosen = sorted((one for one in effects if not _is_folder(one)), key=lambda one: one.path)
        return PassFiles(chosen, self.run.workspace.root, self.unit, listed)

    async def changes(self, files: PassFiles) -> list[UnitChange]:
        """Return what the pass changed, with all contents. Raises OSError."""
        return await asyncio.to_thread(lambda: [_change(files, one) for one in files.effects])

    async def patch(self, listed: Listed, prefix: str) -> bytes:
        """Return what the pass changed as a patch for plain git. Raises OSError and StaleFile."""
        return await asyncio.to_thread(lambda: b"".join(self.unit.patch(listed, prefix=prefix)))

    async def leave(self) -> None:
        """Keep what it wrote for a later runner. Raises Occupied, NamespacesRefused and OSError."""
        self.watch.remove(self.unit)
        await leave_context(self.run, self.ctx, "the runner ends")
        await asyncio.to_thread(self.unit.leave)

    async def drop(self) -> None:
        """Delete what it wrote. Raises OSError."""
        self.watch.remove(self.unit)
        await leave_context(self.run, self.ctx, "the pass ended")
        await asyncio.to_thread(self.unit.drop)


async def begin_pass_unit(run: RunContext, layers: RunLayers, watch: UnitWatch) -> PassUnit:
    """Begin the unit of a pass. Raises LayerRefused."""
    unit = await asyncio.to_thread(partial(Unit.begin, layers, "pass", lasts=True))
    return _in_use(run, layers, watch, unit)


async def left_pass_unit(run: RunContext, layers: RunLayers, watch: UnitWatch, folder: Path) -> PassUnit:
    """Mount the unit of a pass or a try that an earlier runner left. Raises LayerRefused, UnitLost and Occupied."""
    unit = await asyncio.to_thread(Unit.left, layers, folder)
    return _in_use(run, layers, watch, unit)


def pass_unit_of_try(run: RunContext, layers: RunLayers, watch: UnitWatch, unit: Unit, work: Work) -> PassUnit:
    """Return the unit of the chosen try as the unit of its pass."""
    return _in_use(run, layers, watch, unit, work)


def _in_use(run: RunContext, layers: RunLayers, watch: UnitWatch, unit: Unit, work: Work | None = None) -> PassUnit:
    watch.add(unit)
    return PassUnit(unit, context_in_unit(run, unit), run, layers, watch, work)


def _is_folder(effect: Effect) -> bool:
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))


def _change(files: PassFiles, effect: Effect) -> UnitChange:
    before, after = (files.version(effect, is_after=is_after) for is_after in (False, True))
    return UnitChange(
        path=effect.path,
        before=None if before is None else before.data,
        after=None if after is None else after.data,
        after_mode=None if after is None else int(after.mode, 8),
    )

"""Notify the units of work of a run that somebody changed the workspace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...host.watch_files import watch

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...layers.unit import Unit


class UnitWatch:
    """Notifies the units of a run that somebody changed the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        """`workspace`: the user's own, not a view."""
        self._workspace, self._units = workspace, list["Unit"]()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, unit: Unit) -> None:
        """Notify this unit of changes from now on."""
        self._units.append(unit)
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch())
        unit.is_watched = not self._task.done()

    def remove(self, unit: Unit) -> None:
        """Stop notifying this unit."""
        self._units.remove(unit)

    def changed(self) -> None:
        """Note that the workspace was changed."""
        for unit in self._units:
            unit.note_change()

    async def close(self) -> None:
        """End the watch."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _watch(self) -> None:
        try:
            await watch(self._workspace, lambda _: self.changed(), self._stop)
        except OSError:  # the system has no more watches: a unit is mounted again before each use
            for unit in self._units:
                unit.is_watched = False

"""The stage of a run: one layer, or copy, in which the whole run works, until somebody decides on what it changed."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...layers.layer_effects import Effect
    from ...layers.run_layers import Listed, RunLayers
    from ...layers.unit import Unit
    from ...sandbox.sandbox import Sandbox
    from .unit_watch import UnitWatch

_UNREVIEWED = frozenset[str]({"bytecode", "built", "ignored_new"})
"""Classes of effects that nobody has to decide on."""


@dataclass(slots=True)
class Stage:
    """The layer or copy of a run, and what lies below it."""

    unit: Unit
    layers: RunLayers
    workspace: Workspace
    """The workspace of the user."""
    sandbox: Sandbox
    """The sandbox for commands outside of the stage."""
    watch: UnitWatch
    is_empty: bool = False
    """Whether it has nothing that somebody would decide on."""

    async def listed(self) -> Listed:
        """Return what is staged. Its processes have ended. To continue, call `work_on`.

        Raises Occupied, TooMuch, NamespacesRefused and OSError.
        """
        found = await self._listed(seals=True)
        self.is_empty = not is_staged(found)
        return found

    async def listed_now(self) -> Listed:
        """Return what is staged while the run works in it. Its processes are suspended.

        Raises Occupied, TooMuch, NamespacesRefused and OSError.
        """
        return await self._listed(seals=False)

    async def _listed(self, *, seals: bool) -> Listed:
        inside = partial(self.sandbox.words_in, self.unit.access, self.unit.outside(self.unit.root))
        listing = partial(self.layers.listed, self.unit.layer, os.environ, inside, seals=seals)
        return await asyncio.to_thread(listing)

    async def keep(self) -> None:
        """Flush it to the disk. Raises OSError."""
        await asyncio.to_thread(self.unit.force_out)

    async def work_on(self) -> None:
        """Let the run change it again. Raises Occupied, NamespacesRefused and OSError."""
        self.is_empty = False
        await asyncio.to_thread(self.unit.mount_again)

    async def close(self) -> None:
        """Release it. It stays on the disk if somebody has to decide on something in it.

        If a process still writes in it, it stays as it is; a restart of the machine then loses it.
        """
        await self.watch.close()
        with suppress(Occupied, NamespacesRefused, OSError):
            await asyncio.to_thread(self._leave)

    def _leave(self) -> None:
        if self.is_empty or self.unit.is_empty:
            self.unit.drop()
        else:
            self.unit.leave()


def decided_on(listed: Listed) -> list[Effect]:
    """Return what somebody has to decide on, without folders and what is in repositories."""
    groups = [group for group in listed.groups if group.kind not in _UNREVIEWED]
    return [one.effect for group in groups if group.kind != "git" for one in group.entries]


def is_staged(listed: Listed) -> bool:
    """Return whether there is something to decide on."""
    return bool(decided_on(listed) or any(changes.rows for changes in listed.git))


def has_output(listed: Listed) -> bool:
    """Return whether there are files that programs made, and that nobody has to decide on."""
    return any(group.kind in ("built", "ignored_new") for group in listed.groups)

"""Find guarded paths that are written while a command runs that may count as a required action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....stops import required_commands

if TYPE_CHECKING:
    from ...resources.kit import Kit

MOST = 20
"""Paths that an event lists."""


class Disturbed:
    """Finds the guarded paths that are written while a command runs. Does nothing if no command is required."""

    def __init__(self, kit: Kit, differing: list[str], stamps: dict[str, object] | None) -> None:
        self._kit, self._differing, self._stamps = kit, differing, stamps

    @staticmethod
    async def watch(kit: Kit) -> Disturbed:
        """Record the guarded files before the command."""
        if not required_commands(kit.facts.spec.predicates.require):
            return Disturbed(kit, [], None)
        found = await kit.guarded.differences(full=False)
        kit.guarded.drop_bytecode()
        return Disturbed(kit, [one.path for one in found], kit.guarded.stamps())

    async def paths(self) -> list[str]:
        """Return paths written since, even with the same content, and paths that differed before."""
        if self._stamps is None:
            return []
        guarded = self._kit.guarded
        found = await guarded.tolerate_outputs(await guarded.differences(full=False))
        differing = {*self._differing, *(one.path for one in found)}
        return sorted({*differing, *guarded.touched_since(self._stamps)})[:MOST]

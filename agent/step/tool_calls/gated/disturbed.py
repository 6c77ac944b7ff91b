"""Find guarded paths that are written during a command that may count as a required action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....stops.predicates.required import required_commands

if TYPE_CHECKING:
    from ...resources.context import RunContext

MOST = 20
"""Paths that an event lists."""


class Disturbed:
    """Finds the guarded paths that are written while a command runs. Does nothing if no command is required."""

    def __init__(self, ctx: RunContext, differing: list[str], stamps: dict[str, object] | None) -> None:
        self._ctx, self._differing, self._stamps = ctx, differing, stamps

    @staticmethod
    async def watch(ctx: RunContext) -> Disturbed:
        """Record the state of the guarded files before the command."""
        if not required_commands(ctx.facts.spec.predicates.require):
            return Disturbed(ctx, [], None)
        found = await ctx.guarded.differences(full=False)
        ctx.guarded.drop_bytecode()
        return Disturbed(ctx, [one.path for one in found], ctx.guarded.stamps())

    async def paths(self) -> list[str]:
        """Return paths that were written since, even with the same content, and paths that differed before.

        Those are paths of the workspace: what a command wrote in a layer is not there yet.
        """
        if self._stamps is None:
            return []
        guarded = self._ctx.guarded
        found = await guarded.tolerate_outputs(await guarded.open_differences(full=False))
        differing = {*self._differing, *(one.path for one in found)}
        return sorted({*differing, *guarded.touched_since(self._stamps)})[:MOST]

    def with_effects(self, by_others: Iterable[str], written: Iterable[str], dropped: Iterable[str]) -> list[str]:
        """Return the paths for which a command in a layer does not count.

        `by_others`: what `paths` returned before its effects were applied. `written`: the guarded paths that it wrote.
        `dropped`: what it changed and what was not applied: its result is not about the files of the workspace.
        """
        return [] if self._stamps is None else sorted({*by_others, *written, *dropped})[:MOST]

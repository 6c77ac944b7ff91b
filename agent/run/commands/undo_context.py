"""The parts of a run that an undo needs, with a runner or without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.run_layers import RunLayers
    from ...repo.old_snapshots.snapshots import Snapshots
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ..live.live_run import LiveRun


@dataclass(frozen=True, slots=True)
class UndoContext:
    """The parts of a run that an undo needs."""

    journal: Journal
    facts: RunFacts
    workspace: Workspace
    snapshots: Snapshots
    events: Events
    layers: RunLayers | None = None
    """The layers of a run that has a runner and uses them."""


def undo_context(run: LiveRun) -> UndoContext:
    """Return the parts of a run that has a runner."""
    ctx = run.ctx
    layers = ctx.layers or ctx.units
    return UndoContext(ctx.journal, ctx.facts, ctx.workspace, ctx.snapshots, ctx.events, layers)

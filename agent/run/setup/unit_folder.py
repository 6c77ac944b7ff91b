"""The view of a unit of work as a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...workspace.paths import Workspace

if TYPE_CHECKING:
    from ...layers.unit import Unit
    from ...step.resources.context import RunContext
    from ...workspace.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The view of a unit of work, with its sandbox."""

    workspace: Workspace
    sandbox: Sandbox
    unit: Unit


def unit_folder(ctx: RunContext, unit: Unit) -> WorkFolder:
    """Return the view of a unit of work over the workspace. `ctx`: the run's."""
    run = ctx.workspace
    workspace = Workspace(unit.root, run.private, None, run.hook_scripts, run.hide_rules, seen=unit.outside(unit.root))
    return WorkFolder(workspace, ctx.sandbox.in_unit(unit), unit)

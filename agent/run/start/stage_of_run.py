"""Put a run into its stage: its changes reach the workspace only after somebody decided on them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitLost
from ...protocol import GateMode, Refusal
from ...step.resources.run_stage import Stage
from ...step.resources.unit_watch import UnitWatch
from .layers_of_run import close_layers, why_no_stage

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...layers.run_layers import RunLayers
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts
    from .layers_of_run import FoundLayers


async def stage_of(
    facts: RunFacts, mode: GateMode, found: FoundLayers, workspace: Workspace, sandbox: Sandbox
) -> Stage | None:
    """Return the stage of a run, mounted, or None if it works in the workspace. Raises Refusal.

    A run that once began in a stage stays in it until that is applied or dropped, whatever its mode.
    """
    name = facts.changes.stage
    above = facts.spec.parent
    if name is None and mode is not GateMode.STAGE and not (above is not None and above.stages):
        return None
    layers = found.layers or found.units
    if why := why_no_stage(facts.spec, found):
        if name is not None:
            raise Refusal(f"the stage of this run cannot be mounted here: {why}. {found.remedy}".rstrip(" "))
        use = "Use --gate ask, edits or auto"
        raise Refusal(f"--gate stage does not work here: {why}. {use}. {found.remedy}".rstrip(" "))
    assert layers is not None  # `why_no_stage` looked
    try:
        unit = await asyncio.to_thread(_mounted, layers, name, has_files=bool(facts.staged))
    except (LayerRefused, Occupied) as error:
        raise Refusal(f"the stage cannot be mounted: {error}") from None
    except UnitLost as lost:
        run = facts.spec.run_id
        raise Refusal(f"the stage is lost: {lost}. `rundry apply {run} --drop` lets it begin a new one") from None
    watch = UnitWatch(workspace)
    watch.add(unit)
    return Stage(unit, layers, workspace, sandbox, watch)


def _mounted(layers: RunLayers, name: str | None, *, has_files: bool) -> Unit:
    """Return the unit of the stage. An empty one is not kept between two runners."""
    if name is not None and ((layers.folder / name).exists() or has_files):
        return Unit.left(layers, layers.folder / name)
    return Unit.begin(layers, "stage", lasts=True)


def view_of(stage: Stage) -> tuple[Workspace, Sandbox]:
    """Return the workspace as the stage shows it, and the sandbox whose commands enter it."""
    live, unit = stage.workspace, stage.unit
    seen = unit.outside(unit.root)
    view = type(live)(unit.root, live.private, None, live.hook_scripts, live.hide_rules, seen=seen)
    return view, stage.sandbox.in_unit(unit)


async def close_places(stage: Stage | None, *layers: RunLayers | None) -> None:
    """Release the stage of a run, and end the processes that its layers need."""
    if stage is not None:
        await stage.close()
    await close_layers(None if stage is None else stage.layers, *layers)

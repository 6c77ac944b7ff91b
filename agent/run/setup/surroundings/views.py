"""Find where the results of a run are judged: in layers, or where there are none, in copies (decision 0040)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from ....layers.fitness import place_of_copies, place_of_orders
from ....layers.run_layers import RunLayers
from ....layers.start_copy import StartCopy, StartRefused, own_folder_in, start_name, sweep_starts
from ....protocol.text.counts import plural
from ....protocol.text.effect_words import size_words
from ....settings.search.executor import read_executor
from ....verdict.judge.judged_runs import is_judged
from ...start.start_progress import with_progress

if TYPE_CHECKING:
    from pathlib import Path

    from ....host.workspace_paths import Workspace
    from ....protocol import RunSpec
    from ....sandbox.sandbox import Sandbox
    from ...start.inputs import Inputs
    from ...start.layers_of_run import FoundLayers


class Views(NamedTuple):
    """Where the judge makes its views, or why it can make none."""

    layers: RunLayers | None = None
    """None: there are no views."""
    line: str = ""
    """For the user, at the start; empty: there is nothing to say."""
    why_none: str = ""
    """Why there are none; empty: there are some, or nothing is judged."""


async def views_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> Views:
    """Return where results are judged. Without layers, the workspace is copied before a new run begins.

    `found`: the layers of the run.
    """
    spec, facts = inputs.journal.spec, inputs.facts
    if found.layers is not None or not is_judged(spec):
        return Views(found.layers)
    noted = facts.verdicts.scope
    if facts.started and not (noted is not None and noted.in_copy):
        return Views(None, "", (noted.no_views if noted is not None else "") or found.why_none)
    making = asyncio.to_thread(_views, inputs, workspace, sandbox, found)
    return await with_progress(making, inputs.tell, f"copying {spec.workspace}, to judge the result in a copy")


def _views(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> Views:
    path, is_new, spec = inputs.journal.path, not inputs.facts.started, inputs.journal.spec
    at_workspace = sandbox.kind == "bubblewrap"
    if is_new and not at_workspace and (named := _named(spec, workspace.seen)):
        return _not_judged(f"`{named}` names {workspace.seen}, and a copy of it lies elsewhere")
    if _is_elsewhere(spec):
        return _not_judged("the checks run on the machines of a cluster")
    base = place_of_copies(workspace.root, path.parent)
    if base.is_relative_to(workspace.root):
        return _not_judged(f"rundry's own folder {path.parent} lies in the workspace")
    try:
        layers = RunLayers(workspace, base, path.stem, None, copies=True, at_workspace=at_workspace)
        layers.others_write, layers.hidden = True, own_folder_in(workspace.root)
        orders = place_of_orders(workspace.root, path.parent)
        layers.contents_base = found.units.base if spec.has_units and found.units is not None else orders
        layers.recover()
        if not is_new:
            layers.start = StartCopy.left(base, start_name(inputs.journal), workspace.root, layers.hidden)
            return Views(layers)
        sweep_starts(base)
        layers.start, size = StartCopy.make(base, start_name(inputs.journal), workspace.root, layers.hidden)
    except (StartRefused, OSError) as error:
        return _not_judged(str(error))
    copied = f"{plural(size.files, 'file')}, {size_words(size.size)}"
    return Views(layers, f"the result is judged in a copy of the workspace ({copied})")


def _named(spec: RunSpec, seen: Path) -> str:
    """Return the check that names the path of the workspace; empty: none does."""
    of_items = [] if spec.finder is None or spec.finder.check is None else [spec.finder.check]
    scores = [] if spec.improve is None else [spec.improve.score]
    return next((line for line in [*spec.predicates.until, *of_items, *scores] if str(seen) in line), "")


def _is_elsewhere(spec: RunSpec) -> bool:
    """Return whether checks run where the workspace is not."""
    executor = None if spec.finder is None else spec.finder.executor
    return executor is not None and read_executor(executor).address is not None


def _not_judged(why: str) -> Views:
    return Views(None, f"not judged here: {why}; so no check runs once more", why)

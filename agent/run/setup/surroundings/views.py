"""Give a run without layers the copies in which its results are judged (decision 0040, "Direct mode")."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from ....layers.fitness import place_of_copies, place_of_orders
from ....layers.run_layers import RunLayers
from ....layers.start_copy import StartCopy, StartRefused, own_folder_in, start_name, sweep_starts
from ....protocol.text.counts import plural
from ....protocol.text.effect_words import size_words
from ....verdict.which import decides
from ..progress import with_progress

if TYPE_CHECKING:
    from pathlib import Path

    from ....protocol import RunSpec
    from ....workspace.paths import Workspace
    from ....workspace.sandbox.sandbox import Sandbox
    from ..inputs import Inputs
    from .layers import FoundLayers


NOT_JUDGED = "not judged here"


class Views(NamedTuple):
    """Where a run is judged, or why it is not."""

    layers: RunLayers | None = None
    """None: it is not judged, or it has layers or units of work."""
    line: str = ""
    """For the user, at the start; empty: there is nothing to say."""


async def views_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox, found: FoundLayers) -> Views:
    """Copy the workspace before a run without layers begins, or find the copy that an earlier runner made.

    `found`: the layers of the run.
    """
    spec, facts = inputs.journal.spec, inputs.facts
    if found.layers is not None or spec.has_units or not decides(spec):
        return Views()
    if facts.started and not (facts.verdicts.scope is not None and facts.verdicts.scope.in_copy):
        return Views()
    making = asyncio.to_thread(_views, inputs, workspace, sandbox)
    return await with_progress(making, inputs.tell, f"copying {spec.workspace}, to judge the result in a copy")


def _views(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> Views:
    path, is_new, run = inputs.journal.path, not inputs.facts.started, start_name(inputs.journal)
    at_workspace = sandbox.kind == "bubblewrap"
    if is_new and not at_workspace and (named := _named(inputs.journal.spec, workspace.seen)):
        return _not_judged(f"`{named}` names {workspace.seen}, and a copy of it lies elsewhere")
    base = place_of_copies(workspace.root, path.parent)
    if base.is_relative_to(workspace.root):
        return _not_judged(f"rundry's own folder {path.parent} lies in the workspace")
    try:
        layers = RunLayers(workspace, base, path.stem, None, copies=True, at_workspace=at_workspace)
        layers.others_write = True
        layers.hidden = own_folder_in(workspace.root)
        layers.contents_base = place_of_orders(workspace.root, path.parent)
        layers.recover()
        if not is_new:
            layers.start = StartCopy.left(base, run, workspace.root, layers.hidden)
            return Views(layers)
        sweep_starts(base)
        layers.start, size = StartCopy.make(base, run, workspace.root, layers.hidden)
    except (StartRefused, OSError) as error:
        return _not_judged(str(error))
    copied = f"{plural(size.files, 'file')}, {size_words(size.size)}"
    return Views(layers, f"the result is judged in a copy of the workspace ({copied})")


def _named(spec: RunSpec, seen: Path) -> str:
    """Return the check that names the path of the workspace; empty: none does."""
    return next((line for line in spec.predicates.until if str(seen) in line), "")


def _not_judged(why: str) -> Views:
    return Views(None, f"{NOT_JUDGED}: {why}")

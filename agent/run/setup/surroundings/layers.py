"""Give a run its layers, where they work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ....layers.fitness import try_workspace
from ....layers.namespaces import Namespaces, NamespacesRefused
from ....layers.run_layers import RunLayers
from ....protocol import GateMode, LoopKind, RunSpec

if TYPE_CHECKING:
    from ....workspace.paths import Workspace
    from ....workspace.sandbox.sandbox import Sandbox
    from ..inputs import Inputs

_OF_PASSES = (LoopKind.INTERVAL, LoopKind.IMPROVE)
"""Loops whose passes work in layers."""


async def layers_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> tuple[RunLayers | None, str]:
    """Return the layers of a run, and a note for the user. None: commands write to the workspace, as the note says.

    A run that begins in the mode `effects` gets them (being built, decision 0039).
    """
    spec, path = inputs.journal.spec, inputs.journal.path
    mode = inputs.order.changes.gate or inputs.facts.gate_mode
    is_wanted = mode is GateMode.EFFECTS or spec.loop in _OF_PASSES
    if not inputs.process.layers and not is_wanted:
        return None, ""
    if why := _why_not(spec, sandbox):
        return None, f"commands write to the workspace itself: {why}" if is_wanted else ""

    def begin() -> tuple[RunLayers | None, str]:
        namespaces = Namespaces()
        try:
            found = try_workspace(workspace.root, path.parent, namespaces)
            if found.place is None:
                namespaces.close()
                return None, f"commands write to the workspace itself: {found.why}"
            layers = RunLayers(workspace, found.place, path.stem, namespaces, is_inside=found.is_inside)
        except BaseException:
            namespaces.close()
            raise
        layers.others_write = bool(spec.mcp or spec.commit_hooks or inputs.facts.actions)
        return layers, "\n".join(layers.recover())

    try:
        layers, why = await asyncio.to_thread(begin)
    except (NamespacesRefused, OSError) as error:
        return None, f"commands write to the workspace itself: {error}"
    if layers is not None:
        sandbox.network_words, sandbox.layers = layers.namespaces.words, layers.hidden
    return layers, why


def _why_not(spec: RunSpec, sandbox: Sandbox) -> str:
    """Return why a run has no layers whatever its workspace allows; empty: it can have them."""
    if sandbox.kind is None:
        return "there is no sandbox"
    if spec.loop in _OF_PASSES:
        return _why_no_passes(spec)
    if spec.loop not in (LoopKind.CHAT, LoopKind.GOAL):
        return f"not in a run of the kind {spec.loop}"
    return "" if spec.changes_files else "this run changes no files"


def _why_no_passes(spec: RunSpec) -> str:
    """Return why the passes of a run do not work in layers; empty: they can."""
    if spec.commit_hooks:
        return "not with --commit-hooks"
    improve = spec.improve
    if improve is not None and improve.pass_loop is not None:
        return "not where each pass is a run of its own"
    return "not with --tries" if improve is not None and improve.tries > 1 else ""

"""Give a run its layers, where they work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ....layers.fitness import try_workspace
from ....layers.namespaces import Namespaces, NamespacesRefused
from ....layers.run_layers import RunLayers
from ....protocol import LoopKind

if TYPE_CHECKING:
    from ....workspace.paths import Workspace
    from ....workspace.sandbox.sandbox import Sandbox
    from ..inputs import Inputs


async def layers_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> tuple[RunLayers | None, str]:
    """Return the layers of a run, and a note for the user. None: commands write to the workspace, as the note says."""
    spec, path = inputs.journal.spec, inputs.journal.path
    fits = sandbox.kind == "bubblewrap" and spec.changes_files and spec.loop in (LoopKind.CHAT, LoopKind.GOAL)
    if not inputs.process.layers or not fits:
        return None, ""

    def begin() -> tuple[RunLayers | None, str]:
        namespaces = Namespaces()
        found = try_workspace(workspace.root, path.parent, namespaces)
        if found.place is None or found.is_inside:
            namespaces.close()
            return None, f"commands write to the workspace itself: {found.why or 'no folder outside of it'}"
        layers = RunLayers(workspace, found.place, path.stem, namespaces)
        return layers, "\n".join(layers.recover())

    try:
        layers, why = await asyncio.to_thread(begin)
    except (NamespacesRefused, OSError) as error:
        return None, f"commands write to the workspace itself: {error}"
    if layers is not None:
        sandbox.network_words = layers.namespaces.words
    return layers, why

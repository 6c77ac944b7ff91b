"""Give a run its layers, where they work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ....layers.namespaces import NamespacesRefused
from ....layers.occupied import workspace_key
from ....layers.run_layers import RunLayers
from ....protocol import LoopKind

if TYPE_CHECKING:
    from ....workspace.paths import Workspace
    from ....workspace.sandbox.sandbox import Sandbox
    from ..inputs import Inputs

_FOLDER = "layers"


async def layers_of(inputs: Inputs, workspace: Workspace, sandbox: Sandbox) -> tuple[RunLayers | None, str]:
    """Return the layers of a run, or None and why its commands write to the workspace. Never raises OSError."""
    spec, path = inputs.journal.spec, inputs.journal.path
    fits = sandbox.kind == "bubblewrap" and spec.changes_files and spec.loop in (LoopKind.CHAT, LoopKind.GOAL)
    if not inputs.process.layers or not fits:
        return None, ""
    base = path.parent / _FOLDER / workspace_key(workspace.root)
    try:
        found = await asyncio.to_thread(RunLayers, workspace, base, path.stem)
    except (NamespacesRefused, OSError) as error:
        return None, f"commands write to the workspace itself: {error}"
    sandbox.network_words = found.namespaces.words
    return found, ""

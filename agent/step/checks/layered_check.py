"""Run a check in a layer, so that it changes nothing but what it builds (decision 0039)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from ...layers.apply import Row
from ...layers.effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import Prompted, Record

if TYPE_CHECKING:
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...workspace.sandbox.access import LayerAccess
    from ..resources.context import RunContext

_MOST_NAMED = 5


@asynccontextmanager
async def check_in_layer(ctx: RunContext, name: str, record: Record) -> AsyncGenerator[LayerAccess | None]:
    """Give a check a layer of its own during the block; None: this run has no layers.

    Afterwards, what it wrote in ignored folders of output and caches is applied. The rest is dropped, and each such
    file is named once in a run.
    """
    layers = ctx.layers
    if layers is None:
        yield None
        return
    layer = await asyncio.to_thread(layers.open)
    try:
        yield layer.access
        dropped = await asyncio.to_thread(_take_output, layers, layer)
        new = [path for path in dropped if path not in layers.named]
        layers.named.update(new)
        if new:
            more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
            shown = ", ".join(f"`{path}`" for path in new[:_MOST_NAMED])
            record(Prompted(kind="guard", text=f"The check `{name}` changed files, which was dropped: {shown}{more}."))
    finally:
        await asyncio.to_thread(layer.drop)


def _take_output(layers: RunLayers, layer: Layer) -> list[str]:
    """Apply what was built, and return the paths of what is dropped, without byte-code."""
    try:
        listed = layers.listed(layer, os.environ)
    except (Occupied, TooMuch, NamespacesRefused, OSError):
        return []
    built, dropped = list[Row](), list[str]()
    for group in listed.groups:
        for entry in group.entries:
            effect = entry.effect
            if group.kind == "built" and not effect.conflict:
                built.append(Row(path=effect.path, before=effect.before, after=effect.after))
            elif group.kind not in ("built", "bytecode"):
                dropped.append(effect.path)
    with suppress(OSError):  # what was built is there in part, or can be built again
        layers.apply_output(layer, built)
    return dropped

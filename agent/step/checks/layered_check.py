"""Run a check in a layer, so that it changes nothing but what it builds (decision 0039)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ...layers.effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import Prompted, Record

if TYPE_CHECKING:
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
        try:
            dropped = await asyncio.to_thread(layers.take_output, layer)
        except (Occupied, NamespacesRefused, TooMuch, OSError) as error:
            dropped = [f"everything, because {error}"]
        new = [one for one in dropped if one not in layers.named]
        layers.named.update(new)
        if new:
            more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
            shown = f"{', '.join(new[:_MOST_NAMED])}{more}"
            record(Prompted(kind="guard", text=f"These changes of the check `{name}` were dropped: {shown}."))
    finally:
        await asyncio.to_thread(layer.drop)

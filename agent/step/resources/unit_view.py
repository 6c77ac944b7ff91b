"""Keep the view of a unit of work equal to the workspace, where the unit wrote nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...protocol import Prompted

if TYPE_CHECKING:
    from ...state.recorder import Events
    from .run_context import RunContext


async def refresh_unit(ctx: RunContext, events: Events) -> None:
    """Mount the unit again if the workspace was changed since. Its background commands end, and the model gets a line.

    To be called before anything reads or runs in the unit. Raises LayerRefused: then nothing can run in it any more.
    """
    unit = ctx.unit
    if unit is None or not unit.is_stale:
        return
    names = ", ".join(f"`{name}`" for name in ctx.background.names())
    await ctx.background.end_all("the user changed files of the workspace")
    try:
        await asyncio.to_thread(unit.mount_again)
    except Occupied:  # it shows older files until its last process has ended
        return
    except (NamespacesRefused, OSError) as error:
        raise LayerRefused(error, unit.folder.parent.parent) from error
    if names:
        text = f"The user changed files of the workspace. To see them, these background commands were ended: {names}."
        events.record(Prompted(kind="background", text=text))

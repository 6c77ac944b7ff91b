"""Copy folders of output before a run first writes there, so that the views of its judge have them as they were."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...state.facts.unrecorded import EVERYWHERE
from ...verdict.judge.workspace_ledger import Ledger

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ..resources.run_context import RunContext


async def copy_outputs(ctx: RunContext, layers: RunLayers, folders: Iterable[str]) -> None:
    """Copy those of these folders in which no run could write yet. A judge has no output where this fails."""
    if not ctx.judges or ctx.unit is not None or layers.hidden is not None:
        return
    unrecorded = ctx.facts.changes.unrecorded
    written = [*unrecorded.outputs, *(folder for one in unrecorded.writers for folder in one.folders)]
    new = [folder for folder in folders if not _is_reached(folder, written)]
    if new:
        await asyncio.to_thread(_copy, layers, Ledger(ctx.workspace.seen, ctx.journal.path.parent), new)


def _copy(layers: RunLayers, ledger: Ledger, folders: Sequence[str]) -> None:
    with suppress(OSError, ValueError):
        earlier = ledger.read().outputs
        for folder in folders:
            if not _is_reached(folder, earlier):
                layers.output_copies.keep(folder)


def _is_reached(folder: str, written: Iterable[str]) -> bool:
    return any(
        one == EVERYWHERE or f"{folder}/".startswith(f"{one}/") or one.startswith(f"{folder}/") for one in written
    )

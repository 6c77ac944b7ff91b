"""Run a check in a layer, so that it changes nothing but what it builds (decision 0039)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...journal.encoding import recorded_text
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.overwritten import LayerEntry, entries_in, overwritten
from ...protocol import OutputsWritten, Prompted
from ..tool_calls.copy_outputs import copy_outputs

if TYPE_CHECKING:
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...sandbox.command_access import LayerAccess
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_MOST_NAMED = 5


class CheckPlace:
    """Where a check runs: in a layer of its own, in its unit of work, or in the workspace if the run has no layers."""

    def __init__(self, ctx: RunContext, name: str, events: Events, layer: Layer | None) -> None:
        self._ctx, self._name, self._events, self._layer = ctx, name, events, layer
        unit = None if ctx.unit is None else ctx.unit.layer
        self._inside = unit if layer is None else layer
        self._watch = None if self._inside is None else self._inside.watch()
        self.unknown = ""
        """Why it is not known what the check wrote. Empty means that it is known."""
        self.wrote: dict[str, str] | None = None
        """The files that existed before and that it wrote, with their digests, or None if it is not known."""
        self._before: dict[bytes, LayerEntry] | None = None
        """What was written in its unit before."""

    @property
    def is_apart(self) -> bool:
        """Whether what the check writes stays apart from the workspace."""
        return self._inside is not None

    @property
    def access(self) -> LayerAccess | None:
        """How the check enters its layer or unit. None means that it runs in the workspace."""
        if self._inside is None or self._watch is None:
            return None
        return replace(self._inside.access, begin=self._watch.begin)

    @property
    def why_unknown(self) -> str | None:
        """Why a result does not count: it is not known what the check wrote. None means that it is known."""
        return f"it is not known what it changed: {self.unknown}" if self.unknown else None

    def note_before(self) -> None:
        """Note what is written in the unit of a judged run, so that `wrote` has only what the check writes."""
        unit = self._ctx.unit
        if self._layer is None and unit is not None and unit.layer.copy is None and self._ctx.judges:
            with suppress(TooMuch, OSError):  # then `wrote` stays unknown
                self._before = entries_in(unit.layer)

    def stop_watching(self) -> None:
        """Stop watching how much the check writes."""
        if self._watch is not None:
            self._watch.end()

    async def ended(self) -> None:
        """Apply what the check built in ignored folders of output and caches, and drop the rest.

        Each dropped file is named once in a run.
        """
        layers, layer = self._ctx.layers, self._layer
        self.stop_watching()
        if self._watch is not None and self._watch.reached:
            self.unknown = f"it was ended, because {self._watch.reached}"
            self._say(f"The check `{self._name}` was ended, because {self._watch.reached}.")
            return
        if layers is None or layer is None:
            await self._note_written()
            return
        try:
            listed = await asyncio.to_thread(layers.listed, layer, os.environ)
            self.wrote = await asyncio.to_thread(overwritten, layer, {})
        except (Occupied, NamespacesRefused, TooMuch, OSError) as error:
            self.unknown = str(error)
            self._name_dropped(layers, [f"everything, because {error}"])
            return
        output = await asyncio.to_thread(layers.sort_output, listed, self._ctx.guard.matches)
        known, dropped = self._ctx.facts.changes.unrecorded.outputs, [*output.dropped]
        if new := [path for path in map(recorded_text, output.paths) if path not in known]:
            await copy_outputs(self._ctx, layers, new)
            self._events.record(OutputsWritten(paths=new))
        try:
            await asyncio.to_thread(layers.take_output, layer, output)
        except OSError as error:
            dropped.append(f"what it built, because {error}")
        self._name_dropped(layers, dropped)

    async def _note_written(self) -> None:
        """Find out which files the check wrote in its unit."""
        if self._inside is not None and self._before is not None:
            with suppress(TooMuch, OSError):  # then it stays unknown
                self.wrote = await asyncio.to_thread(overwritten, self._inside, self._before)

    def _name_dropped(self, layers: RunLayers, dropped: Sequence[str]) -> None:
        new = [one for one in dropped if one not in layers.named]
        layers.named.update(new)
        if new:
            more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
            shown = f"{', '.join(new[:_MOST_NAMED])}{more}"
            self._say(f"These changes of the check `{self._name}` were dropped: {shown}.")

    def _say(self, text: str) -> None:
        self._events.record(Prompted(kind="guard", text=text))


@asynccontextmanager
async def place_of_check(ctx: RunContext, name: str, events: Events) -> AsyncGenerator[CheckPlace]:
    """Give a check its place during the block. Raises LayerRefused: then it must not run."""
    layer = None if ctx.layers is None else await asyncio.to_thread(ctx.layers.open, line=name)
    place = None
    try:
        place = CheckPlace(ctx, name, events, layer)
        await asyncio.to_thread(place.note_before)
        yield place
    finally:
        if place is not None:
            await asyncio.to_thread(place.stop_watching)
        if layer is not None:
            await asyncio.to_thread(layer.drop)

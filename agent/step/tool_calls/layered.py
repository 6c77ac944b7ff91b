"""Run an approved command apart: nothing that it changes is in the workspace before it was decided on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...protocol import Snapshotted
from ...stops.predicates.required import required_commands
from ...tools.execution import carry_out
from ..resources.activity import CommandEnded, PersonInterrupted
from ..resources.last_line import output_reported
from ..resources.tail import Tail
from .effects_at_gate import changed_paths, take_effects

if TYPE_CHECKING:
    from ...gate.draft import CommandDraft
    from ...gate.ruling import Ruling
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...protocol import Record
    from ...tools.result import ToolResult
    from ..resources.context import RunContext


_UNDECIDED = "Nothing that it changed was applied: the person interrupted the step before deciding on it."
_MOST_NAMED = 20


async def attempt_in_layer(
    ctx: RunContext, layers: RunLayers, draft: CommandDraft, ruling: Ruling, record: Record, call_id: str
) -> LayeredAttempt:
    """Run the command once in a layer of its own. Raises CommandEnded and LayerRefused; then it did not run."""
    if ctx.facts.changes.world is None:
        record(Snapshotted(world=None, layer=True))
    layer = await asyncio.to_thread(layers.open)
    printed, watch = Tail(), None
    try:
        watch = layer.watch()
        with ctx.usage.running(), output_reported(record, draft.command, call_id, printed) as report:
            access = replace(layer.access, begin=watch.begin)
            running = carry_out(draft, ruling, ctx.tools, report, access)
            result = await ctx.activity.interruptible(running)
        watch.end()
        return LayeredAttempt(ctx, layers, layer, draft.command, record, result, watch.reached)
    except PersonInterrupted as how:
        if watch is not None:
            watch.end()
        left = _left_in_layer(printed.text, await changed_paths(ctx, layers, layer))
        await asyncio.to_thread(layer.drop)
        raise CommandEnded(how, left) from how
    except BaseException:
        if watch is not None:
            watch.end()
        layer.drop()
        raise


async def attempt_to_read(
    ctx: RunContext, draft: CommandDraft, ruling: Ruling, record: Record, call_id: str
) -> ToolResult:
    """Run a command for which the workspace is read-only. Raises CommandEnded."""
    if ctx.facts.changes.world is None:
        record(Snapshotted(world=None, layer=True))
    printed = Tail()
    try:
        with ctx.usage.running(), output_reported(record, draft.command, call_id, printed) as report:
            running = carry_out(draft, ruling, ctx.tools, report, keeps_workspace=True)
            result = await ctx.activity.interruptible(running)
    except PersonInterrupted as how:
        raise CommandEnded(how, _left_in_layer(printed.text, [])) from how
    return result


@dataclass(slots=True)
class LayeredAttempt:
    """A command that ran in a layer; nothing of what it changed is in the workspace yet."""

    _ctx: RunContext
    _layers: RunLayers
    _layer: Layer | None
    _command: str
    _record: Record
    result: ToolResult
    _limit: str
    """The limit for which it was ended; empty: none."""

    async def take(self) -> ToolResult:
        """Decide on what it changed, apply what is accepted, and return its result with a line for the model.

        Raises CommandEnded if a person interrupts the decision.
        """
        assert self._layer is not None  # it was not closed
        done = self.result.finished
        ended = self._limit or ("it timed out" if done is not None and done.timed_out else "")
        try:
            taken = await take_effects(self._ctx, self._layers, self._layer, self._command, self._record, ended=ended)
        except PersonInterrupted as how:
            raise CommandEnded(how, f"{self.result.text}\n{_UNDECIDED}") from how
        is_watched = bool(required_commands(self._ctx.facts.spec.predicates.require))
        dropped = sorted(taken.dropped)[:_MOST_NAMED] if is_watched else []
        return replace(self.result, disturbed=dropped).with_notes(taken.lines)

    async def close(self) -> None:
        """Drop what was not applied."""
        layer, self._layer = self._layer, None
        if layer is not None:
            await asyncio.to_thread(layer.drop)


def _left_in_layer(printed: str, changed: Sequence[str]) -> str:
    """Return what a command printed and would have changed before a person ended it, for the model."""
    text = ["The person ended this command while it ran. Nothing that it changed was applied."]
    if changed:
        text.append(f"It had changed: {', '.join(changed[:20])}.")
    if shown := printed.strip():
        text.append(f"It had printed:\n{shown}")
    return "\n".join(text)

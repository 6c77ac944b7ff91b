"""Rewind a run to the moment before a message or a step: restore its conversation and its files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import Event, LoopKind, Prompted, Rewind, Rewound, Said, StepStarted, Undone
from .undo_command import is_mid_step, revert_changes
from .undo_context import UndoContext, undo_context
from .undo_effects import forget_undo

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.change_tracker import ChangeTracker
    from ..live.live_run import LiveRun

MID_STEP = "a step runs: interrupt it first, then rewind"


async def rewind(run: LiveRun, command: Rewind) -> str | None:
    """Rewind the run. Returns None, or why it was refused. The spend does not change, and no event is removed."""
    ctx = run.ctx
    if ctx.activity.is_running:
        return MID_STEP
    async with run.files_lock.held("a rewind"):
        if ctx.activity.is_running or is_mid_step(run.facts):
            return MID_STEP
        context = undo_context(run)
        going = asyncio.ensure_future(_rewind(context, command))
        try:
            gone = await asyncio.shield(going)
        except asyncio.CancelledError:
            _record(context, run.ctx.events, run.ctx.files, await going)
            raise
        if isinstance(gone, str):
            return gone
        _record(context, run.ctx.events, run.ctx.files, gone)
    ctx.stalls.reset_after_message()
    if run.facts.spec.loop is not LoopKind.CHAT and run.facts.ended is None and not run.is_user_in_control:
        run.pauses.pause("rewound; a message or /resume continues from here", by="person")
    return None


def _record(context: UndoContext, events: Recorder, files: ChangeTracker, gone: Sequence[Event] | str) -> None:
    if isinstance(gone, str):
        return
    with events.together():
        for event in gone:
            events.record(event)
    _forget(context, gone)
    files.mark_changed()


def _forget(context: UndoContext, gone: Sequence[Event]) -> None:
    for event in gone:
        if isinstance(event, Undone):
            forget_undo(context, event)


async def rewind_after_end(context: UndoContext, command: Rewind) -> str | None:
    """Rewind a run that has no runner."""
    if is_mid_step(context.facts):
        return "the run stopped in the middle of a step: /resume it so that the step ends, then rewind"
    gone = await _rewind(context, command)
    if isinstance(gone, str):
        return gone
    for event in gone:
        context.events.record(event)
    _forget(context, gone)
    return None


async def _rewind(context: UndoContext, command: Rewind) -> Sequence[Event] | str:
    """Restore the files. Returns the events to record, or why the rewind is not possible."""
    found = _target(context, command.seq)
    if isinstance(found, str):
        return found
    chosen = context.facts.changes.after(found.upto)
    undone = await revert_changes(context, chosen) if chosen else None
    return [*([] if undone is None else [undone]), found, *_left(undone)]


def _target(context: UndoContext, seq: int) -> Rewound | str:
    """Return the event of a rewind to before event `seq`, or why it is not possible."""
    facts = context.facts
    if not facts.spec.loop.traits.has_one_conversation:
        return f"{facts.spec.loop.a_run} has no single conversation to rewind"
    events = context.journal.read(seq - 1, 1) if seq > 0 else []
    event = events[0].event if events and events[0].seq == seq else None
    match event:
        case Said(kind="task") if _is_the_task(facts, event):
            return Rewound(upto=seq + 1, text="")
        case Said(text=text):
            return Rewound(upto=seq, text=text)
        case StepStarted(number=number) if events[0].work is None:
            return Rewound(upto=seq, step=number)
        case _:
            return "there is no message of yours and no step at that point"


def _is_the_task(facts: RunFacts, said: Said) -> bool:
    """Return whether the message is the task of a run. A rewind keeps it and goes back to the start of the run."""
    return facts.spec.loop is not LoopKind.CHAT and said.text == facts.spec.opening


def _left(undone: Undone | None) -> list[Prompted]:
    """Return a message to the model about files that could not be restored, if there are any."""
    if undone is None or not undone.kept:
        return []
    text = "Some files could not be restored: " + "; ".join(undone.kept[:40]) + ". Read a file before you change it."
    return [Prompted(kind="undo", text=text)]

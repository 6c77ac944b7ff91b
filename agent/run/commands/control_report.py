"""End manual control, and report to the model what was done and which files changed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import BackgroundEnded, Prompted, ShellFinished, WheelGiven, WheelTaken

if TYPE_CHECKING:
    from ...facts.actions import Action
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Change, Snapshots

_SHOWN_ACTIONS = 40
_SHOWN_RESULT = 600
"""Maximum number of characters of each action's result in the report."""
_DIFF_LINES = 80
"""Maximum number of lines of one file's diff in the report."""
_DIFF_CHARACTERS = 8_000
"""Maximum number of characters of all diffs in the report."""


async def control_taken_event(snapshots: Snapshots) -> WheelTaken:
    """Take a snapshot of the workspace, and return the event that gives control to the person."""
    return WheelTaken(world=await snapshots.take() or None)


async def end_control(ctx: RunContext, note: str, *, by: str, finished: bool = False) -> None:
    """Return control, and report to the model what was done, the changed files and the note.

    `finished`: the run ends, so no report is needed.
    """
    taken, done = ctx.facts.manual.wheel, list(ctx.facts.manual.done)
    assert taken is not None  # the caller checked it
    world = await ctx.snapshots.take() or None
    changes: Sequence[Change] = []
    if taken.world is not None and world is not None:
        changes = await ctx.snapshots.changes(taken.world, world)
    with ctx.events.together():
        ctx.events.record(
            WheelGiven(note=note, actions=len(done), files=[c.path for c in changes], by=by, finished=finished)
        )
        if (done or changes or note) and not finished:
            ctx.events.record(Prompted(kind="wheel", text=control_summary(done, changes, note)))
    ctx.files.mark_changed()
    ctx.background.note_tree(world)
    ctx.stalls.reset_after_message()


async def end_manual_control(ctx: RunContext) -> None:
    """Record that the processes of an earlier runner ended, and return the control that it had given."""
    hands, why = ctx.facts.manual, "it was stopped, because the program stopped"
    for shell_id in list(hands.shells):
        ctx.events.record(ShellFinished(shell_id=shell_id, how=why, ok=False, output=""))
    if names := list(hands.background):
        for name in names:
            ctx.events.record(BackgroundEnded(name=name, how=why))
        no_longer = f"No longer running in the background, because the program was restarted: {', '.join(names)}."
        ctx.events.record(Prompted(kind="background", text=f"{no_longer} Start again what you need."))
    if hands.wheel is not None:
        await end_control(ctx, "", by="program")


def control_summary(done: Sequence[Action], changes: Sequence[Change], note: str) -> str:
    """Return the message to the model about the time of manual control."""
    parts = ["The person took control for a while and returns it to you now."]
    if note:
        parts.append(f"They say: {note}")
    if done:
        shown = [_line(action) for action in done[-_SHOWN_ACTIONS:]]
        parts.append("\n".join(["They did, with your tools:", *shown]))
    if changes:
        parts.append(_changed(changes))
    else:
        parts.append("No file changed meanwhile.")
    parts.append("Continue from here. Read a file before you change it again.")
    return "\n\n".join(parts)


def _line(action: Action) -> str:
    how = {True: "", False: " (it failed)", None: " (interrupted: its result is not known)"}[action.ok]
    what = json.dumps(action.arguments, ensure_ascii=False)
    what = what if len(what) <= _SHOWN_RESULT else what[:_SHOWN_RESULT] + "…"
    result = action.result[:_SHOWN_RESULT].strip()
    return f"- {action.tool} {what}{how}" + (f"\n  {result}".replace("\n", "\n  ").rstrip() if result else "")


def _changed(changes: Sequence[Change]) -> str:
    named = ", ".join(change.path for change in changes[:40])
    parts, room = [f"Files that changed meanwhile: {named}."], _DIFF_CHARACTERS
    for change in changes:
        diff = _diff(change)
        if len(diff) > room:
            parts.append(f"[the other diffs are omitted: read {change.path} and the files after it]")
            break
        room -= len(diff)
        parts.append(diff)
    return "\n".join(parts)


def _diff(change: Change) -> str:
    before, after = _text(change.before), _text(change.after)
    if before is None or after is None:
        return f"{change.path}: not text"
    lines = list(difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm="", n=2))
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"[{len(lines) - _DIFF_LINES} more lines of this diff]"]
    return "\n".join(lines)


def _text(data: bytes | None) -> list[str] | None:
    if data is None:
        return []
    try:
        return data.decode("utf-8").splitlines() if b"\0" not in data else None
    except UnicodeDecodeError:
        return None

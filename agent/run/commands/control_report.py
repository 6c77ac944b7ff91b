"""End manual control, and report to the model what was done and which files changed."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...journal.encoding import recorded_text
from ...protocol import BackgroundEnded, Prompted, ShellFinished, WheelGiven, WheelTaken
from ...protocol.text.shorten_text import end_cut
from ...step.resources.changes_since import Seen, changes_since, moment_of, seen
from ...step.tool_calls.file_events import FileContents

if TYPE_CHECKING:
    from ...layers.layer_effects import Effect
    from ...state.facts.tool_actions import Action
    from ...step.resources.run_context import RunContext

_SHOWN_ACTIONS = 40
_SHOWN_RESULT = 600
"""Maximum number of characters of each action's result in the report."""
_DIFF_LINES = 80
"""Maximum number of lines of one file's diff in the report."""
_DIFF_CHARACTERS = 8_000
"""Maximum number of characters of all diffs in the report."""


async def begin_control(ctx: RunContext) -> None:
    """Note the files as they are, and record that the person has control."""
    ctx.files.at_control = await moment_of(ctx.workspace, ctx.unit, ctx.facts.changes.files)
    ctx.events.record(WheelTaken(world=None))


async def end_control(ctx: RunContext, note: str, *, by: str, finished: bool = False) -> None:
    """Return control, and report to the model what was done, the changed files and the note.

    `finished`: the run ends, so no report is needed.
    """
    done = list(ctx.facts.manual.done)
    found = await changes_since(ctx.files.at_control)
    ctx.files.at_control = None
    for one in found or ():
        ctx.files.person_made[recorded_text(one.path)] = None if one.after is None else one.after.digest
    changes = _recorded(ctx) if found is None else await asyncio.to_thread(_seen, ctx, found)
    with ctx.events.together():
        paths = [one.contents.path for one in changes]
        ctx.events.record(WheelGiven(note=note, actions=len(done), files=paths, by=by, finished=finished))
        if (done or changes or note) and not finished:
            text = control_summary(done, changes, note, is_complete=found is not None)
            ctx.events.record(Prompted(kind="wheel", text=text))
    ctx.files.mark_changed()
    ctx.stalls.reset_after_message()


def _seen(ctx: RunContext, found: Sequence[Effect]) -> list[Seen]:
    return [seen(ctx.journal, ctx.facts.changes, ctx.workspace.root, one) for one in found]


def _recorded(ctx: RunContext) -> list[Seen]:
    """Return the changes since the person took control that are in the journal: an earlier runner saw more."""
    files = dict[str, tuple[str | None, str | None]]()
    for change in ctx.facts.changes.after(ctx.facts.manual.wheel_seq):
        for path, effect in change.files.items():
            files[path] = files.get(path, (effect.before, None))[0], effect.after
    found = list[Seen]()
    for path, (before, after) in files.items():
        try:
            old, new = (None if sha is None else ctx.journal.blobs.load(sha) for sha in (before, after))
            found.append(Seen(FileContents(path, old, new), True))
        except KeyError:  # a damaged journal
            found.append(Seen(FileContents(path, None, None), False))
    return found


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


def control_summary(done: Sequence[Action], changes: Sequence[Seen], note: str, *, is_complete: bool) -> str:
    """Return the message to the model about the time of manual control. `is_complete`: these are all changes."""
    parts = ["The person took control for a while and returns it to you now."]
    if note:
        parts.append(f"They say: {note}")
    if done:
        shown = [_line(action) for action in done[-_SHOWN_ACTIONS:]]
        parts.append("\n".join(["They did, with your tools:", *shown]))
    if changes:
        parts.append(_changed(changes))
    elif is_complete:
        parts.append("No file changed meanwhile.")
    if not is_complete:
        parts.append("Other files may have changed, too.")
    parts.append("Continue from here. Read a file before you change it again.")
    return "\n\n".join(parts)


def _line(action: Action) -> str:
    how = {True: "", False: " (it failed)", None: " (interrupted: its result is not known)"}[action.ok]
    what = end_cut(json.dumps(action.arguments, ensure_ascii=False), _SHOWN_RESULT)
    result = end_cut(action.result, _SHOWN_RESULT).strip()
    return f"- {action.tool} {what}{how}" + (f"\n  {result}".replace("\n", "\n  ").rstrip() if result else "")


def _changed(changes: Sequence[Seen]) -> str:
    named = ", ".join(change.contents.path for change in changes[:40])
    parts, room = [f"Files that changed meanwhile: {named}."], _DIFF_CHARACTERS
    for change in changes:
        diff = _diff(change.contents) if change.is_known else ""
        if len(diff) > room:
            parts.append(f"[the other diffs are omitted: read {change.contents.path} and the files after it]")
            break
        room -= len(diff)
        if diff:
            parts.append(diff)
    return "\n".join(parts)


def _diff(change: FileContents) -> str:
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

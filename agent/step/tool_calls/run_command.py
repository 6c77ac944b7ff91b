"""Run an approved command: in a layer, or in the workspace itself, which is compared before and after it."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...gate.draft import CommandDraft
from ...layers.remedies import LayerRefused
from ...protocol import PERSON, Snapshotted
from ...sandbox.command_access import Access
from ...shell.line_parser import parse_line
from ...shell.only_reads import only_reads
from ...tools.carry_out import OnOutput, carry_out
from ...tools.tool_result import ToolResult, failure
from ...verdict.counting.count_tests import count_failing
from ...verdict.predicates.required import required_commands
from ..resources.activity import CommandEnded, PersonInterrupted
from ..resources.last_line import output_reported
from ..resources.output_tail import Tail
from .direct_changes import look_before, reach_of, record_background_changes, record_changes
from .effects_at_gate import accept_effects, changed_paths
from .protected_changes import decide_protected, leave_protected

if TYPE_CHECKING:
    from ...gate.ruling import Ruling
    from ...host.workspace_paths import Workspace
    from ...layers.layer import Layer
    from ...layers.run_layers import RunLayers
    from ...sandbox.refused_access import MissingAccess
    from ...sandbox.sandbox import Sandbox
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

REFUSED = "The sandbox refused:"
NOBODY_TO_ALLOW = "Nobody is here to allow it: find a way that does not need it, or say so."
ALLOWED_ONCE = "The person allowed it once:"
HELD_OUT = "Nobody can allow it: outside of the sandbox, the command could read what belongs to the second check."
ONLY_IN_UNIT = "The command was not run: what it changes must stay apart, so it cannot run outside of the sandbox."
_MOST_NEEDS = 4
"""Most permissions that one command may need, one after the other."""
_UNDECIDED = "Nothing that it changed was applied: the person interrupted the step before deciding on it."
_MOVE_OF_FOLDER = (
    "A folder that was there before the command cannot be renamed here. Use `mv`, which copies it; for git, "
    "`mv A B` and then `git add -A A B`."
)
_MOST_NAMED = 20


async def run_at_gate(
    ctx: RunContext, draft: CommandDraft, ruling: Ruling, events: Events, call_id: str = ""
) -> ToolResult:
    """Run the command. If the sandbox refuses something that a person then allows, run it again with it allowed."""
    attempt, before = await _attempt(ctx, draft, ruling, events, call_id), ""
    try:
        for _ in range(_MOST_NEEDS):
            need = _refused(ctx.workspace, ctx.sandbox, draft, attempt.result)
            if need is None:
                break
            if not ctx.journal.views.is_attended():
                return (await attempt.accept()).with_notes([f"{REFUSED} {need.what}. {NOBODY_TO_ALLOW}"])
            if need.unsandboxed and ctx.facts.spec.predicates.holdout is not None:
                return (await attempt.accept()).with_notes([f"{REFUSED} {need.what}. {HELD_OUT}"])
            try:
                opening = ctx.gate.propose(_widened(draft, need), call_id="", events=events)
                ruling = await ctx.activity.interruptible(opening)
            except PersonInterrupted as how:
                raise CommandEnded(how, f"{attempt.result.text}\n{REFUSED} {need.what}.") from how
            if not ruling.approved or not isinstance(ruling.draft, CommandDraft):
                return (await attempt.accept()).with_notes([f"{REFUSED} {need.what}. {_not_allowed(ruling)}"])
            draft = ruling.draft
            await attempt.close()
            attempt = await _attempt(ctx, draft, ruling, events, call_id)
            before = f"The first try failed: {REFUSED} {need.what}. {ALLOWED_ONCE}\n"
        result = await attempt.accept()
        return replace(result, text=before + result.text)
    finally:
        await attempt.close()


async def _attempt(
    ctx: RunContext, draft: CommandDraft, ruling: Ruling, events: Events, call_id: str
) -> _LayeredAttempt | _DirectAttempt:
    """Run the command once. Raises CommandEnded."""
    notes = await record_background_changes(ctx, events)
    ctx.files.person_made.clear()
    if ctx.unit is not None and draft.unsandboxed:
        return _DirectAttempt(failure(ONLY_IN_UNIT, "not run").with_notes(notes))
    if await _only_reads(ctx, draft, ruling):
        result = await _attempt_to_read(ctx, draft, ruling, events, call_id)
        return _DirectAttempt(result.with_notes(notes))
    if ctx.layers is None or draft.unsandboxed:
        if ctx.layers is not None:
            ctx.layers.others_write = True
        return _DirectAttempt(await _run(ctx, draft, ruling, events, call_id, notes))
    try:
        attempt = await _attempt_in_layer(ctx, ctx.layers, draft, ruling, events, call_id)
    except LayerRefused as refused:
        return _DirectAttempt(failure(f"The command was not run: {refused}.", "not run").with_notes(notes))
    attempt.result = attempt.result.with_notes(notes)
    return attempt


async def _only_reads(ctx: RunContext, draft: CommandDraft, ruling: Ruling) -> bool:
    """Return whether the approved command changes nothing, so that it needs no layer and no comparison.

    Landlock keeps no times and modes, which a layer does.
    """
    decided = ruling.draft if isinstance(ruling.draft, CommandDraft) else draft
    is_kept = ctx.sandbox.kind == "bubblewrap" or (ctx.sandbox.kind == "landlock" and ctx.layers is None)
    if not is_kept or ctx.unit is not None or draft.unsandboxed or decided.network or decided.writable:
        return False
    return only_reads(await asyncio.to_thread(parse_line, decided.command))


async def _attempt_in_layer(
    ctx: RunContext, layers: RunLayers, draft: CommandDraft, ruling: Ruling, events: Events, call_id: str
) -> _LayeredAttempt:
    """Run the command once in a layer of its own: nothing that it changes is in the workspace before it was decided on.

    Raises CommandEnded and LayerRefused; then it did not run.
    """
    if ctx.facts.changes.world is None:
        events.record(Snapshotted(world=None, layer=True))
    layer = await asyncio.to_thread(layers.open, line=draft.command)
    printed, watch = Tail(), None
    try:
        watch = layer.watch()
        with ctx.limits.running(), output_reported(events, draft.command, call_id, printed) as report:
            access = replace(layer.access, begin=watch.begin)
            running = carry_out(draft, ruling, ctx.tools, report, access)
            result = await ctx.activity.interruptible(running)
        watch.end()
        return _LayeredAttempt(ctx, layers, layer, draft.command, events, result, watch.reached)
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


async def _attempt_to_read(
    ctx: RunContext, draft: CommandDraft, ruling: Ruling, events: Events, call_id: str
) -> ToolResult:
    """Run a command for which the workspace is read-only. Raises CommandEnded."""
    if ctx.facts.changes.world is None:
        events.record(Snapshotted(world=None, layer=True))
    printed = Tail()
    try:
        with ctx.limits.running(), output_reported(events, draft.command, call_id, printed) as report:
            running = carry_out(draft, ruling, ctx.tools, report, keeps_workspace=True)
            result = await ctx.activity.interruptible(running)
    except PersonInterrupted as how:
        raise CommandEnded(how, _left_in_layer(printed.text, [])) from how
    return result


@dataclass(slots=True)
class _LayeredAttempt:
    """A command that ran in a layer; nothing of what it changed is in the workspace yet."""

    _ctx: RunContext
    _layers: RunLayers
    _layer: Layer | None
    _command: str
    _events: Events
    result: ToolResult
    _limit: str
    """The limit for which it was ended. Empty means none."""

    async def accept(self) -> ToolResult:
        """Decide on what it changed, apply what is accepted, and return its result with a line for the model.

        Raises CommandEnded if a person interrupts the decision.
        """
        assert self._layer is not None  # it was not closed
        done = self.result.finished
        ended = self._limit or ("it timed out" if done is not None and done.timed_out else "")
        try:
            outcome = await accept_effects(
                self._ctx, self._layers, self._layer, self._command, self._events, ended=ended
            )
        except PersonInterrupted as how:
            raise CommandEnded(how, f"{self.result.text}\n{_UNDECIDED}") from how
        is_watched = bool(required_commands(self._ctx.facts.spec.predicates.require))
        dropped = sorted(outcome.dropped)[:_MOST_NAMED] if is_watched else []
        advice = [_MOVE_OF_FOLDER] if not self.result.ok and os.strerror(errno.EXDEV) in self.result.text else []
        return replace(self.result, disturbed=dropped).with_notes([*advice, *outcome.lines])

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


class _DirectAttempt(NamedTuple):
    """A command that ran in the workspace, or not at all; what it changed is recorded and decided on."""

    result: ToolResult

    async def accept(self) -> ToolResult:
        """Return its result."""
        return self.result

    async def close(self) -> None:
        """Do nothing: what it changed cannot be dropped."""


def _refused(workspace: Workspace, sandbox: Sandbox, draft: CommandDraft, result: ToolResult) -> MissingAccess | None:
    """Return what the sandbox refused, or None. Failing tests do not count: their output is about the code."""
    done = result.finished
    if done is None or not done.exit_code or draft.unsandboxed:
        return None
    need = sandbox.refused(
        done,
        workspace.root,
        Access(network=draft.network, writable=draft.writable),
        command=draft.command,
    )
    return need if need is not None and count_failing(done.full.decode("utf-8", "replace")) is None else None


def _widened(draft: CommandDraft, need: MissingAccess) -> CommandDraft:
    """Return the same command with one more permission."""
    return replace(
        draft,
        beyond=need.what if draft.beyond is None else f"{draft.beyond}; {need.what}",
        network=draft.network or need.network,
        writable=draft.writable if need.place is None else (*draft.writable, need.place),
        unsandboxed=need.unsandboxed,
    )


def _not_allowed(ruling: Ruling) -> str:
    if ruling.refused_by == "person":
        why = f": {ruling.reason}" if ruling.reason else ", without a reason"
        who = "The person" if ruling.by == PERSON else ruling.by
        return f"{who} did not allow it{why}. Find a way that does not need it, or ask."
    return ruling.note_for_model


async def _run(
    ctx: RunContext, draft: CommandDraft, ruling: Ruling, events: Events, call_id: str, notes: list[str]
) -> ToolResult:
    """Run the command once. Its changes of guarded and protected files wait at the gate (docs/requirements.md 6.9)."""
    before, reach = await look_before(ctx, events), await reach_of(ctx, draft)
    printed = Tail()
    try:
        with ctx.limits.running(), output_reported(events, draft.command, call_id, printed) as report:
            result = await ctx.activity.interruptible(_carried_out(ctx, draft, ruling, report))
    except PersonInterrupted as how:
        changed = await record_changes(ctx, before, draft.command, events, reach=reach)
        notes = await leave_protected(ctx, events, changed)
        raise CommandEnded(how, _left_behind(printed, changed.paths, notes)) from how
    changed = await record_changes(ctx, before, draft.command, events, reach=reach)
    lines = await decide_protected(ctx, events, draft.command, changed)
    return result.with_notes([*notes, *lines])


async def _carried_out(ctx: RunContext, draft: CommandDraft, ruling: Ruling, report: OnOutput) -> ToolResult:
    """Carry the command out; in a unit of work, end it at a limit of what it may write."""
    unit = ctx.unit
    if unit is None:
        return await carry_out(draft, ruling, ctx.tools, report)
    watch = unit.layer.watch()
    try:
        place = replace(unit.access, begin=watch.begin)
        result = await carry_out(draft, ruling, ctx.tools, report, place)
    finally:
        await asyncio.to_thread(watch.end)
        await asyncio.to_thread(unit.note_copied_up)
    return result.with_notes([f"The command was ended, because {watch.reached}."] if watch.reached else [])


def _left_behind(printed: Tail, changed: Sequence[str], notes: Sequence[str]) -> str:
    """Return what a command printed and changed before a person ended it, for the model."""
    text = ["The person ended this command while it ran: it may have done part of its work. Check before you continue."]
    if changed:
        text.append(f"It had changed: {', '.join(changed[:20])}.")
    text += notes
    if shown := printed.text.strip():
        text.append(f"It had printed:\n{shown}")
    return "\n".join(text)
